/*
 * A directory of the test's own below the working directory, removed whole at the end; trees deeper than PATH_MAX are
 * fine. Everything asserts.
 */
#ifndef HAUL_TESTS_TEMP_TREE_H
#define HAUL_TESTS_TEMP_TREE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct temp_tree {
	char path[64];
	int fd; /* O_RDONLY */
};

/* Remove what is in the directory, without recursion: a child directory is moved up to the top first. */
static inline void temp_tree_empty(int top_fd, int dir_fd, unsigned *serial)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char name[32];

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || unlinkat(dir_fd, e->d_name, 0) == 0)
			continue;
		(void)unlinkat(dir_fd, e->d_name, AT_REMOVEDIR);
		(void)snprintf(name, sizeof(name), "moved-%u", ++*serial);
		if (dir_fd != top_fd)
			(void)renameat(dir_fd, e->d_name, top_fd, name);
	}
	if (dir)
		(void)closedir(dir);
}

static inline void temp_tree_open(struct temp_tree *t, const char *name)
{
	(void)snprintf(t->path, sizeof(t->path), "%s.XXXXXX", name);
	if (!mkdtemp(t->path))
		abort();
	t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->fd < 0)
		abort();
}

/* In memory where there is /dev/shm: for trees of thousands of directories. */
static inline void temp_tree_open_fast(struct temp_tree *t, const char *name)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "%s%s", access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : "", name);
	temp_tree_open(t, path);
}

static inline void temp_tree_close(struct temp_tree *t)
{
	unsigned serial = 0;
	bool is_left = true;

	while (is_left) {
		DIR *dir = opendir(t->path);
		struct dirent *e;

		is_left = false;
		while (dir && (e = readdir(dir))) {
			int fd;

			if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
			    unlinkat(t->fd, e->d_name, 0) == 0)
				continue;
			is_left = true;
			if (fchmodat(t->fd, e->d_name, 0700, 0) < 0 && errno != ENOENT)
				abort();
			fd = openat(t->fd, e->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (fd >= 0) {
				temp_tree_empty(t->fd, fd, &serial);
				(void)close(fd);
			}
			(void)unlinkat(t->fd, e->d_name, AT_REMOVEDIR);
		}
		if (dir)
			(void)closedir(dir);
	}
	(void)close(t->fd);
	(void)rmdir(t->path);
}

static inline void temp_file(int dir_fd, const char *path, const void *data, size_t len)
{
	int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd) < 0)
		abort();
}

static inline void temp_text(int dir_fd, const char *path, const char *text)
{
	temp_file(dir_fd, path, text, strlen(text));
}

static inline void temp_dir(int dir_fd, const char *path)
{
	if (mkdirat(dir_fd, path, 0755) < 0)
		abort();
}

static inline void temp_link(int dir_fd, const char *path, const char *target)
{
	if (symlinkat(target, dir_fd, path) < 0)
		abort();
}

/* Whether the file holds exactly `text`. */
static inline bool temp_holds(int dir_fd, const char *path, const char *text)
{
	char buf[256];
	int fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));

	if (fd >= 0)
		(void)close(fd);
	return n == (ssize_t)strlen(text) && memcmp(buf, text, (size_t)n) == 0;
}

static inline bool temp_exists(int dir_fd, const char *path)
{
	struct stat st;

	return fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Entries other than "." and "..". */
static inline unsigned temp_count(int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	unsigned n = 0;

	if (!dir)
		abort();
	while ((e = readdir(dir)))
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	(void)closedir(dir);
	return n;
}

#endif
