/*
 * Leaves, nodes and trees against golden values that another program computed over libxxhash.so; single leaves are what
 * `xxhsum -H2` prints.
 */
#include "engine/hash_tree.h"

#include "digest_text.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static const struct golden_tree {
	uint64_t leaves;
	const char *root; /* leaf i is the digest of i as 8 bytes, big-endian */
} golden_trees[] = {
	{ 1, "2c0a8a99dc147d5445c3b49d035665b2" },     { 2, "3af71365a1264f3177bc3e8a585e978d" },
	{ 255, "966cbefc011478739f4285df61eea34b" },   { 256, "75446cdf6608c2118ecfc17f357fd5f0" },
	{ 257, "bce8b1580ffdf449b222f20d4bf605c1" },   { 512, "da6979f8d1e45e6bfe86b7a05a03b451" },
	{ 65536, "078089df16e9a6472990804d1d32fbbc" }, { 65537, "5f9eab5d524381f57162627ad24183d8" },
};

static const char root_10_tib[] = "dc82a68ed14e22100d8d9c0174f9ccbb";

static struct haul_digest leaf_of(uint64_t index)
{
	struct haul_digest d;
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(index >> (56 - 8 * i));
	leaf_digest(bytes, sizeof(bytes), &d);
	return d;
}

static haul_status put(struct hash_tree *t, uint64_t index)
{
	struct haul_digest d = leaf_of(index);

	return hash_tree_put(t, index, &d);
}

static void assert_put(struct hash_tree *t, uint64_t index)
{
	assert_int_equal(put(t, index).code, HAUL_OK.code);
}

static void assert_root(struct hash_tree *t, const char *golden)
{
	struct haul_digest root;

	assert_true(hash_tree_is_full(t));
	hash_tree_root(t, &root);
	assert_digest(root, golden);
}

static void leaves_have_their_golden_values(void **state)
{
	static const struct {
		size_t len;
		const char *digest;
	} golden[] = {
		{ 0, "99aa06d3014798d86001c324468d497f" },       { 1, "beff62be44bc9be4429e81bc6744101c" },
		{ 16, "f8ae1a6f144fb00b4c6929dc65a535a0" },      { 17, "0ad716e7cfed9dc843287186cdfec85d" },
		{ 128, "2b83749a25627c556772960c7e09e15b" },     { 129, "d2c5fdf14399d768d15020c0444d308f" },
		{ 240, "b2c3c2aa029b2279e16f608e11e76335" },     { 241, "e75e577a31d24834d6afac6f8fa85b01" },
		{ 1024, "1ac8856c8b289d9abb9f0c3761cdfd54" },    { 1025, "15379a00bb4cec9895edccc1adc4d895" },
		{ 4095, "b64f654ba0ec936a8eb411cf06c2f821" },    { 65536, "9f30f0a857570d69b25b6166131fa281" },
		{ 1048575, "305cfb63f083c01a662714b4014f57f4" }, { 1048576, "63b839d1456b05c96a1e48380a87d1af" },
	};
	uint8_t *data = malloc(HAUL_LEAF_BYTES);
	uint32_t x = 1;
	struct haul_digest d;

	(void)state;
	assert_non_null(data);
	for (size_t i = 0; i < HAUL_LEAF_BYTES; i++) {
		x = x * 1664525u + 1013904223u;
		data[i] = (uint8_t)(x >> 24);
	}
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		leaf_digest(data, golden[i].len, &d);
		assert_digest(d, golden[i].digest);
	}
	free(data);
}

static void zeros_have_their_golden_values(void **state)
{
	struct haul_digest d;

	(void)state;
	assert_digest(*leaf_digest_zero(), "b6ef17a3448492b6918780b90550bf34");
	leaf_digest_zeros(HAUL_LEAF_BYTES, &d);
	assert_digest(d, "b6ef17a3448492b6918780b90550bf34");
	leaf_digest_zeros(5, &d);
	assert_digest(d, "c61571a9fa58278456b1430ea9e34626");
}

static void every_size_has_its_leaves(void **state)
{
	(void)state;
	assert_int_equal(leaf_count(0), 1);
	assert_int_equal(leaf_count(1), 1);
	assert_int_equal(leaf_count(HAUL_LEAF_BYTES), 1);
	assert_int_equal(leaf_count(HAUL_LEAF_BYTES + 1), 2);
	assert_int_equal(leaf_count(UINT64_C(10) << 40), 10485760);
	assert_int_equal(leaf_count(UINT64_MAX), UINT64_C(1) << 44);
}

static void trees_have_their_golden_roots(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(golden_trees) / sizeof(golden_trees[0]); i++) {
		struct hash_tree *t = hash_tree_new(golden_trees[i].leaves);

		assert_non_null(t);
		for (uint64_t leaf = 0; leaf < golden_trees[i].leaves; leaf++) {
			assert_false(hash_tree_is_full(t));
			assert_put(t, leaf);
		}
		assert_root(t, golden_trees[i].root);
		hash_tree_free(t);
	}
}

static void the_order_of_leaves_does_not_matter(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(golden_trees) / sizeof(golden_trees[0]); i++) {
		uint64_t n = golden_trees[i].leaves;
		struct hash_tree *backwards = hash_tree_new(n);
		struct hash_tree *jumping = hash_tree_new(n);

		for (uint64_t leaf = 0; leaf < n; leaf++) {
			assert_put(backwards, n - 1 - leaf);
			assert_put(jumping, leaf * 65539 % n); /* 65539 is prime: each leaf once */
		}
		assert_root(backwards, golden_trees[i].root);
		assert_root(jumping, golden_trees[i].root);
		hash_tree_free(backwards);
		hash_tree_free(jumping);
	}
}

