/* Random names are digits to their end, differ, and are no longer than there is room for. */
#include "engine/random_hex.h"

#include "tests/unit/cmocka_first.h"

#include <string.h>

static void digits_and_no_more(void **state)
{
	char text[RANDOM_HEX_MAX + 2];

	(void)state;
	for (size_t chars = 0; chars <= RANDOM_HEX_MAX; chars++) {
		memset(text, '#', sizeof(text));
		assert_ok(random_hex(text, chars));
		assert_int_equal(strspn(text, "0123456789abcdef"), chars);
		assert_int_equal(text[chars], '\0');
		assert_int_equal(text[chars + 1], '#');
	}
}

static void two_differ(void **state)
{
	char a[RANDOM_HEX_MAX + 1], b[RANDOM_HEX_MAX + 1];

	(void)state;
	assert_ok(random_hex(a, RANDOM_HEX_MAX));
	assert_ok(random_hex(b, RANDOM_HEX_MAX));
	assert_string_not_equal(a, b);
}

static void too_many_are_refused(void **state)
{
	char text[RANDOM_HEX_MAX + 2];

	(void)state;
	assert_true(haul_failed(random_hex(text, RANDOM_HEX_MAX + 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits_and_no_more),
		cmocka_unit_test(two_differ),
		cmocka_unit_test(too_many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
