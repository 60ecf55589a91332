/* One rate for any number of lanes: what is reserved together takes as long as the rate says. */
#include "agent/rate_limit.h"

#include "cmocka_first.h"

#include <pthread.h>

#define SECOND_NS UINT64_C(1000000000)

static void without_a_limit_nobody_waits(void **state)
{
	struct rate_limit r = { 0 };

	(void)state;
	assert_int_equal(rate_limit_reserve(&r, 5, 1 << 20), 0);
	assert_int_equal(rate_limit_reserve(&r, 5, 1 << 20), 0);
}

static void chunks_stand_in_line(void **state)
{
	struct rate_limit r = { .bytes_per_s = 1000 };

	(void)state;
	assert_int_equal(rate_limit_reserve(&r, 7 * SECOND_NS, 500), 0);
	assert_int_equal(rate_limit_reserve(&r, 7 * SECOND_NS, 1000), SECOND_NS / 2);
	assert_int_equal(rate_limit_reserve(&r, 7 * SECOND_NS, 1), SECOND_NS * 3 / 2);
}

/* Time in which nothing was sent is not saved up for a burst. */
static void a_pause_is_no_credit(void **state)
{
	struct rate_limit r = { .bytes_per_s = 1000 };

	(void)state;
	assert_int_equal(rate_limit_reserve(&r, SECOND_NS, 1000), 0);
	assert_int_equal(rate_limit_reserve(&r, 100 * SECOND_NS, 1000), 0);
	assert_int_equal(rate_limit_reserve(&r, 100 * SECOND_NS, 1000), SECOND_NS);
}

static struct rate_limit shared = { .bytes_per_s = 64 * 1024 };

static void *reserve_many(void *arg)
{
	for (unsigned i = 0; i < 1000; i++)
		(void)rate_limit_reserve(&shared, 1, 1024);
	return arg;
}

static void lanes_share_one_rate(void **state)
{
	pthread_t threads[4];
	uint64_t wait_ns;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, reserve_many, NULL), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	wait_ns = rate_limit_reserve(&shared, 1, 1024);
	assert_in_range(wait_ns, 4000 * SECOND_NS / 64 - SECOND_NS / 1000, 4000 * SECOND_NS / 64 + SECOND_NS / 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_limit_nobody_waits),
		cmocka_unit_test(chunks_stand_in_line),
		cmocka_unit_test(a_pause_is_no_credit),
		cmocka_unit_test(lanes_share_one_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
