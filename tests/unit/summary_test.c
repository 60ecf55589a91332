/* The last line says what the report proves, and no more. */
#include "cli/summary.h"

#include <signal.h>
#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct transfer_report footage(void)
{
	return (struct transfer_report){ .files_total = 412,
					 .files_sent = 40,
					 .files_skipped = 372,
					 .files_unread = 372,
					 .files_verified_transfer = 40,
					 .bytes_total = 1210000000000U,
					 .bytes_sent = 1208400000000U,
					 .elapsed_s = 1140,
					 .is_durable = true,
					 .limited_by = LIMIT_DESTINATION_DISK };
}

static void check(const struct summary_request *req, const struct transfer_report *r, const char *want)
{
	char text[SUMMARY_TEXT_MAX];

	assert_string_equal(summary_text(req, r, text), want);
}

static void counts_by_proof(void **state)
{
	struct summary_request req = { .check_again = "haul verify Footage nas:inbox/day1/Footage" };
	struct transfer_report r = footage();

	(void)state;
	check(
	    &req, &r,
	    "412 files, 1.21 TB in 19 min (1.06 GB/s): 40 sent, every block checked on arrival, durable, not read back "
	    "from disk; 372 unchanged by size and time, not read. Limited by: destination disk. Check again: haul "
	    "verify Footage nas:inbox/day1/Footage");
}

static void what_was_there_is_told(void **state)
{
	struct summary_request req = { 0 };
	struct transfer_report r = { .files_total = 1,
				     .files_sent = 1,
				     .files_verified_transfer = 1,
				     .bytes_total = 400000000,
				     .bytes_sent = 196000000,
				     .bytes_resumed = 204000000,
				     .elapsed_s = 2,
				     .is_durable = true };

	(void)state;
	check(
	    &req, &r,
	    "1 file, 400 MB in 2.0 s (98.0 MB/s): 1 sent (204 MB were there), every block checked on arrival, durable, "
	    "not read back from disk.");
}

static void what_the_old_version_had_is_told(void **state)
{
	struct summary_request req = { 0 };
	struct transfer_report r = { .files_total = 1,
				     .files_sent = 1,
				     .files_verified_transfer = 1,
				     .bytes_total = 400000000,
				     .bytes_sent = 10000000,
				     .bytes_reused = 390000000,
				     .bytes_basis = 390000000,
				     .elapsed_s = 2,
				     .is_durable = true };

	(void)state;
	check(&req, &r,
	      "1 file, 400 MB in 2.0 s (5.00 MB/s): 1 sent (390 MB taken from what was there), every block checked "
	      "on arrival, "
	      "durable, not read back from disk.");
}

static void claims_nothing_that_does_not_hold(void **state)
{
	struct summary_request req = { .no_sync = true, .check_again = "haul verify a b" };
	struct transfer_report r = footage();

	(void)state;
	r.is_durable = false;
	r.files_verified_transfer = 39;
	r.files_failed = 1;
	r.exit_code = 3;
	r.limited_by = LIMIT_NONE;
	check(&req, &r,
	      "412 files, 1.21 TB in 19 min (1.06 GB/s): 40 sent, 39 of them with every block checked on arrival, not "
	      "made "
	      "durable (--no-sync), not read back from disk; 372 unchanged by size and time, not read; 1 failed, named "
	      "above.");
	assert_null(summary_verified(&r));
}

static void nothing_sent_has_no_rate_and_no_proof(void **state)
{
	struct summary_request req = { 0 };
	struct transfer_report r = {
		.files_total = 1, .files_skipped = 1, .bytes_total = 5, .elapsed_s = 0.2, .is_durable = true
	};

	(void)state;
	check(&req, &r, "1 file, 5 B in 0.2 s: 0 sent; 1 equal by hash tree, both sides read.");
}

static void a_dry_run_says_so(void **state)
{
	struct summary_request req = { .check_again = "haul verify a b" };
	struct transfer_report r = { .files_total = 2,
				     .files_sent = 2,
				     .bytes_total = 2000,
				     .elapsed_s = 1,
				     .is_dry_run = true,
				     .specials = { 1, 0, 2 } };

	(void)state;
	check(&req, &r,
	      "2 files, 2.00 KB in 1.0 s: 2 would be sent, nothing was changed; 1 fifo left out; 2 devices left out.");
	assert_null(summary_verified(&r));
}

static void a_comparison_counts_differences(void **state)
{
	struct summary_request req = { .verb = TRANSFER_VERIFY };
	struct transfer_report r = { .files_total = 412,
				     .bytes_total = 1000,
				     .elapsed_s = 2,
				     .files_equal = 410,
				     .files_different = 1,
				     .files_missing = 1,
				     .files_surplus = 3,
				     .meta_different = 2,
				     .exit_code = 4 };

	(void)state;
	check(&req, &r,
	      "412 files, 1.00 KB in 2.0 s (500 B/s): 410 equal, every byte of both sides read; 1 different; 1 missing "
	      "at the "
	      "destination; 3 only at the destination; 2 with other metadata.");
}

static void a_comparison_cut_short_claims_less(void **state)
{
	struct summary_request req = { .verb = TRANSFER_VERIFY };
	struct transfer_report r = { .files_total = 9,
				     .bytes_total = 1000,
				     .bytes_sent = 70,
				     .elapsed_s = 2,
				     .files_equal = 4,
				     .exit_code = 10 };

	(void)state;
	check(&req, &r, "9 files, 1.00 KB in 2.0 s: 4 equal.");
}

static void an_interruption_is_named(void **state)
{
	struct summary_request req = { 0 };
	struct transfer_report r = { .files_total = 9, .elapsed_s = 2, .signal_number = SIGINT, .exit_code = 130 };

	(void)state;
	check(&req, &r, "9 files, 0 B in 2.0 s: 0 sent. Stopped, interrupted: the same command sends what is missing.");
}

static void verified_only_when_it_holds_for_every_file(void **state)
{
	struct transfer_report r = { .files_total = 3, .files_verified_transfer = 3 };

	(void)state;
	assert_string_equal(summary_verified(&r), "transfer");
	r.files_verified_disk = 3;
	assert_string_equal(summary_verified(&r), "disk");
	r.files_verified_disk = 2;
	r.files_verified_transfer = 2;
	assert_null(summary_verified(&r));
	r.files_total = 0;
	assert_null(summary_verified(&r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_by_proof),
		cmocka_unit_test(what_was_there_is_told),
		cmocka_unit_test(what_the_old_version_had_is_told),
		cmocka_unit_test(claims_nothing_that_does_not_hold),
		cmocka_unit_test(nothing_sent_has_no_rate_and_no_proof),
		cmocka_unit_test(a_dry_run_says_so),
		cmocka_unit_test(a_comparison_counts_differences),
		cmocka_unit_test(a_comparison_cut_short_claims_less),
		cmocka_unit_test(an_interruption_is_named),
		cmocka_unit_test(verified_only_when_it_holds_for_every_file),
	};

	return cmocka_run_group_tests_name("summary", tests, NULL, NULL);
}
