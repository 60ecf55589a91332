/*
 * XXH3-128 compiled for several instruction sets from one source (leaf_hash.c), the best one chosen at run time. The
 * library is used as a header only, so that the program needs no libxxhash.so. Internal to the engine.
 */
#ifndef HAUL_ENGINE_LEAF_HASH_H
#define HAUL_ENGINE_LEAF_HASH_H

#include "engine/leaf_stream.h"

#if defined(__x86_64__)
#define HAUL_LEAF_HASH_X86 1
#endif

struct leaf_hash {
	void (*once)(const void *data, size_t len, uint64_t seed, struct haul_digest *ret_digest);
	/* A leaf in pieces, seed 0. */
	void (*begin)(struct leaf_stream *s);
	void (*add)(struct leaf_stream *s, const void *data, size_t len);
	void (*end)(const struct leaf_stream *s, struct haul_digest *ret_digest);
};

extern const struct leaf_hash leaf_hash_plain; /* what every machine of this architecture has: SSE2, NEON, or scalar */
#ifdef HAUL_LEAF_HASH_X86
extern const struct leaf_hash leaf_hash_avx2;
extern const struct leaf_hash leaf_hash_avx512;
#endif

/* The fastest of them that this processor runs. Any thread; the answer never changes. */
const struct leaf_hash *leaf_hash_best(void);

#endif
