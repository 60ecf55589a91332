/* Renames within one file system; where RENAME_NOREPLACE is not known, a link and an unlink do the same. */
#include "engine/aside.h"

#include "engine/base/entry.h"
#include "engine/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX ".haul-aside-"

void aside_name(const uint8_t token[ASIDE_TOKEN_BYTES], char ret_name[ASIDE_NAME_BYTES])
{
	size_t at = (size_t)snprintf(ret_name, ASIDE_NAME_BYTES, PREFIX);

	for (size_t i = 0; i < ASIDE_TOKEN_BYTES; i++)
		at += (size_t)snprintf(ret_name + at, ASIDE_NAME_BYTES - at, "%02x", token[i]);
}

bool aside_name_is(const char *name)
{
	const size_t prefix = sizeof(PREFIX) - 1;

	return strncmp(name, PREFIX, prefix) == 0 && strlen(name) == prefix + 2 * ASIDE_TOKEN_BYTES &&
	       strspn(name + prefix, "0123456789abcdef") == 2 * (size_t)ASIDE_TOKEN_BYTES;
}

static int open_aside(int dir_fd, const char *aside)
{
	return openat(dir_fd, aside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

haul_status aside_open(int dir_fd, const char *aside, int *ret_fd)
{
	int err;

	if (mkdirat(dir_fd, aside, 0700))
		return haul_status_from_errno(errno);
	*ret_fd = open_aside(dir_fd, aside);
	if (*ret_fd >= 0) {
		(void)flock(*ret_fd, LOCK_EX | LOCK_NB);
		return HAUL_OK;
	}
	err = errno;
	(void)unlinkat(dir_fd, aside, AT_REMOVEDIR);
	return haul_status_from_errno(err);
}

haul_status aside_close(int dir_fd, const char *aside, int aside_fd)
{
	int failed = unlinkat(dir_fd, aside, AT_REMOVEDIR), err = errno;

	(void)close(aside_fd);
	return failed && err != ENOENT ? haul_status_from_errno(err) : HAUL_OK;
}

/* A directory has no second name; to a free one it is renamed all the same, and nothing but an empty one is replaced.
 */
static haul_status rename_plainly(int from_fd, const char *name, int to_fd)
{
	struct stat st;

	if (fstatat(to_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return HAUL_EXISTS;
	return renameat(from_fd, name, to_fd, name) ? haul_status_from_errno(errno) : HAUL_OK;
}

static haul_status rename_new(int from_fd, const char *name, int to_fd)
{
	if (renameat2(from_fd, name, to_fd, name, RENAME_NOREPLACE) == 0)
		return HAUL_OK;
	if (errno != EINVAL && errno != ENOSYS)
		return haul_status_from_errno(errno);
	if (linkat(from_fd, name, to_fd, name, 0) == 0)
		return unlinkat(from_fd, name, 0) ? haul_status_from_errno(errno) : HAUL_OK;
	if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
		return haul_status_from_errno(errno);
	return rename_plainly(from_fd, name, to_fd);
}

haul_status aside_take(int dir_fd, const char *name, int aside_fd)
{
	return rename_new(dir_fd, name, aside_fd);
}

haul_status aside_give_back(int aside_fd, const char *name, int dir_fd)
{
	return rename_new(aside_fd, name, dir_fd);
}

/* Names are read to the end first where a rename may disturb the reading: what is missed stays, and is found next time.
 */
static size_t give_back_all(int dir_fd, int aside_fd)
{
	int copy = openat(aside_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	size_t back = 0;

	while (dir && (e = readdir(dir))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			back += haul_ok(aside_give_back(aside_fd, e->d_name, dir_fd));
	}
	if (dir)
		(void)closedir(dir);
	else if (copy >= 0)
		(void)close(copy);
	return back;
}

static size_t restore_one(int dir_fd, const char *aside)
{
	int fd = open_aside(dir_fd, aside);
	size_t back = 0;

	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
		back = give_back_all(dir_fd, fd);
		(void)unlinkat(dir_fd, aside, AT_REMOVEDIR);
	}
	(void)close(fd);
	return back;
}

size_t aside_restore(int dir_fd)
{
	int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	size_t back = 0;

	while (dir && (e = readdir(dir))) {
		if (aside_name_is(e->d_name))
			back += restore_one(dir_fd, e->d_name);
	}
	if (dir)
		(void)closedir(dir);
	else if (copy >= 0)
		(void)close(copy);
	return back;
}

size_t aside_restore_beside(int root_fd, const char *path)
{
	const char *name;
	size_t back;
	int dir_fd;

	if (!*path || haul_failed(beneath_parent(root_fd, path, &dir_fd, &name)))
		return 0;
	back = aside_restore(dir_fd);
	(void)close(dir_fd);
	return back;
}
