/* The map against a plain array, by random steps with a printed seed. */
#include "agent/index_map.h"

#include "cmocka_first.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KEYS = 3000, STEPS = 60000 };

static uint64_t key_of(unsigned i)
{
	/* runs, as entries have them, and some far away */
	return i < KEYS / 2 ? i : (uint64_t)i << 33;
}

static void it_does_what_an_array_does(void **state)
{
	static char objects[KEYS];
	bool in[KEYS] = { false };
	struct index_map m = { 0 };
	unsigned seed = (unsigned)time(NULL);
	size_t count = 0;

	(void)state;
	print_message("seed %u\n", seed);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = (unsigned)rand_r(&seed) % KEYS;

		switch (rand_r(&seed) % 4) {
		case 0:
		case 1:
			assert_int_equal(index_map_put(&m, key_of(i), &objects[i]).code,
					 in[i] ? HAUL_CODE_EXISTS : HAUL_CODE_OK);
			count += !in[i];
			in[i] = true;
			break;
		case 2:
			assert_ptr_equal(index_map_remove(&m, key_of(i)), in[i] ? &objects[i] : NULL);
			count -= in[i];
			in[i] = false;
			break;
		default:
			assert_ptr_equal(index_map_get(&m, key_of(i)), in[i] ? &objects[i] : NULL);
		}
		assert_int_equal(m.count, count);
	}
	for (unsigned i = 0; i < KEYS; i++)
		assert_ptr_equal(index_map_get(&m, key_of(i)), in[i] ? &objects[i] : NULL);
	index_map_close(&m);
}

/* Also with things put in between. */
static void all_come_out_once(void **state)
{
	static char objects[KEYS];
	bool seen[KEYS] = { false };
	struct index_map m = { 0 };
	unsigned seed = 1, left = KEYS;

	(void)state;
	for (unsigned i = 0; i < KEYS - 10; i++)
		assert_int_equal(index_map_put(&m, key_of(i), &objects[i]).code, HAUL_CODE_OK);
	for (unsigned late = KEYS - 10; left; left--) {
		char *object = index_map_remove_any(&m);
		size_t i;

		assert_non_null(object);
		i = (size_t)(object - objects);
		assert_false(seen[i]);
		seen[i] = true;
		if (late < KEYS && rand_r(&seed) % 8 == 0) {
			assert_int_equal(index_map_put(&m, key_of(late), &objects[late]).code, HAUL_CODE_OK);
			late++;
		}
		if (left == 11)
			for (; late < KEYS; late++)
				assert_int_equal(index_map_put(&m, key_of(late), &objects[late]).code, HAUL_CODE_OK);
	}
	assert_null(index_map_remove_any(&m));
	index_map_close(&m);
}

static void an_empty_one_has_nothing(void **state)
{
	struct index_map m = { 0 };

	(void)state;
	assert_null(index_map_get(&m, 0));
	assert_null(index_map_remove(&m, 0));
	assert_null(index_map_remove_any(&m));
	index_map_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_does_what_an_array_does),
		cmocka_unit_test(all_come_out_once),
		cmocka_unit_test(an_empty_one_has_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
