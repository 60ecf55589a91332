/* Notes: read as they were made, from any that begins where is known; what cannot be written or read is told. */
#include "agent/note_file.h"

#include "tests/unit/temp_dir.h"

#include <signal.h>
#include <sys/resource.h>

enum { NOTES = 1000 };

struct part {
	uint64_t number;
	uint8_t kind;
};

static char *long_text(unsigned number)
{
	static char text[5000];
	size_t len = number % (sizeof(text) - 1);

	memset(text, 'a' + (int)(number % 26), len);
	text[len] = '\0';
	return text;
}

static void notes_come_back_in_order_and_from_anywhere(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct note_file *n = NULL;
	const char *first, *second;
	off_t at = 0, starts[NOTES], end = 0;
	struct part part;

	(void)state;
	assert_ok(note_file_new(t.path, &n, NULL));
	for (unsigned i = 0; i < NOTES; i++) {
		part = (struct part){ .number = i, .kind = (uint8_t)(i % 7) };
		starts[i] = end;
		end += note_file_add(n, &part, sizeof(part), long_text(i), i % 2 ? "" : "second\nof two");
	}
	assert_ok(note_file_end(n, &at));
	assert_int_equal(at, end);
	at = 0;
	for (unsigned i = 0; i < NOTES; i++) {
		assert_int_equal(at, starts[i]);
		assert_ok(note_file_read(n, at, &part, sizeof(part), &first, &second, &at));
		assert_int_equal(part.number, i);
		assert_string_equal(first, long_text(i));
		assert_string_equal(second, i % 2 ? "" : "second\nof two");
	}
	assert_int_equal(at, end);
	for (unsigned i = NOTES; i-- > 0;) {
		assert_ok(note_file_read(n, starts[i], &part, sizeof(part), &first, &second, &at));
		assert_int_equal(part.number, i);
	}
	note_file_free(n);
	assert_int_equal(temp_dir_walk(t.fd, false), 0); /* nobody else sees the file */
	temp_dir_close(&t);
}

static void what_is_no_note_is_refused(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct part part = { .number = 1 };
	struct note_file *n = NULL;
	const char *first, *second;
	uint32_t bytes;
	off_t end;

	(void)state;
	assert_ok(note_file_new(t.path, &n, NULL));
	bytes = note_file_add(n, &part, sizeof(part), "one", "two");
	assert_ok(note_file_end(n, &end));
	assert_true(haul_failed(note_file_read(n, end, &part, sizeof(part), &first, &second, &end)));
	assert_true(haul_failed(note_file_read(n, 0, &part, sizeof(part) - 1, &first, &second, &end)));
	assert_true(haul_failed(note_file_read(n, 1, &part, sizeof(part), &first, &second, &end)));
	assert_ok(note_file_read(n, 0, &part, sizeof(part), &first, &second, &end));
	assert_int_equal(end, bytes);
	assert_string_equal(first, "one");
	note_file_free(n);
	temp_dir_close(&t);
}

static void a_directory_that_is_not_there_is_named(void **state)
{
	struct haul_fault fault = { 0 };
	struct note_file *n = NULL;

	(void)state;
	assert_code(note_file_new("/nonexistent/of-haul", &n, &fault), HAUL_NOT_FOUND);
	assert_non_null(strstr(fault.text, "/nonexistent/of-haul"));
	assert_null(n);
	note_file_free(NULL);
}

/* A disk that is full shows at the end, once for all. */
static void what_could_not_be_written_is_told_at_the_end(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct rlimit before, small;
	struct part part = { .number = 1 };
	struct note_file *n = NULL;
	haul_status st;
	off_t end;

	(void)state;
	assert_ok(note_file_new(t.path, &n, NULL));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ .rlim_cur = 20000, .rlim_max = before.rlim_max };
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (unsigned i = 0; i < 20; i++)
		(void)note_file_add(n, &part, sizeof(part), long_text(4000), "");
	st = note_file_end(n, &end);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_true(haul_failed(st));
	note_file_free(n);
	temp_dir_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_come_back_in_order_and_from_anywhere),
		cmocka_unit_test(what_is_no_note_is_refused),
		cmocka_unit_test(a_directory_that_is_not_there_is_named),
		cmocka_unit_test(what_could_not_be_written_is_told_at_the_end),
	};

	return cmocka_run_group_tests_name("note_file", tests, NULL, NULL);
}
