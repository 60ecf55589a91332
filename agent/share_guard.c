/*
 * A share whose directory is not there is passed over: nothing holds it. One that this user may not reach (another
 * user's directory, a network mount) must not stand in the way of everything else: for it counts the last directory
 * of its path that can be looked at, and what holds that one holds the share. Any other failure refuses.
 */
#include "agent/share_guard.h"

#include "engine/base/escape.h"
#include "engine/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN_MAX = 192 };

static bool is_one(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool is_absent(int err)
{
	return err == ENOENT || err == ENOTDIR;
}

/* Whether the directory is the tree or lies in it. contents: the tree itself does not count. */
static haul_status look_at(const char *path, int tree_fd, bool contents, bool *ret_is_inside, bool *ret_is_open)
{
	int fd = open(*path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	haul_status st;

	*ret_is_open = fd >= 0;
	if (fd < 0)
		return is_absent(errno) ? HAUL_NOT_FOUND : haul_status_from_errno(errno);
	st = directory_is_inside(fd, tree_fd, ret_is_inside);
	if (haul_ok(st) && contents && is_one(fd, tree_fd))
		*ret_is_inside = false;
	(void)close(fd);
	return st;
}

/* Up the share's path, for as long as that is out of reach, to a directory of which it can be said. */
static haul_status look_above(const char *share_path, int tree_fd, bool *ret_is_inside)
{
	char *path = strdup(share_path), *cut;
	haul_status st = path ? HAUL_DENIED : HAUL_NO_MEMORY;

	while (st.code == HAUL_DENIED.code && (cut = strrchr(path, '/'))) {
		bool is_open;

		*cut = '\0';
		st = look_at(path, tree_fd, false, ret_is_inside, &is_open);
	}
	free(path);
	return st;
}

static haul_status check_share(const struct share *share, int tree_fd, bool contents, const char *shown,
			       struct haul_fault *fault)
{
	bool is_inside = false, is_open = false;
	haul_status st = look_at(share->path, tree_fd, contents, &is_inside, &is_open);

	if (st.code == HAUL_DENIED.code && !is_open)
		st = look_above(share->path, tree_fd, &is_inside);
	if (st.code == HAUL_NOT_FOUND.code && !is_open)
		return HAUL_OK;
	if (haul_failed(st))
		return haul_fault_set(fault, HAUL_GUARD,
				      "%s: whether the share %s lies in it could not be found out: %s", shown,
				      share->name, haul_status_text(st));
	if (is_inside)
		return haul_fault_set(
		    fault, HAUL_GUARD,
		    "%s is, or holds, a share of this home: nothing was done. To give it up first: haul "
		    "share remove %s",
		    shown, share->name);
	return HAUL_OK;
}

haul_status share_guard_check(const struct share_list *shares, int dir_fd, const char *name, bool contents,
			      const char *shown, struct haul_fault *fault)
{
	char text[SHOWN_MAX];
	haul_status st = HAUL_OK;
	int fd = openat(dir_fd, name ? name : ".", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 && is_absent(errno))
		return HAUL_OK; /* what is no directory holds no share */
	st = fd < 0 ? haul_status_from_errno(errno) : HAUL_OK;
	haul_escape(shown, strlen(shown), text, sizeof(text));
	if (haul_failed(st))
		return haul_fault_set(fault, HAUL_GUARD, "%s: whether it holds a share could not be found out: %s",
				      text, haul_status_text(st));
	for (size_t i = 0; haul_ok(st) && i < shares->count; i++)
		st = check_share(&shares->shares[i], fd, contents, text, fault);
	(void)close(fd);
	return st;
}
