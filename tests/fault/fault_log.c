/* A lock around each call, and plain writes: a process that dies has recorded all that it did. */
#include "tests/fault/fault_log.h"

#include "tests/fault/fault_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long lines_fd = -1, data_fd = -1; /* under lock */
static uint64_t data_end;                /* under lock */

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void open_files(void)
{
	char name[FAULT_PATH_MAX];

	if (lines_fd >= 0)
		return;
	(void)snprintf(name, sizeof(name), "%s.data", fault_plan.log);
	lines_fd = syscall(SYS_openat, AT_FDCWD, fault_plan.log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	data_fd = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

uint64_t fault_log_begin(void)
{
	(void)pthread_mutex_lock(&lock);
	open_files();
	return now_ns();
}

/* What cannot be recorded ends the process: half a record would prove something that is not so. */
static void put(long fd, const void *data, size_t len)
{
	if (syscall(SYS_write, fd, data, len) != (long)len)
		fault_die();
}

uint64_t fault_log_data(const void *data, size_t len)
{
	uint64_t at = data_end;

	put(data_fd, data, len);
	data_end += len;
	return at;
}

void fault_log_end(uint64_t begin_ns, const char *text)
{
	char line[3 * FAULT_PATH_MAX];
	int err = errno, len;

	if (text) {
		len = snprintf(line, sizeof(line), "%llu\t%llu\t%s\n", (unsigned long long)begin_ns,
			       (unsigned long long)now_ns(), text);
		put(lines_fd, line, (size_t)len);
	}
	(void)pthread_mutex_unlock(&lock);
	errno = err;
}
