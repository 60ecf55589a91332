/* Which leaves: bits, their number, and runs of them. */
#include "tests/unit/cmocka_first.h"

#include "engine/leaf_map.h"

static void assert_run(const struct leaf_map *m, bool set, uint64_t from, uint64_t first, uint64_t count)
{
	uint64_t ret_first = 999, ret_count = 999;

	assert_int_equal(leaf_map_run(m, set, from, &ret_first, &ret_count), count > 0);
	assert_int_equal(ret_count, count);
	if (count)
		assert_int_equal(ret_first, first);
}

static void a_map_counts_its_leaves(void **state)
{
	struct leaf_map m;

	(void)state;
	assert_true(leaf_map_open(&m, 130));
	leaf_map_set(&m, 0);
	leaf_map_set(&m, 64);
	leaf_map_set(&m, 129);
	leaf_map_set(&m, 129);
	leaf_map_set(&m, 130);
	leaf_map_set(&m, UINT64_MAX);
	assert_int_equal(m.count, 3);
	assert_true(leaf_map_has(&m, 0) && leaf_map_has(&m, 64) && leaf_map_has(&m, 129));
	assert_false(leaf_map_has(&m, 63) || leaf_map_has(&m, 65) || leaf_map_has(&m, 130));
	assert_false(leaf_map_has(&m, UINT64_MAX));
	leaf_map_clear(&m, 64);
	leaf_map_clear(&m, 64);
	leaf_map_clear(&m, 1);
	leaf_map_clear(&m, 130);
	assert_int_equal(m.count, 2);
	assert_false(leaf_map_has(&m, 64));
	leaf_map_close(&m);
	leaf_map_close(&m);
	assert_null(m.words);
}

static void a_map_gives_its_runs(void **state)
{
	struct leaf_map m;

	(void)state;
	assert_true(leaf_map_open(&m, 128));
	assert_run(&m, true, 0, 0, 0);
	assert_run(&m, false, 0, 0, 128);
	for (uint64_t i = 60; i < 70; i++)
		leaf_map_set(&m, i);
	leaf_map_set(&m, 127);
	assert_run(&m, true, 0, 60, 10);
	assert_run(&m, true, 65, 65, 5);
	assert_run(&m, true, 70, 127, 1);
	assert_run(&m, true, 128, 0, 0);
	assert_run(&m, false, 0, 0, 60);
	assert_run(&m, false, 60, 70, 57);
	assert_run(&m, false, 127, 0, 0);
	assert_run(&m, false, UINT64_MAX, 0, 0);
	leaf_map_close(&m);
	assert_true(leaf_map_open(&m, 0));
	assert_run(&m, false, 0, 0, 0);
	leaf_map_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_counts_its_leaves),
		cmocka_unit_test(a_map_gives_its_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
