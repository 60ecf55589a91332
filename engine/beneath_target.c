/*
 * What a symbolic link leads to, as long as that lies below the root too. The only place that follows links in a share,
 * and only where somebody asked for the target by name. The kernel keeps the walk below the root (RESOLVE_BENEATH), so
 * the text of a link is never interpreted here; without openat2 the answer is "not supported".
 */
#include "engine/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RACE_RETRIES = 64 };

haul_status beneath_open_target(int root_fd, const char *path, int flags, int *ret_fd)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	long fd = -1;

	/* EAGAIN: a rename or mount somewhere kept the kernel from being sure (openat2(2)). */
	for (int i = 0; i < RACE_RETRIES; i++) {
		fd = syscall(SYS_openat2, root_fd, *path ? path : ".", &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	if (fd >= 0) {
		*ret_fd = (int)fd;
		return HAUL_OK;
	}
	if (errno == EXDEV || errno == ELOOP)
		return errno == EXDEV ? HAUL_LINK_LEADS_OUT : HAUL_LINK_LOOP;
	return errno == ENOSYS || errno == EPERM ? HAUL_UNSUPPORTED : haul_status_from_errno(errno);
}

haul_status beneath_stat_target(int root_fd, const char *path, struct entry_facts *ret_facts)
{
	haul_status st;
	int fd;

	st = beneath_open_target(root_fd, path, O_PATH, &fd);
	if (haul_failed(st))
		return st;
	st = beneath_stat_handle(fd, ret_facts);
	(void)close(fd);
	return st;
}
