#include "engine/base/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

static haul_status write_all(int fd, const char *name, const char *text, size_t len, struct haul_fault *fault)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return haul_fault_errno(fault, errno, "write %s", name);
		text += n;
		len -= (size_t)n;
	}
	return HAUL_OK;
}

/* A temporary file beside the target, with the data in it and on disk. */
static haul_status write_temporary(int dir_fd, const char *temporary, const void *data, size_t len,
				   struct haul_fault *fault)
{
	int fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	haul_status st;

	if (fd < 0)
		return haul_fault_errno(fault, errno, "create %s", temporary);
	st = write_all(fd, temporary, data, len, fault);
	if (haul_ok(st) && fsync(fd) < 0)
		st = haul_fault_errno(fault, errno, "fsync %s", temporary);
	if (close(fd) < 0 && haul_ok(st))
		st = haul_fault_errno(fault, errno, "close %s", temporary);
	if (haul_failed(st))
		(void)unlinkat(dir_fd, temporary, 0);
	return st;
}

/* Replace `name` by the temporary file and make that last. */
static haul_status put_in_place(int dir_fd, const char *temporary, const char *name, struct haul_fault *fault)
{
	if (renameat(dir_fd, temporary, dir_fd, name) < 0) {
		haul_status st = haul_fault_errno(fault, errno, "rename %s to %s", temporary, name);

		(void)unlinkat(dir_fd, temporary, 0);
		return st;
	}
	if (fsync(dir_fd) < 0)
		return haul_fault_errno(fault, errno, "fsync the directory of %s", name);
	return HAUL_OK;
}

haul_status replace_file(int dir_fd, const char *name, const void *data, size_t len, struct haul_fault *fault)
{
	char temporary[256];
	uint64_t random;
	haul_status st;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return haul_fault_errno(fault, errno, "random name");
	if (snprintf(temporary, sizeof(temporary), ".%s.new-%016llx", name, (unsigned long long)random) >=
	    (int)sizeof(temporary))
		return haul_fault_set(fault, HAUL_NAME_TOO_LONG, "write %s", name);
	st = write_temporary(dir_fd, temporary, data, len, fault);
	return haul_failed(st) ? st : put_in_place(dir_fd, temporary, name, fault);
}
