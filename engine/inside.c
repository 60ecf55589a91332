/*
 * Two looks. Up through "..", comparing device and inode: right for everything that is seen by its own path. Then by
 * the path within the file system, because a bind mount's top has another parent: (device, root of the mount + path
 * below the mount's point) is the same for every way to one directory.
 */
#include "engine/inside.h"

#include "engine/base/entry.h"
#include "engine/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- up through ".." ---- */

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* One step; false at the top, or with *ret_err set. fd is replaced. */
static bool step_up(int *fd, struct stat *at, int *ret_err)
{
	int up = openat(*fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat above;

	if (up < 0 || fstat(up, &above) < 0) {
		*ret_err = errno;
		if (up >= 0)
			(void)close(up);
		return false;
	}
	(void)close(*fd);
	*fd = up;
	if (is_same(at, &above))
		return false;
	*at = above;
	return true;
}

static haul_status look_up(int dir_fd, const struct stat *tree, bool *ret_found)
{
	int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3), err = 0;
	unsigned depth = 0;
	struct stat at;
	bool found;

	if (fd < 0)
		return haul_status_from_errno(errno);
	if (fstat(fd, &at) < 0) {
		err = errno;
		(void)close(fd);
		return haul_status_from_errno(err);
	}
	do {
		found = is_same(&at, tree);
	} while (!found && depth++ < HAUL_DEPTH_MAX && step_up(&fd, &at, &err));
	(void)close(fd);
	if (err)
		return haul_status_from_errno(err);
	*ret_found = found;
	return HAUL_OK;
}

/* ---- within the file system ---- */

struct spot {
	unsigned major, minor;
	char path[2 * PATH_MAX]; /* from the file system's own top */
};

static bool mount_id_of(int fd, unsigned long long *ret_id)
{
	char name[40], line[128];
	bool found = false;
	FILE *file;

	(void)snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	file = fopen(name, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "mnt_id: %llu", ret_id) == 1;
	if (file)
		(void)fclose(file);
	return found;
}

/* The part of `path` below the mount's point; NULL: it does not lie there. */
static const char *below_point(const char *path, const char *point)
{
	size_t len = strcmp(point, "/") ? strlen(point) : 0;

	return strncmp(path, point, len) == 0 && (!path[len] || path[len] == '/') ? path + len : NULL;
}

static bool spot_in_line(char *line, unsigned long long id, const char *path, struct spot *ret_spot)
{
	struct mount_line m;
	const char *below;

	if (!mount_line_parse(line, &m) || m.id != id)
		return false;
	below = below_point(path, m.point);
	if (!below)
		return false;
	*ret_spot = (struct spot){ .major = m.major, .minor = m.minor };
	(void)snprintf(ret_spot->path, sizeof(ret_spot->path), "%s%s", strcmp(m.root, "/") ? m.root : "", below);
	return true;
}

static bool spot_of(int fd, struct spot *ret_spot)
{
	char name[40], path[PATH_MAX], *line = NULL;
	unsigned long long id;
	size_t cap = 0;
	bool found = false;
	ssize_t len;
	FILE *file;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	len = readlink(name, path, sizeof(path));
	if (len <= 0 || len == (ssize_t)sizeof(path) || path[0] != '/' || !mount_id_of(fd, &id))
		return false;
	path[len] = '\0';
	if (len == 1)
		path[0] = '\0'; /* "/" itself: below its mount's point there is nothing */
	file = fopen("/proc/self/mountinfo", "re");
	while (file && !found && getline(&line, &cap, file) > 0)
		found = spot_in_line(line, id, path, ret_spot);
	free(line);
	if (file)
		(void)fclose(file);
	return found;
}

static bool lies_below(const struct spot *dir, const struct spot *tree)
{
	size_t len = strlen(tree->path);

	return dir->major == tree->major && dir->minor == tree->minor && strncmp(dir->path, tree->path, len) == 0 &&
	       (!dir->path[len] || dir->path[len] == '/');
}

haul_status directory_is_inside(int dir_fd, int tree_fd, bool *ret_is_inside)
{
	struct spot dir, tree;
	struct stat facts;
	bool found = false;
	haul_status st;

	if (fstat(tree_fd, &facts) < 0)
		return haul_status_from_errno(errno);
	st = look_up(dir_fd, &facts, &found);
	if (haul_failed(st))
		return st;
	*ret_is_inside = found || (spot_of(dir_fd, &dir) && spot_of(tree_fd, &tree) && lies_below(&dir, &tree));
	return HAUL_OK;
}
