#include "certs/rights.h"
#include "tests/unit/cmocka_first.h"

#include <string.h>

static uint64_t parsed(const char *text)
{
	uint64_t rights = 99;

	assert_ok(rights_parse(text, &rights, NULL));
	return rights;
}

static void words_and_bundles_are_understood(void **state)
{
	(void)state;
	assert_true(parsed("list") == RIGHT_LIST);
	assert_true(parsed("list,read") == RIGHTS_READER);
	assert_true(parsed("read,list,read") == RIGHTS_READER);
	assert_true(parsed("dropbox") == RIGHT_CREATE);
	assert_true(parsed("reader,delete") == (RIGHT_LIST | RIGHT_READ | RIGHT_DELETE));
	assert_true(parsed("backup") == (RIGHT_LIST | RIGHT_CREATE));
	assert_true(parsed("mirror,special") == RIGHTS_FULL);
	assert_true(parsed("list,read,create,overwrite,delete,meta,special") == parsed("full"));
	assert_true(parsed("none") == 0);
}

static void unknown_words_are_named_and_nothing_is_granted(void **state)
{
	static const char *const wrong[] = { "",      ",",         "list,",     ",list",     "list,,read", "List",
					     "write", "list read", "none,list", "list,none", "readers",    "rea" };
	struct haul_fault fault;
	uint64_t rights = 99;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_code(rights_parse(wrong[i], &rights, NULL), HAUL_BAD_VALUE);
	assert_true(rights == 99);
	assert_code(rights_parse("list,wr\nite", &rights, &fault), HAUL_BAD_VALUE);
	assert_non_null(strstr(fault.text, "\"$'wr\\nite'\""));
	assert_non_null(strstr(fault.text, "overwrite"));
	assert_non_null(strstr(fault.text, "backup"));
}

static void every_set_prints_as_what_reads_back(void **state)
{
	char text[RIGHTS_TEXT_MAX];

	(void)state;
	assert_string_equal(rights_text(RIGHTS_READER, text), "reader");
	assert_string_equal(rights_words(RIGHTS_READER, text), "list,read");
	assert_string_equal(rights_text(RIGHTS_WRITER, text), "writer");
	assert_string_equal(rights_text(RIGHT_LIST | RIGHT_DELETE, text), "list,delete");
	assert_string_equal(rights_text(0, text), "none");
	for (uint64_t set = 0; set <= RIGHTS_FULL; set++) {
		assert_true(parsed(rights_text(set, text)) == set);
		assert_true(parsed(rights_words(set, text)) == set);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_and_bundles_are_understood),
		cmocka_unit_test(unknown_words_are_named_and_nothing_is_granted),
		cmocka_unit_test(every_set_prints_as_what_reads_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
