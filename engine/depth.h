/*
 * How many requests one lane keeps in flight on a disk: more while that brings throughput, fewer when it only makes
 * each of them wait longer. No clock and no I/O: time comes with what happens.
 *
 *   TRYING --more throughput--> TRYING one step deeper, until `most`
 *     +------no more, twice---> HOLDING the depth before --a while--> TRYING again
 *   HOLDING --latency twice what it was, throughput no better--> one step shallower, HOLDING
 *
 * What is compared are rounds: as many completions as fill the queue twice. A round in which the lane had nothing more
 * to ask for says nothing about the disk and is dropped. Thread: the lane's.
 */
#ifndef HAUL_ENGINE_DEPTH_H
#define HAUL_ENGINE_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

enum depth_state { DEPTH_FIXED, DEPTH_TRYING, DEPTH_HOLDING };

struct depth {
	unsigned least, most;
	unsigned now; /* requests in flight at most */
	enum depth_state state;
	/* the round in work */
	unsigned done; /* completions */
	uint64_t bytes, latency_ns, started_ns;
	bool was_short; /* fewer were in flight than allowed */
	/* what rounds are measured by */
	unsigned best_depth;
	double best_rate, best_latency_ns;
	unsigned failures; /* rounds in a row that were not worth their depth */
	uint64_t held_until_ns;
};

/* first == most: stays there. 1 <= first <= most. */
void depth_open(struct depth *d, unsigned first, unsigned most);

/* There is room for another request, but nothing to ask for: this round cannot tell. */
void depth_idle(struct depth *d);

/* A request of `bytes` that took latency_ns has completed at now_ns. True: `now` has changed. */
bool depth_done(struct depth *d, uint64_t now_ns, uint64_t latency_ns, uint64_t bytes);

#endif
