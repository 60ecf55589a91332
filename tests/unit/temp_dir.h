/* A directory of a test's own, removed with everything directly in it (files, and folders one level deep). */
#ifndef HAUL_TESTS_TEMP_DIR_H
#define HAUL_TESTS_TEMP_DIR_H

#include "tests/unit/cmocka_first.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct temp_dir {
	char path[64];
	int fd;
};

static inline struct temp_dir temp_dir_open(void)
{
	struct temp_dir t = { .path = "/tmp/haul-test-XXXXXX", .fd = -1 };

	assert_non_null(mkdtemp(t.path));
	t.fd = open(t.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(t.fd >= 0);
	return t;
}

/* How many entries there are; removes them when asked to. */
static inline unsigned temp_dir_walk(int dir_fd, bool do_remove)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	unsigned count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		count++;
		if (do_remove && unlinkat(fd, entry->d_name, 0) < 0) {
			int sub = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

			(void)temp_dir_walk(sub, true);
			(void)close(sub);
			assert_int_equal(unlinkat(fd, entry->d_name, AT_REMOVEDIR), 0);
		}
	}
	(void)closedir(dir);
	return count;
}

static inline void temp_dir_close(struct temp_dir *t)
{
	(void)temp_dir_walk(t->fd, true);
	(void)close(t->fd);
	assert_int_equal(rmdir(t->path), 0);
}

static inline void temp_dir_put(const struct temp_dir *t, const char *name, const void *data, size_t len)
{
	int fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	(void)close(fd);
}

static inline size_t temp_dir_get(const struct temp_dir *t, const char *name, char *data, size_t cap)
{
	int fd = openat(t->fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, data, cap);
	assert_true(n >= 0);
	(void)close(fd);
	return (size_t)n;
}

#endif
