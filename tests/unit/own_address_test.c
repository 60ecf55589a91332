#include "agent/own_address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_certain_address_is_taken_as_it_is(void **state)
{
	char got[3][OWN_ADDRESS_MAX];

	(void)state;
	assert_int_equal(own_addresses("127.0.0.1:4711 [fd00::1]:4712 127.0.0.1:4711", got, 3), 2);
	assert_string_equal(got[0], "127.0.0.1:4711");
	assert_string_equal(got[1], "[fd00::1]:4712");
}

static void there_is_always_one(void **state)
{
	char got[2][OWN_ADDRESS_MAX];

	(void)state;
	assert_true(own_addresses("", got, 2) >= 1);
	assert_non_null(strstr(got[0], ":42850"));
	assert_true(own_addresses("0.0.0.0:99", got, 2) >= 1);
	assert_non_null(strstr(got[0], ":99"));
	assert_int_equal(own_addresses("rubbish", got, 1), 1);
}

static void no_more_than_asked_for(void **state)
{
	char got[1][OWN_ADDRESS_MAX];

	(void)state;
	assert_int_equal(own_addresses("10.0.0.1:1 10.0.0.2:2", got, 1), 1);
	assert_string_equal(got[0], "10.0.0.1:1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_certain_address_is_taken_as_it_is),
		cmocka_unit_test(there_is_always_one),
		cmocka_unit_test(no_more_than_asked_for),
	};

	return cmocka_run_group_tests_name("own_address", tests, NULL, NULL);
}
