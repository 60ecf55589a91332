#include "engine/base/record_file.h"
#include "engine/base/record_text.h"
#include "tests/unit/cmocka_first.h"
#include "tests/unit/temp_dir.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FORMAT "haul-test 1"

static haul_status read_it(const struct temp_dir *t, struct record_file **ret_file)
{
	struct haul_fault fault = { .status = HAUL_OK };
	haul_status st = record_file_read(t->fd, "f", FORMAT, ret_file, &fault);

	assert_code(fault.status, st); /* every failure fills the fault */
	return st;
}

static void write_two(const struct temp_dir *t)
{
	struct record_writer *w = record_writer_new(FORMAT);

	record_writer_line(w);
	record_writer_field(w, "plain");
	record_writer_field(w, "two words\n100% \xff");
	record_writer_field(w, "");
	record_writer_line(w);
	record_writer_field(w, "");
	assert_ok(record_writer_commit(w, t->fd, "f", NULL));
	record_writer_free(w);
}

static void what_is_written_comes_back(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct record_file *file;
	struct stat st;

	(void)state;
	write_two(&t);
	assert_ok(read_it(&t, &file));
	assert_int_equal(record_file_lines(file), 2);
	assert_int_equal(record_file_fields(file, 0), 3);
	assert_string_equal(record_file_field(file, 0, 0), "plain");
	assert_string_equal(record_file_field(file, 0, 1), "two words\n100% \xff");
	assert_string_equal(record_file_field(file, 0, 2), "");
	assert_null(record_file_field(file, 0, 3));
	assert_string_equal(record_file_field(file, 1, 0), "");
	assert_null(record_file_field(file, 2, 0));
	record_file_free(file);
	assert_int_equal(fstatat(t.fd, "f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(temp_dir_walk(t.fd, false), 1); /* no temporary file stays */
	temp_dir_close(&t);
}

static void the_written_form_is_fixed(void **state)
{
	struct temp_dir t = temp_dir_open();
	char text[200];
	size_t n;

	(void)state;
	write_two(&t);
	n = temp_dir_get(&t, "f", text, sizeof(text) - 1);
	text[n] = '\0';
	assert_string_equal(text, "haul-test 1\nplain two%20words%0A100%25%20%FF %\n%\ncrc32 581F7214\n");
	temp_dir_close(&t);
}

static void an_empty_list_is_a_file_too(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct record_writer *w = record_writer_new(FORMAT);
	struct record_file *file;

	(void)state;
	assert_code(read_it(&t, &file), HAUL_NOT_FOUND);
	assert_ok(record_writer_commit(w, t.fd, "f", NULL));
	record_writer_free(w);
	assert_ok(read_it(&t, &file));
	assert_int_equal(record_file_lines(file), 0);
	record_file_free(file);
	temp_dir_close(&t);
}

/* Flip each bit, cut at each length: nothing damaged is ever read. */
static void any_damage_gives_no_records(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct record_file *file = NULL;
	char text[200];
	size_t n;

	(void)state;
	write_two(&t);
	n = temp_dir_get(&t, "f", text, sizeof(text));
	for (size_t bit = 0; bit < 8 * n; bit++) {
		text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
		temp_dir_put(&t, "f", text, n);
		assert_code(read_it(&t, &file), HAUL_BAD_VALUE);
		text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
	}
	for (size_t len = 0; len < n; len++) {
		temp_dir_put(&t, "f", text, len);
		assert_code(read_it(&t, &file), HAUL_BAD_VALUE);
	}
	assert_null(file);
	temp_dir_put(&t, "f", text, n);
	assert_ok(read_it(&t, &file));
	record_file_free(file);
	temp_dir_close(&t);
}

/* A body with a right checksum that we would not have written. */
static void put_body(const struct temp_dir *t, const char *body)
{
	char text[200];
	char sum[RECORD_SUM_BYTES + 1];
	int n = snprintf(text, sizeof(text), "%s\n%s", FORMAT, body);

	record_sum_text(text, (size_t)n, sum);
	memcpy(text + n, sum, RECORD_SUM_BYTES);
	temp_dir_put(t, "f", text, (size_t)n + RECORD_SUM_BYTES);
}

static void odd_lines_are_refused_even_with_a_right_checksum(void **state)
{
	static const char *const bodies[] = { "\n",    "a  b\n", " a\n",  "a \n",   "a%\n",  "a%4\n",
					      "%zz\n", "%ff\n",  "%00\n", "a\tb\n", "a=b\n", "no newline" };
	struct temp_dir t = temp_dir_open();
	struct record_file *file;

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		put_body(&t, bodies[i]);
		assert_code(read_it(&t, &file), HAUL_BAD_VALUE);
	}
	put_body(&t, "a%20b % c\n");
	assert_ok(read_it(&t, &file));
	record_file_free(file);
	temp_dir_close(&t);
}

static void files_that_others_could_write_are_refused(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct record_file *file;

	(void)state;
	write_two(&t);
	assert_int_equal(fchmodat(t.fd, "f", 0620, 0), 0);
	assert_code(read_it(&t, &file), HAUL_DENIED);
	assert_int_equal(fchmodat(t.fd, "f", 0602, 0), 0);
	assert_code(read_it(&t, &file), HAUL_DENIED);
	assert_int_equal(renameat(t.fd, "f", t.fd, "g"), 0);
	assert_int_equal(symlinkat("g", t.fd, "f"), 0);
	assert_code(read_it(&t, &file), HAUL_LINK_IN_PATH);
	assert_int_equal(unlinkat(t.fd, "f", 0), 0);
	assert_int_equal(mkfifoat(t.fd, "f", 0600), 0);
	assert_code(read_it(&t, &file), HAUL_BAD_VALUE);
	temp_dir_close(&t);
}

static void another_version_and_too_long_a_file_are_refused(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct record_file *file;
	int fd;

	(void)state;
	write_two(&t);
	assert_code(record_file_read(t.fd, "f", "haul-test 2", &file, NULL), HAUL_BAD_VALUE);
	assert_code(record_file_read(t.fd, "f", "haul-test", &file, NULL), HAUL_BAD_VALUE);
	fd = openat(t.fd, "f", O_WRONLY | O_CLOEXEC);
	assert_int_equal(ftruncate(fd, RECORD_FILE_BYTES_MAX + 1), 0);
	(void)close(fd);
	assert_code(read_it(&t, &file), HAUL_BAD_VALUE);
	temp_dir_close(&t);
}

static void too_much_to_write_leaves_the_old_file(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct record_writer *w = record_writer_new(FORMAT);
	char *longest = malloc(RECORD_FILE_BYTES_MAX);
	struct record_file *file;

	(void)state;
	write_two(&t);
	memset(longest, 'a', RECORD_FILE_BYTES_MAX - 1);
	longest[RECORD_FILE_BYTES_MAX - 1] = '\0';
	record_writer_line(w);
	record_writer_field(w, longest);
	assert_code(record_writer_commit(w, t.fd, "f", NULL), HAUL_OVERFLOW);
	record_writer_free(w);
	free(longest);
	assert_ok(read_it(&t, &file));
	assert_int_equal(record_file_lines(file), 2);
	record_file_free(file);
	assert_int_equal(temp_dir_walk(t.fd, false), 1);
	temp_dir_close(&t);
}

/* Two processes count up one number, each under the lock; no step is lost. */
static void count_up(const struct temp_dir *t, unsigned times)
{
	while (times--) {
		struct record_writer *w = record_writer_new(FORMAT);
		struct record_file *file;
		unsigned long value = 0;
		char text[32];
		int lock_fd;

		if (haul_failed(record_lock(t->fd, "f", &lock_fd, NULL)))
			_exit(1);
		if (haul_ok(record_file_read(t->fd, "f", FORMAT, &file, NULL))) {
			value = strtoul(record_file_field(file, 0, 0), NULL, 10);
			record_file_free(file);
		}
		(void)snprintf(text, sizeof(text), "%lu", value + 1);
		record_writer_line(w);
		record_writer_field(w, text);
		if (haul_failed(record_writer_commit(w, t->fd, "f", NULL)))
			_exit(1);
		record_writer_free(w);
		record_unlock(lock_fd);
	}
}

static void the_lock_keeps_updates_apart(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct record_file *file;
	int status = -1;
	pid_t child = fork();

	(void)state;
	count_up(&t, 25);
	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_ok(read_it(&t, &file));
	assert_string_equal(record_file_field(file, 0, 0), "50");
	record_file_free(file);
	temp_dir_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_comes_back),
		cmocka_unit_test(the_written_form_is_fixed),
		cmocka_unit_test(an_empty_list_is_a_file_too),
		cmocka_unit_test(any_damage_gives_no_records),
		cmocka_unit_test(odd_lines_are_refused_even_with_a_right_checksum),
		cmocka_unit_test(files_that_others_could_write_are_refused),
		cmocka_unit_test(another_version_and_too_long_a_file_are_refused),
		cmocka_unit_test(too_much_to_write_leaves_the_old_file),
		cmocka_unit_test(the_lock_keeps_updates_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
