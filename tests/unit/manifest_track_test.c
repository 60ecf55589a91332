/* Canonical order, open directories, references and sums of a manifest. */
#include "peer-protocol/manifest_track.h"

#include "cmocka_first.h"
#include "control_pair.h"

#include <stdio.h>

#define ROOT HAUL_NO_INDEX

static haul_status feed(struct manifest_track *t, struct manifest_record record)
{
	struct msg_manifest m = { .records = &record, .record_count = 1 };

	return manifest_track_records(t, &m, NULL);
}

static haul_status finish(struct manifest_track *t, uint64_t entries, uint64_t bytes)
{
	struct msg_manifest_end m = { .entries = entries, .bytes = bytes };

	return manifest_track_end(t, &m, NULL);
}

/* d/ (a, e/ (x), z), f */
static void fill(struct manifest_track *t)
{
	manifest_track_open(t);
	assert_ok(feed(t, entry_record(0, ROOT, ENTRY_DIRECTORY, "d")));
	assert_ok(feed(t, entry_record(1, 0, ENTRY_FILE, "a")));
	assert_ok(feed(t, entry_record(2, 0, ENTRY_DIRECTORY, "e")));
	assert_ok(feed(t, entry_record(3, 2, ENTRY_FILE, "x")));
}

static void a_tree_in_canonical_order_passes(void **state)
{
	struct manifest_track t;

	(void)state;
	fill(&t);
	assert_ok(feed(&t, dir_end_record(2, 1)));
	assert_ok(feed(&t, entry_record(4, 0, ENTRY_FILE, "z")));
	assert_ok(feed(&t, dir_end_record(0, 3)));
	assert_ok(feed(&t, entry_record(5, ROOT, ENTRY_LINK, "f")));
	assert_ok(finish(&t, 6, 30)); /* the root's end may be missing: its listing was not the sender's task */
	assert_ok(feed(&t, dir_end_record(ROOT, 2)));
	assert_ok(finish(&t, 6, 30));
	assert_code(feed(&t, entry_record(6, ROOT, ENTRY_FILE, "g")), HAUL_NOT_ANNOUNCED);
	manifest_track_close(&t);
}

static struct manifest_record problem_record(uint64_t directory)
{
	return (struct manifest_record){ .type = RECORD_PROBLEM,
					 .problem = { .directory = directory, .name = { "p", 1 }, .code = 1 } };
}

/* Told in any directory that is open, counted in none. */
static void a_problem_lies_in_an_open_directory(void **state)
{
	struct manifest_track t;

	(void)state;
	fill(&t);
	assert_ok(feed(&t, problem_record(2)));
	assert_ok(feed(&t, problem_record(0)));
	assert_ok(feed(&t, problem_record(ROOT)));
	assert_code(feed(&t, problem_record(1)), HAUL_NOT_ANNOUNCED);
	assert_ok(feed(&t, dir_end_record(2, 1)));
	assert_code(feed(&t, problem_record(2)), HAUL_NOT_ANNOUNCED);
	manifest_track_close(&t);
}

static void an_empty_manifest_passes(void **state)
{
	struct manifest_track t;

	(void)state;
	manifest_track_open(&t);
	assert_ok(finish(&t, 0, 0));
	assert_ok(feed(&t, dir_end_record(ROOT, 0)));
	assert_ok(finish(&t, 0, 0));
	manifest_track_close(&t);
}

static void what_is_out_of_order_is_refused(void **state)
{
	static const struct {
		uint64_t index, parent;
		const char *name;
		enum haul_code code;
	} cases[] = {
		{ 5, 2, "y", HAUL_CODE_NOT_ANNOUNCED }, /* an index left out */
		{ 3, 2, "y", HAUL_CODE_NOT_ANNOUNCED }, /* an index twice */
		{ 4, 0, "y", HAUL_CODE_NOT_ANNOUNCED }, /* the parent is open, but not the innermost */
		{ 4, 1, "y", HAUL_CODE_NOT_ANNOUNCED }, /* the parent is a file */
		{ 4, 4, "y", HAUL_CODE_NOT_ANNOUNCED }, /* its own parent */
		{ 4, ROOT, "y", HAUL_CODE_NOT_ANNOUNCED },
		{ 4, 2, "x", HAUL_CODE_BAD_VALUE }, /* a name twice */
		{ 4, 2, "w", HAUL_CODE_BAD_VALUE }, /* before its sibling */
		{ 4, 2, "X", HAUL_CODE_BAD_VALUE },
		{ 4, 2, "xa", HAUL_CODE_OK },
		{ 4, 2, "\xff", HAUL_CODE_OK }, /* bytes are unsigned */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct manifest_track t;
		haul_status st;

		fill(&t);
		st = feed(&t, entry_record(cases[i].index, cases[i].parent, ENTRY_FILE, cases[i].name));
		assert_int_equal(st.code, cases[i].code);
		manifest_track_close(&t);
	}
}

