/* What a sending lane takes out of the queue, and what it leaves to others. */
#include "tests/unit/cmocka_first.h"

#include "agent/lane_intake.h"

static bool allows(unsigned taken, unsigned ready, unsigned sent, bool is_far)
{
	const struct lane_intake in = { .taken = taken, .ready = ready, .sent = sent, .is_far = is_far };

	return lane_intake_allows(&in);
}

static void a_beginner_takes_one(void **state)
{
	(void)state;
	assert_true(allows(0, 0, 0, false));
	assert_false(allows(1, 0, 0, false));
	assert_true(allows(0, 0, 0, true));
	assert_false(allows(1, 0, 0, true));
}

static void each_that_has_left_brings_one_more(void **state)
{
	(void)state;
	assert_true(allows(1, 0, 1, false));
	assert_false(allows(2, 0, 1, false));
	assert_true(allows(7, 6, 8, false));
}

static void far_away_the_disk_is_two_blocks_ahead_at_most(void **state)
{
	(void)state;
	assert_true(allows(2, 1, 8, true));
	assert_false(allows(3, 2, 8, true));
	assert_false(allows(7, 5, 8, true));
}

static void a_disk_slower_than_the_line_gets_all_blocks(void **state)
{
	(void)state;
	assert_true(allows(7, 0, 8, true));
	assert_true(allows(8, 1, 8, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_beginner_takes_one),
		cmocka_unit_test(each_that_has_left_brings_one_more),
		cmocka_unit_test(far_away_the_disk_is_two_blocks_ahead_at_most),
		cmocka_unit_test(a_disk_slower_than_the_line_gets_all_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
