/* Direct or buffered: what is asked, what the file system says, and the text that tells. */
#include "engine/disk_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/skip_because.h"

enum { BIG = 64 * 1024 * 1024 };

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)

static int open_in(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0640);

	if (fd < 0)
		skip_because("%s has no O_TMPFILE", dir);
	return fd;
}

static bool has_direct_flag(int fd)
{
	return (fcntl(fd, F_GETFL) & O_DIRECT) != 0;
}

static void big_file_on_disk_is_direct(void **state)
{
	struct disk_file f;
	char text[160];

	(void)state;
	assert_code(disk_file_open(&f, open_in("."), DIRECT_AUTO, BIG, NULL), HAUL_OK);
	if (!atomic_load(&f.is_direct)) {
		assert_int_equal(f.offset_align, 1);
		assert_code(disk_file_close(&f), HAUL_OK);
		skip_because("the build lies on a file system without direct I/O");
	}
	assert_true(has_direct_flag(f.fd));
	assert_true(f.offset_align >= 4096 && (f.offset_align & (f.offset_align - 1)) == 0);
	assert_true(f.memory_align >= 1 && (f.memory_align & (f.memory_align - 1)) == 0);
	assert_string_equal(disk_file_mode_text(&f), "direct");
	assert_memory_equal(disk_file_text(&f, text, sizeof(text)), "direct", 6);
	assert_non_null(strstr(text, "aligned to"));
	assert_code(disk_file_make_buffered(&f, BUFFERED_IO_REFUSED), HAUL_OK);
	assert_string_equal(disk_file_text(&f, text, sizeof(text)), "buffered (file system refused direct I/O)");
	assert_false(has_direct_flag(f.fd));
	assert_false(atomic_load(&f.is_direct));
	assert_int_equal(atomic_load(&f.reason), BUFFERED_IO_REFUSED);
	assert_code(disk_file_close(&f), HAUL_OK);
	assert_int_equal(f.fd, -1);
	assert_code(disk_file_close(&f), HAUL_OK);
}

static void check_buffered(int fd, enum direct_mode mode, uint64_t size, enum buffered_reason reason)
{
	struct disk_file f;

	assert_code(disk_file_open(&f, fd, mode, size, NULL), HAUL_OK);
	assert_false(atomic_load(&f.is_direct));
	assert_false(has_direct_flag(fd));
	assert_int_equal(atomic_load(&f.reason), reason);
	assert_int_equal(f.offset_align, 1);
	assert_int_equal(f.memory_align, 1);
	assert_memory_equal(disk_file_mode_text(&f), "buffered (", 10);
	assert_code(disk_file_close(&f), HAUL_OK);
}

static void reasons_for_the_page_cache(void **state)
{
	(void)state;
	check_buffered(open_in("."), DIRECT_NEVER, BIG, BUFFERED_ASKED);
	check_buffered(open_in("."), DIRECT_AUTO, DISK_FILE_DIRECT_MIN - 1, BUFFERED_SMALL);
	check_buffered(open_in("/dev/shm"), DIRECT_AUTO, BIG, BUFFERED_MEMORY_FS);
	/* procfs has regular files and no direct I/O. */
	check_buffered(open("/proc/self/status", O_RDONLY | O_CLOEXEC), DIRECT_AUTO, BIG, BUFFERED_OPEN_REFUSED);
}

static void flag_set_by_the_caller_is_cleared(void **state)
{
	int fd = open_in(".");

	(void)state;
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_DIRECT);
	check_buffered(fd, DIRECT_NEVER, BIG, BUFFERED_ASKED);
}

static void refusal_leaves_the_descriptor_to_the_caller(void **state)
{
	struct haul_fault fault = { .status = HAUL_OK };
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct disk_file f;

	(void)state;
	assert_code(disk_file_open(&f, fd, DIRECT_ALWAYS, BIG, &fault), HAUL_UNSUPPORTED);
	assert_code(fault.status, HAUL_UNSUPPORTED);
	assert_int_equal(f.fd, -1);
	assert_int_equal(close(fd), 0);
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_code(disk_file_open(&f, fd, DIRECT_AUTO, BIG, &fault), HAUL_WRONG_KIND);
	assert_int_equal(close(fd), 0);
	assert_code(disk_file_open(&f, fd, DIRECT_AUTO, BIG, &fault), HAUL_IO);
	assert_int_not_equal(fault.os_errno, 0);
}

static void facts_are_those_of_the_descriptor(void **state)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = -5, .tv_nsec = 123456789 } };
	struct disk_file f;
	struct stat sb;
	int fd = open_in(".");

	(void)state;
	assert_int_equal(fchmod(fd, 02751), 0);
	assert_int_equal(ftruncate(fd, 12345), 0);
	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(fstat(fd, &sb), 0);
	assert_code(disk_file_open(&f, fd, DIRECT_AUTO, 1, NULL), HAUL_OK);
	assert_int_equal(f.facts.kind, ENTRY_FILE);
	assert_int_equal(f.facts.mode, sb.st_mode & 07777);
	assert_int_equal(f.facts.size, 12345);
	assert_int_equal(f.facts.mtime.sec, sb.st_mtim.tv_sec);
	assert_int_equal(f.facts.mtime.nsec, sb.st_mtim.tv_nsec);
	assert_int_equal(f.facts.inode, sb.st_ino);
	assert_int_equal(f.facts.device, sb.st_dev);
	assert_int_equal(f.facts.links, 0);
	assert_int_equal(f.facts.uid, sb.st_uid);
	assert_code(disk_file_close(&f), HAUL_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(big_file_on_disk_is_direct),
		cmocka_unit_test(reasons_for_the_page_cache),
		cmocka_unit_test(flag_set_by_the_caller_is_cleared),
		cmocka_unit_test(refusal_leaves_the_descriptor_to_the_caller),
		cmocka_unit_test(facts_are_those_of_the_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
