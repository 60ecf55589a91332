#include "tests/fault/fault_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool fault_call_begin(struct fault_call *c, enum fault_kind kind, bool is_ours)
{
	*c = (struct fault_call){ .deed = is_ours ? fault_turn(kind) : DEED_NONE };
	if (c->deed == DEED_KILL_BEFORE)
		fault_die();
	if (c->deed == DEED_ERRNO) {
		errno = fault_plan.err;
		return false;
	}
	c->is_recorded = is_ours && kind == FAULT_DISK && fault_plan.is_ready && fault_plan.log;
	if (c->is_recorded)
		c->begin_ns = fault_log_begin();
	return true;
}

void fault_call_end(struct fault_call *c, bool is_done, const char *text, ...)
{
	char line[2 * FAULT_PATH_MAX + 64];
	int err = errno;
	va_list args;

	if (c->deed == DEED_KILL_AFTER)
		fault_die();
	if (c->is_recorded) {
		va_start(args, text);
		(void)vsnprintf(line, sizeof(line), text, args);
		va_end(args);
		fault_log_end(c->begin_ns, is_done ? line : NULL);
	}
	errno = err;
}

static bool path_of_fd(int fd, char ret_path[FAULT_PATH_MAX])
{
	char link[32];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, ret_path, FAULT_PATH_MAX - 1);
	if (len < 0)
		return false;
	ret_path[len] = '\0';
	return true;
}

bool fault_fd_is_ours(int fd)
{
	char path[FAULT_PATH_MAX];
	int err = errno;
	bool is_ours = fault_plan.is_ready && path_of_fd(fd, path) && fault_is_below(path);

	errno = err;
	return is_ours;
}

bool fault_path(int dir_fd, const char *name, char ret_path[FAULT_PATH_MAX])
{
	size_t len = 0, name_len = strlen(name);
	int err = errno;
	bool is_known = fault_plan.is_ready;

	*ret_path = '\0';
	if (is_known && *name != '/') {
		is_known = dir_fd == AT_FDCWD ? getcwd(ret_path, FAULT_PATH_MAX) != NULL : path_of_fd(dir_fd, ret_path);
		len = is_known ? strlen(ret_path) : 0;
	}
	is_known = is_known && len + name_len + 2 < FAULT_PATH_MAX;
	if (is_known) {
		if (*name != '/')
			ret_path[len++] = '/';
		memcpy(ret_path + len, name, name_len + 1);
	}
	errno = err;
	return is_known && fault_is_below(ret_path);
}

static struct fault_id id_of(const struct stat *st)
{
	struct fault_id id;

	(void)snprintf(id.text, sizeof(id.text), "%llu:%llu", (unsigned long long)st->st_dev,
		       (unsigned long long)st->st_ino);
	return id;
}

struct fault_id fault_id_of_fd(int fd)
{
	struct stat st = { 0 };
	int err = errno;

	(void)fstat(fd, &st);
	errno = err;
	return id_of(&st);
}

struct fault_id fault_id_of_path(const char *path)
{
	struct stat st = { 0 };
	int err = errno;

	(void)lstat(path, &st);
	errno = err;
	return id_of(&st);
}
