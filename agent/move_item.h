/*
 * Inside of a move's eraser: one entry at the source, put aside, and then deleted or put back (move_item.c), and the
 * directories that a batch has put something aside in. The eraser's thread only.
 */
#ifndef HAUL_AGENT_MOVE_ITEM_H
#define HAUL_AGENT_MOVE_ITEM_H

#include "agent/move_eraser.h"
#include "engine/aside.h"
#include "engine/beneath.h"

enum { MOVE_DIRS_MAX = 48 };

/* A directory of the source with its private one. */
struct move_dir {
	int dir_fd;         /* owned, O_PATH */
	int aside_fd;       /* owned, -1: there is no room for one */
	haul_status status; /* it cannot be made */
	uint64_t device, inode;
};

/* A directory by its path below a source. */
struct move_dirty {
	unsigned source;
	char *path; /* owned */
};

struct move_item {
	uint64_t entry;
	unsigned source;
	char *source_path, *path; /* owned */
	struct entry_facts facts;
	bool is_new;
	struct move_dir *dir;    /* files and links */
	struct entry_time moved; /* change time since it has been put aside */
};

/* What the thread works with. */
struct move_work {
	const struct move_eraser_config *cfg;
	const _Atomic bool *is_stopping;
	int64_t began; /* s since 1970: before anything was scanned */
	char aside[ASIDE_NAME_BYTES];
	struct parent_cache parents;
	struct move_dir dirs[MOVE_DIRS_MAX]; /* of the batch */
	unsigned dir_count;
	haul_status synced;
	/* Directories that something was deleted in, deepest last; those that went themselves are none of them. */
	struct move_dirty *dirty; /* owned */
	size_t dirty_count, dirty_cap;
	void *eraser;
	void (*on_leaf)(void *eraser); /* one more has been read */
};

/* The note of the next entry in hand, as the eraser has written it. */
struct move_note {
	uint64_t entry;
	unsigned source;
	bool is_new, was_told;
	uint32_t lost; /* enum entry_lost */
	struct entry_facts facts;
	struct haul_digest root;
};

/*
 * Look at a file or link again and put it aside. HAUL_NOT_FOUND: it is gone. HAUL_BUSY: the batch has no room for
 * another directory: nothing was done. Else the fault says why it stays.
 */
HAUL_MUST_USE haul_status move_item_take(struct move_work *w, const struct move_note *n, struct move_item *ret_item,
					 struct haul_fault *fault);
/* Delete it, if code is 0, or put it back: then the fault says why. */
HAUL_MUST_USE haul_status move_item_finish(struct move_work *w, const struct move_item *i, uint32_t code,
					   struct haul_fault *fault);

/* The same for a directory: HAUL_NOT_EMPTY (HAUL_EXISTS): it stays for what is in it, which was told. */
HAUL_MUST_USE haul_status move_item_mark(struct move_work *w, const struct move_note *n, const struct move_item *i,
					 struct haul_fault *fault);
HAUL_MUST_USE haul_status move_item_remove(struct move_work *w, const struct move_item *i, uint32_t code,
					   struct haul_fault *fault);

/* The batch is done: its private directories go, and the directories that lost something are synced. */
void move_dirs_close(struct move_work *w);

#endif
