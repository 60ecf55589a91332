#include "cli/progress.h"

#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct transfer_progress at(uint64_t done, uint64_t total, bool is_final)
{
	return (struct transfer_progress){ .files_done = done / 10,
					   .files_total = total / 10,
					   .bytes_done = done,
					   .bytes_total = total,
					   .totals_final = is_final,
					   .elapsed_s = 1,
					   .rate_bytes_per_s = 100 };
}

static const char *show(struct progress *p, struct transfer_progress now, char *ret_text)
{
	return progress_text(p, &now, 200, ret_text);
}

static void is_provisional_until_the_scan_ends(void **state)
{
	char text[PROGRESS_TEXT_MAX];
	struct progress p = { 0 };

	(void)state;
	assert_string_equal(show(&p, at(500, 1000, false), text),
			    "  - %  500 B of 1.00 KB or more, 100 B/s, still counting, 50 of 100 files");
	assert_string_equal(show(&p, at(500, 2000, true), text),
			    " 25 %  500 B of 2.00 KB, 100 B/s, 15 s left, 50 of 200 files");
}

static void says_no_time_before_it_can_be_known(void **state)
{
	char text[PROGRESS_TEXT_MAX];
	struct progress p = { 0 };

	(void)state;
	assert_null(strstr(show(&p, at(500, 1000 * 1000, true), text), "left"));
	assert_non_null(strstr(show(&p, at(100 << 20, (uint64_t)1 << 40, true), text), "left"));
}

static void never_goes_backwards(void **state)
{
	char text[PROGRESS_TEXT_MAX];
	struct progress p = { 0 };

	(void)state;
	show(&p, at(600, 1000, true), text);
	assert_int_equal(p.percent, 60);
	assert_string_equal(show(&p, at(300, 1000, true), text),
			    " 60 %  600 B of 1.00 KB, 100 B/s, 4.0 s left, 60 of 100 files");
	show(&p, at(700, 2000, true), text); /* a total that grew all the same */
	assert_int_equal(p.percent, 60);
}

static void never_passes_the_whole(void **state)
{
	char text[PROGRESS_TEXT_MAX];
	struct progress p = { 0 };

	(void)state;
	assert_string_equal(show(&p, at(5000, 1000, true), text),
			    "100 %  5.00 KB of 5.00 KB, 100 B/s, 500 of 500 files");
}

static void says_a_hundred_only_when_all_is_done(void **state)
{
	char text[PROGRESS_TEXT_MAX];
	struct progress p = { 0 };
	struct transfer_progress now = at(999999, 1000000, true);

	(void)state;
	show(&p, now, text);
	assert_int_equal(p.percent, 99);
	now = at(1000000, 1000000, true);
	now.files_done--;
	show(&p, now, text);
	assert_int_equal(p.percent, 99);
	now.files_done++;
	show(&p, now, text);
	assert_int_equal(p.percent, 100);
}

static void empty_files_count_by_number(void **state)
{
	char text[PROGRESS_TEXT_MAX];
	struct progress p = { 0 };
	struct transfer_progress now = { .files_done = 3, .files_total = 4, .totals_final = true };

	(void)state;
	show(&p, now, text);
	assert_int_equal(p.percent, 75);
}

static void fits_the_terminal(void **state)
{
	char text[PROGRESS_TEXT_MAX];
	struct progress p = { 0 };
	struct transfer_progress now = at(1, 1000, true);

	(void)state;
	assert_int_equal(strlen(progress_text(&p, &now, 20, text)), 19);
	assert_int_equal(strlen(progress_text(&p, &now, 1, text)), 0);
}

static void is_due_at_once_and_then_at_intervals(void **state)
{
	double last = 0;

	(void)state;
	assert_true(progress_is_due(&last, 0, 1));
	assert_false(progress_is_due(&last, 0.5, 1));
	assert_true(progress_is_due(&last, 1.1, 1));
	assert_false(progress_is_due(&last, 2.0, 1));
	assert_true(progress_is_due(&last, 2.1, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_provisional_until_the_scan_ends),
		cmocka_unit_test(says_no_time_before_it_can_be_known),
		cmocka_unit_test(never_goes_backwards),
		cmocka_unit_test(never_passes_the_whole),
		cmocka_unit_test(says_a_hundred_only_when_all_is_done),
		cmocka_unit_test(empty_files_count_by_number),
		cmocka_unit_test(fits_the_terminal),
		cmocka_unit_test(is_due_at_once_and_then_at_intervals),
	};

	return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
