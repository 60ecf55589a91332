/* A small file is read whole and is the one that was announced, or says why not. */
#include "engine/small_file.h"

#include "engine/beneath.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { CAP = 65536 };

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)

struct fixture {
	char dir[32];
	int root;
	struct entry_facts seen; /* of "d/f" */
	uint8_t buf[CAP];
	size_t len;
	struct entry_facts facts;
};

static void put(const struct fixture *x, const char *path, const void *data, size_t len)
{
	int fd = openat(x->root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	assert_int_equal(close(fd), 0);
}

static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	(void)snprintf(x->dir, sizeof(x->dir), "small_file.XXXXXX");
	if (!mkdtemp(x->dir))
		return -1;
	x->root = open(x->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (x->root < 0 || mkdirat(x->root, "d", 0700) < 0)
		return -1;
	put(x, "d/f", "content", 7);
	*state = x;
	return haul_failed(beneath_stat(x->root, "d/f", &x->seen));
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	(void)unlinkat(x->root, "d/f", 0);
	(void)unlinkat(x->root, "d/other", 0);
	(void)unlinkat(x->root, "d", AT_REMOVEDIR);
	close(x->root);
	(void)rmdir(x->dir);
	free(x);
	return 0;
}

static haul_status read_it(struct fixture *x)
{
	x->len = SIZE_MAX;
	return small_file_read(&(struct source_place){ x->root, "d/f", LINKS_KEPT }, &x->seen, x->buf, CAP, &x->len,
			       &x->facts);
}

static void content_and_facts_come_back(void **state)
{
	struct fixture *x = *state;

	assert_code(read_it(x), HAUL_OK);
	assert_int_equal(x->len, 7);
	assert_memory_equal(x->buf, "content", 7);
	assert_int_equal(x->facts.inode, x->seen.inode);
	assert_int_equal(x->facts.mtime.nsec, x->seen.mtime.nsec);
}

static void sizes_up_to_the_buffer(void **state)
{
	static const size_t sizes[] = { 0, 1, 4096, CAP - 1, CAP };
	struct fixture *x = *state;
	uint8_t *data = malloc(CAP);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(data, (int)i + 1, CAP);
		put(x, "d/f", data, sizes[i]);
		assert_code(beneath_stat(x->root, "d/f", &x->seen), HAUL_OK);
		assert_code(read_it(x), HAUL_OK);
		assert_int_equal(x->len, sizes[i]);
		assert_int_equal(memcmp(x->buf, data, sizes[i]), 0);
	}
	free(data);
}

static void another_file_is_not_taken(void **state)
{
	struct fixture *x = *state;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };

	put(x, "d/other", "CONTENT", 7);
	times[1] = (struct timespec){ .tv_sec = (time_t)x->seen.mtime.sec, .tv_nsec = x->seen.mtime.nsec };
	assert_int_equal(utimensat(x->root, "d/other", times, 0), 0);
	assert_int_equal(renameat(x->root, "d/other", x->root, "d/f"), 0);
	assert_code(read_it(x), HAUL_CHANGED);
	assert_int_equal(x->len, SIZE_MAX);
}

static void another_size_or_time_is_a_change(void **state)
{
	struct fixture *x = *state;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1 } };

	put(x, "d/f", "contents", 8);
	assert_code(read_it(x), HAUL_CHANGED);
	put(x, "d/f", "content", 7);
	assert_int_equal(utimensat(x->root, "d/f", times, 0), 0);
	assert_code(read_it(x), HAUL_CHANGED);
}

/* Nobody writes into the fifo: an open that waits would hang here. */
static void what_is_no_file_is_told_without_waiting(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(unlinkat(x->root, "d/f", 0), 0);
	assert_int_equal(mkfifoat(x->root, "d/f", 0600), 0);
	assert_code(read_it(x), HAUL_WRONG_KIND);
	assert_int_equal(unlinkat(x->root, "d/f", 0), 0);
	assert_code(read_it(x), HAUL_NOT_FOUND);
	assert_int_equal(symlinkat("other", x->root, "d/f"), 0);
	put(x, "d/other", "content", 7);
	assert_code(read_it(x), HAUL_LINK_IN_PATH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(content_and_facts_come_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sizes_up_to_the_buffer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_file_is_not_taken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_size_or_time_is_a_change, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_file_is_told_without_waiting, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
