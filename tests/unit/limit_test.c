/* Which stage is named, from synthetic times: the one that the others wait for and which itself does not wait. */
#include "agent/limit.h"

#include "cmocka_first.h"

#define MS UINT64_C(1000000)

/* A lane of 1000 ms: so much busy, so much asleep for each. */
static struct lane_times lane(uint64_t busy, uint64_t work, uint64_t disk, uint64_t files, uint64_t peer)
{
	return (struct lane_times){ .wall = 1000 * MS,
				    .compute = busy * MS,
				    .cpu = busy * MS,
				    .waits = { [LANE_WAITS_FOR_WORK] = work * MS,
					       [LANE_WAITS_FOR_DISK] = disk * MS,
					       [LANE_WAITS_FOR_FILES] = files * MS,
					       [LANE_WAITS_FOR_PEER] = peer * MS } };
}

static enum transfer_limit narrowest(struct lane_times source, struct lane_times destination)
{
	const struct limit_facts f = {
		.source = &source, .destination = &destination, .elapsed_s = 1, .bytes = UINT64_C(1) << 30
	};

	return limit_of(&f);
}

static void each_stage_is_named(void **state)
{
	(void)state;
	assert_int_equal(narrowest(lane(200, 0, 780, 0, 20), lane(250, 0, 0, 0, 750)), LIMIT_SOURCE_DISK);
	assert_int_equal(narrowest(lane(970, 0, 20, 0, 10), lane(600, 0, 0, 0, 400)), LIMIT_SOURCE_CPU);
	assert_int_equal(narrowest(lane(80, 0, 0, 0, 920), lane(100, 0, 0, 0, 900)), LIMIT_NETWORK);
	assert_int_equal(narrowest(lane(600, 0, 0, 0, 400), lane(980, 0, 0, 0, 20)), LIMIT_DESTINATION_CPU);
	assert_int_equal(narrowest(lane(150, 0, 0, 0, 850), lane(200, 0, 780, 0, 20)), LIMIT_DESTINATION_DISK);
	assert_int_equal(narrowest(lane(150, 0, 0, 800, 50), lane(200, 0, 0, 0, 800)), LIMIT_FILES);
	assert_int_equal(narrowest(lane(150, 0, 0, 50, 800), lane(200, 0, 0, 750, 50)), LIMIT_FILES);
}

/* The sender is busy more than it waits, but it does wait: for a receiver that never does. */
static void who_never_waits_is_narrower_than_who_is_busy(void **state)
{
	(void)state;
	assert_int_equal(narrowest(lane(700, 0, 0, 0, 300), lane(990, 0, 0, 0, 10)), LIMIT_DESTINATION_CPU);
	assert_int_equal(narrowest(lane(990, 0, 0, 0, 10), lane(700, 0, 0, 0, 300)), LIMIT_SOURCE_CPU);
}

/* A full socket alone is no proof of a slow network: the receiver must be waiting for it too. */
static void a_full_socket_is_the_network_only_if_the_other_end_is_hungry(void **state)
{
	(void)state;
	assert_int_equal(narrowest(lane(50, 0, 0, 0, 950), lane(300, 0, 690, 0, 10)), LIMIT_DESTINATION_DISK);
	assert_int_equal(narrowest(lane(50, 0, 0, 0, 950), lane(50, 0, 0, 0, 950)), LIMIT_NETWORK);
	assert_int_equal(narrowest(lane(300, 0, 650, 0, 50), lane(50, 0, 0, 0, 950)), LIMIT_SOURCE_DISK);
}

/* On a full machine a lane stands in line for a core after each sleep; the link fills the socket meanwhile. */
static void standing_in_line_after_a_sleep_is_not_the_cpu(void **state)
{
	struct lane_times source = lane(100, 0, 0, 0, 900), destination = lane(120, 0, 0, 0, 880);

	(void)state;
	source.ready = 500 * MS;
	destination.ready = 700 * MS;
	assert_int_equal(narrowest(source, destination), LIMIT_NETWORK);
	destination.compute = 920 * MS; /* driven off its core in the midst of its work */
	destination.waits[LANE_WAITS_FOR_PEER] = 80 * MS;
	assert_int_equal(narrowest(source, destination), LIMIT_DESTINATION_CPU);
}

