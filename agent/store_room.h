/*
 * Whether what is announced fits where it goes: per file system below the job's root, the bytes that will have to be
 * written against those that were free when the job first came there. Nobody else's writes are foreseen: a disk that
 * fills up all the same is found by the file that finds it full. Nothing is taken away from anybody but what
 * interrupted jobs keep beyond their share (docs/DURABILITY.md "What is kept of a file under way").
 *
 * Not counted: what a file replaces (it goes when the new one has come), what an earlier job keeps of it, sparse files,
 * and files that may be cloned.
 *
 * The same for the quota of the sender's device, of what was left of it when the job first took something; a sparse
 * file counts in full. And there each file takes what it needs when it is opened, so jobs at once are counted together.
 */
#ifndef HAUL_AGENT_STORE_ROOM_H
#define HAUL_AGENT_STORE_ROOM_H

#include "peer-protocol/message.h"

struct recv_entry;
struct store;

enum { STORE_ROOMS_MAX = 8 }; /* file systems; what lies on more of them is not counted */

/* The store thread's own; the main loop may read it when nothing is with the thread. */
struct store_room {
	struct {
		uint64_t device, need_bytes, free_bytes, total_bytes;
		bool is_full; /* nothing more can be made free */
	} of[STORE_ROOMS_MAX];
	unsigned count;
	bool has_quota; /* the next two are known */
	uint64_t quota_need, quota_left;
	struct job_lack refused; /* by the quota, to a file that was to be opened; all 0: none was */
};

/*
 * Count the content of a file that has to be written. HAUL_NO_SPACE, HAUL_QUOTA: with it, or with one before, its file
 * system or the quota is too small. One that needs nothing new may always begin. Of a file that is looked at again,
 * because its source has changed, only the new state counts.
 */
HAUL_MUST_USE haul_status store_room_takes(struct store *s, struct recv_entry *e);

/* Its partial is open: the whole size counts as held. HAUL_QUOTA: it is kept, or gone, and closed. */
HAUL_MUST_USE haul_status store_hold_quota(struct store *s, struct recv_entry *e);

/* The first file system that is too small, or the quota. */
void store_room_lacks(const struct store *s, struct job_lack *ret_lack);

#endif
