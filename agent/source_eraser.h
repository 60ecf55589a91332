/*
 * What a move across file systems deletes at the source, after everything is proven and durable at the destination.
 *
 * While the job runs, entries whose result was good are noted in a scratch file. After the job has ended well they are
 * gone through once: each is looked at again, here and at the destination, and goes only if nothing has changed since
 * it was read and the destination's entry is there and another one. Each directory is synced when its entries are gone;
 * directories go last, from below, and only when empty. Blocking but for the noting; one thread at a time.
 */
#ifndef HAUL_AGENT_SOURCE_ERASER_H
#define HAUL_AGENT_SOURCE_ERASER_H

#include "engine/base/entry.h"
#include "engine/base/fault.h"
#include "engine/scan.h"

#include <stdatomic.h>
#include <stdbool.h>

/* What is known of one entry that has landed. Borrowed for the call. */
struct eraser_entry {
	unsigned source;            /* which scan source it comes from */
	const char *source_path;    /* below that source's root handle; "" the root itself, which stays */
	const char *landing_path;   /* below the destination's root */
	struct entry_facts facts;   /* of the source, when it was scanned: before it was read */
	struct entry_facts landing; /* of what landed, when its result came; zero: it could not be looked at */
	bool is_new;                /* this run has written and synced it; else it was found equal */
};

struct eraser_callbacks {
	void *ctx;
	/* It stays. HAUL_CHANGED: not what was read any more, or the destination's entry is not to be trusted. */
	void (*on_kept)(void *ctx, const struct eraser_entry *e, const struct haul_fault *fault);
};

struct eraser_totals {
	uint64_t files, entries; /* deleted */
	uint64_t kept_files;     /* each told */
};

struct eraser;

/* scratch_dir: where the notes go, borrowed for the call. HAUL_IO and the like, HAUL_NO_MEMORY. Given: eraser_free().
 */
HAUL_MUST_USE haul_status eraser_new(const char *scratch_dir, struct eraser **ret_eraser, struct haul_fault *fault);
void eraser_free(struct eraser *e); /* NULL is fine */

/* The entry has landed and is proven: durable now, or equal by hash tree now. A failure is seen by eraser_run(). */
void eraser_note(struct eraser *e, const struct eraser_entry *entry);

/*
 * Delete what was noted. sources and root_fd (the destination's) are borrowed; *stop ends it between two entries.
 * HAUL_CANCELLED; HAUL_IO: the notes cannot be read, or what is deleted could not be made durable. What stays is told.
 * Before the first deletion in a pair of directories they are shown to be two (eraser_proof.h), and a file system with
 * something that was only found equal is synced: else all of that stays.
 */
HAUL_MUST_USE haul_status eraser_run(struct eraser *e, const struct scan_source *sources, size_t source_count,
				     int root_fd, const _Atomic bool *stop, const struct eraser_callbacks *cb,
				     struct eraser_totals *ret_totals, struct haul_fault *fault);

/*
 * Remove one empty directory that was moved as a whole, after eraser_run(): as a directory there, its parent is not
 * synced. All borrowed; landing_path lies below root_fd. HAUL_NOT_EMPTY (HAUL_EXISTS), HAUL_NOT_FOUND, HAUL_SAME_FILE.
 */
HAUL_MUST_USE haul_status eraser_remove_directory(int dir_fd, const char *name, int root_fd, const char *landing_path,
						  struct haul_fault *fault);

#endif
