/*
 * A cursor over msgpack data that never allocates: each call takes one value of the kind asked for, or refuses.
 *
 * msgpack-c's own unpacker builds a tree of objects, whose memory follows the lengths that the sender claims. Here a
 * length is only believed as far as bytes are there to pay for it, and texts are handed out where they lie.
 * Every call returns HAUL_BAD_FRAME when the next value is of another kind, or not there whole; the cursor is then of
 * no further use. Any thread; the data is borrowed for the cursor's life.
 */
#ifndef HAUL_PROTOCOL_PACK_READER_H
#define HAUL_PROTOCOL_PACK_READER_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { PACK_DEPTH_MAX = 8 };

struct pack_reader {
	const uint8_t *at; /* next byte; borrowed */
	size_t left;
};

/* Any of msgpack's integer forms whose value is not negative. */
HAUL_MUST_USE haul_status pack_get_uint(struct pack_reader *r, uint64_t *ret_value);

/* Any of msgpack's integer forms whose value fits. */
HAUL_MUST_USE haul_status pack_get_int(struct pack_reader *r, int64_t *ret_value);

HAUL_MUST_USE haul_status pack_get_bool(struct pack_reader *r, bool *ret_value);

/* str and bin; the bytes are borrowed from the data. */
HAUL_MUST_USE haul_status pack_get_str(struct pack_reader *r, const char **ret_at, size_t *ret_len);
HAUL_MUST_USE haul_status pack_get_bin(struct pack_reader *r, const char **ret_at, size_t *ret_len);

/* The header of an array. `ret_count` is at most the number of bytes left: each element takes one or more. */
HAUL_MUST_USE haul_status pack_get_array(struct pack_reader *r, size_t *ret_count);

/* Whether the next value is nil, which is then taken. */
bool pack_take_nil(struct pack_reader *r);

/* Pass over one value of any kind. `depth`: levels of arrays and maps that it may have, at most PACK_DEPTH_MAX. */
HAUL_MUST_USE haul_status pack_skip(struct pack_reader *r, unsigned depth);

#endif
