/*
 * The digest of a leaf whose bytes come in pieces: each is hashed while it is in the first level of cache, before or
 * after it is ciphered there. Hashing whole leaves fetched them from memory twice: 1 MiB is more than a core's own
 * cache.
 *
 * The digest is that of leaf_digest() over all pieces together. Cannot fail. Thread: one at a time.
 */
#ifndef HAUL_ENGINE_LEAF_STREAM_H
#define HAUL_ENGINE_LEAF_STREAM_H

#include "engine/base/entry.h"

#include <stddef.h>

enum {
	LEAF_STREAM_STATE_BYTES = 576,
	LEAF_STREAM_ALIGN = 64, /* that of the widest registers; an allocator gives less */
	/* A good length of piece: four TLS records, a quarter of the second level of cache or less. */
	LEAF_PIECE_BYTES = 64 * 1024,
};

/* Not to be moved or copied while a leaf is in work: where in `memory` the state begins depends on its address. */
struct leaf_stream {
	unsigned char memory[LEAF_STREAM_STATE_BYTES + LEAF_STREAM_ALIGN];
};

/* Begin a leaf, whatever the stream held before. */
void leaf_stream_begin(struct leaf_stream *s);
void leaf_stream_add(struct leaf_stream *s, const void *data, size_t len);
void leaf_stream_end(const struct leaf_stream *s, struct haul_digest *ret_digest);

#endif
