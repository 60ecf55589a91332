/* A tree remover's state: directories that are not done, their handles, the stack of work. Internal to the engine. */
#ifndef HAUL_ENGINE_TREE_REMOVER_IMPL_H
#define HAUL_ENGINE_TREE_REMOVER_IMPL_H

#include "engine/base/list.h"
#include "engine/tree_remover.h"

#include <pthread.h>
#include <stdbool.h>

enum { TREE_BUFFER_BYTES = 64 * 1024 };

/*
 *  WAITING --a thread takes it--> listed --every directory below is done--> removed, or left
 *     ^                              |
 *     +------ not listed to its end, or not empty after all -------+
 *
 * All fields but name, parent and target under the remover's lock, unless the comment says otherwise.
 */
struct tree_dir {
	struct tree_dir *parent; /* NULL: a target itself */
	const struct tree_target *target;
	struct tree_dir *next; /* on the stack of work, or in a list of children not yet pushed */
	struct list idle;      /* in remover.idle: open and used by nobody */
	int fd;                /* owned; -1: not open */
	unsigned users;        /* who keep the fd open */
	unsigned below;        /* directories in it that are not done, and 1 while it is being listed */
	unsigned again;        /* times it was gone through once more */
	uint64_t device, inode;
	bool is_known;  /* device and inode are set: its handle was closed to save handles */
	bool is_pinned; /* listed in part: the handle stays open for its position. The working thread's */
	bool is_left;   /* something in it stays, so it does */
	bool is_gone;   /* somebody else removed it, or it is no directory any more. The working thread's */
	char name[];
};

struct tree_remover {
	const struct tree_remover_config *cfg; /* held */
	pthread_mutex_t lock, tell;            /* tell: one callback at a time; never taken inside lock */
	pthread_cond_t work, end;
	struct tree_dir *stack; /* to be listed, the last one first: so few are open at a time */
	uint64_t alive;         /* directories that are not done */
	struct list idle;       /* least recently used first */
	unsigned open, open_max;
	bool is_broken; /* no memory */
	struct tree_totals totals;
};

/* What one thread works with. */
struct tree_worker {
	struct tree_remover *r;
	struct tree_totals totals; /* added to the remover's with each directory */
	char buffer[TREE_BUFFER_BYTES] __attribute__((aligned(16)));
};

/* NULL without memory. `parent` is held until the directory is done. */
struct tree_dir *tree_dir_new(struct tree_dir *parent, const struct tree_target *target, const char *name);

/*
 * Keep the directory's handle open until tree_dir_leave(); opened if need be, through its parent's. Any thread.
 *
 * HAUL_CROSS_DEVICE   another mount.
 * HAUL_CHANGED        the name leads to another directory than before.
 * HAUL_NOT_DIRECTORY, HAUL_LINK_IN_PATH, HAUL_NOT_FOUND, HAUL_DENIED …
 */
HAUL_MUST_USE haul_status tree_dir_enter(struct tree_remover *r, struct tree_dir *d, int *ret_fd);
void tree_dir_leave(struct tree_remover *r, struct tree_dir *d);

/* The handle that the directory's own name lies in, as above; leave with tree_dir_leave_parent(). */
HAUL_MUST_USE haul_status tree_dir_enter_parent(struct tree_remover *r, struct tree_dir *d, int *ret_fd);
void tree_dir_leave_parent(struct tree_remover *r, struct tree_dir *d);

/* Close and free a directory that nobody uses. */
void tree_dir_free(struct tree_remover *r, struct tree_dir *d);

/* List the directory, remove what is no directory in it, put the others on the stack; then what follows from that. */
void tree_work(struct tree_worker *w, struct tree_dir *d);

/* Whether the threads shall come to an end. */
bool tree_is_stopping(struct tree_remover *r);

/* Under the lock: a directory onto the stack of work. */
void tree_push(struct tree_remover *r, struct tree_dir *d);

/* Under the lock, or without threads: what was counted joins the whole. */
void tree_add_totals(struct tree_remover *r, const struct tree_totals *counted);

/* Of an errno; EBUSY is what the kernel says of a name that something is mounted on. */
haul_status tree_status_of(int err);

/* Tell an entry that is gone or counted, or one that stays. `dir` NULL: the target itself. */
void tree_tell_entry(struct tree_remover *r, const struct tree_dir *dir, const struct tree_target *target,
		     const char *name, enum entry_kind kind);
void tree_tell_problem(struct tree_remover *r, const struct tree_dir *dir, const struct tree_target *target,
		       const char *name, enum entry_kind kind, haul_status st, int os_errno);

#endif
