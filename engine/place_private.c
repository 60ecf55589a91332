/*
 * `.haul/` and the job's directory in it.
 *
 * A job's directory is alive as long as somebody holds its lock; the kernel drops the lock with the process. The lock
 * of `.haul/` itself is held around "make and lock a job's directory", around the sweep and around the removal: so a
 * sweep never sees a directory that is made but not locked yet, and `.haul/` is not removed under somebody who just
 * opened it.
 */
#include "engine/place.h"
#include "engine/random_hex.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { OPEN_ATTEMPTS = 100, NAMELESS_MAX = 4096, DIRECTORY = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

bool private_lock(int fd, int operation)
{
	int failed;

	do {
		failed = flock(fd, operation);
	} while (failed && errno == EINTR);
	return !failed;
}

static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* What the directory above hands down (group, ACLs) must not reach the files that are renamed out of here. */
static bool make_plain(int fd)
{
	static const char *const inherited[] = { "system.posix_acl_default", "system.posix_acl_access" };

	if (fchmod(fd, 0700) < 0)
		return false;
	for (size_t i = 0; i < sizeof(inherited) / sizeof(inherited[0]); i++) {
		if (fremovexattr(fd, inherited[i]) < 0 && errno != ENODATA && errno != EOPNOTSUPP)
			return false;
	}
	return true;
}

/*
 * Make (unless it is there) and open a private directory of ours; -1 where that will not do. errno is ENOENT when it
 * was there and is gone again.
 */
int private_directory(int dir_fd, const char *name)
{
	bool is_new = mkdirat(dir_fd, name, 0700) == 0;
	int fd, err;

	if (!is_new && errno != EEXIST)
		return -1;
	fd = openat(dir_fd, name, DIRECTORY);
	if (fd >= 0 && is_ours(fd) && make_plain(fd))
		return fd;
	err = fd < 0 ? errno : EACCES;
	if (fd >= 0)
		(void)close(fd);
	if (is_new)
		(void)unlinkat(dir_fd, name, AT_REMOVEDIR);
	errno = err;
	return -1;
}

bool is_still_named(int dir_fd, const char *name, int fd)
{
	struct stat named, open;

	return fstatat(dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &open) == 0 &&
	       named.st_ino == open.st_ino && named.st_dev == open.st_dev;
}

/* `.haul/`, open and locked; -1 where it cannot be had. The last job may have removed it between the two. */
static int open_locked(int private_fd)
{
	for (int i = 0; i < OPEN_ATTEMPTS; i++) {
		int fd = private_directory(private_fd, PLACE_PRIVATE_NAME);

		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0)
			return -1;
		if (private_lock(fd, LOCK_EX) && is_still_named(private_fd, PLACE_PRIVATE_NAME, fd))
			return fd;
		(void)close(fd);
	}
	return -1;
}

/* Only what a job makes: files and links. A directory, or anything else, stays and keeps its parent. */
static void remove_partial(int job_fd, const char *name, void *context)
{
	struct stat st;

	(void)context;
	if (fstatat(job_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)))
		(void)unlinkat(job_fd, name, 0);
}

static void remove_if_dead(int haul_fd, const char *name, void *context)
{
	int fd;

	(void)context;
	if (strlen(name) != JOB_NAME_CHARS || !is_hex(name, JOB_NAME_CHARS))
		return;
	fd = openat(haul_fd, name, DIRECTORY);
	if (fd < 0)
		return;
	if (is_ours(fd) && private_lock(fd, LOCK_EX | LOCK_NB)) {
		for_each_name(fd, remove_partial, NULL);
		(void)unlinkat(haul_fd, name, AT_REMOVEDIR);
	}
	(void)close(fd);
}

static bool take_job_directory(struct place *p)
{
	if (haul_failed(random_hex(p->job_name, JOB_NAME_CHARS)))
		return false;
	p->job_fd = private_directory(p->haul_fd, p->job_name);
	if (p->job_fd < 0)
		return false;
	if (private_lock(p->job_fd, LOCK_EX | LOCK_NB))
		return true;
	(void)unlinkat(p->haul_fd, p->job_name, AT_REMOVEDIR);
	(void)close(p->job_fd);
	p->job_fd = -1;
	return false;
}

static void leave_private(struct place *p)
{
	(void)unlinkat(p->private_fd, PLACE_PRIVATE_NAME, AT_REMOVEDIR); /* stays while another job is in it */
	(void)close(p->haul_fd);
	p->haul_fd = -1;
}

/* Measured on ext4 alone. A quarter of the descriptors, of which the process has other uses. */
static void allow_nameless(struct place *p)
{
	struct rlimit limit;
	struct statfs fs;

	if (fstatfs(p->job_fd, &fs) < 0 || fs.f_type != EXT4_SUPER_MAGIC || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	p->nameless_max = limit.rlim_cur / 4 < NAMELESS_MAX ? (unsigned)(limit.rlim_cur / 4) : NAMELESS_MAX;
	p->has_nameless = p->nameless_max > 0;
}

void place_private_open(struct place *p)
{
	p->job_fd = -1;
	p->haul_fd = open_locked(p->private_fd);
	if (p->haul_fd < 0)
		return;
	for_each_name(p->haul_fd, remove_if_dead, NULL);
	if (!take_job_directory(p)) {
		leave_private(p);
		return;
	}
	dir_traits_of(p->job_fd, &p->job_traits);
	allow_nameless(p);
	(void)private_lock(p->haul_fd, LOCK_UN);
}

void place_private_close(struct place *p)
{
	if (p->job_fd < 0)
		return;
	(void)private_lock(p->haul_fd, LOCK_EX);
	place_kept_close(p);
	for_each_name(p->job_fd, remove_partial, NULL);
	(void)unlinkat(p->haul_fd, p->job_name, AT_REMOVEDIR);
	(void)close(p->job_fd);
	p->job_fd = -1;
	leave_private(p);
}