static void a_leaf_put_again_is_compared(void **state)
{
	struct hash_tree *t = hash_tree_new(600);
	struct haul_digest other = leaf_of(77777);

	(void)state;
	assert_put(t, 5);
	assert_put(t, 5);
	assert_int_equal(hash_tree_put(t, 5, &other).code, HAUL_CHANGED.code);
	for (uint64_t leaf = 0; leaf < 600; leaf++)
		assert_put(t, leaf);
	assert_put(t, 255); /* in a closed group */
	assert_put(t, 599);
	assert_int_equal(hash_tree_put(t, 255, &other).code, HAUL_CHANGED.code);
	assert_int_equal(hash_tree_put(t, 599, &other).code, HAUL_CHANGED.code);
	assert_int_equal(hash_tree_put(t, 600, &other).code, HAUL_BAD_VALUE.code);
	hash_tree_free(t);
}

static void a_single_leaf_put_again_is_compared(void **state)
{
	struct hash_tree *t = hash_tree_new(1);
	struct haul_digest other = leaf_of(3);

	(void)state;
	assert_put(t, 0);
	assert_put(t, 0);
	assert_int_equal(hash_tree_put(t, 0, &other).code, HAUL_CHANGED.code);
	assert_int_equal(hash_tree_put(t, 1, &other).code, HAUL_BAD_VALUE.code);
	hash_tree_free(t);
}

static void a_leaf_too_old_to_compare_counts_as_changed(void **state)
{
	struct hash_tree *t = hash_tree_new(100000);

	(void)state;
	for (uint64_t leaf = 0; leaf < 70 * 256; leaf++)
		assert_put(t, leaf);
	assert_put(t, 69 * 256);
	assert_put(t, 6 * 256);
	assert_int_equal(put(t, 5 * 256).code, HAUL_CHANGED.code);
	hash_tree_free(t);
}

/* Of the same state: only what can be compared is. */
static void a_leaf_too_old_to_compare_may_be_put_again(void **state)
{
	struct hash_tree *t = hash_tree_new(100000);
	struct haul_digest old = leaf_of(5 * 256), recent = leaf_of(6 * 256), open = leaf_of(70 * 256);

	(void)state;
	for (uint64_t leaf = 0; leaf <= 70 * 256; leaf++)
		assert_put(t, leaf);
	assert_int_equal(hash_tree_put_again(t, 5 * 256, &old).code, HAUL_CODE_OK);
	assert_int_equal(hash_tree_put_again(t, 5 * 256, &recent).code, HAUL_CODE_OK); /* nobody can tell */
	assert_int_equal(hash_tree_put_again(t, 6 * 256, &recent).code, HAUL_CODE_OK);
	assert_int_equal(hash_tree_put_again(t, 6 * 256, &old).code, HAUL_CODE_CHANGED);
	assert_int_equal(hash_tree_put_again(t, 70 * 256, &open).code, HAUL_CODE_OK);
	assert_int_equal(hash_tree_put_again(t, 70 * 256, &old).code, HAUL_CODE_CHANGED);
	assert_int_equal(hash_tree_put_again(t, 70 * 256 + 1, &old).code, HAUL_CODE_OK); /* for the first time */
	hash_tree_free(t);
}

static void a_tree_may_be_dropped_half_way(void **state)
{
	struct hash_tree *t = hash_tree_new(UINT64_C(1) << 43); /* 8 EiB: nothing is allocated for what never comes */

	(void)state;
	for (uint64_t leaf = 1; leaf < UINT64_C(1) << 43; leaf = leaf * 3 + 1)
		assert_put(t, leaf);
	assert_false(hash_tree_is_full(t));
	hash_tree_free(t);
	hash_tree_free(NULL);
}

static size_t allocated(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* 16 lanes with blocks of 4 leaves each, the slowest 64 blocks behind: as a 10 TiB file really comes. */
static void ten_tebibytes_need_little_memory(void **state)
{
	enum { LEAVES = 10485760, BLOCK = 4, WINDOW = 64 };
	size_t before = allocated(), most = 0;
	struct hash_tree *t = hash_tree_new(LEAVES);

	(void)state;
	for (uint64_t start = 0; start < LEAVES; start += BLOCK * WINDOW) {
		for (uint64_t i = 0; i < WINDOW; i++) {
			uint64_t first = start + (WINDOW - 1 - i) * BLOCK;

			for (uint64_t leaf = first; leaf < first + BLOCK; leaf++)
				assert_true(haul_ok(put(t, leaf)));
		}
		if (allocated() - before > most)
			most = allocated() - before;
	}
	assert_root(t, root_10_tib);
	print_message("10,485,760 leaves: at most %zu KiB\n", most / 1024);
	assert_true(most <= 640 * 1024);
	hash_tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_have_their_golden_values),
		cmocka_unit_test(zeros_have_their_golden_values),
		cmocka_unit_test(every_size_has_its_leaves),
		cmocka_unit_test(trees_have_their_golden_roots),
		cmocka_unit_test(the_order_of_leaves_does_not_matter),
		cmocka_unit_test(a_leaf_put_again_is_compared),
		cmocka_unit_test(a_single_leaf_put_again_is_compared),
		cmocka_unit_test(a_leaf_too_old_to_compare_counts_as_changed),
		cmocka_unit_test(a_leaf_too_old_to_compare_may_be_put_again),
		cmocka_unit_test(a_tree_may_be_dropped_half_way),
		cmocka_unit_test(ten_tebibytes_need_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
