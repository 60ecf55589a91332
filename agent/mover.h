/*
 * Renaming entries from one directory into another, with what stands there in mind: nothing is replaced unless the rule
 * says so, two directories become one by renaming what is in them, and nothing is ever deleted but a directory that has
 * become empty. One rename where nothing stands in the way, however much lies below.
 *
 * Blocking; one thread; no state between calls. The system calls come through a table, so that a test can refuse them.
 */
#ifndef HAUL_AGENT_MOVER_H
#define HAUL_AGENT_MOVER_H

#include "engine/base/entry.h"
#include "engine/base/fault.h"

#include <stdatomic.h>
#include <stdbool.h>

/* What happens to an existing entry that is in the way. Two directories merge under any rule. */
enum move_rule {
	MOVE_FAIL,    /* the source stays and is told */
	MOVE_REPLACE, /* a file or link takes the place of a file or link, atomically */
	MOVE_NUMBER,  /* it lands as "NAME 2.EXT", or with the next number that is free */
};

struct mover_calls {
	int (*rename_new)(int from_fd, const char *from, int to_fd, const char *to);  /* fails with EEXIST */
	int (*rename_over)(int from_fd, const char *from, int to_fd, const char *to); /* replaces */
	int (*link_new)(int from_fd, const char *from, int to_fd, const char *to);    /* linkat, no link followed */
	int (*unlink)(int dir_fd, const char *name, int flags);
};

extern const struct mover_calls mover_system_calls;

struct mover {
	const struct mover_calls *calls; /* held */
	enum move_rule rule;
	bool dry_run;             /* look, tell, change nothing */
	const _Atomic bool *stop; /* held; may be NULL */
	void *ctx;
	/* Paths are raw, as a user would type them; borrowed for the call. */
	void (*on_moved)(void *ctx, const char *from, const char *to, enum entry_kind kind);
	void (*on_problem)(void *ctx, const char *from, enum entry_kind kind, const struct haul_fault *fault);
	uint64_t moved;        /* renames */
	uint64_t failed;       /* entries that stay and were told */
	uint64_t failed_files; /* regular ones */
};

/* Where an entry is or goes: a name in a directory (borrowed handle; O_PATH will not do: it is synced). */
struct move_place {
	int dir_fd;
	const char *name;
	const char *shown; /* the whole path, for callbacks */
};

/*
 * Move one entry, and when that is a directory that meets a directory, what is in it; the directories gone through
 * below are synced, the two at the top are the caller's. What goes wrong with an entry is told and counted.
 *
 * HAUL_CROSS_DEVICE   it, or something in it, cannot be renamed to there and was left where it is, untold: only copying
 *                     can move it (another file system, mount, subvolume or project quota).
 * HAUL_CANCELLED      *stop was seen.
 * HAUL_NO_MEMORY
 */
HAUL_MUST_USE haul_status mover_move(struct mover *m, const struct move_place *from, const struct move_place *to);

/*
 * The same for everything in the directory `from_fd`, into `to_fd`; both are synced then. shown: their paths.
 * HAUL_CROSS_DEVICE as above, after the rest.
 */
HAUL_MUST_USE haul_status mover_move_contents(struct mover *m, int from_fd, const char *from_shown, int to_fd,
					      const char *to_shown);

#endif
