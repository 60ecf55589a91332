/*
 * The thread that makes arrived entries final: groups of them are synced, renamed, given their metadata, and synced
 * again, before any of them is reported (docs/DURABILITY.md).
 *
 * While small files keep coming, one sync serves the names of one group and the contents of the next.
 *
 * A group is what has gathered while the last one was being synced, at least COMMIT_GROUP_MIN small files unless the
 * main loop says that no more are on their way. Order within it is the order of posting, so a directory that is posted
 * behind everything in it gets its times last.
 */
#ifndef HAUL_AGENT_COMMIT_H
#define HAUL_AGENT_COMMIT_H

#include "agent/recv_entry.h"

/* A partial's leaves on their way to the medium and into its record. Taken by the thread, given back with `done`. */
struct checkpoint {
	struct mail mail;
	struct receiver *receiver; /* held, like the next */
	struct partial *partial;   /* what is posted for its entry later comes later */
	uint64_t index;            /* of the entry */
	uint32_t attempt;
	bool is_last;              /* then the partial is closed and kept */
	struct leaf_piece *pieces; /* owned */
	size_t count;
	haul_status status;
	void (*done)(struct mail *m, void *ctx); /* main loop */
};

enum { COMMIT_GROUP_MIN = 1000, COMMIT_GROUP_MAX = 16384 };

struct commit_config {
	struct place *place; /* held; NULL for a dry run: nothing is ever posted then */
	bool no_sync;
	bool is_move;                   /* what has landed is looked at: recv_entry.seen */
	const _Atomic uint64_t *rights; /* of the sender, as they are now; held */
	struct quota *quota;            /* of the sender's device; held; NULL: nothing is counted */
	struct mailbox *main;
	void (*on_committed)(struct recv_entry *e); /* main loop: committed, discarded, or e->code */
	struct trace_track *track;                  /* the thread's; given, closed by commit_stop(); NULL: off */
};

struct commit {
	struct worker worker;
	struct commit_config cfg;
	/* the thread's own */
	struct list group; /* struct recv_entry by link, in order */
	unsigned small_count, count;
	struct list named; /* those of the group before that have their names, which are not synced yet */
	unsigned named_count;
	bool flush_asked;
	struct mail flush;
	_Atomic bool flush_posted;
	_Atomic uint64_t sync_ns; /* spent writing back and syncing */
};

HAUL_MUST_USE haul_status commit_start(struct commit *c, const struct commit_config *cfg, struct haul_fault *fault);
void commit_stop(struct commit *c); /* what was posted is done first */

/* Post, with the next worker_send(). The entry is the thread's until on_committed. */
void commit_post(struct commit *c, struct recv_entry *e);

void commit_checkpoint(struct commit *c, struct checkpoint *cp);

/* Whether what has arrived of a file that failed is of use to the next run: not when its content is in doubt. */
bool commit_keeps(const struct recv_entry *e);

/* The same way: no more small files are on their way, so do not wait for a fuller group. */
void commit_flush(struct commit *c);

/* Nanoseconds that went into writing back and syncing so far. Any thread. */
uint64_t commit_sync_ns(struct commit *c);

#endif
