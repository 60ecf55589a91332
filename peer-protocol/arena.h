/*
 * Memory for the arrays of one decoded message: taken piece by piece, given back all at once, and never more than a
 * limit.
 */
#ifndef HAUL_PROTOCOL_ARENA_H
#define HAUL_PROTOCOL_ARENA_H

#include "engine/base/status.h"

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks; /* newest first; owned */
	size_t used;                /* bytes handed out since the last reset */
	size_t limit;               /* bytes that may be handed out */
};

/* Nothing is allocated yet. Ends with arena_close(). */
void arena_open(struct arena *a);
void arena_close(struct arena *a);

/* Everything handed out becomes invalid; from now on `limit` bytes may be. One small chunk is kept for reuse. */
void arena_reset(struct arena *a, size_t limit);

/* `count` zeroed records of `bytes` each, aligned for any type. HAUL_OVERFLOW: beyond the limit; HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status arena_take(struct arena *a, size_t count, size_t bytes, void **ret_memory);

#endif
