/* Compiled once per instruction set; LEAF_HASH_NAME says which of leaf_hash.h this one is. Cannot fail. */
#include "engine/leaf_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string.h>

_Static_assert(sizeof(XXH128_canonical_t) == HAUL_DIGEST_BYTES, "a digest is the canonical form");

void LEAF_HASH_NAME(const void *data, size_t len, uint64_t seed, struct haul_digest *ret_digest)
{
	/* Two calls: without a seed the library folds its secret into the code, which the leaves profit from. */
	XXH128_hash_t hash = seed ? XXH3_128bits_withSeed(data, len, seed) : XXH3_128bits(data, len);
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, hash);
	memcpy(ret_digest->bytes, canonical.digest, sizeof(ret_digest->bytes));
}
