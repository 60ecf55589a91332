#include "engine/base/escape.h"
#include "tests/unit/cmocka_first.h"

#include <stdbool.h>
#include <string.h>

static const char *escaped(const char *name)
{
	static char text[HAUL_ESCAPED_MAX];

	return haul_escape(name, strlen(name), text, sizeof(text));
}

static void printable_names_stay_as_they_are(void **state)
{
	static const char *const names[] = { "a", "with space", "it's", "back\\slash", "Größe", "日本語", "🎬.mov", "" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(escaped(names[i]), names[i]);
}

static void hidden_characters_are_spelled_out(void **state)
{
	(void)state;
	assert_string_equal(escaped("a\nb"), "$'a\\nb'");
	assert_string_equal(escaped("\x1b[31mred"), "$'\\x1B[31mred'");
	assert_string_equal(escaped("x\x7f"), "$'x\\x7F'");
	assert_string_equal(escaped("c1\xc2\x9bz"), "$'c1\\xC2\\x9Bz'");
	assert_string_equal(escaped("it's\t\\"), "$'it\\'s\\t\\\\'");
	assert_string_equal(escaped("exe\xe2\x80\xae"
				    "gpj"),
			    "$'exe\\xE2\\x80\\xAEgpj'");
	assert_string_equal(escaped("zero\xe2\x80\x8bwidth"), "$'zero\\xE2\\x80\\x8Bwidth'");
	assert_string_equal(escaped("bom\xef\xbb\xbf"), "$'bom\\xEF\\xBB\\xBF'");
	assert_string_equal(escaped("$'a'"), "$'$\\'a\\''");
}

static void bytes_that_are_no_character_are_spelled_out(void **state)
{
	char text[64];

	(void)state;
	assert_string_equal(escaped("\xff"), "$'\\xFF'");
	assert_string_equal(escaped("\xc3"), "$'\\xC3'");                   /* ends too early */
	assert_string_equal(escaped("\xc0\xaf"), "$'\\xC0\\xAF'");          /* overlong */
	assert_string_equal(escaped("\xed\xa0\x80"), "$'\\xED\\xA0\\x80'"); /* surrogate */
	assert_string_equal(haul_escape("a\0b", 3, text, sizeof(text)), "$'a\\x00b'");
}

static void long_names_are_cut_between_characters(void **state)
{
	char text[16];

	(void)state;
	assert_string_equal(haul_escape("123456789012345", 15, text, sizeof(text)), "123456789012345");
	assert_string_equal(haul_escape("1234567890123456", 16, text, sizeof(text)), "123456789012...");
	assert_string_equal(haul_escape("12345678901\xc3\xa4xxx", 16, text, sizeof(text)), "12345678901...");
	assert_string_equal(haul_escape("1234567\n8901234", 15, text, sizeof(text)), "$'1234567\\n'...");
	assert_string_equal(haul_escape("12345678\xff"
					"01234",
					14, text, sizeof(text)),
			    "$'12345678'...");
}

static void utf8_is_told_from_other_bytes(void **state)
{
	(void)state;
	assert_true(haul_is_utf8("", 0));
	assert_true(haul_is_utf8("a\n\xf4\x8f\xbf\xbf", 6));
	assert_false(haul_is_utf8("\xf4\x90\x80\x80", 4)); /* beyond U+10FFFF */
	assert_false(haul_is_utf8("\xe0\x80\x80", 3));
	assert_false(haul_is_utf8("\xf0\x8f\xbf\xbf", 4));
	assert_false(haul_is_utf8("\x80", 1));
	assert_false(haul_is_utf8("\xc3\xa4", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(printable_names_stay_as_they_are),
		cmocka_unit_test(hidden_characters_are_spelled_out),
		cmocka_unit_test(bytes_that_are_no_character_are_spelled_out),
		cmocka_unit_test(long_names_are_cut_between_characters),
		cmocka_unit_test(utf8_is_told_from_other_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
