/*
 * Whether what is announced fits where it goes: per file system below the job's root, the bytes that will have to be
 * written against those that were free when the job first came there. Nobody else's writes are foreseen, and nothing
 * is taken away from anybody: a disk that fills up all the same is found by the file that finds it full.
 *
 * Not counted: what a file replaces (it goes when the new one has come), what an earlier job keeps of it, sparse files,
 * and files that may be cloned.
 */
#ifndef HAUL_AGENT_STORE_ROOM_H
#define HAUL_AGENT_STORE_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct recv_entry;
struct store;

enum { STORE_ROOMS_MAX = 8 }; /* file systems; what lies on more of them is not counted */

/* The store thread's own; the main loop may read it when nothing is with the thread. */
struct store_room {
	struct {
		uint64_t device, need_bytes, free_bytes;
	} of[STORE_ROOMS_MAX];
	unsigned count;
};

/* Count the content of a file that has to be written. False: with it, or with one before, its file system is too small.
 * One that needs nothing new may always begin. */
bool store_room_takes(struct store *s, const struct recv_entry *e);

/* The first file system that is too small; 0 and 0: none is. */
void store_room_lacks(const struct store *s, uint64_t *ret_need, uint64_t *ret_free);

#endif