static void an_end_must_be_of_the_open_directory_with_its_count(void **state)
{
	static const struct {
		uint64_t directory, count;
		enum haul_code code;
	} cases[] = {
		{ 2, 1, HAUL_CODE_OK },
		{ 2, 0, HAUL_CODE_BAD_VALUE },
		{ 2, 2, HAUL_CODE_BAD_VALUE },
		{ 0, 2, HAUL_CODE_NOT_ANNOUNCED },
		{ 3, 0, HAUL_CODE_NOT_ANNOUNCED },
		{ ROOT, 1, HAUL_CODE_NOT_ANNOUNCED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct manifest_track t;
		haul_status st;

		fill(&t);
		st = feed(&t, dir_end_record(cases[i].directory, cases[i].count));
		assert_int_equal(st.code, cases[i].code);
		manifest_track_close(&t);
	}
}

static void references_lead_back(void **state)
{
	struct manifest_record link = entry_record(4, 2, ENTRY_FILE, "y");
	struct msg_owners owners = { .owners = (const struct owner_name[]){ { .index = 0 }, { .index = 1 } },
				     .owner_count = 2 };
	struct manifest_track t;

	(void)state;
	fill(&t);
	link.entry.link_to = 4;
	assert_code(feed(&t, link), HAUL_NOT_ANNOUNCED);
	manifest_track_close(&t);
	fill(&t);
	link.entry.link_to = 3;
	link.entry.owner = 1;
	assert_code(feed(&t, link), HAUL_NOT_ANNOUNCED);
	manifest_track_close(&t);
	fill(&t);
	assert_ok(manifest_track_owners(&t, &owners, NULL));
	link.entry.group = 2;
	assert_code(feed(&t, link), HAUL_NOT_ANNOUNCED);
	manifest_track_close(&t);
	fill(&t);
	assert_ok(manifest_track_owners(&t, &owners, NULL));
	link.entry.group = 0;
	assert_ok(feed(&t, link));
	assert_code(manifest_track_owners(&t, &owners, NULL), HAUL_NOT_ANNOUNCED);
	manifest_track_close(&t);
}

static void the_end_needs_every_directory_ended_and_sums_that_agree(void **state)
{
	struct manifest_track t;

	(void)state;
	fill(&t);
	assert_code(finish(&t, 4, 20), HAUL_BAD_VALUE);
	assert_ok(feed(&t, dir_end_record(2, 1)));
	assert_code(finish(&t, 4, 20), HAUL_BAD_VALUE);
	assert_ok(feed(&t, dir_end_record(0, 2)));
	assert_code(finish(&t, 3, 20), HAUL_BAD_VALUE);
	assert_code(finish(&t, 4, 21), HAUL_BAD_VALUE);
	assert_ok(finish(&t, 4, 20));
	manifest_track_close(&t);
}

static void sizes_that_overflow_are_refused(void **state)
{
	struct manifest_track t;

	(void)state;
	manifest_track_open(&t);
	for (uint64_t i = 0; i < 3; i++) {
		char name[] = { (char)('a' + i), 0 };
		struct manifest_record r = entry_record(i, ROOT, ENTRY_FILE, name);

		r.entry.size = MESSAGE_SIZE_MAX;
		assert_code(feed(&t, r), i < 2 ? HAUL_OK : HAUL_OVERFLOW);
	}
	manifest_track_close(&t);
}

static void depth_ends_at_4096_components(void **state)
{
	struct manifest_track t;

	(void)state;
	manifest_track_open(&t);
	for (uint64_t i = 0; i < HAUL_DEPTH_MAX; i++)
		assert_ok(feed(&t, entry_record(i, i ? i - 1 : ROOT, ENTRY_DIRECTORY, "d")));
	assert_code(feed(&t, entry_record(HAUL_DEPTH_MAX, HAUL_DEPTH_MAX - 1, ENTRY_FILE, "f")), HAUL_BAD_VALUE);
	manifest_track_close(&t);
}

static void the_root_is_an_entry_of_no_directory(void **state)
{
	struct manifest_track t;

	(void)state;
	manifest_track_open(&t);
	assert_ok(feed(&t, entry_record(0, ROOT, ENTRY_DIRECTORY, "")));
	assert_ok(feed(&t, entry_record(1, ROOT, ENTRY_FILE, "a")));
	assert_code(finish(&t, 2, 10), HAUL_BAD_VALUE); /* its facts come with its end */
	assert_code(feed(&t, dir_end_record(ROOT, 2)), HAUL_BAD_VALUE);
	assert_ok(feed(&t, dir_end_record(ROOT, 1)));
	assert_ok(finish(&t, 2, 10));
	manifest_track_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_in_canonical_order_passes),
		cmocka_unit_test(an_empty_manifest_passes),
		cmocka_unit_test(the_root_is_an_entry_of_no_directory),
		cmocka_unit_test(a_problem_lies_in_an_open_directory),
		cmocka_unit_test(what_is_out_of_order_is_refused),
		cmocka_unit_test(an_end_must_be_of_the_open_directory_with_its_count),
		cmocka_unit_test(references_lead_back),
		cmocka_unit_test(the_end_needs_every_directory_ended_and_sums_that_agree),
		cmocka_unit_test(sizes_that_overflow_are_refused),
		cmocka_unit_test(depth_ends_at_4096_components),
	};

	return cmocka_run_group_tests_name("manifest_track", tests, NULL, NULL);
}
