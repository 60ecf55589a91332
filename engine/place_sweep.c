/*
 * Partials that belong to nobody any more, in target directories and in `.haul/partials/`. Nothing ties them to a job:
 * a day without any change (keep_days with a record), and no lock, is what tells them from those that are alive. Every
 * write to a file moves its ctime, which nobody can set; a small file waits for its name far less than a day.
 */
#include "engine/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DAY_SECONDS = 24 * 60 * 60 };

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

/* What is looked for in one directory. */
struct sweep {
	const char *prefix; /* of the names */
	time_t now;
	time_t unrecorded_seconds; /* how long one without a record stays */
	time_t recorded_seconds;   /* and one with a record */
};

bool partial_name_is(const char *name, const char *prefix, const char *suffix)
{
	const size_t prefix_len = strlen(prefix);

	return strncmp(name, prefix, prefix_len) == 0 && is_hex(name + prefix_len, JOB_NAME_CHARS) &&
	       strcmp(name + prefix_len + JOB_NAME_CHARS, suffix) == 0;
}

static void remove_orphan(const struct sweep *s, int dir_fd, const char *name)
{
	char partial[RECORD_NAME_MAX];
	struct stat st;

	(void)snprintf(partial, sizeof(partial), "%.*s" PARTIAL_SUFFIX, (int)(strlen(s->prefix) + JOB_NAME_CHARS),
		       name);
	if (fstatat(dir_fd, partial, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		(void)unlinkat(dir_fd, name, 0);
}

bool partial_is_ours(bool in_target, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 && (!in_target || st->st_uid == geteuid());
}

/* Old enough, and ours. `fd` is the partial's. */
static bool is_old(const struct sweep *s, int dir_fd, const char *record, int fd)
{
	time_t limit = s->recorded_seconds, last;
	struct stat data, of;

	if (fstat(fd, &data) < 0 || !partial_is_ours(*s->prefix, &data))
		return false;
	last = data.st_ctim.tv_sec;
	if (fstatat(dir_fd, record, &of, AT_SYMLINK_NOFOLLOW) == 0)
		last = of.st_ctim.tv_sec > last ? of.st_ctim.tv_sec : last;
	else if (errno == ENOENT)
		limit = s->unrecorded_seconds;
	else
		return false;
	return s->now - last >= limit;
}

/* No job has it: looked at again under the lock, because one may have had it between the two. */
static bool is_dead(const struct sweep *s, int dir_fd, const char *name, const char *record, int fd)
{
	return is_old(s, dir_fd, record, fd) && private_lock(fd, LOCK_EX | LOCK_NB) &&
	       is_still_named(dir_fd, name, fd) && is_old(s, dir_fd, record, fd);
}

static void sweep_one(int dir_fd, const char *name, void *context)
{
	const struct sweep *s = context;
	char record[RECORD_NAME_MAX];
	int fd;

	if (partial_name_is(name, s->prefix, RECORD_SUFFIX))
		remove_orphan(s, dir_fd, name);
	if (!partial_name_is(name, s->prefix, PARTIAL_SUFFIX))
		return;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	partial_record_name(name, record);
	if (is_dead(s, dir_fd, name, record, fd)) {
		(void)unlinkat(dir_fd, record, 0);
		(void)unlinkat(dir_fd, name, 0);
	}
	(void)close(fd);
}

void place_sweep_target(const struct place *p, int dir_fd, time_t now)
{
	struct sweep s = { .prefix = PLACE_PRIVATE_NAME ".",
			   .now = now,
			   .unrecorded_seconds = DAY_SECONDS,
			   .recorded_seconds = (time_t)p->keep_days * DAY_SECONDS };
	struct dir_traits traits;

	dir_traits_of(dir_fd, &traits);
	if (!job_directory_will_do(p, &traits))
		for_each_name(dir_fd, sweep_one, &s);
}

void place_sweep_kept(const struct place *p, time_t now)
{
	struct sweep s = { .prefix = "", .now = now, .recorded_seconds = (time_t)p->keep_days * DAY_SECONDS };

	for_each_name(p->kept_fd, sweep_one, &s);
}
