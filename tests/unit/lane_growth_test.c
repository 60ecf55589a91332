/*
 * Lanes are added while that helps, against a simulated line: a rate, a round trip, a window per lane that opens by
 * slow start, and a queue.
 */
#include "tests/unit/cmocka_first.h"

#include "agent/lane_growth.h"

#include <string.h>

enum { LANES = 16, STEP_MS = 100 };
#define MS UINT64_C(1000000)
#define GBIT 125e6

struct line {
	double rate;            /* bytes/s of the narrowest part */
	uint64_t trip_ns;       /* round trip */
	bool has_queue;         /* what is sent too much waits and is seen in the round trip */
	uint64_t full_until_ns; /* its queue is full although it carries little: losses in slow start */
	double waiting;         /* share of the lanes' time */
	uint64_t job;           /* bytes of it; 0: not known */
	uint64_t join_ns[LANES];
	unsigned started;
	uint64_t now_ns, bytes, wait_ns, round_trip_ns;
	char last[LANE_GROWTH_TEXT_MAX];
};

static double window(const struct line *l, unsigned lane)
{
	double trips = (double)(l->now_ns - l->join_ns[lane]) / (double)l->trip_ns, bytes = 14600;

	for (; trips >= 1 && bytes < LANE_WINDOW_BYTES; trips--)
		bytes *= 2;
	return bytes < LANE_WINDOW_BYTES ? bytes : LANE_WINDOW_BYTES;
}

static unsigned running(const struct line *l)
{
	unsigned n = 0;

	while (n < l->started && l->join_ns[n] <= l->now_ns)
		n++;
	return n;
}

static void line_go(struct line *l, uint64_t ns)
{
	double offered = 0, carried;

	l->now_ns += ns;
	for (unsigned i = 0; i < running(l); i++)
		offered += window(l, i) * 1e9 / (double)l->trip_ns;
	carried = offered < l->rate ? offered : l->rate;
	l->bytes += (uint64_t)(carried * (double)ns / 1e9);
	l->wait_ns += (uint64_t)((double)ns * l->waiting * running(l));
	l->round_trip_ns = l->trip_ns;
	if (l->has_queue && offered > l->rate)
		l->round_trip_ns = (uint64_t)((double)l->trip_ns * offered / l->rate);
	if (l->now_ns < l->full_until_ns)
		l->round_trip_ns = 2 * l->trip_ns;
}

static void line_add(struct line *l, unsigned count)
{
	while (count-- > 0) {
		assert_true(l->started < LANES);
		l->join_ns[l->started++] = l->now_ns + 4 * l->trip_ns;
	}
}

static uint64_t left(const struct line *l)
{
	if (!l->job)
		return UINT64_MAX;
	return l->job > l->bytes ? l->job - l->bytes : 0;
}

/* Lanes in the end, after so many seconds. */
static unsigned lanes_after(struct line *l, unsigned begin, unsigned most, unsigned seconds)
{
	const struct lane_growth_config cfg = { .most = most, .round_trip_ns = l->trip_ns };
	struct lane_growth_update update;
	struct lane_growth g;

	l->now_ns = 1000 * MS;
	lane_growth_open(&g, &cfg);
	line_add(l, begin);
	for (unsigned i = 0; i < seconds * 1000 / STEP_MS; i++) {
		struct lane_growth_sample s;

		line_go(l, STEP_MS * MS);
		s = (struct lane_growth_sample){ .now_ns = l->now_ns,
						 .bytes = l->bytes,
						 .peer_wait_ns = l->wait_ns,
						 .running = running(l),
						 .joining = l->started - running(l),
						 .round_trip_ns = l->round_trip_ns,
						 .left = left(l) };
		lane_growth_step(&g, &s, &update);
		if (update.text[0])
			memcpy(l->last, update.text, sizeof(l->last));
		assert_true(l->started + update.add <= most);
		line_add(l, update.add);
	}
	return l->started;
}

static void a_short_way_is_left_alone(void **state)
{
	struct line l = { .rate = 10 * GBIT, .trip_ns = MS / 2, .waiting = 0.95 };

	(void)state;
	assert_int_equal(lanes_after(&l, 2, LANES, 20), 2);
}

static void lanes_are_added_until_the_line_is_full(void **state)
{
	struct line l = { .rate = 9 * GBIT, .trip_ns = 20 * MS, .waiting = 0.95, .has_queue = true };
	unsigned lanes;

	(void)state;
	lanes = lanes_after(&l, 2, LANES, 10);
	assert_int_equal(lanes, 8);
	assert_non_null(strstr(l.last, "the line is full"));
}

static void a_queue_at_the_beginning_is_not_the_last_word(void **state)
{
	struct line l = { .rate = 2.5 * GBIT, .trip_ns = 100 * MS, .waiting = 0.95, .full_until_ns = 6000 * MS };

	(void)state;
	assert_int_equal(lanes_after(&l, 4, LANES, 4), 4);
	assert_non_null(strstr(l.last, "the line is full"));
	l = (struct line){ .rate = 2.5 * GBIT, .trip_ns = 100 * MS, .waiting = 0.95, .full_until_ns = 6000 * MS };
	assert_in_range(lanes_after(&l, 4, LANES, 20), 8, 16);
}

