#include "cli/sizes.h"

#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check_size(const char *text, uint64_t want)
{
	uint64_t got = 0;

	assert_true(haul_ok(size_parse(text, &got)));
	assert_int_equal(got, want);
}

static void reads_powers_of_1024_and_of_1000(void **state)
{
	(void)state;
	check_size("0", 0);
	check_size("4096", 4096);
	check_size("1K", 1024);
	check_size("1k", 1024);
	check_size("1KiB", 1024);
	check_size("1KB", 1000);
	check_size("2M", 2097152);
	check_size("2MB", 2000000);
	check_size("3G", 3221225472U);
	check_size("1T", 1099511627776U);
	check_size("1TB", 1000000000000U);
	check_size("1.5K", 1536);
	check_size("7B", 7);
}

static void refuses_what_is_no_size(void **state)
{
	static const char *const wrong[] = { "", "K", "-1", "1X", "1KBs", "1 K", "1.K", ".5", "0x10", "1e3", "1KiX" };
	uint64_t got = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(size_parse(wrong[i], &got).code, HAUL_CODE_BAD_VALUE);
	assert_int_equal(size_parse("18446744073709551616", &got).code, HAUL_CODE_OVERFLOW);
	assert_int_equal(size_parse("16777216T", &got).code, HAUL_CODE_OVERFLOW);
	assert_int_equal(got, 77);
}

static void rates_count_kibibytes_when_bare(void **state)
{
	uint64_t got;

	(void)state;
	assert_true(haul_ok(rate_parse("5000", &got)));
	assert_int_equal(got, 5000 * 1024);
	assert_true(haul_ok(rate_parse("10M", &got)));
	assert_int_equal(got, 10 * 1048576);
	assert_true(haul_ok(rate_parse("12MB/s", &got)));
	assert_int_equal(got, 12000000);
	assert_true(haul_ok(rate_parse("0", &got)));
	assert_int_equal(got, 0);
	assert_int_equal(rate_parse("/s", &got).code, HAUL_CODE_BAD_VALUE);
}

static void waits_count_seconds_when_bare(void **state)
{
	uint32_t ms = 5;

	(void)state;
	assert_true(haul_ok(wait_parse("10", &ms)));
	assert_int_equal(ms, 10000);
	assert_true(haul_ok(wait_parse("0.25", &ms)));
	assert_int_equal(ms, 250);
	assert_true(haul_ok(wait_parse("15m", &ms)));
	assert_int_equal(ms, 900000);
	assert_true(haul_ok(wait_parse("500ms", &ms)));
	assert_int_equal(ms, 500);
	assert_int_equal(wait_parse("9w", &ms).code, HAUL_CODE_OVERFLOW);
	assert_int_equal(wait_parse("soon", &ms).code, HAUL_CODE_BAD_VALUE);
	assert_int_equal(ms, 500);
}

static void numbers_stay_within_bounds(void **state)
{
	uint64_t got = 9;

	(void)state;
	assert_true(haul_ok(number_parse("64", 1, 64, &got)));
	assert_int_equal(got, 64);
	assert_true(haul_failed(number_parse("65", 1, 64, &got)));
	assert_true(haul_failed(number_parse("0", 1, 64, &got)));
	assert_true(haul_failed(number_parse("2.0", 1, 64, &got)));
	assert_true(haul_failed(number_parse("2x", 1, 64, &got)));
	assert_int_equal(got, 64);
}

static void writes_three_significant_digits(void **state)
{
	char text[SIZE_TEXT_MAX];

	(void)state;
	assert_string_equal(size_text(0, text), "0 B");
	assert_string_equal(size_text(999, text), "999 B");
	assert_string_equal(size_text(1000, text), "1.00 KB");
	assert_string_equal(size_text(999999, text), "1.00 MB");
	assert_string_equal(size_text(12345678, text), "12.3 MB");
	assert_string_equal(size_text(1210000000000U, text), "1.21 TB");
	assert_string_equal(size_text(UINT64_MAX, text), "18.4 EB");
	assert_string_equal(rate_text(1.06e9, text), "1.06 GB/s");
	assert_string_equal(rate_text(0.0 / 1.0, text), "0 B/s");
	assert_string_equal(rate_text(-5, text), "0 B/s");
	assert_string_equal(count_text(412001, text), "412,001");
	assert_string_equal(count_text(412, text), "412");
	assert_string_equal(count_text(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

static void writes_times_as_people_say_them(void **state)
{
	char text[SIZE_TEXT_MAX];

	(void)state;
	assert_string_equal(duration_text(0.82, text), "0.8 s");
	assert_string_equal(duration_text(42, text), "42 s");
	assert_string_equal(duration_text(1140, text), "19 min");
	assert_string_equal(duration_text(7500, text), "2 h 05 min");
	assert_string_equal(duration_text(3590, text), "1 h 00 min");
	assert_string_equal(duration_text(864000, text), "10.0 days");
	assert_string_equal(duration_text(-3, text), "0.0 s");
	assert_string_equal(duration_text(1e300, text)[0] ? "written" : "", "written");
}

static void quotas_are_sizes_of_a_span(void **state)
{
	static const char *const wrong[] = { "",        "0",          "0/day",  "/day", "5G/",
					     "5G/year", "5G/day/day", "5G day", "X",    "none/day" };
	struct quota_limit q = { .bytes = 7 };
	char text[SIZE_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(quota_parse(wrong[i], 5, &q).code, HAUL_CODE_BAD_VALUE);
	assert_int_equal(q.bytes, 7);
	assert_true(haul_ok(quota_parse("2TB", 5, &q)));
	assert_true(q.bytes == UINT64_C(2000000000000) && q.since_s == 5 && q.every_s == 0);
	assert_string_equal(quota_text(&q, text), "2.00 TB");
	assert_true(haul_ok(quota_parse("1.5K/week", 6, &q)));
	assert_true(q.bytes == 1536 && q.since_s == 6 && q.every_s == QUOTA_WEEK_S);
	assert_string_equal(quota_text(&q, text), "1.54 KB/week");
	assert_true(haul_ok(quota_parse("none", 6, &q)));
	assert_int_equal(q.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_powers_of_1024_and_of_1000), cmocka_unit_test(refuses_what_is_no_size),
		cmocka_unit_test(rates_count_kibibytes_when_bare),  cmocka_unit_test(waits_count_seconds_when_bare),
		cmocka_unit_test(numbers_stay_within_bounds),       cmocka_unit_test(writes_three_significant_digits),
		cmocka_unit_test(writes_times_as_people_say_them),  cmocka_unit_test(quotas_are_sizes_of_a_span),
	};

	return cmocka_run_group_tests_name("sizes", tests, NULL, NULL);
}
