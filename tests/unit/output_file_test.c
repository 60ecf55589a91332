#include "engine/base/output_file.h"
#include "tests/unit/cmocka_first.h"
#include "tests/unit/temp_dir.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
	struct temp_dir dir;
	char path[4096];
};

static struct fixture fixture_open(const char *content, size_t len)
{
	struct fixture f = { .dir = temp_dir_open() };
	int fd = openat(f.dir.fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, len), len);
	(void)close(fd);
	(void)snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d/f", f.dir.fd);
	return f;
}

static void content_is(const struct fixture *f, const char *content, size_t len)
{
	char got[64];
	int fd = open(f->path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, got, sizeof(got)), len);
	assert_memory_equal(got, content, len);
	(void)close(fd);
}

static void only_what_has_the_mark_may_go(void **state)
{
	static const struct {
		const char *content;
		size_t len;
		bool is_trace, is_list;
	} cases[] = { { "", 0, true, true },           { "{\"job\":1}\n", 10, true, false },
		      { "{\"job\"", 6, false, false }, { "a\0b\0", 4, false, true },
		      { "a\0b", 3, false, false },     { "text\n", 5, false, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int mark = OUTPUT_TRACE; mark <= OUTPUT_NUL_LIST; mark++) {
			struct fixture f = fixture_open(cases[i].content, cases[i].len);
			bool may = mark == OUTPUT_TRACE ? cases[i].is_trace : cases[i].is_list;
			struct output_file out;
			struct haul_fault fault = { 0 };
			haul_status st = output_file_open(&out, "--x", f.path, (enum output_mark)mark, &fault);

			assert_code(st, may ? HAUL_OK : HAUL_USAGE);
			if (may)
				assert_int_equal(output_file_close(&out), 0);
			content_is(&f, cases[i].content, cases[i].len); /* never begun: as it was */
			temp_dir_close(&f.dir);
		}
	}
}

static void what_was_there_goes_when_it_is_begun(void **state)
{
	struct fixture f = fixture_open("a\0", 2);
	struct output_file out;

	(void)state;
	assert_ok(output_file_open(&out, "--x", f.path, OUTPUT_NUL_LIST, NULL));
	content_is(&f, "a\0", 2);
	assert_ok(output_file_begin(&out));
	assert_int_equal(fwrite("b", 1, 2, out.file), 2);
	assert_ok(output_file_begin(&out)); /* again: nothing goes */
	assert_int_equal(output_file_close(&out), 0);
	content_is(&f, "b\0", 2);
	temp_dir_close(&f.dir);
}

static void made_for_nothing_it_goes_again(void **state)
{
	struct fixture f = fixture_open("", 0);
	struct output_file out;

	(void)state;
	assert_int_equal(unlink(f.path), 0);
	assert_ok(output_file_open(&out, "--x", f.path, OUTPUT_TRACE, NULL));
	assert_int_equal(access(f.path, F_OK), 0);
	assert_int_equal(output_file_close(&out), 0);
	assert_int_not_equal(access(f.path, F_OK), 0);
	assert_ok(output_file_open(&out, "--x", f.path, OUTPUT_TRACE, NULL));
	assert_ok(output_file_begin(&out));
	assert_int_equal(output_file_close(&out), 0);
	content_is(&f, "", 0);
	temp_dir_close(&f.dir);
}

static void a_failed_write_is_told_at_the_close(void **state)
{
	struct output_file out;

	(void)state;
	assert_ok(output_file_open(&out, "--x", "/dev/full", OUTPUT_TRACE, NULL));
	assert_ok(output_file_begin(&out));
	(void)fputs("x", out.file);
	assert_int_not_equal(output_file_close(&out), 0);
	assert_int_equal(output_file_close(&out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_has_the_mark_may_go),
		cmocka_unit_test(what_was_there_goes_when_it_is_begun),
		cmocka_unit_test(made_for_nothing_it_goes_again),
		cmocka_unit_test(a_failed_write_is_told_at_the_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
