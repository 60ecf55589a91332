/* All by handle: a name may lead elsewhere by the time it is used. */
#include "engine/owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool owner_is_set(const struct owner *o)
{
	return o->uid != OWNER_OF_PROCESS || o->gid != OWNER_OF_PROCESS;
}

/* The 32-bit -1 means "leave it" to the kernel: it must not come in as a number. */
static bool is_possible(uint64_t id)
{
	return id == OWNER_OF_PROCESS || id < UINT32_MAX;
}

haul_status owner_give(int fd, const struct owner *o)
{
	if (!owner_is_set(o))
		return HAUL_OK;
	if (!is_possible(o->uid) || !is_possible(o->gid))
		return HAUL_BAD_VALUE;
	if (fchownat(fd, "", (uid_t)o->uid, (gid_t)o->gid, AT_EMPTY_PATH) < 0)
		return haul_status_from_errno(errno);
	return HAUL_OK;
}

static bool is_empty(int fd)
{
	char buffer[1024] __attribute__((aligned(16)));
	ssize_t len;

	while ((len = getdents64(fd, buffer, sizeof(buffer))) > 0) {
		for (ssize_t at = 0; at < len;) {
			const struct dirent64 *e = (const void *)(buffer + at);

			if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
				return false;
			at += e->d_reclen;
		}
	}
	return len == 0;
}

haul_status owner_give_directory(int dir_fd, const char *name, const struct owner *o)
{
	haul_status st = HAUL_CHANGED;
	struct stat facts;
	int fd;

	if (!owner_is_set(o))
		return HAUL_OK;
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return haul_status_from_errno(errno);
	if (fstat(fd, &facts) == 0 && facts.st_uid == geteuid() && is_empty(fd))
		st = owner_give(fd, o);
	(void)close(fd);
	return st;
}

haul_status owner_probe(int dir_fd, const struct owner *o, struct haul_fault *fault)
{
	haul_status st;
	int fd;

	if (!owner_is_set(o))
		return HAUL_OK;
	fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return HAUL_OK;
	st = owner_give(fd, o);
	(void)close(fd);
	if (haul_ok(st))
		return st;
	return haul_fault_set(fault, st, "what arrives shall belong to %lld:%lld, which takes an agent that is root",
			      (long long)o->uid, (long long)o->gid);
}
