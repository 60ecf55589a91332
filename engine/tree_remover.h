/*
 * Count or remove whole trees with a few threads: every entry by a name beneath the handle of its directory, links
 * never followed, mounts never crossed, a directory after what is in it. Trees of any depth and names of any bytes;
 * what is kept at a time is the directories on the way, at most 256 handles, and at most some thousand names.
 *
 * What vanishes meanwhile is fine; a directory in which something appears meanwhile is gone through again, a bounded
 * number of times, then it stays and is told. Blocking: the calling thread waits and gets the ticks. Knows nothing of
 * what the trees mean: whether they may go is for the caller to know.
 */
#ifndef HAUL_ENGINE_TREE_REMOVER_H
#define HAUL_ENGINE_TREE_REMOVER_H

#include "engine/base/entry.h"
#include "engine/base/fault.h"

#include <stdatomic.h>

enum tree_mode { TREE_COUNT, TREE_REMOVE };

enum { TREE_THREADS_MAX = 16 };

/* Of what was counted or is gone. */
struct tree_totals {
	uint64_t entries; /* of all kinds, directories too */
	uint64_t files;   /* regular ones */
	uint64_t bytes;   /* in them, by size; TREE_COUNT only */
	uint64_t left;    /* entries that were to go and stay, each told; directories that hold one are not counted */
	uint64_t left_files;
	uint64_t kept;   /* names that `keeps` protects, and mounts under it: neither counted nor told */
	bool is_over;    /* TREE_COUNT: there are more than entries_max */
	bool is_stopped; /* *stop was seen: not everything was looked at */
};

/* One tree, or one entry that is no directory. */
struct tree_target {
	int dir_fd;        /* directory that holds it; borrowed; any handle, O_PATH too */
	const char *name;  /* one component; borrowed */
	const char *shown; /* how paths that are told begin; borrowed */
};

struct tree_remover_config {
	enum tree_mode mode;
	unsigned threads;         /* 1 .. TREE_THREADS_MAX */
	uint64_t entries_max;     /* TREE_COUNT: no need to go on beyond; 0: no limit */
	const _Atomic bool *stop; /* true: end soon, in good order. Held; may be NULL */
	/* Any thread. Whether an entry of that name stays wherever it is met, and what holds it; then what is mounted
	 * below stays without a word, too. NULL: none. */
	bool (*keeps)(const char *name);
	void *ctx;
	/* Any of the threads, never two calls at once. Paths are raw, borrowed for the call. Each may be NULL. */
	void (*on_entry)(void *ctx, const char *path, enum entry_kind kind); /* it is gone, or would be */
	void (*on_problem)(void *ctx, const char *path, enum entry_kind kind, const struct haul_fault *fault);
	/* The calling thread, about five times a second. */
	void (*on_tick)(void *ctx, const struct tree_totals *so_far);
};

/*
 * Do it. ret_totals is filled in any case. What goes wrong with an entry is told by on_problem and counted: the status
 * is HAUL_OK then. In faults: HAUL_CROSS_DEVICE a mount point, HAUL_NOT_EMPTY something kept appearing, else by errno.
 * HAUL_NO_MEMORY: also for threads. Not everything may have been looked at.
 */
HAUL_MUST_USE haul_status tree_remover_run(const struct tree_remover_config *cfg, const struct tree_target *targets,
					   size_t count, struct tree_totals *ret_totals, struct haul_fault *fault);

#endif
