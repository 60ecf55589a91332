/* The landing table of docs/CLI.md, row by row, and what is refused. */
#include "agent/landing.h"

#include "cmocka_first.h"

#include <string.h>

#define FILE_AT(p)                                                                                                     \
	{                                                                                                              \
		.text = p, .path = p, .is_there = true, .kind = ENTRY_FILE                                             \
	}
#define DIR_AT(p)                                                                                                      \
	{                                                                                                              \
		.text = p, .path = p, .is_there = true, .kind = ENTRY_DIRECTORY                                        \
	}
#define DIR_SLASH(p)                                                                                                   \
	{                                                                                                              \
		.text = p "/", .path = p, .has_slash = true, .is_there = true, .kind = ENTRY_DIRECTORY                 \
	}
#define LINK_TO(p, to)                                                                                                 \
	{                                                                                                              \
		.text = p, .path = p, .is_there = true, .kind = ENTRY_LINK, .target_kind = to                          \
	}
#define LINK_SLASH(p, to)                                                                                              \
	{                                                                                                              \
		.text = p "/", .path = p, .has_slash = true, .is_there = true, .kind = ENTRY_LINK, .target_kind = to   \
	}
#define MISSING(p)                                                                                                     \
	{                                                                                                              \
		.text = p, .path = p                                                                                   \
	}
#define MISSING_SLASH(p)                                                                                               \
	{                                                                                                              \
		.text = p "/", .path = p, .has_slash = true                                                            \
	}
#define SHARE                                                                                                          \
	{                                                                                                              \
		.text = "nas:inbox", .path = "", .has_slash = true, .is_there = true, .kind = ENTRY_DIRECTORY          \
	}

struct row {
	struct landing_place src, dst;
	const char *as_name;
	bool is_verify;
	enum haul_code code;
	const char *root, *name; /* name NULL: contents */
	bool is_link, follow;
};

static const struct row rows[] = {
	{ FILE_AT("d/clip"), MISSING("out/new"), NULL, false, 0, "out", "new", false, false },
	{ FILE_AT("clip"), MISSING("new"), NULL, false, 0, "", "new", false, false },
	{ FILE_AT("clip"), MISSING("/new"), NULL, false, 0, "/", "new", false, false },
	{ FILE_AT("clip"), MISSING_SLASH("new"), NULL, false, 0, "new", "clip", false, false },
	{ FILE_AT("d/clip"), DIR_AT("out"), NULL, false, 0, "out", "clip", false, false },
	{ FILE_AT("clip"), FILE_AT("out/old"), NULL, false, 0, "out", "old", false, false },
	{ FILE_AT("clip"), SHARE, NULL, false, 0, "", "clip", false, false },
	{ DIR_AT("a/Footage"), MISSING("day1"), NULL, false, 0, "day1", "Footage", false, false },
	{ DIR_AT("a/Footage"), DIR_AT("day1"), NULL, false, 0, "day1", "Footage", false, false },
	{ DIR_SLASH("a/Footage"), MISSING("day1"), NULL, false, 0, "day1", NULL, false, false },
	{ DIR_AT("."), DIR_AT("day1"), NULL, false, 0, "day1", NULL, false, false },
	{ DIR_AT("a/.."), DIR_AT("day1"), NULL, false, 0, "day1", NULL, false, false },
	{ SHARE, MISSING("here"), NULL, false, 0, "here", NULL, false, false },
	{ LINK_TO("l", ENTRY_DIRECTORY), DIR_AT("day1"), NULL, false, 0, "day1", "l", true, false },
	{ LINK_TO("l", 0), DIR_AT("day1"), NULL, false, 0, "day1", "l", true, false },
	{ LINK_SLASH("l", ENTRY_DIRECTORY), DIR_AT("day1"), NULL, false, 0, "day1", NULL, false, true },
	{ FILE_AT("clip"), DIR_AT("out"), "other", false, 0, "out", "other", false, false },
	{ DIR_AT("Footage"), MISSING("day1"), "other", false, 0, "day1", "other", false, false },
	{ DIR_SLASH("Footage"), MISSING("day1"), "other", false, 0, "day1", "other", false, false },
	/* refused */
	{ .src = { .text = "clip/", .path = "clip", .has_slash = true, .is_there = true, .kind = ENTRY_FILE },
	  .dst = DIR_AT("out"),
	  .code = HAUL_CODE_USAGE },
	{ .src = LINK_SLASH("l", ENTRY_FILE), .dst = DIR_AT("out"), .code = HAUL_CODE_USAGE },
	{ .src = LINK_SLASH("l", 0), .dst = DIR_AT("out"), .code = HAUL_CODE_USAGE },
	{ .src = DIR_AT("Footage"), .dst = FILE_AT("old"), .code = HAUL_CODE_NOT_DIRECTORY },
	{ .src = DIR_SLASH("Footage"), .dst = FILE_AT("old"), .code = HAUL_CODE_NOT_DIRECTORY },
	{ .src = FILE_AT("clip"), .dst = DIR_AT("out"), .as_name = "a/b", .code = HAUL_CODE_USAGE },
	{ .src = FILE_AT("clip"), .dst = DIR_AT("out"), .as_name = "..", .code = HAUL_CODE_USAGE },
	{ .src = FILE_AT("clip"), .dst = DIR_AT("out"), .as_name = "", .code = HAUL_CODE_USAGE },
	{ .src = FILE_AT("clip"), .dst = DIR_AT("out"), .as_name = ".haul", .code = HAUL_CODE_USAGE },
	/* verify: the two things themselves */
	{ FILE_AT("clip"), FILE_AT("out/old"), NULL, true, 0, "out", "old", false, false },
	{ DIR_AT("Footage"), DIR_AT("day1"), NULL, true, 0, "day1", NULL, false, false },
	{ DIR_SLASH("Footage"), DIR_AT("day1"), NULL, true, 0, "day1", NULL, false, false },
	{ .src = FILE_AT("clip"), .dst = DIR_AT("."), .is_verify = true, .code = HAUL_CODE_USAGE },
	{ .src = DIR_AT("Footage"), .dst = FILE_AT("old"), .is_verify = true, .code = HAUL_CODE_NOT_DIRECTORY },
};

