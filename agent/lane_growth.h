/*
 * Whether more lanes would carry more: over a long round trip a lane moves one window of TCP a round trip and no more,
 * about LANE_WINDOW_BYTES where the system's limits are the usual ones. Sans-clock: times come in with the samples.
 *
 *   WATCHING --the lanes wait for the network, at a steady rate--> JOINING --the added are in--> SETTLING
 *      ^                                                                                           |
 *      +----------------------------------- it carries more ---------------------------------------+--- else ---> DONE
 *
 * How many lanes a link wants is found by trying: some are added, and if the rate grew by a fair part of what they were
 * to bring, some more. Lanes that did not help stay; they cost little. Where packets wait in a queue the line is full,
 * and nothing is tried while they do. Nor is it below LONG_ROUND_TRIP_NS, where one window fills 25 Gb/s. Thread: any
 * one.
 */
#ifndef HAUL_AGENT_LANE_GROWTH_H
#define HAUL_AGENT_LANE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LANE_WINDOW_BYTES = 3 * 1024 * 1024, LANE_GROWTH_TEXT_MAX = 200 };

#define LONG_ROUND_TRIP_NS UINT64_C(1000000)

struct lane_growth_config {
	unsigned most;          /* lanes */
	uint64_t round_trip_ns; /* of the way without a queue */
};

enum lane_growth_state { GROWTH_WATCHING, GROWTH_JOINING, GROWTH_SETTLING, GROWTH_DONE };

struct lane_growth {
	struct lane_growth_config cfg;
	enum lane_growth_state state;
	uint64_t begin_ns, begin_bytes, begin_wait_ns; /* of the interval being measured; begin_ns 0: none */
	uint64_t settled_ns;                           /* from when on the added lanes count */
	double rate;                                   /* of the interval before, bytes/s; 0: none */
	double base;                                   /* before lanes were added */
	unsigned base_lanes, tries;
	unsigned full_lanes; /* with so many the line was seen full, and it was told */
};

/* What the lanes have done so far, all of them together. */
struct lane_growth_sample {
	uint64_t now_ns;
	uint64_t bytes;         /* moved */
	uint64_t peer_wait_ns;  /* waited for the network or the peer */
	unsigned running;       /* lanes that have joined */
	unsigned joining;       /* that are on their way in */
	uint64_t round_trip_ns; /* as of late, queues included; 0: not known */
	uint64_t left;          /* bytes still to be moved; UINT64_MAX: not known */
};

struct lane_growth_update {
	unsigned add;                    /* lanes to add now */
	char text[LANE_GROWTH_TEXT_MAX]; /* what was found, for --explain; empty: nothing new */
};

void lane_growth_open(struct lane_growth *g, const struct lane_growth_config *cfg);

/* Every 100 ms or so while the job runs. */
void lane_growth_step(struct lane_growth *g, const struct lane_growth_sample *s, struct lane_growth_update *out);

/* A lane that was added did not come: no more are. */
void lane_growth_stop(struct lane_growth *g);

/*
 * Lanes with which to begin, besides what cores and disks ask for: what carries 2.5 Gb/s over this round trip, at most
 * `most`. So that a fast and long line need not be found out step by step.
 */
unsigned lane_growth_first(uint64_t round_trip_ns, unsigned most);

#endif
