/* Calls on names: making, linking, renaming, removing. */
#undef _FILE_OFFSET_BITS /* both names of a call are defined here: with and without 64 */
#include "tests/fault/fault_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_new(int dir_fd, const char *name, int flags, mode_t mode)
{
	char path[FAULT_PATH_MAX];
	bool is_nameless = (flags & O_TMPFILE) == O_TMPFILE, was_there;
	bool is_ours = (flags & O_CREAT || is_nameless) && fault_path(dir_fd, name, path);
	struct fault_call c;
	struct stat st;
	long fd;

	if (!fault_call_begin(&c, FAULT_DISK, is_ours))
		return -1;
	was_there = c.is_recorded && lstat(path, &st) == 0;
	fd = syscall(SYS_openat, dir_fd, name, flags, mode);
	if (!c.is_recorded)
		fault_call_end(&c, false, "open");
	else if (is_nameless)
		fault_call_end(&c, fd >= 0, "nameless\t%s", fault_id_of_fd((int)fd).text);
	else if (!was_there)
		fault_call_end(&c, fd >= 0, "create\t%s\t%s", path, fault_id_of_path(path).text);
	else
		fault_call_end(&c, fd >= 0 && flags & O_TRUNC, "size\t%s\t0", fault_id_of_path(path).text);
	return (int)fd;
}

/* The mode is there only when something may be made. */
#define OPEN_WITH_MODE(dir_fd, name, flags)                                                                            \
	do {                                                                                                           \
		mode_t mode = 0;                                                                                       \
		va_list args;                                                                                          \
		va_start(args, flags);                                                                                 \
		if (flags & (O_CREAT | O_TMPFILE))                                                                     \
			mode = va_arg(args, mode_t);                                                                   \
		va_end(args);                                                                                          \
		return open_new(dir_fd, name, flags, mode);                                                            \
	} while (0)

int open(const char *name, int flags, ...)
{
	OPEN_WITH_MODE(AT_FDCWD, name, flags);
}

int open64(const char *name, int flags, ...)
{
	OPEN_WITH_MODE(AT_FDCWD, name, flags);
}

int openat(int dir_fd, const char *name, int flags, ...)
{
	OPEN_WITH_MODE(dir_fd, name, flags);
}

int openat64(int dir_fd, const char *name, int flags, ...)
{
	OPEN_WITH_MODE(dir_fd, name, flags);
}

int mkdirat(int dir_fd, const char *name, mode_t mode)
{
	char path[FAULT_PATH_MAX];
	struct fault_call c;
	long failed;

	if (!fault_call_begin(&c, FAULT_DISK, fault_path(dir_fd, name, path)))
		return -1;
	failed = syscall(SYS_mkdirat, dir_fd, name, mode);
	fault_call_end(&c, !failed, "mkdir\t%s\t%s", path, c.is_recorded ? fault_id_of_path(path).text : "");
	return (int)failed;
}

int mkdir(const char *name, mode_t mode)
{
	return mkdirat(AT_FDCWD, name, mode);
}

int symlinkat(const char *target, int dir_fd, const char *name)
{
	char path[FAULT_PATH_MAX];
	struct fault_call c;
	long failed;

	if (!fault_call_begin(&c, FAULT_DISK, fault_path(dir_fd, name, path)))
		return -1;
	failed = syscall(SYS_symlinkat, target, dir_fd, name);
	fault_call_end(&c, !failed, "symlink\t%s\t%s", path, target);
	return (int)failed;
}

/* Of a file that has no name yet, by its handle or what /proc calls it. */
static int link_nameless(int fd, const char *from, int to_fd, const char *to, int flags)
{
	char to_path[FAULT_PATH_MAX];
	struct fault_call c;
	int from_fd = flags & AT_EMPTY_PATH ? fd : AT_FDCWD;
	long failed;

	if (!fault_call_begin(&c, FAULT_DISK, fault_path(to_fd, to, to_path)))
		return -1;
	failed = syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
	fault_call_end(&c, !failed, "name\t%s\t%s", fault_id_of_fd(fd).text, to_path);
	return (int)failed;
}

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	static const char handles[] = "/proc/self/fd/";
	char from_path[FAULT_PATH_MAX], to_path[FAULT_PATH_MAX];
	struct fault_call c;
	long failed;

	if (flags & AT_EMPTY_PATH)
		return link_nameless(from_fd, from, to_fd, to, flags);
	if (flags & AT_SYMLINK_FOLLOW && strncmp(from, handles, sizeof(handles) - 1) == 0)
		return link_nameless(atoi(from + sizeof(handles) - 1), from, to_fd, to, flags);
	(void)fault_path(from_fd, from, from_path);
	if (!fault_call_begin(&c, FAULT_DISK, fault_path(to_fd, to, to_path)))
		return -1;
	failed = syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
	fault_call_end(&c, !failed, "link\t%s\t%s", from_path, to_path);
	return (int)failed;
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	char from_path[FAULT_PATH_MAX], to_path[FAULT_PATH_MAX];
	struct fault_call c;
	long failed;

	(void)fault_path(from_fd, from, from_path);
	if (!fault_call_begin(&c, FAULT_DISK, fault_path(to_fd, to, to_path)))
		return -1;
	failed = syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
	if (flags & RENAME_EXCHANGE)
		fault_call_end(&c, !failed, "unknown\texchange");
	else
		fault_call_end(&c, !failed, "rename\t%s\t%s", from_path, to_path);
	return (int)failed;
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return renameat2(from_fd, from, to_fd, to, 0);
}

int rename(const char *from, const char *to)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlinkat(int dir_fd, const char *name, int flags)
{
	char path[FAULT_PATH_MAX];
	struct fault_call c;
	long failed;

	if (!fault_call_begin(&c, FAULT_DISK, fault_path(dir_fd, name, path)))
		return -1;
	failed = syscall(SYS_unlinkat, dir_fd, name, flags);
	fault_call_end(&c, !failed, "unlink\t%s", path);
	return (int)failed;
}

int unlink(const char *name)
{
	return unlinkat(AT_FDCWD, name, 0);
}

int rmdir(const char *name)
{
	return unlinkat(AT_FDCWD, name, AT_REMOVEDIR);
}
