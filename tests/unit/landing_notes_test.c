/* What a move's receiver keeps of what has landed: found by number, whatever landed between. */
#include "agent/landing_notes.h"

#include "tests/unit/temp_dir.h"

#include <signal.h>
#include <sys/resource.h>

static struct entry_facts facts_of(uint64_t index)
{
	return (struct entry_facts){ .kind = index % 2 ? ENTRY_FILE : ENTRY_LINK,
				     .mode = 0640,
				     .size = index * 1000003,
				     .inode = index + 7,
				     .device = 3,
				     .mtime = { -5, 999999999 },
				     .ctime = { 1700000000 + (int64_t)index, 1 } };
}

static void put(struct landing_notes *n, uint64_t index)
{
	const struct entry_facts facts = facts_of(index);
	char path[64];

	(void)snprintf(path, sizeof(path), "some/where/%llu", (unsigned long long)index);
	landing_notes_put(n, index, path, &facts, index % 3 == 0);
}

static void assert_note(struct landing_notes *n, uint64_t index)
{
	const struct entry_facts expected = facts_of(index);
	struct entry_facts facts;
	char *path = NULL, wanted[64];
	bool is_new = false;

	(void)snprintf(wanted, sizeof(wanted), "some/where/%llu", (unsigned long long)index);
	assert_ok(landing_notes_get(n, index, &path, &facts, &is_new));
	assert_string_equal(path, wanted);
	assert_int_equal(facts.size, expected.size);
	assert_int_equal(facts.inode, expected.inode);
	assert_int_equal(facts.kind, expected.kind);
	assert_true(entry_time_equal(&facts.mtime, &expected.mtime));
	assert_true(entry_time_equal(&facts.ctime, &expected.ctime));
	assert_int_equal(is_new, index % 3 == 0);
	free(path);
}

/* Results come in any order, and some entries never land. */
static void each_is_found_by_its_number(void **state)
{
	static const uint64_t landed[] = { 5, 0, 100000, 3, 4, 99999, 7 };
	struct temp_dir t = temp_dir_open();
	struct landing_notes *n = NULL;
	struct entry_facts facts;
	char *path = NULL;
	bool is_new;

	(void)state;
	assert_ok(landing_notes_new(t.path, &n, NULL));
	for (size_t i = 0; i < sizeof(landed) / sizeof(landed[0]); i++)
		put(n, landed[i]);
	assert_ok(landing_notes_end(n));
	for (size_t i = sizeof(landed) / sizeof(landed[0]); i-- > 0;)
		assert_note(n, landed[i]);
	assert_note(n, 3);
	for (uint64_t missing = 1; missing < 200000; missing += 66667)
		assert_code(landing_notes_get(n, missing, &path, &facts, &is_new), HAUL_NOT_FOUND);
	assert_code(landing_notes_get(n, UINT64_MAX / 32, &path, &facts, &is_new), HAUL_NOT_FOUND);
	assert_null(path);
	landing_notes_free(n);
	assert_int_equal(temp_dir_walk(t.fd, false), 0);
	temp_dir_close(&t);
}

static void what_could_not_be_written_is_told_at_the_end(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct rlimit before, small;
	struct landing_notes *n = NULL;
	haul_status st;

	(void)state;
	assert_ok(landing_notes_new(t.path, &n, NULL));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ .rlim_cur = 8192, .rlim_max = before.rlim_max };
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (uint64_t i = 0; i < 5000; i++)
		put(n, i);
	st = landing_notes_end(n);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_true(haul_failed(st));
	landing_notes_free(n);
	temp_dir_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_found_by_its_number),
		cmocka_unit_test(what_could_not_be_written_is_told_at_the_end),
	};

	landing_notes_free(NULL);
	return cmocka_run_group_tests_name("landing_notes", tests, NULL, NULL);
}
