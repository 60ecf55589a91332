/* Every variant that this processor runs gives the same digests, and the best of them is chosen. */
#include "engine/leaf_hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static void assert_same(const struct leaf_hash *variant, const uint8_t *data, size_t len, uint64_t seed)
{
	struct haul_digest expected, got;

	leaf_hash_plain.once(data, len, seed, &expected);
	variant->once(data, len, seed, &got);
	assert_memory_equal(expected.bytes, got.bytes, sizeof(got.bytes));
}

/* In pieces of `piece` bytes the digest is that of the whole; the stream is used again, so nothing stays behind. */
static void assert_streamed(const struct leaf_hash *variant, const uint8_t *data, size_t len, size_t piece)
{
	struct haul_digest expected, got;
	struct leaf_stream s;

	leaf_hash_plain.once(data, len, 0, &expected);
	for (int round = 0; round < 2; round++) {
		variant->begin(&s);
		for (size_t at = 0; at < len; at += piece)
			variant->add(&s, data + at, len - at < piece ? len - at : piece);
		variant->end(&s, &got);
		assert_memory_equal(expected.bytes, got.bytes, sizeof(got.bytes));
	}
}

static void assert_variant(const struct leaf_hash *variant)
{
	enum { LEN = 70000 };
	uint8_t *data = malloc(LEN);

	assert_non_null(data);
	for (size_t i = 0; i < LEN; i++)
		data[i] = (uint8_t)(i * 131 + i / 251);
	for (size_t len = 0; len < LEN; len = len < 1100 ? len + 1 : len + 997) {
		assert_same(variant, data, len, 0);
		assert_same(variant, data, len, 0x201);
		assert_same(variant, data + 1, len > 0 ? len - 1 : 0, 0);
		assert_streamed(variant, data, len, len < 1100 ? 7 : 4099);
		assert_streamed(variant, data + 1, len > 0 ? len - 1 : 0, 16384);
	}
	free(data);
}

static void variants_agree(void **state)
{
	(void)state;
	assert_variant(leaf_hash_best());
#ifdef HAUL_LEAF_HASH_X86
	if (__builtin_cpu_supports("avx2"))
		assert_variant(&leaf_hash_avx2);
	if (__builtin_cpu_supports("avx512f"))
		assert_variant(&leaf_hash_avx512);
#endif
}

static void the_best_is_chosen(void **state)
{
	const struct leaf_hash *expected = &leaf_hash_plain;

	(void)state;
#ifdef HAUL_LEAF_HASH_X86
	if (__builtin_cpu_supports("avx2"))
		expected = &leaf_hash_avx2;
	if (__builtin_cpu_supports("avx512f"))
		expected = &leaf_hash_avx512;
#endif
	assert_true(leaf_hash_best() == expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variants_agree),
		cmocka_unit_test(the_best_is_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
