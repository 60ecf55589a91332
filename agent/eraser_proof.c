/*
 * The probe is an empty file that lives for a few calls. Whoever crashes between them leaves an empty private name,
 * which the next probe in that directory takes away: the same command comes back there, since nothing has gone yet. One
 * that lives is locked; should it be taken away all the same, its own removal fails, and nothing is proven.
 */
#include "agent/eraser_proof.h"

#include "engine/beneath.h"
#include "engine/random_hex.h"
#include "engine/sync_reach.h"
#include "engine/whole_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_PREFIX ".haul-"

enum { FRESH_SECONDS = 2, COMPARE_BYTES = 256 * 1024 };

haul_status eraser_private_name(const char *word, char ret_name[ERASER_NAME_BYTES])
{
	char digits[RANDOM_HEX_MAX + 1];

	if (haul_failed(random_hex(digits, RANDOM_HEX_MAX)))
		return HAUL_IO;
	(void)snprintf(ret_name, ERASER_NAME_BYTES, ".haul-%s%s", word, digits);
	return HAUL_OK;
}

static haul_status unproven(struct haul_fault *fault, int number)
{
	return haul_fault_set(fault, haul_status_from_errno(number),
			      "it cannot be shown that the destination is another directory: %s", strerror(number));
}

static haul_status look_for(int source_dir, const char *name, struct haul_fault *fault)
{
	struct stat st;

	if (fstatat(source_dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return haul_fault_set(fault, HAUL_SAME_FILE,
				      "the destination is the very same directory, seen through another file system");
	return errno == ENOENT ? HAUL_OK : unproven(fault, errno);
}

static bool is_probe_name(const char *name)
{
	const char *digits = name + sizeof(PROBE_PREFIX) - 1;

	return strncmp(name, PROBE_PREFIX, sizeof(PROBE_PREFIX) - 1) == 0 && strlen(digits) == RANDOM_HEX_MAX &&
	       strspn(digits, "0123456789abcdef") == RANDOM_HEX_MAX;
}

/* An empty file of nobody's that is alive. */
static void sweep_one(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0 && st.st_nlink == 1 &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)unlinkat(dir_fd, name, 0);
	(void)close(fd);
}

static void sweep_probes(int landing_dir)
{
	int fd = openat(landing_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (is_probe_name(e->d_name))
			sweep_one(landing_dir, e->d_name);
	if (dir)
		(void)closedir(dir);
	else if (fd >= 0)
		(void)close(fd);
}

haul_status eraser_prove_apart(int source_dir, int landing_dir, struct haul_fault *fault)
{
	char name[ERASER_NAME_BYTES];
	struct stat before;
	haul_status st = eraser_private_name("", name);
	int fd;

	if (haul_failed(st))
		return unproven(fault, EIO);
	if (fstat(landing_dir, &before))
		return unproven(fault, errno);
	sweep_probes(landing_dir);
	fd = openat(landing_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return unproven(fault, errno);
	(void)flock(fd, LOCK_EX | LOCK_NB);
	st = look_for(source_dir, name, fault);
	if (unlinkat(landing_dir, name, 0) && haul_ok(st))
		st = unproven(fault, errno);
	(void)close(fd);
	/* Older kernels cannot by such a handle: the mtime of a directory is worth no more than the attempt. */
	(void)utimensat(landing_dir, "", (struct timespec[]){ { .tv_nsec = UTIME_OMIT }, before.st_mtim },
			AT_EMPTY_PATH);
	return st;
}

static bool is_synced(const struct eraser_synced *s, uint64_t device)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->devices[i] == device)
			return true;
	return false;
}

/* Of directories, on some file systems. */
static bool is_without_fsync(int number)
{
	return number == EINVAL || number == ENOSYS || number == EOPNOTSUPP;
}

/* 0 or errno. A link has nothing beyond its name. */
static int sync_entry(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), number = 0;

	if (fd < 0)
		return errno == ELOOP ? 0 : errno;
	if (fsync(fd))
		number = errno;
	(void)close(fd);
	return number;
}

/* All of the file system, where that can be (*ret_all); else the entry, then its directory. 0 or errno. */
static int sync_around(int landing_dir, const char *name, bool *ret_all)
{
	int fd = openat(landing_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), number = 0;

	if (fd < 0)
		return errno;
	*ret_all = sync_reaches_all(fd);
	if (!*ret_all)
		number = sync_entry(fd, name);
	if (*ret_all ? syncfs(fd) : !number && fsync(fd) && !is_without_fsync(errno))
		number = errno;
	(void)close(fd);
	return number;
}

haul_status eraser_sync(struct eraser_synced *s, int landing_dir, const char *name, uint64_t device,
			struct haul_fault *fault)
{
	bool all = false;
	int number;

	if (is_synced(s, device))
		return HAUL_OK;
	number = sync_around(landing_dir, name, &all);
	if (number)
		return haul_fault_set(fault, haul_status_from_errno(number),
				      "what the destination has could not be made durable: %s", strerror(number));
	if (all && s->count < ERASER_SYNCED_MAX)
		s->devices[s->count++] = device;
	return HAUL_OK;
}

bool eraser_may_be_one(const struct entry_facts *a, const struct entry_facts *b)
{
	return a->kind == b->kind && a->size == b->size && entry_time_equal(&a->ctime, &b->ctime) &&
	       entry_time_equal(&a->mtime, &b->mtime);
}

bool eraser_is_fresh(const struct entry_facts *facts, int64_t began)
{
	return facts->mtime.sec >= began - FRESH_SECONDS || facts->ctime.sec >= began - FRESH_SECONDS;
}

static int open_file(int dir_fd, const char *name)
{
	return openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static haul_status compare_files(int from, int to, char *buf, const _Atomic bool *stop, struct haul_fault *fault)
{
	for (;;) {
		size_t a, b = 0;
		haul_status st = read_up_to(from, buf, COMPARE_BYTES, &a);

		if (haul_ok(st))
			st = read_up_to(to, buf + COMPARE_BYTES, COMPARE_BYTES, &b);
		if (haul_failed(st))
			return haul_fault_set(fault, st, "it cannot be read once more: %s", haul_status_text(st));
		if (a != b || memcmp(buf, buf + COMPARE_BYTES, a) != 0)
			return haul_fault_set(fault, HAUL_CHANGED, "it has changed since it was read");
		if (a < COMPARE_BYTES)
			return HAUL_OK;
		if (stop && atomic_load_explicit(stop, memory_order_relaxed))
			return haul_fault_set(fault, HAUL_CANCELLED, "%s", haul_status_text(HAUL_CANCELLED));
	}
}

haul_status eraser_compare(int dir_fd, const char *name, int to_fd, const char *to_name, const _Atomic bool *stop,
			   struct haul_fault *fault)
{
	char *buf = malloc(2 * (size_t)COMPARE_BYTES);
	int from = open_file(dir_fd, name), to = from < 0 ? -1 : open_file(to_fd, to_name);
	haul_status st = to < 0 ? haul_fault_errno(fault, errno, "it cannot be read once more") : HAUL_OK;

	if (haul_ok(st))
		st = buf ? compare_files(from, to, buf, stop, fault)
			 : haul_fault_set(fault, HAUL_NO_MEMORY, "no memory to compare it once more");
	if (to >= 0)
		(void)close(to);
	if (from >= 0)
		(void)close(from);
	free(buf);
	return st;
}
