/*
 * A cursor over a byte range, for fixed layouts in big-endian order (lane headers, entry records).
 *
 * Errors stick: after the first read or write beyond the end every further call does nothing, reads give 0, and
 * bytes_end() reports HAUL_TRUNCATED. So a layout is read in one run and checked once.
 */
#ifndef HAUL_BASE_BYTES_H
#define HAUL_BASE_BYTES_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	uint8_t *at;   /* next byte; borrowed memory */
	size_t left;   /* bytes from `at` to the end */
	bool is_short; /* something did not fit */
};

static inline struct bytes bytes_of(void *data, size_t len)
{
	return (struct bytes){ .at = data, .left = len };
}

/* `n` bytes at the cursor, which moves past them; NULL when they do not fit. */
static inline uint8_t *bytes_skip(struct bytes *b, size_t n)
{
	uint8_t *start = b->at;

	if (b->is_short || n > b->left) {
		b->is_short = true;
		return NULL;
	}
	b->at += n;
	b->left -= n;
	return start;
}

static inline void bytes_put(struct bytes *b, const void *data, size_t n)
{
	uint8_t *to = bytes_skip(b, n);

	if (to && n)
		memcpy(to, data, n);
}

static inline void bytes_get(struct bytes *b, void *ret_data, size_t n)
{
	const uint8_t *from = bytes_skip(b, n);

	if (!n)
		return;
	if (from)
		memcpy(ret_data, from, n);
	else
		memset(ret_data, 0, n);
}

/* Unsigned number of `width` bytes (1 to 8), most significant first. */
static inline void bytes_put_uint(struct bytes *b, uint64_t value, size_t width)
{
	uint8_t *to = bytes_skip(b, width);

	for (size_t i = 0; to && i < width; i++)
		to[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
}

static inline uint64_t bytes_get_uint(struct bytes *b, size_t width)
{
	const uint8_t *from = bytes_skip(b, width);
	uint64_t value = 0;

	for (size_t i = 0; from && i < width; i++)
		value = value << 8 | from[i];
	return value;
}

/* HAUL_OK when everything fitted and nothing is left; HAUL_TRUNCATED or HAUL_BAD_VALUE (bytes left over) otherwise. */
HAUL_MUST_USE static inline haul_status bytes_end(const struct bytes *b)
{
	if (b->is_short)
		return HAUL_TRUNCATED;
	return b->left ? HAUL_BAD_VALUE : HAUL_OK;
}

#endif
