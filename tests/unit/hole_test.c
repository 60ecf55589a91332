/* Pages of zeros, of which a file with holes needs none on the medium: where they begin and end. */
#include "tests/unit/cmocka_first.h"

#include "engine/hole.h"

enum { PAGES = 4, TAIL = 100, BYTES = PAGES * HOLE_BYTES + TAIL };

static uint8_t data[BYTES];

static void fill(int byte)
{
	memset(data, byte, sizeof(data));
}

static void zeros_run_to_the_end(void **state)
{
	(void)state;
	fill(0);
	assert_int_equal(hole_run(data, BYTES), BYTES);
	assert_int_equal(hole_free_run(data, BYTES), 0);
	assert_int_equal(hole_run(data, 0), 0);
	assert_int_equal(hole_run(data, 1), 1);
}

static void one_byte_keeps_its_page(void **state)
{
	(void)state;
	for (size_t at = 0; at < BYTES; at += at % HOLE_BYTES ? HOLE_BYTES - 1 : 1) {
		size_t page = at / HOLE_BYTES * HOLE_BYTES, end = page + hole_page(BYTES - page);

		fill(0);
		data[at] = 1;
		assert_int_equal(hole_run(data, BYTES), page);
		assert_int_equal(hole_free_run(data + page, BYTES - page), end - page);
		if (end < BYTES)
			assert_int_equal(hole_run(data + end, BYTES - end), BYTES - end);
	}
}

static void data_without_zeros_is_one_run(void **state)
{
	(void)state;
	fill(7);
	assert_int_equal(hole_free_run(data, BYTES), BYTES);
	assert_int_equal(hole_run(data, BYTES), 0);
	memset(data + 10, 0, HOLE_BYTES); /* a page's length of zeros, on no page */
	assert_int_equal(hole_free_run(data, BYTES), BYTES);
}

static void the_rest_of_the_last_page_is_a_page(void **state)
{
	(void)state;
	fill(7);
	memset(data + BYTES - TAIL, 0, TAIL);
	assert_int_equal(hole_free_run(data, BYTES), BYTES - TAIL);
	assert_int_equal(hole_run(data + BYTES - TAIL, TAIL), TAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeros_run_to_the_end),
		cmocka_unit_test(one_byte_keeps_its_page),
		cmocka_unit_test(data_without_zeros_is_one_run),
		cmocka_unit_test(the_rest_of_the_last_page_is_a_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