static void a_rate_limit_is_named_at_either_end(void **state)
{
	struct lane_times limited = lane(50, 0, 0, 0, 50), other = lane(50, 0, 0, 0, 940);

	(void)state;
	limited.waits[LANE_WAITS_FOR_RATE] = 900 * MS;
	assert_int_equal(narrowest(limited, other), LIMIT_RATE);
	other = lane(50, 0, 0, 0, 800);
	assert_int_equal(narrowest(other, limited), LIMIT_RATE);
}

/* Nothing is wanted of the source: small files at the other end, or a disk that takes long to sync. */
static void a_source_without_work_waits_for_the_destination(void **state)
{
	struct lane_times destination = lane(50, 0, 0, 0, 900);

	(void)state;
	assert_int_equal(narrowest(lane(50, 900, 0, 0, 0), destination), LIMIT_FILES);
	destination.sync = 800 * MS;
	assert_int_equal(narrowest(lane(50, 900, 0, 0, 0), destination), LIMIT_DESTINATION_DISK);
	destination.sync = 400 * MS;
	assert_int_equal(narrowest(lane(50, 900, 0, 0, 0), destination), LIMIT_FILES);
}

/* Few blocks: the source was busy for all of its short time, and the destination writes on. */
static void who_was_through_early_limited_nothing(void **state)
{
	struct lane_times source = lane(95, 0, 5, 0, 0);

	(void)state;
	source.wall = 100 * MS;
	assert_int_equal(narrowest(source, lane(120, 0, 800, 0, 80)), LIMIT_DESTINATION_DISK);
}

static void too_little_says_nothing(void **state)
{
	const struct lane_times source = lane(100, 0, 900, 0, 0), destination = lane(100, 0, 0, 0, 900), none = { 0 };
	struct limit_facts f = { &source, &destination, 0.49, UINT64_C(1) << 30 };

	(void)state;
	assert_int_equal(limit_of(&f), LIMIT_NONE);
	f.elapsed_s = 0.5;
	assert_int_equal(limit_of(&f), LIMIT_SOURCE_DISK);
	f.bytes = LIMIT_LEAST_BYTES - 1;
	assert_int_equal(limit_of(&f), LIMIT_NONE);
	f = (struct limit_facts){ &none, &none, 10, UINT64_C(1) << 30 };
	assert_int_equal(limit_of(&f), LIMIT_NONE);
}

/* What a peer says is bounded, not true: no share is above 1, nothing divides by zero. */
static void absurd_times_of_a_peer_do_no_harm(void **state)
{
	struct lane_times absurd = { .wall = 1,
				     .compute = (UINT64_C(1) << 43) * 1000000,
				     .ready = (UINT64_C(1) << 43) * 1000000 };
	const struct limit_facts f = { &absurd, &absurd, 1, UINT64_C(1) << 30 };
	double shares[LIMIT_KINDS];

	(void)state;
	for (unsigned i = 0; i < LANE_WAITS; i++)
		absurd.waits[i] = UINT64_MAX / 4;
	limit_shares(&f, shares);
	for (unsigned i = 0; i < LIMIT_KINDS; i++)
		assert_true(shares[i] >= 0 && shares[i] <= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stage_is_named),
		cmocka_unit_test(who_never_waits_is_narrower_than_who_is_busy),
		cmocka_unit_test(a_full_socket_is_the_network_only_if_the_other_end_is_hungry),
		cmocka_unit_test(standing_in_line_after_a_sleep_is_not_the_cpu),
		cmocka_unit_test(a_rate_limit_is_named_at_either_end),
		cmocka_unit_test(a_source_without_work_waits_for_the_destination),
		cmocka_unit_test(who_was_through_early_limited_nothing),
		cmocka_unit_test(too_little_says_nothing),
		cmocka_unit_test(absurd_times_of_a_peer_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
