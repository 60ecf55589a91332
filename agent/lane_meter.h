/*
 * Where a lane's time goes: computing, or waiting, and for whom. Sans-clock: times come in with the events.
 *
 * A lane is one thread, so at each moment it computes or sleeps in poll. Once a turn of its loop it says for whom it
 * will sleep next; what was slept since the last turn belongs to what was said then. The disk runs beside the lane and
 * has its own account. Time that did not end with something to do is nobody's: the wait before the first work, and the
 * wait after the last (docs/LIMITS.md). Thread: the lane's.
 */
#ifndef HAUL_AGENT_LANE_METER_H
#define HAUL_AGENT_LANE_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lane_wait {
	LANE_WAITS_FOR_WORK,  /* sending: nothing is wanted of it */
	LANE_WAITS_FOR_DISK,  /* sending: reads; receiving: writes, and no block is free */
	LANE_WAITS_FOR_FILES, /* the same, with the thread pool that reads and makes small files */
	LANE_WAITS_FOR_PEER,  /* the socket takes no more, or brings nothing */
	LANE_WAITS_FOR_RATE,  /* --bwlimit */
	LANE_WAITS,
};

enum disk_use {
	DISK_BUSY,     /* at least one request in flight */
	DISK_NO_INPUT, /* none, and there is nothing to read or write */
	DISK_NO_ROOM,  /* none: every block holds what the next stage has not taken */
	DISK_USES,
};

/* Nanoseconds; of several lanes together, their sums. */
struct lane_times {
	uint64_t wall;              /* from the first work to the last */
	uint64_t compute;           /* of wall: not asleep */
	uint64_t digest;            /* of compute: leaf digests */
	uint64_t cpu;               /* the thread's CPU time */
	uint64_t ready;             /* it could have run, and no core was free */
	uint64_t waits[LANE_WAITS]; /* of wall: asleep, waiting for */
	uint64_t disk[DISK_USES];   /* wall again, as the disk had it */
	uint64_t files;             /* small files in work in the pool */
	uint64_t sync;              /* receiving job: the commit thread wrote back and synced */
};

/* What a lane says once a turn, before it sleeps. */
struct lane_turn {
	uint64_t now_ns;
	uint64_t idle_ns; /* slept so far, in all */
	uint64_t moved;   /* changes whenever anything of the lane went on */
	uint64_t arrived; /* receiving: changes with every block or digest, not with the end */
	enum lane_wait waits_for;
	/*
	 * What it will have waited for if nothing arrives any more: a receiving lane whose peer has sent all waits for
	 * the last writes, and learns that only at the end. The same as waits_for where there is no doubt.
	 */
	enum lane_wait if_over;
	enum disk_use disk;
	bool has_files; /* small files are in work */
};

struct lane_meter {
	struct lane_times times;
	struct lane_times since;     /* the last time something moved */
	uint64_t unsure[LANE_WAITS]; /* slept since the last arrival, by if_over */
	struct lane_turn last;
	uint64_t peer_wait_ns; /* slept for the peer, whatever came of it */
	bool has_begun;
};

void lane_meter_start(struct lane_meter *m, uint64_t now_ns, uint64_t idle_ns);
void lane_meter_turn(struct lane_meter *m, const struct lane_turn *turn);
void lane_meter_end(struct lane_meter *m); /* after the last turn: `times` is final */
void lane_times_add(struct lane_times *sum, const struct lane_times *more);

/*
 * "busy 41 % (digests 3 %), waits for the disk 50 %, for the peer 8 %; its disk busy 93 %": for --explain. False, and
 * nothing is written: nothing was measured.
 */
bool lane_times_text(const struct lane_times *t, char *ret_text, size_t cap);

#endif
