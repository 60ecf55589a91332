/*
 * Whether a sending lane takes one more block out of the queue. What it has taken only it can send, so at the end the
 * job waits for the lane that has taken most for its speed. Pure. Thread: any one.
 */
#ifndef HAUL_AGENT_LANE_INTAKE_H
#define HAUL_AGENT_LANE_INTAKE_H

#include <stdbool.h>

struct lane_intake {
	unsigned taken; /* blocks that are being read, are ready, or are being sent */
	unsigned ready; /* of those, read and waiting to be sent */
	unsigned sent;  /* blocks that have left, as far as it matters: at most what the lane has memory for */
	bool is_far;    /* the round trip is long, LONG_ROUND_TRIP_NS or more */
};

/* True: one more, if memory has it. */
bool lane_intake_allows(const struct lane_intake *in);

#endif
