/* A scratch file is written and read and leaves no name; where none can be made, errno says why. */
#include "engine/scratch_file.h"

#include "temp_dir.h"

#include <errno.h>
#include <sys/stat.h>

static void it_has_no_name(void **state)
{
	struct temp_dir t = temp_dir_open();
	int fds[2] = { scratch_file_open(AT_FDCWD, t.path), scratch_file_open(t.fd, ".") };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct stat st;
		char got[5];

		assert_true(fds[i] >= 0);
		assert_int_equal(pwrite(fds[i], "notes", 5, 100000), 5);
		assert_int_equal(pread(fds[i], got, 5, 100000), 5);
		assert_memory_equal(got, "notes", 5);
		assert_int_equal(fstat(fds[i], &st), 0);
		assert_int_equal(st.st_nlink, 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		(void)close(fds[i]);
	}
	assert_int_equal(temp_dir_walk(t.fd, false), 0);
	temp_dir_close(&t);
}

static void without_a_directory_errno_tells(void **state)
{
	(void)state;
	errno = 0;
	assert_int_equal(scratch_file_open(AT_FDCWD, "/nowhere/at/all"), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(scratch_file_open(AT_FDCWD, "/dev/null"), -1);
	assert_int_equal(errno, ENOTDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_no_name),
		cmocka_unit_test(without_a_directory_errno_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
