/*
 * A POSIX lock (fcntl(2), F_SETLK) on one byte: the kernel knows who holds it, and a file that is never removed leaves
 * nobody with the lock of a file that is gone. It is lost when the process closes any descriptor of the file, so it is
 * opened here alone.
 */
#include "agent/copy_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

enum { ATTEMPTS = 3 };

static int open_file(const char *state_dir)
{
	int dir = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, saved;

	if (dir < 0)
		return -1;
	fd = openat(dir, "copies", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	saved = errno;
	(void)close(dir);
	errno = saved;
	return fd;
}

static haul_status refuse(pid_t pid, struct haul_fault *fault)
{
	if (pid > 0)
		return haul_fault_set(fault, HAUL_ALREADY_RUNNING, "the same copy is running already (process %ld)",
				      (long)pid);
	return haul_fault_set(fault, HAUL_ALREADY_RUNNING, "the same copy is running already");
}

static haul_status lock_byte(int fd, uint64_t key, struct haul_fault *fault)
{
	const struct flock byte = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)(key >> 2), .l_len = 1 };
	struct flock held = { 0 };

	for (int i = 0; i < ATTEMPTS; i++) {
		if (fcntl(fd, F_SETLK, &byte) == 0)
			return HAUL_OK;
		if (errno != EAGAIN && errno != EACCES)
			return haul_fault_errno(fault, errno, "lock the list of copies");
		held = byte;
		if (fcntl(fd, F_GETLK, &held) == 0 && held.l_type != F_UNLCK)
			break; /* else it has just ended */
	}
	return refuse(held.l_pid, fault);
}

haul_status copy_lock_open(struct copy_lock *l, const char *state_dir, uint64_t key, struct haul_fault *fault)
{
	int fd = open_file(state_dir);
	haul_status st;

	l->fd = -1;
	if (fd < 0)
		return haul_fault_errno(fault, errno, "open the list of copies in %s", state_dir);
	st = lock_byte(fd, key, fault);
	if (haul_failed(st)) {
		(void)close(fd);
		return st;
	}
	l->fd = fd;
	return HAUL_OK;
}

void copy_lock_close(struct copy_lock *l)
{
	if (l->fd >= 0)
		(void)close(l->fd);
	l->fd = -1;
}
