/*
 * haul move on one file system: decide where things land as copy does, then rename (docs/CLI.md "What is moved"). Needs
 * no home, no loop, no identity. What only copying can move is left alone and named to the caller.
 *
 * Before anything is renamed, or even a directory made, everything is refused (exit 1) that would lead a source onto
 * itself, into itself, onto another name of the same inode, or into a directory that holds it.
 */
#ifndef HAUL_AGENT_MOVE_H
#define HAUL_AGENT_MOVE_H

#include "agent/mover.h"
#include "agent/transfer.h"

struct move_request {
	const struct place_spec *sources; /* local, at least one */
	size_t source_count;
	const struct place_spec *destination; /* local */
	const char *as_name;                  /* --as, or NULL */
	enum move_rule rule;
	bool dry_run;
	const struct home *home; /* whose shares are guarded, borrowed; NULL: none */
};

struct move_observer {
	void *ctx; /* calling thread */
	void (*on_landing)(void *ctx, const struct transfer_landing *landings, size_t count);
	void (*on_moved)(void *ctx, const char *from, const char *to, enum entry_kind kind); /* NULL: not wanted */
	void (*on_error)(void *ctx, const struct transfer_problem *p);
};

/*
 * Run it to its end. SIGINT, SIGTERM and SIGHUP end it between two renames.
 *
 * ret_must_copy   one flag a source: it, or something in it, is still where it was and has to be copied. All false on
 *                 entry. Only set when nothing was refused.
 * ret_report      zero on entry; entries_renamed, files_failed, elapsed_s, exit_code and reasons. is_durable: both
 *                 parents of every rename were synced.
 */
void move_run(const struct move_request *req, const struct move_observer *obs, bool *ret_must_copy,
	      struct transfer_report *ret_report);

#endif
