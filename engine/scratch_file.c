#include "engine/scratch_file.h"

#include "engine/random_hex.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { NAME_BYTES = 4096, DIGITS = 16 };

static int open_named(int dir_fd, const char *dir)
{
	char name[NAME_BYTES];
	char digits[DIGITS + 1];
	int fd;

	if (haul_failed(random_hex(digits, DIGITS))) {
		errno = EIO;
		return -1;
	}
	if (snprintf(name, sizeof(name), "%s/.haul-scratch-%s", dir, digits) >= NAME_BYTES) {
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