static void every_row_of_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		const struct landing_request req = { .sources = &r->src,
						     .source_count = 1,
						     .destination = &r->dst,
						     .as_name = r->as_name,
						     .is_verify = r->is_verify };
		struct haul_fault fault = { 0 };
		struct landing l = { 0 };
		haul_status st = landing_decide(&req, &l, &fault);

		print_message("row %zu: %s -> %s\n", i, r->src.text, r->dst.text);
		assert_int_equal(st.code, r->code);
		if (haul_failed(st)) {
			assert_string_not_equal(fault.text, "");
			assert_null(l.root);
			continue;
		}
		assert_string_equal(l.root, r->root);
		if (r->name)
			assert_string_equal(l.landed[0].name, r->name);
		else
			assert_null(l.landed[0].name);
		assert_int_equal(l.landed[0].is_link, r->is_link);
		assert_int_equal(l.landed[0].follow, r->follow);
		landing_close(&l);
	}
}

static haul_status several(const struct landing_place *sources, size_t count, const struct landing_place *dst,
			   const char *as_name, bool is_verify, struct landing *ret_landing)
{
	const struct landing_request req = { .sources = sources,
					     .source_count = count,
					     .destination = dst,
					     .as_name = as_name,
					     .is_verify = is_verify };
	struct haul_fault fault = { 0 };

	return landing_decide(&req, ret_landing, &fault);
}

static void several_land_in_one_directory(void **state)
{
	const struct landing_place sources[] = { FILE_AT("a/one"), DIR_AT("two"), DIR_SLASH("three") };
	const struct landing_place missing = MISSING("out"), file = FILE_AT("old");
	struct landing l;

	(void)state;
	assert_int_equal(several(sources, 3, &missing, NULL, false, &l).code, HAUL_CODE_OK);
	assert_string_equal(l.root, "out");
	assert_string_equal(l.landed[0].name, "one");
	assert_string_equal(l.landed[1].name, "two");
	assert_null(l.landed[2].name);
	landing_close(&l);
	assert_int_equal(several(sources, 3, &file, NULL, false, &l).code, HAUL_CODE_NOT_DIRECTORY);
	assert_int_equal(several(sources, 3, &missing, "x", false, &l).code, HAUL_CODE_USAGE);
	assert_int_equal(several(sources, 3, &missing, NULL, true, &l).code, HAUL_CODE_USAGE);
}

static void two_of_one_name_are_refused(void **state)
{
	const struct landing_place sources[] = { FILE_AT("a/same"), FILE_AT("other"), DIR_AT("b/same") };
	const struct landing_place dst = DIR_AT("out");
	const struct landing_request req = { .sources = sources, .source_count = 3, .destination = &dst };
	struct haul_fault fault = { 0 };
	struct landing l;

	(void)state;
	assert_int_equal(landing_decide(&req, &l, &fault).code, HAUL_CODE_USAGE);
	assert_non_null(strstr(fault.text, "a/same"));
	assert_non_null(strstr(fault.text, "b/same"));
}

static void base_names(void **state)
{
	static const char *const pairs[][2] = {
		{ "a/b", "b" }, { "a/b//", "b" }, { "b", "b" }, { "/", "" }, { "", "" }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		size_t len;
		const char *base = landing_base_name(pairs[i][0], &len);

		assert_int_equal(len, strlen(pairs[i][1]));
		assert_memory_equal(base, pairs[i][1], len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_of_the_table),
		cmocka_unit_test(several_land_in_one_directory),
		cmocka_unit_test(two_of_one_name_are_refused),
		cmocka_unit_test(base_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
