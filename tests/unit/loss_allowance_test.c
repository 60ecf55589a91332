/* How many losses are taken, and how they come back; and leaves that are taken once. */
#include "agent/leaf_claims.h"
#include "agent/loss_allowance.h"

#include "cmocka_first.h"

static const uint64_t second_ns = 1000000000;

static void so_many_at_once_and_no_more(void **state)
{
	struct loss_allowance a = { 0 };

	(void)state;
	for (int i = 0; i < LOSSES_AT_ONCE; i++)
		assert_true(loss_allowance_take(&a, 100 * second_ns + (uint64_t)i));
	assert_false(loss_allowance_take(&a, 105 * second_ns));
	assert_true(loss_allowance_take(&a, 110 * second_ns + 1)); /* one is given back */
	assert_false(loss_allowance_take(&a, 112 * second_ns));
	assert_true(loss_allowance_take(&a, 130 * second_ns + 1)); /* two */
	assert_true(loss_allowance_take(&a, 130 * second_ns + 1));
	assert_false(loss_allowance_take(&a, 130 * second_ns + 1));
	for (int i = 0; i < LOSSES_AT_ONCE; i++)
		assert_true(loss_allowance_take(&a, 100000 * second_ns)); /* all, and no more than that */
	assert_false(loss_allowance_take(&a, 100000 * second_ns));
}

static void one_now_and_then_goes_on_for_ever(void **state)
{
	struct loss_allowance a = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		assert_true(loss_allowance_take(&a, i * 11 * second_ns));
}

static void a_leaf_is_taken_once(void **state)
{
	struct leaf_map have;
	struct leaf_claims c;

	(void)state;
	assert_true(leaf_map_open(&have, 200));
	leaf_map_set(&have, 3);
	leaf_map_set(&have, 130);
	assert_true(leaf_claims_open(&c, 200, &have));
	for (uint64_t i = 0; i < 200; i++)
		assert_int_equal(leaf_claims_take(&c, i), i != 3 && i != 130);
	assert_false(leaf_claims_take(&c, 199));
	leaf_claims_give_back(&c, 199);
	assert_true(leaf_claims_take(&c, 199));
	leaf_claims_close(&c);
	leaf_map_close(&have);

	/* Of what is too long to be followed every leaf may be written, and none is recorded. */
	assert_true(leaf_claims_open(&c, LEAF_CLAIMS_MAX + 1, &have));
	assert_null(c.words);
	assert_true(leaf_claims_take(&c, 7));
	assert_true(leaf_claims_take(&c, 7));
	leaf_claims_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(so_many_at_once_and_no_more),
		cmocka_unit_test(one_now_and_then_goes_on_for_ever),
		cmocka_unit_test(a_leaf_is_taken_once),
	};

	return cmocka_run_group_tests_name("loss_allowance", tests, NULL, NULL);
}
