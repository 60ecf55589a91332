/*
 * The lock is an open-file-description lock (fcntl(2), F_OFD_SETLK): unlike flock(2) it can be asked about without
 * being taken, and unlike the older POSIX locks it is not lost when another descriptor of the file is closed.
 */
#include "agent/agent_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONTENT_MAX = 4096 };

static int open_file(const char *state_dir, int flags)
{
	int dir = open(state_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd, saved;

	if (dir < 0)
		return -1;
	fd = openat(dir, "agent", flags | O_NOFOLLOW | O_CLOEXEC, 0600);
	saved = errno;
	close(dir);
	errno = saved;
	return fd;
}

/* "PID\nADDRESS ADDRESS\n" as far as it is there. */
static void read_content(int fd, char *ret_addresses, size_t cap, int *ret_pid)
{
	char text[CONTENT_MAX];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	char *line;
	long pid;

	text[n > 0 ? n : 0] = '\0';
	pid = strtol(text, NULL, 10);
	if (ret_pid)
		*ret_pid = pid > 0 && pid <= 4194304 ? (int)pid : 0; /* PID_MAX_LIMIT of the kernel */
	if (!ret_addresses || !cap)
		return;
	line = strchr(text, '\n');
	snprintf(ret_addresses, cap, "%.*s", line ? (int)strcspn(line + 1, "\n") : 0, line ? line + 1 : "");
}

static haul_status write_content(int fd, const char *addresses, struct haul_fault *fault)
{
	char text[CONTENT_MAX];
	int len = snprintf(text, sizeof(text), "%ld\n%s\n", (long)getpid(), addresses);

	if (len < 0 || (size_t)len >= sizeof(text))
		return haul_fault_set(fault, HAUL_OVERFLOW, "too many addresses to listen on");
	if (pwrite(fd, text, (size_t)len, 0) != len || ftruncate(fd, len))
		return haul_fault_errno(fault, errno, "write the agent's file");
	return HAUL_OK;
}

haul_status agent_lock_open(struct agent_lock *l, const char *state_dir, struct haul_fault *fault)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open_file(state_dir, O_RDWR | O_CREAT);
	haul_status st;
	int pid;

	if (fd < 0)
		return haul_fault_errno(fault, errno, "open the agent's file in %s", state_dir);
	if (fcntl(fd, F_OFD_SETLK, &whole)) {
		if (errno != EAGAIN && errno != EACCES) {
			st = haul_fault_errno(fault, errno, "lock the agent's file in %s", state_dir);
			goto close_fd;
		}
		read_content(fd, NULL, 0, &pid);
		st = haul_fault_set(fault, HAUL_ALREADY_RUNNING, "hauld already serves this home (process %d)", pid);
		goto close_fd;
	}
	st = write_content(fd, "", fault);
	if (haul_failed(st))
		goto close_fd;
	l->fd = fd;
	return HAUL_OK;

close_fd:
	close(fd);
	return st;
}

haul_status agent_lock_publish(struct agent_lock *l, const char *addresses, struct haul_fault *fault)
{
	return write_content(l->fd, addresses, fault);
}

void agent_lock_close(struct agent_lock *l)
{
	/* Emptied, not removed: another hauld may have it open already, waiting to lock this very file. */
	if (ftruncate(l->fd, 0)) {
		/* The lock itself tells that nobody runs. */
	}
	close(l->fd);
	l->fd = -1;
}

bool agent_lock_look(const char *state_dir, char *ret_addresses, size_t cap, int *ret_pid)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open_file(state_dir, O_RDWR);
	bool runs;

	if (ret_addresses && cap)
		*ret_addresses = '\0';
	if (ret_pid)
		*ret_pid = 0;
	if (fd < 0)
		return false;
	runs = !fcntl(fd, F_OFD_GETLK, &whole) && whole.l_type != F_UNLCK;
	if (runs)
		read_content(fd, ret_addresses, cap, ret_pid);
	close(fd);
	return runs;
}
