/*
 * Renaming entries from one directory into another, with what stands there in mind: nothing is replaced unless the rule
 * says so, two directories become one by renaming what is in them, and nothing is ever deleted but a directory that has
 * become empty. One rename where nothing stands in the way, however much lies below.
 *
 * What has arrived by the same mover is never replaced, nor is what it is still to move (mover_protect()).
 *
 * Blocking; one thread. The system calls come through a table, so that a test can refuse them.
 */
#ifndef HAUL_AGENT_MOVER_H
#define HAUL_AGENT_MOVER_H

#include "agent/arrivals.h"
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
	/* HAUL_EXISTS: the name is taken. HAUL_SAME_FILE: by the source itself. remedy: static, or NULL. */
	void (*on_problem)(void *ctx, const char *from, enum entry_kind kind, const struct haul_fault *fault,
			   const char *remedy);
	uint64_t absent_device;   /* dry run: what a directory that is not there yet would lie on */
	struct arrivals arrivals; /* zero at first; mover_close() */
	uint64_t moved;           /* renames */
	uint64_t failed;          /* entries that stay and were told */
	uint64_t failed_files;    /* regular ones */
};

/* Where an entry is or goes: a name in a directory (borrowed; O_PATH is fine). */
struct move_place {
	int dir_fd; /* where something would land in a dry run, -1: not there yet */
	const char *name;
	const char *shown; /* the whole path, for callbacks */
	bool is_arrived;   /* as a destination: the directory came by this mover, or is one of its sources */
};

void mover_close(struct mover *m);

/* A source that is still to be moved: neither it nor what lies in it is replaced. HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status mover_protect(struct mover *m, const struct entry_facts *source);

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
 * The same for everything in the directory `from_fd`, into `to_fd` (-1: see struct move_place); both are synced then.
 * shown: their paths.
 * HAUL_CROSS_DEVICE as above, after the rest.
 */
HAUL_MUST_USE haul_status mover_move_contents(struct mover *m, int from_fd, const char *from_shown, int to_fd,
					      const char *to_shown);

#endif
