/* The block pool: budget, alignment, room, reuse, and that memory is taken by touching only. */
#include "engine/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { KIB = 1024, MIB = 1024 * 1024, ROOM = 64 * KIB };

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)

/* Of the share's mapping. */
static size_t resident_bytes(const struct block_share *s)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
	unsigned char *pages = malloc(s->memory_bytes / page);

	assert_non_null(pages);
	assert_int_equal(mincore(s->memory, s->memory_bytes, pages), 0);
	for (size_t i = 0; i < s->memory_bytes / page; i++)
		n += pages[i] & 1u;
	free(pages);
	return n * page;
}

static void check_block(const struct block *b, size_t bytes)
{
	size_t align = bytes >= BLOCK_ALIGN_BYTES ? BLOCK_ALIGN_BYTES : (size_t)sysconf(_SC_PAGESIZE);

	assert_int_equal((uintptr_t)b->data % align, 0);
	assert_true(b->cap >= bytes + ROOM);
	memset(b->data, 0x5a, b->cap);
}

static void blocks_of_every_size_are_aligned_and_apart(void **state)
{
	struct block_budget budget;

	(void)state;
	block_budget_open(&budget, 128 * MIB);
	for (size_t bytes = 64 * KIB; bytes <= 16 * MIB; bytes *= 2) {
		struct block_share share;
		struct block *b[3];

		assert_code(block_share_open(&share, &budget, 3, bytes), HAUL_OK);
		for (unsigned i = 0; i < 3; i++) {
			b[i] = block_take(&share);
			assert_non_null(b[i]);
			check_block(b[i], bytes);
			b[i]->data[0] = b[i]->data[b[i]->cap - 1] = (uint8_t)i;
		}
		assert_null(block_take(&share));
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(b[i]->data[0], i);
			assert_int_equal(b[i]->data[b[i]->cap - 1], i);
			block_put(b[i]);
		}
		block_share_close(&share);
		assert_int_equal(atomic_load(&budget.used_bytes), 0);
	}
}

static void share_is_reserved_whole_or_not_at_all(void **state)
{
	struct block_share one, two;
	struct block_budget budget;

	(void)state;
	block_budget_open(&budget, 5 * block_cost(MIB));
	assert_code(block_share_open(&one, &budget, 3, MIB), HAUL_OK);
	assert_int_equal(atomic_load(&budget.used_bytes), 3 * block_cost(MIB));
	assert_code(block_share_open(&two, &budget, 3, MIB), HAUL_BUSY);
	assert_null(block_take(&two));
	block_share_close(&two);
	assert_code(block_share_open(&two, &budget, UINT32_MAX, 16 * MIB), HAUL_BUSY);
	assert_int_equal(atomic_load(&budget.used_bytes), 3 * block_cost(MIB));
	assert_code(block_share_open(&two, &budget, 2, MIB), HAUL_OK);
	block_share_close(&one);
	block_share_close(&two);
	block_share_close(&two);
	assert_int_equal(atomic_load(&budget.used_bytes), 0);
}

static void block_used_last_is_taken_first(void **state)
{
	struct block_share share;
	struct block_budget budget;
	struct block *a, *b;

	(void)state;
	block_budget_open(&budget, 16 * MIB);
	assert_code(block_share_open(&share, &budget, 3, MIB), HAUL_OK);
	a = block_take(&share);
	b = block_take(&share);
	block_put(b);
	block_put(a);
	assert_ptr_equal(block_take(&share), a);
	block_put(a);
	block_share_close(&share);
}

/* 1 GiB of budget costs nothing until used; then no more than the budget says. */
static void memory_is_taken_by_touching(void **state)
{
	struct block_share share;
	struct block_budget budget;
	struct block *b;

	(void)state;
	block_budget_open(&budget, 2048ull * MIB);
	assert_code(block_share_open(&share, &budget, 256, 4 * MIB), HAUL_OK);
	assert_int_equal(resident_bytes(&share), 0);
	b = block_take(&share);
	memset(b->data, 1, b->cap);
	assert_int_equal(resident_bytes(&share), block_cost(4 * MIB));
	block_put(b);
	block_share_close(&share);
}

static void filled_blocks_differ_leaf_by_leaf(void **state)
{
	enum { BLOCKS = 3, LEAVES = 4, BYTES = LEAVES * 64 * KIB };
	struct block_budget budget;
	struct block_share share, other;
	const uint8_t *leaves[2 * BLOCKS * LEAVES];
	unsigned count = 0;

	(void)state;
	block_budget_open(&budget, 16 * MIB);
	assert_code(block_share_open(&share, &budget, BLOCKS, BYTES), HAUL_OK);
	assert_code(block_share_open(&other, &budget, BLOCKS, BYTES), HAUL_OK);
	block_share_fill(&share, 0);
	block_share_fill(&other, 1);
	for (unsigned i = 0; i < BLOCKS; i++)
		for (unsigned k = 0; k < LEAVES; k++) {
			leaves[count++] = share.blocks[i].data + k * 64 * KIB;
			leaves[count++] = other.blocks[i].data + k * 64 * KIB;
		}
	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; k < i; k++)
			assert_memory_not_equal(leaves[i], leaves[k], 64 * KIB);
	block_share_close(&share);
	block_share_close(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_every_size_are_aligned_and_apart),
		cmocka_unit_test(share_is_reserved_whole_or_not_at_all),
		cmocka_unit_test(block_used_last_is_taken_first),
		cmocka_unit_test(memory_is_taken_by_touching),
		cmocka_unit_test(filled_blocks_differ_leaf_by_leaf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
