#include "cli/json.h"

#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct page {
	char text[2048];
	FILE *file;
	struct json j;
};

static void page_open(struct page *p)
{
	memset(p, 0, sizeof(*p));
	p->file = fmemopen(p->text, sizeof(p->text), "w");
	assert_non_null(p->file);
	json_open(&p->j, p->file, "test");
}

static void page_is(struct page *p, const char *want)
{
	json_close(&p->j);
	assert_int_equal(fclose(p->file), 0);
	assert_string_equal(p->text, want);
}

static void writes_every_kind_of_value(void **state)
{
	struct page p;

	(void)state;
	page_open(&p);
	json_text(&p.j, "a", "b");
	json_text(&p.j, "none", NULL);
	json_uint(&p.j, "big", UINT64_MAX);
	json_int(&p.j, "low", INT64_MIN);
	json_real(&p.j, "r", 1.5);
	json_real(&p.j, "inf", 1e308 * 10);
	json_bool(&p.j, "yes", true);
	page_is(&p, "{\"event\":\"test\",\"a\":\"b\",\"none\":null,\"big\":18446744073709551615,"
		    "\"low\":-9223372036854775808,\"r\":1.500,\"inf\":0.000,\"yes\":true}\n");
}

static void lists_and_objects_have_their_commas(void **state)
{
	struct page p;

	(void)state;
	page_open(&p);
	json_list(&p.j, "empty");
	json_list_end(&p.j);
	json_list(&p.j, "l");
	json_text(&p.j, NULL, "x");
	json_int(&p.j, NULL, -2);
	json_object(&p.j);
	json_bool(&p.j, "b", false);
	json_object_end(&p.j);
	json_list_end(&p.j);
	json_uint(&p.j, "after", 1);
	page_is(&p, "{\"event\":\"test\",\"empty\":[],\"l\":[\"x\",-2,{\"b\":false}],\"after\":1}\n");
}

static void control_characters_and_quotes_are_escaped(void **state)
{
	struct page p;

	(void)state;
	page_open(&p);
	json_text(&p.j, "t", "a\"b\\c\nd\te\rf\x01g\x7fh");
	page_is(&p, "{\"event\":\"test\",\"t\":\"a\\\"b\\\\c\\nd\\te\\rf\\u0001g\\u007fh\"}\n");
}

static void names_that_are_no_utf8_come_with_their_bytes(void **state)
{
	struct page p;

	(void)state;
	page_open(&p);
	json_path(&p.j, "path", "M\xc3\xbcll", 5);
	json_path(&p.j, "other", "M\xfcll/\xed\xa0\x80", 8);
	page_is(&p,
		"{\"event\":\"test\",\"path\":\"M\xc3\xbcll\","
		"\"other\":\"M\xef\xbf\xbdll/\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\"other_b64\":\"TfxsbC/toIA=\"}\n");
}

static void base64_pads(void **state)
{
	struct page p;

	(void)state;
	page_open(&p);
	json_path(&p.j, "a", "\xff", 1);
	json_path(&p.j, "b", "\xff\xfe", 2);
	json_path(&p.j, "c", "\xff\xfe\xfd", 3);
	json_close(&p.j);
	assert_int_equal(fclose(p.file), 0);
	assert_non_null(strstr(p.text, "\"a_b64\":\"/w==\""));
	assert_non_null(strstr(p.text, "\"b_b64\":\"//4=\""));
	assert_non_null(strstr(p.text, "\"c_b64\":\"//79\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_every_kind_of_value),
		cmocka_unit_test(lists_and_objects_have_their_commas),
		cmocka_unit_test(control_characters_and_quotes_are_escaped),
		cmocka_unit_test(names_that_are_no_utf8_come_with_their_bytes),
		cmocka_unit_test(base64_pads),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
