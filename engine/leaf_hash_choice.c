/* Which of the compiled variants runs here. */
#include "engine/leaf_hash.h"

#include <stdatomic.h>

static leaf_hash_fn *choose(void)
{
#ifdef HAUL_LEAF_HASH_X86
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f"))
		return leaf_hash_avx512;
	if (__builtin_cpu_supports("avx2"))
		return leaf_hash_avx2;
#endif
	return leaf_hash_plain;
}

leaf_hash_fn *leaf_hash_best(void)
{
	static leaf_hash_fn *_Atomic chosen; /* threads that race store the same value */
	leaf_hash_fn *best = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (!best) {
		best = choose();
		atomic_store_explicit(&chosen, best, memory_order_relaxed);
	}
	return best;
}
