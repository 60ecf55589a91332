/* A share whose directory cannot be opened at all is passed over: what is not there holds nothing. */
#include "agent/share_guard.h"

#include "engine/base/escape.h"
#include "engine/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN_MAX = 192 };

static bool is_one(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static haul_status check_share(const struct share *share, int tree_fd, bool contents, const char *shown,
			       struct haul_fault *fault)
{
	int fd = open(share->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool is_inside = false;
	haul_status st;

	if (fd < 0)
		return HAUL_OK;
	st = directory_is_inside(fd, tree_fd, &is_inside);
	if (haul_ok(st) && contents && is_one(fd, tree_fd))
		is_inside = false;
	(void)close(fd);
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

	if (fd < 0)
		return HAUL_OK; /* no directory holds a share */
	haul_escape(shown, strlen(shown), text, sizeof(text));
	for (size_t i = 0; haul_ok(st) && i < shares->count; i++)
		st = check_share(&shares->shares[i], fd, contents, text, fault);
	(void)close(fd);
	return st;
}
