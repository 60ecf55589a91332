#include "engine/scratch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

enum { NAME_BYTES = 4096 };

static int open_named(int dir_fd, const char *dir)
{
	char name[NAME_BYTES];
	uint64_t random;
	int fd;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -1;
	if (snprintf(name, sizeof(name), "%s/.haul-scratch-%016llx", dir, (unsigned long long)random) >= NAME_BYTES) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)unlinkat(dir_fd, name, 0);
	return fd;
}

int scratch_file_open(int dir_fd, const char *dir)
{
	int fd = openat(dir_fd, dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL))
		return fd;
	return open_named(dir_fd, dir);
}
