/*
 * First without following anything, which takes paths of any length; only where a link stands in the way the kernel
 * resolves the whole path. Such a path may be longer than PATH_MAX as long as only its last component is a link.
 */
#include "engine/follow.h"

#include "engine/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static haul_status open_anywhere(int dir_fd, const char *path, int flags, int *ret_fd)
{
	int fd;

	do {
		fd = openat(dir_fd, *path ? path : ".", flags | O_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return errno == ELOOP ? HAUL_LINK_LOOP : haul_status_from_errno(errno);
	*ret_fd = fd;
	return HAUL_OK;
}

static haul_status open_by_rule(int dir_fd, const char *path, enum link_rule links, int flags, int *ret_fd)
{
	haul_status st;

	if (links == LINKS_FOLLOWED_ANYWHERE)
		st = open_anywhere(dir_fd, path, flags, ret_fd);
	else
		st = beneath_open_target(dir_fd, path, flags, ret_fd);
	return st.code == HAUL_CODE_NOT_FOUND ? HAUL_LINK_DANGLES : st;
}

static haul_status resolve(const struct source_place *at, int flags, int *ret_fd)
{
	const char *name;
	int dir_fd;
	haul_status st;

	if (strlen(at->path) < PATH_MAX)
		return open_by_rule(at->root_fd, at->path, at->links, flags, ret_fd);
	st = beneath_parent(at->root_fd, at->path, &dir_fd, &name);
	if (haul_failed(st))
		return st;
	st = open_by_rule(dir_fd, name, at->links, flags, ret_fd);
	(void)close(dir_fd);
	return st;
}

haul_status follow_open(const struct source_place *at, int flags, int *ret_fd)
{
	haul_status st = beneath_open(at->root_fd, at->path, flags, 0, ret_fd);

	if (at->links == LINKS_KEPT || st.code != HAUL_CODE_LINK_IN_PATH)
		return st;
	return resolve(at, flags, ret_fd);
}

haul_status follow_stat(const struct source_place *at, struct entry_facts *ret_facts)
{
	int fd;
	haul_status st = resolve(at, O_PATH, &fd);

	if (haul_failed(st))
		return st;
	st = beneath_stat_handle(fd, ret_facts);
	(void)close(fd);
	return st;
}
