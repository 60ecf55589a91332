/*
 * Runs of zeros that a file with holes need not have on the medium: whole pages of its own, and what the end of the
 * file leaves of the last one. Any thread.
 */
#ifndef HAUL_ENGINE_HOLE_H
#define HAUL_ENGINE_HOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HOLE_BYTES = 4096 };

/* Bytes of the page at `data`: HOLE_BYTES, or less at the end. len > 0. */
static inline size_t hole_page(size_t len)
{
	return len < HOLE_BYTES ? len : HOLE_BYTES;
}

static inline bool hole_is_at(const uint8_t *data, size_t len)
{
	return data[0] == 0 && memcmp(data, data + 1, hole_page(len) - 1) == 0;
}

/* How much from `data` on, which begins a page, is pages of zeros, or pages of anything else. */
static inline size_t hole_walk(const uint8_t *data, size_t len, bool zeros)
{
	size_t at = 0;

	while (at < len && hole_is_at(data + at, len - at) == zeros)
		at += hole_page(len - at);
	return at;
}

static inline size_t hole_run(const uint8_t *data, size_t len)
{
	return hole_walk(data, len, true);
}

/* What comes before the next page of zeros. */
static inline size_t hole_free_run(const uint8_t *data, size_t len)
{
	return hole_walk(data, len, false);
}

#endif
