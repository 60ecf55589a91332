/* --bwlimit: one rate shared by the lanes of a job. */
#ifndef HAUL_AGENT_RATE_LIMIT_H
#define HAUL_AGENT_RATE_LIMIT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { RATE_LIMIT_CHUNK_BYTES = 64 * 1024 }; /* what a lane moves at once while a limit is set */

struct rate_limit {
	uint64_t bytes_per_s;     /* 0: none; set before the lanes start */
	_Atomic uint64_t free_ns; /* when the next byte may go, on the clock of uv_hrtime() */
};

/* Nanoseconds to wait before `bytes` may move; they count as moved from then on. 0 without a limit. Any thread. */
uint64_t rate_limit_reserve(struct rate_limit *r, uint64_t now_ns, size_t bytes);

#endif
