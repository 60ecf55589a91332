/* A peer's ERROR as the line that a user reads, word for word as docs/CLI.md has it. */
#include "agent/exit_class.h"
#include "agent/peer_error.h"
#include "certs/rights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct text text_of(const char *s)
{
	return (struct text){ s, strlen(s) };
}

static void assert_line(const struct msg_error *e, const char *text, const char *remedy, int exit_code)
{
	struct peer_error p;

	peer_error_explain(e, "nas", &p);
	assert_string_equal(p.text, text);
	assert_string_equal(p.remedy, remedy);
	assert_int_equal(p.exit_code, exit_code);
}

static void test_missing_right(void **state)
{
	struct msg_error e = { .code = HAUL_CODE_NO_RIGHT,
			       .your_name = text_of("edit1"),
			       .share = text_of("inbox"),
			       .missing_right = RIGHT_CREATE,
			       .held_rights = RIGHTS_READER };

	(void)state;
	assert_line(&e, "nas: edit1 may not create in inbox (has list,read)",
		    "On nas run: haul peer allow edit1 inbox=writer", 6);
	e.missing_right = RIGHT_LIST;
	e.held_rights = RIGHTS_DROPBOX;
	assert_line(&e, "nas: edit1 may not list inbox (has create)", "On nas run: haul peer allow edit1 inbox=backup",
		    6);
	e.missing_right = RIGHT_SPECIAL;
	e.held_rights = 0;
	assert_line(&e, "nas: edit1 may not make special files in inbox (has none)",
		    "On nas run: haul peer allow edit1 inbox=full", 6);
}

static void test_no_share(void **state)
{
	const struct text offered[] = { text_of("inbox"), text_of("projects") };
	struct msg_error e = { .code = HAUL_CODE_NO_SHARE,
			       .your_name = text_of("edit1"),
			       .share = text_of("inbx"),
			       .offered = offered,
			       .offered_count = 1 };

	(void)state;
	assert_line(&e, "nas offers this device no share \"inbx\" (offered: inbox)", "", 6);
	e.offered_count = 2;
	assert_line(&e, "nas offers this device no share \"inbx\" (offered: inbox, projects)", "", 6);
	e.offered_count = 0;
	assert_line(&e, "nas offers this device no share \"inbx\" (offered: none)",
		    "On nas run: haul peer allow edit1 inbx=writer", 6);
}

static void test_no_space(void **state)
{
	struct msg_error e = { .code = HAUL_CODE_NO_SPACE,
			       .share = text_of("inbox"),
			       .need_bytes = UINT64_C(3500000000000),
			       .free_bytes = UINT64_C(1400000000000) };

	(void)state;
	assert_line(&e, "nas:inbox lacks 2.1 TB (1.4 TB free)", "", 7);
	e.need_bytes = 0;
	assert_line(&e, "nas:inbox: no space left", "", 7);
}

static void test_others(void **state)
{
	struct msg_error e = { .code = HAUL_CODE_NOT_FOUND, .share = text_of("inbox"), .path = text_of("a/b") };

	(void)state;
	assert_line(&e, "nas:inbox/a/b: no such file or directory", "", 3);
	e = (struct msg_error){ .code = HAUL_CODE_NOT_KNOWN };
	assert_line(&e, "nas does not know this device", "", 6);
	e = (struct msg_error){ .code = HAUL_CODE_LOST, .text = text_of("stopping") };
	assert_line(&e, "nas: stopping", "", 5);
	e = (struct msg_error){ .code = 0, .text = text_of("all is well") };
	assert_line(&e, "nas: all is well", "", 10);
	e = (struct msg_error){ .code = 4711 };
	assert_line(&e, "nas: internal fault", "", 10);
}

static void test_peer_text_is_escaped_and_cut(void **state)
{
	char *huge = malloc(5000);
	struct text long_text = { huge, 5000 };
	struct msg_error e = { .code = HAUL_CODE_NO_SHARE, .text = long_text, .your_name = long_text };
	struct text offered[] = { long_text, long_text, long_text };
	struct peer_error p;

	(void)state;
	memset(huge, '\x1b', 5000);
	e.share = e.path = long_text;
	e.offered = offered;
	e.offered_count = 3;
	for (unsigned code = 0; code < 500; code++) {
		e.code = code;
		peer_error_explain(&e, "nas", &p);
		assert_null(strchr(p.text, '\x1b'));
		assert_null(strchr(p.remedy, '\x1b'));
		assert_true(strlen(p.text) > 0);
		assert_true(haul_failed(p.status));
	}
	free(huge);
}

static void test_bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = { { 0, "0 bytes" },    { 999, "999 bytes" },  { 1000, "1.0 KB" },   { 99949, "99.9 KB" },
		     { 99950, "100 KB" }, { 999949, "1000 KB" }, { 999950, "1.0 MB" }, { UINT64_MAX, "18.4 EB" } };
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(peer_error_bytes(rows[i].bytes, text, sizeof(text)), rows[i].text);
}

static void test_every_status_has_a_class(void **state)
{
	(void)state;
#define X(name, value, text) assert_int_equal(exit_class_of(HAUL_##name) == EXIT_CLASS_OK, value == 0);
	HAUL_STATUS_LIST(X)
#undef X
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing_right),
		cmocka_unit_test(test_no_share),
		cmocka_unit_test(test_no_space),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_peer_text_is_escaped_and_cut),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_every_status_has_a_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
