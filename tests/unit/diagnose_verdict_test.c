/* What is named and advised, from stages and times made up for it. */
#include "agent/diagnose_verdict.h"

#include "cmocka_first.h"

#include <string.h>

#define MS UINT64_C(1000000)

struct desk {
	struct diagnose_row rows[DIAGNOSE_STAGES];
	struct lane_times source, destination;
	struct diagnose_facts facts;
	struct diagnose_verdict verdict;
};

static void desk_open(struct desk *d)
{
	*d = (struct desk){ .source = { .wall = 1000 * MS }, .destination = { .wall = 1000 * MS } };
	for (unsigned i = 0; i < DIAGNOSE_STAGES; i++)
		d->rows[i] = (struct diagnose_row){ .is_measured = true, .bytes_per_s = 1e9, .seconds = 1 };
	d->facts = (struct diagnose_facts){ .rows = d->rows,
					    .source = &d->source,
					    .destination = &d->destination,
					    .whole_s = 1,
					    .has_peer = true,
					    .lanes = 4,
					    .cores = 4,
					    .peer_cores = 8 };
}

static enum transfer_limit judge(struct desk *d)
{
	diagnose_judge(&d->facts, &d->verdict);
	return d->verdict.limit;
}

static void the_waiting_of_the_whole_decides(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d);
	d.rows[DIAGNOSE_READ].bytes_per_s = 1e6; /* slow alone, but not what the whole waited for */
	d.source.waits[LANE_WAITS_FOR_PEER] = 900 * MS;
	d.destination.waits[LANE_WAITS_FOR_DISK] = 950 * MS;
	assert_int_equal(judge(&d), LIMIT_DESTINATION_DISK);
	assert_true(d.verdict.is_measured);
	assert_true(d.verdict.share > 0.94 && d.verdict.share < 0.96);
	assert_non_null(strstr(d.verdict.help, "peer"));
	d.destination.waits[LANE_WAITS_FOR_DISK] = 0;
	d.destination.waits[LANE_WAITS_FOR_PEER] = 800 * MS;
	assert_int_equal(judge(&d), LIMIT_NETWORK);
	assert_non_null(strstr(d.verdict.help, "link"));
}

static void a_cpu_with_idle_cores_lacks_lanes(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d);
	d.source.compute = 980 * MS;
	assert_int_equal(judge(&d), LIMIT_SOURCE_CPU);
	assert_false(d.verdict.is_lanes);
	d.facts.lanes = 1;
	d.facts.lanes_fixed = true;
	(void)judge(&d);
	assert_true(d.verdict.is_lanes);
	assert_non_null(strstr(d.verdict.help, "--lanes"));
	d.facts.peer_cores = 1; /* the other machine has no more */
	(void)judge(&d);
	assert_false(d.verdict.is_lanes);
}

static void a_long_round_trip_wants_lanes_too(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d);
	d.source.waits[LANE_WAITS_FOR_PEER] = d.destination.waits[LANE_WAITS_FOR_PEER] = 900 * MS;
	d.facts.lanes = 1;
	d.facts.lanes_fixed = true;
	d.facts.round_trip_us = 20000;
	assert_int_equal(judge(&d), LIMIT_NETWORK);
	assert_non_null(strstr(d.verdict.help, "lanes"));
}

static void without_a_whole_the_slowest_stage_is_named(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d);
	d.facts.source = d.facts.destination = NULL;
	d.rows[DIAGNOSE_TO_PEER].bytes_per_s = 118e6;
	assert_int_equal(judge(&d), LIMIT_NETWORK);
	assert_false(d.verdict.is_measured);
	d.rows[DIAGNOSE_PEER_WRITE].bytes_per_s = 90e6;
	assert_int_equal(judge(&d), LIMIT_DESTINATION_DISK);
	d.rows[DIAGNOSE_PEER_WRITE].is_measured = false; /* no right */
	assert_int_equal(judge(&d), LIMIT_NETWORK);
	d.rows[DIAGNOSE_READ].bytes_per_s = 20e6;
	assert_int_equal(judge(&d), LIMIT_SOURCE_DISK);
}

