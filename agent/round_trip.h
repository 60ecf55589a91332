/* What the kernel measured of a TCP connection's way. Any thread. */
#ifndef HAUL_AGENT_ROUND_TRIP_H
#define HAUL_AGENT_ROUND_TRIP_H

#include <stdint.h>

/* Nanoseconds; 0: not known. What lies between the two waits in a queue before the narrow part of the way. */
struct round_trip {
	uint64_t least_ns; /* the shortest seen */
	uint64_t now_ns;   /* the kernel's mean of the last ones */
};

struct round_trip round_trip_of(int fd);

#endif
