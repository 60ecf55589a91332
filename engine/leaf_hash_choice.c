/* Which of the compiled variants runs here. */
#include "engine/leaf_hash.h"

#include <stdatomic.h>

static const struct leaf_hash *choose(void)
{
#ifdef HAUL_LEAF_HASH_X86
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f"))
		return &leaf_hash_avx512;
	if (__builtin_cpu_supports("avx2"))
		return &leaf_hash_avx2;
#endif
	return &leaf_hash_plain;
}

const struct leaf_hash *leaf_hash_best(void)
{
	static const struct leaf_hash *_Atomic chosen; /* threads that race store the same value */
	const struct leaf_hash *best = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (!best) {
		best = choose();
		atomic_store_explicit(&chosen, best, memory_order_relaxed);
	}
	return best;
}
