/* A list of chunks; a message rarely needs more than the first one. */
#include "peer-protocol/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_CHUNK_BYTES = 8192 };

struct arena_chunk {
	struct arena_chunk *next;
	size_t cap, used;
	alignas(max_align_t) uint8_t memory[];
};

void arena_open(struct arena *a)
{
	*a = (struct arena){ 0 };
}

void arena_close(struct arena *a)
{
	while (a->chunks) {
		struct arena_chunk *next = a->chunks->next;

		free(a->chunks);
		a->chunks = next;
	}
}

void arena_reset(struct arena *a, size_t limit)
{
	while (a->chunks && (a->chunks->next || a->chunks->cap > ARENA_CHUNK_BYTES)) {
		struct arena_chunk *next = a->chunks->next;

		free(a->chunks);
		a->chunks = next;
	}
	if (a->chunks)
		a->chunks->used = 0;
	a->used = 0;
	a->limit = limit;
}

static struct arena_chunk *chunk_with_room(struct arena *a, size_t need)
{
	struct arena_chunk *chunk = a->chunks;
	size_t cap = need > ARENA_CHUNK_BYTES ? need : ARENA_CHUNK_BYTES;

	if (chunk && chunk->cap - chunk->used >= need)
		return chunk;
	chunk = malloc(sizeof(*chunk) + cap);
	if (!chunk)
		return NULL;
	*chunk = (struct arena_chunk){ .next = a->chunks, .cap = cap };
	a->chunks = chunk;
	return chunk;
}

haul_status arena_take(struct arena *a, size_t count, size_t bytes, void **ret_memory)
{
	struct arena_chunk *chunk;
	size_t need;

	if (__builtin_mul_overflow(count, bytes, &need) || need > a->limit)
		return HAUL_OVERFLOW;
	need = (need + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (need > a->limit - a->used)
		return HAUL_OVERFLOW;
	chunk = chunk_with_room(a, need);
	if (!chunk)
		return HAUL_NO_MEMORY;
	*ret_memory = memset(chunk->memory + chunk->used, 0, need);
	chunk->used += need;
	a->used += need;
	return HAUL_OK;
}
