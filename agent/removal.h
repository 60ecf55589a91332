/*
 * haul remove: guards first, then count, then delete (docs/CLI.md "remove"). Local only; no network, no loop.
 *
 * Nothing at all is deleted when one of the places is refused: "/", a mount point, a directory that is or holds a share
 * of this home, or more entries than anybody agreed to.
 */
#ifndef HAUL_AGENT_REMOVAL_H
#define HAUL_AGENT_REMOVAL_H

#include "agent/transfer.h"

enum { REMOVAL_FREE_ENTRIES = 1000 }; /* beyond this somebody has to agree */

struct removal_request {
	const struct place_spec *places; /* local ones, at least one */
	size_t count;
	bool is_agreed;    /* --yes */
	bool dry_run;      /* -n */
	bool want_entries; /* call on_entry */
	bool want_totals;  /* count before deleting, for progress that knows its end */
};

/* What would go; is_more: at least that. */
struct removal_size {
	uint64_t entries, files, bytes;
	bool is_more;
};

struct removal_observer {
	void *ctx; /* callbacks come one at a time, from any thread while entries are deleted */
	void (*on_entry)(void *ctx, const char *path, enum entry_kind kind);
	void (*on_error)(void *ctx, const struct transfer_problem *p);
	void (*on_progress)(void *ctx, uint64_t done, uint64_t total, double elapsed_s); /* entries; total 0: unknown */
	/* Ask whoever is there; NULL: nobody is. false: no. On the calling thread. */
	bool (*may_remove)(void *ctx, const struct removal_size *size);
};

/*
 * Run it to its end on the calling thread; SIGINT, SIGTERM and SIGHUP end it in good order. h: the home whose shares
 * are guarded, NULL: none. ret_report: files_deleted, entries_deleted, files_failed, exit code and reasons; zero
 * before.
 */
void removal_run(const struct home *h, const struct removal_request *req, const struct removal_observer *obs,
		 struct transfer_report *ret_report);

#endif