static void digests_and_tls_of_all_cores_count_together(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d);
	d.facts.source = d.facts.destination = NULL;
	d.facts.has_peer = false;
	d.facts.cores = 2;
	d.rows[DIAGNOSE_READ].bytes_per_s = 8e8; /* each core alone is slower than that, two are not */
	d.rows[DIAGNOSE_DIGEST].bytes_per_s = 4e9;
	d.rows[DIAGNOSE_TLS_128].bytes_per_s = 6e8;
	assert_int_equal(judge(&d), LIMIT_SOURCE_DISK);
	assert_true(d.verdict.cpu_bytes_per_s > 1.0e9 && d.verdict.cpu_bytes_per_s < 1.1e9);
	assert_int_equal(d.verdict.cpu_cores, 2);
	assert_true(d.verdict.bytes_per_s == 8e8);
	d.rows[DIAGNOSE_DIGEST].bytes_per_s = 8e8; /* together 3.4e8 a core */
	assert_int_equal(judge(&d), LIMIT_SOURCE_CPU);
	assert_true(d.verdict.bytes_per_s == d.verdict.cpu_bytes_per_s);
	d.facts.has_peer = true;
	d.facts.peer_cores = 0; /* it never said */
	(void)judge(&d);
	assert_int_equal(d.verdict.cpu_cores, 2);
}

static void what_was_not_measured_is_not_compared_with(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d);
	d.facts.source = d.facts.destination = NULL;
	d.facts.has_peer = false;
	d.rows[DIAGNOSE_READ].bytes_per_s = 1e8;
	assert_int_equal(judge(&d), LIMIT_SOURCE_DISK);
	assert_non_null(strstr(d.verdict.help, "than it writes"));
	d.rows[DIAGNOSE_WRITE].is_measured = false;
	assert_int_equal(judge(&d), LIMIT_SOURCE_DISK);
	assert_null(strstr(d.verdict.help, "write"));
	d.rows[DIAGNOSE_READ].is_measured = false;
	d.rows[DIAGNOSE_WRITE] = (struct diagnose_row){ .is_measured = true, .bytes_per_s = 1e8, .seconds = 1 };
	assert_int_equal(judge(&d), LIMIT_DESTINATION_DISK);
	assert_null(strstr(d.verdict.help, "read"));
}

static void a_network_that_waited_for_a_cpu_is_no_network(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d);
	d.facts.source = d.facts.destination = NULL;
	d.facts.network_source = &d.source;
	d.facts.network_destination = &d.destination;
	d.facts.network_s = 1;
	d.rows[DIAGNOSE_TO_PEER].bytes_per_s = 4e8;
	d.source.waits[LANE_WAITS_FOR_PEER] = 800 * MS;
	d.destination.waits[LANE_WAITS_FOR_PEER] = 700 * MS;
	assert_int_equal(judge(&d), LIMIT_NETWORK);
	d.destination.waits[LANE_WAITS_FOR_PEER] = 0;
	d.destination.compute = 900 * MS;
	assert_int_equal(judge(&d), LIMIT_DESTINATION_CPU);
	assert_false(d.verdict.is_measured);
}

static void one_machine_has_two_ends_of_one_disk(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d);
	d.facts.source = d.facts.destination = NULL;
	d.facts.has_peer = false;
	d.rows[DIAGNOSE_WRITE].bytes_per_s = 2e8;
	assert_int_equal(judge(&d), LIMIT_DESTINATION_DISK);
	assert_null(strstr(d.verdict.help, "peer"));
	d.rows[DIAGNOSE_TLS_128].bytes_per_s = 1e7;
	assert_int_equal(judge(&d), LIMIT_SOURCE_CPU);
	assert_false(d.verdict.is_lanes);
}

static void nothing_measured_says_nothing(void **state)
{
	struct desk d;

	(void)state;
	desk_open(&d);
	memset(d.rows, 0, sizeof(d.rows));
	memset(&d.source, 0, sizeof(d.source));
	memset(&d.destination, 0, sizeof(d.destination));
	assert_int_equal(judge(&d), LIMIT_NONE);
	assert_string_equal(d.verdict.help, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_waiting_of_the_whole_decides),
		cmocka_unit_test(a_cpu_with_idle_cores_lacks_lanes),
		cmocka_unit_test(a_long_round_trip_wants_lanes_too),
		cmocka_unit_test(without_a_whole_the_slowest_stage_is_named),
		cmocka_unit_test(digests_and_tls_of_all_cores_count_together),
		cmocka_unit_test(what_was_not_measured_is_not_compared_with),
		cmocka_unit_test(a_network_that_waited_for_a_cpu_is_no_network),
		cmocka_unit_test(one_machine_has_two_ends_of_one_disk),
		cmocka_unit_test(nothing_measured_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
