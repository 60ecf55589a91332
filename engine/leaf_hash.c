/* Compiled once per instruction set; LEAF_HASH_NAME says which of leaf_hash.h this one is. Cannot fail. */
#include "engine/leaf_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string.h>

_Static_assert(sizeof(XXH128_canonical_t) == HAUL_DIGEST_BYTES, "a digest is the canonical form");
_Static_assert(sizeof(XXH3_state_t) <= LEAF_STREAM_STATE_BYTES, "a stream holds the library's state");
_Static_assert(_Alignof(XXH3_state_t) <= LEAF_STREAM_ALIGN, "aligned as the library wants it");

static void put(XXH128_hash_t hash, struct haul_digest *ret_digest)
{
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, hash);
	memcpy(ret_digest->bytes, canonical.digest, sizeof(ret_digest->bytes));
}

static void once(const void *data, size_t len, uint64_t seed, struct haul_digest *ret_digest)
{
	/* Two calls: without a seed the library folds its secret into the code, which the leaves profit from. */
	put(seed ? XXH3_128bits_withSeed(data, len, seed) : XXH3_128bits(data, len), ret_digest);
}

static size_t gap(const struct leaf_stream *s)
{
	return -(uintptr_t)s->memory % LEAF_STREAM_ALIGN;
}

static XXH3_state_t *state_of(struct leaf_stream *s)
{
	return (XXH3_state_t *)(void *)(s->memory + gap(s));
}

/* The calls return XXH_ERROR for a null pointer alone. */
static void begin(struct leaf_stream *s)
{
	(void)XXH3_128bits_reset(state_of(s));
}

static void add(struct leaf_stream *s, const void *data, size_t len)
{
	if (len)
		(void)XXH3_128bits_update(state_of(s), data, len);
}

static void end(const struct leaf_stream *s, struct haul_digest *ret_digest)
{
	put(XXH3_128bits_digest((const XXH3_state_t *)(const void *)(s->memory + gap(s))), ret_digest);
}

const struct leaf_hash LEAF_HASH_NAME = { .once = once, .begin = begin, .add = add, .end = end };
