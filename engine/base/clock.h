/* The clock that durations are measured with. Any thread. */
#ifndef HAUL_ENGINE_BASE_CLOCK_H
#define HAUL_ENGINE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, nanoseconds. */
static inline uint64_t clock_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
