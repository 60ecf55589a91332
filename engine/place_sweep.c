/*
 * Partials that lie in their target directories and belong to nobody any more. Nothing ties them to a job: a day
 * without any change, and no lock, is what tells them from those that are alive. Every write to a file moves its ctime,
 * which nobody can set; a small file waits for its name far less than a day.
 */
#include "engine/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEAD_AFTER_SECONDS = 24 * 60 * 60 };

static const char prefix[] = ".haul.", suffix[] = ".part";

void for_each_name(int dir_fd, name_fn *act, void *context)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while ((e = readdir(dir)))
		act(dir_fd, e->d_name, context);
	(void)closedir(dir);
}

bool is_hex(const char *text, size_t chars)
{
	return strspn(text, "0123456789abcdef") >= chars;
}

static bool is_partial_name(const char *name)
{
	const size_t prefix_len = sizeof(prefix) - 1;

	return strncmp(name, prefix, prefix_len) == 0 && is_hex(name + prefix_len, JOB_NAME_CHARS) &&
	       strcmp(name + prefix_len + JOB_NAME_CHARS, suffix) == 0;
}

static void remove_if_old(int dir_fd, const char *name, void *context)
{
	time_t now = *(const time_t *)context;
	struct stat st;
	int fd;

	if (!is_partial_name(name))
		return;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1 &&
	    now - st.st_ctim.tv_sec > DEAD_AFTER_SECONDS && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)unlinkat(dir_fd, name, 0);
	(void)close(fd);
}

void place_sweep_target(const struct place *p, int dir_fd, time_t now)
{
	struct dir_traits traits;

	dir_traits_of(dir_fd, &traits);
	if (!job_directory_will_do(p, &traits))
		for_each_name(dir_fd, remove_if_old, &now);
}