static void a_line_without_a_queue_is_found_out_by_trying(void **state)
{
	struct line l = { .rate = GBIT, .trip_ns = 50 * MS, .waiting = 0.95 };
	unsigned lanes;

	(void)state;
	lanes = lanes_after(&l, 1, LANES, 20); /* 2 windows fill it */
	assert_in_range(lanes, 2, 4);
	assert_non_null(strstr(l.last, "would not help"));
}

static void a_full_line_gets_no_more_lanes(void **state)
{
	struct line l = { .rate = 0.5 * GBIT, .trip_ns = 20 * MS, .waiting = 0.95, .has_queue = true };

	(void)state;
	assert_int_equal(lanes_after(&l, 2, LANES, 10), 2);
	assert_non_null(strstr(l.last, "the line is full"));
}

static void lanes_that_wait_for_something_else_get_no_company(void **state)
{
	struct line l = { .rate = 10 * GBIT, .trip_ns = 100 * MS, .waiting = 0.3 };

	(void)state;
	assert_int_equal(lanes_after(&l, 2, LANES, 20), 2);
}

/* The peer's disk is the limit: the lanes wait for the peer, and more of them bring nothing. */
static void one_trial_shows_that_the_network_is_not_the_limit(void **state)
{
	struct line l = { .rate = 0.2 * GBIT, .trip_ns = 20 * MS, .waiting = 0.9 };

	(void)state;
	assert_int_equal(lanes_after(&l, 2, LANES, 30), 3);
}

static void nothing_is_added_shortly_before_the_end(void **state)
{
	struct line l = { .rate = 10 * GBIT, .trip_ns = 100 * MS, .waiting = 0.95, .job = 300 * 1000000 };

	(void)state;
	assert_int_equal(lanes_after(&l, 4, LANES, 10), 4);
	l = (struct line){
		.rate = 10 * GBIT, .trip_ns = 100 * MS, .waiting = 0.95, .job = UINT64_C(30) * 1000 * 1000000
	};
	assert_int_equal(lanes_after(&l, 4, LANES, 10), LANES);
}

static void there_are_never_more_than_agreed(void **state)
{
	struct line l = { .rate = 100 * GBIT, .trip_ns = 100 * MS, .waiting = 0.95 };

	(void)state;
	assert_int_equal(lanes_after(&l, 2, 5, 30), 5);
	l = (struct line){ .rate = 100 * GBIT, .trip_ns = 100 * MS, .waiting = 0.95 };
	assert_int_equal(lanes_after(&l, 3, 3, 30), 3);
}

static void nothing_is_added_after_one_did_not_come(void **state)
{
	const struct lane_growth_config cfg = { .most = 16, .round_trip_ns = 20 * MS };
	struct lane_growth_sample s = { .now_ns = 1, .running = 2, .left = UINT64_MAX };
	struct lane_growth_update update;
	struct lane_growth g;

	(void)state;
	lane_growth_open(&g, &cfg);
	lane_growth_stop(&g);
	for (unsigned i = 0; i < 100; i++) {
		s.now_ns += 100 * MS;
		s.bytes += 10000000;
		s.peer_wait_ns += 200 * MS;
		lane_growth_step(&g, &s, &update);
		assert_int_equal(update.add, 0);
	}
}

static void the_first_lanes_are_those_of_a_fast_line(void **state)
{
	(void)state;
	assert_int_equal(lane_growth_first(0, 16), 1);
	assert_int_equal(lane_growth_first(MS / 2, 16), 1);
	assert_int_equal(lane_growth_first(5 * MS, 16), 1);
	assert_int_equal(lane_growth_first(20 * MS, 16), 2);
	assert_int_equal(lane_growth_first(100 * MS, 16), 10);
	assert_int_equal(lane_growth_first(100 * MS, 4), 4);
	assert_int_equal(lane_growth_first(1000 * MS, 16), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_way_is_left_alone),
		cmocka_unit_test(lanes_are_added_until_the_line_is_full),
		cmocka_unit_test(a_queue_at_the_beginning_is_not_the_last_word),
		cmocka_unit_test(a_line_without_a_queue_is_found_out_by_trying),
		cmocka_unit_test(a_full_line_gets_no_more_lanes),
		cmocka_unit_test(lanes_that_wait_for_something_else_get_no_company),
		cmocka_unit_test(one_trial_shows_that_the_network_is_not_the_limit),
		cmocka_unit_test(nothing_is_added_shortly_before_the_end),
		cmocka_unit_test(there_are_never_more_than_agreed),
		cmocka_unit_test(nothing_is_added_after_one_did_not_come),
		cmocka_unit_test(the_first_lanes_are_those_of_a_fast_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
