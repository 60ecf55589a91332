/*
 * From nothing to a name: create, (the caller writes), finish, publish. Until the rename nobody sees anything under the
 * final name; after a failure at any step the partial is the caller's to discard, or is swept with its dead job.
 */
#include "engine/partial.h"

#include "engine/base/checked.h"
#include "engine/base/escape.h"
#include "engine/hole.h"
#include "engine/place.h"
#include "engine/random_hex.h"
#include "engine/whole_io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

bool job_directory_will_do(const struct place *p, const struct dir_traits *target)
{
	const struct dir_traits *job = &p->job_traits;

	return p->job_fd >= 0 && target->is_known && !target->gives_to_files && target->device == job->device &&
	       target->mount == job->mount && target->project == job->project;
}

haul_status partial_find_spot(struct place *p, const struct place_parent *at, struct partial *ret_partial,
			      bool *ret_is_elsewhere)
{
	struct partial f = { .file = { .fd = -1 }, .owner = p->owner };
	char hex[JOB_NAME_CHARS + 1];
	struct dir_traits target;
	haul_status st;

	place_parent_traits(at, &target);
	*ret_is_elsewhere = p->syncs_each || target.device != p->root_device;
	if (job_directory_will_do(p, &target)) {
		f.dir_fd = p->job_fd;
		(void)snprintf(f.name, sizeof(f.name), "%016llx", (unsigned long long)atomic_fetch_add(&p->serial, 1));
		*ret_partial = f;
		return HAUL_OK;
	}
	st = random_hex(hex, JOB_NAME_CHARS);
	if (haul_failed(st))
		return st;
	f.dir_fd = fcntl(at->dir_fd, F_DUPFD_CLOEXEC, 3);
	if (f.dir_fd < 0)
		return haul_status_from_errno(errno);
	f.owns_dir = true;
	(void)snprintf(f.name, sizeof(f.name), ".haul.%s.part", hex);
	*ret_partial = f;
	return HAUL_OK;
}

void partial_leave_spot(struct partial *f)
{
	if (f->is_kept && f->lock_fd >= 0)
		(void)close(f->lock_fd);
	if (f->owns_dir)
		(void)close(f->dir_fd);
	free(f->beside);
	free(f->label);
	*f = (struct partial){ 0 };
}

/* A small file waits for its group's syncs, with thousands of others: not each with a descriptor of its directory. */
static haul_status let_go_of_directory(struct place *p, struct partial *f, const char *path)
{
	if (!f->owns_dir)
		return HAUL_OK;
	f->beside = strdup(path);
	if (!f->beside)
		return HAUL_NO_MEMORY;
	f->place = p;
	(void)close(f->dir_fd);
	f->owns_dir = false;
	f->dir_fd = -1;
	return HAUL_OK;
}

/* For what is not there yet of a file. Without a limit of its own the file system counts no blocks. */
static haul_status look_for_room(int fd, uint64_t size)
{
	enum { UNIT = 512 };
	struct statfs fs;
	struct stat st;
	uint64_t room, there;

	if (fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0)
		return haul_status_from_errno(errno);
	if (fs.f_blocks == 0)
		return HAUL_OK;
	there = (uint64_t)st.st_blocks * UNIT;
	if (haul_failed(haul_mul_u64(fs.f_bavail, (uint64_t)fs.f_bsize, &room)))
		return HAUL_OK;
	return size > there && size - there > room ? HAUL_NO_SPACE : HAUL_OK;
}

/*
 * A file system in memory fills what it reserves with zeros, so that each page is written twice: 4 files of 1.4 GB came
 * 1.8 s later to their first byte. There it is looked whether there is room, and none is taken.
 */
haul_status partial_make_room(int fd, uint64_t size, bool is_sparse)
{
	haul_status st = HAUL_OK;
	int failed;

	if (size > INT64_MAX)
		return HAUL_TOO_BIG;
	if (size == 0)
		return HAUL_OK;
	if (!is_sparse && disk_file_is_in_memory(fd)) {
		st = look_for_room(fd, size);
		is_sparse = true;
	}
	if (haul_failed(st))
		return st;
	do {
		failed = is_sparse ? ftruncate(fd, (off_t)size) : fallocate(fd, 0, 0, (off_t)size);
	} while (failed && errno == EINTR);
	if (failed && (errno == EOPNOTSUPP || errno == ENOSYS))
		failed = ftruncate(fd, (off_t)size);
	if (failed)
		return errno == EINVAL ? HAUL_TOO_BIG : haul_status_from_errno(errno);
	return HAUL_OK;
}

static int create_in_spot(const struct partial *f, int access)
{
	return openat(f->dir_fd, f->name, access | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* On failure nothing is left of it. */
static haul_status create_sized(struct partial *f, const struct partial_config *cfg, struct haul_fault *fault)
{
	int fd = create_in_spot(f, O_RDWR);
	haul_status st;

	if (fd < 0)
		return haul_status_from_errno(errno);
	if (f->owns_dir)
		(void)flock(fd, LOCK_EX | LOCK_NB); /* against sweeps; where there are no locks, its times tell */
	st = partial_make_room(fd, cfg->size, cfg->is_sparse);
	if (haul_ok(st))
		st = disk_file_open(&f->file, fd, cfg->direct, cfg->size, fault);
	if (haul_failed(st)) {
		(void)close(fd);
		(void)unlinkat(f->dir_fd, f->name, 0);
	}
	return st;
}

/* One that dies with its job. */
static haul_status create_ordinary(struct place *p, const struct place_parent *at, const struct partial_config *cfg,
				   struct partial *ret_partial, struct haul_fault *fault)
{
	struct partial f;
	bool is_elsewhere;
	haul_status st = partial_find_spot(p, at, &f, &is_elsewhere);

	if (haul_failed(st))
		return st;
	f.size = cfg->size;
	st = create_sized(&f, cfg, fault);
	if (haul_failed(st))
		partial_leave_spot(&f);
	else
		*ret_partial = f;
	return st;
}

haul_status partial_create(struct place *p, const char *path, const struct partial_config *cfg,
			   struct partial *ret_partial, struct haul_fault *fault)
{
	char text[HAUL_FAULT_TEXT_MAX / 2];
	struct place_parent at = { 0 };
	haul_status st = place_parent_get(p, path, &at);

	/* The partial may lie where we may write although the target may not be written: tell now. */
	if (haul_ok(st) && faccessat(at.dir_fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		st = haul_status_from_errno(errno);
	if (haul_ok(st)) {
		st = p->keeps && cfg->source ? partial_open_kept(p, &at, path, cfg, ret_partial, fault)
					     : HAUL_UNSUPPORTED;
		if (st.code == HAUL_CODE_UNSUPPORTED)
			st = create_ordinary(p, &at, cfg, ret_partial, fault);
	}
	place_parent_put(&at);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "cannot create %s: %s",
				      haul_escape(path, strlen(path), text, sizeof(text)), haul_status_text(st));
	return HAUL_OK;
}

/* Only what is not a whole page of zeros; the length says where the last hole ends. */
static haul_status write_with_holes(int fd, const uint8_t *data, size_t len)
{
	haul_status st = ftruncate(fd, (off_t)len) < 0 ? haul_status_from_errno(errno) : HAUL_OK;
	size_t at = hole_run(data, len);

	while (haul_ok(st) && at < len) {
		size_t run = hole_free_run(data + at, len - at);

		if (lseek(fd, (off_t)at, SEEK_SET) < 0)
			return haul_status_from_errno(errno);
		st = write_whole(fd, data + at, run);
		at += run;
		at += hole_run(data + at, len - at);
	}
	return st;
}

/* Of the process, in whatever place: they wait for their names with a descriptor each. */
static _Atomic unsigned nameless;

/*
 * A file without a name costs no entry in the job's directory, nor its removal, and waits for no lock of it: 20,000 on
 * ext4 took 0.8 of the CPU time. But each keeps its descriptor until it has its name, so only so many may wait; and a
 * link demands more than a rename of a file that was given to somebody else.
 */
static int create_nameless(const struct place *p, struct partial *f)
{
	int fd;

	if (!p->has_nameless || f->owns_dir || owner_is_set(&f->owner))
		return -1;
	if (atomic_fetch_add(&nameless, 1) < p->nameless_max) {
		fd = openat(f->dir_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
		if (fd >= 0) {
			f->is_nameless = true;
			f->nameless_fd = fd;
			return fd;
		}
	}
	atomic_fetch_sub(&nameless, 1);
	return -1;
}

static void close_nameless(struct partial *f)
{
	if (!f->is_nameless)
		return;
	(void)close(f->nameless_fd); /* its data is synced, or it goes */
	f->is_nameless = false;
	atomic_fetch_sub(&nameless, 1);
}

static int link_nameless(const struct partial *f, int dir_fd, const char *name)
{
	char path[32];

	if (linkat(f->nameless_fd, "", dir_fd, name, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOENT) /* ENOENT: only for the mighty, before Linux 6.10 */
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", f->nameless_fd);
	return linkat(AT_FDCWD, path, dir_fd, name, AT_SYMLINK_FOLLOW);
}

/* Its private name after all: a rename can do what a link cannot. */
static int name_nameless(struct partial *f)
{
	if (link_nameless(f, f->dir_fd, f->name) < 0)
		return -1;
	close_nameless(f);
	return 0;
}

static haul_status sync_file(int fd)
{
	return fsync(fd) < 0 ? haul_status_from_errno(errno) : HAUL_OK;
}

haul_status partial_create_small(struct place *p, const char *path, const void *data, size_t len,
				 struct place_meta *meta, struct partial *ret_partial)
{
	struct partial f;
	struct place_parent at;
	bool is_elsewhere;
	int fd;
	haul_status st = place_parent_get(p, path, &at);

	if (haul_failed(st))
		return st;
	st = partial_find_spot(p, &at, &f, &is_elsewhere);
	place_parent_put(&at);
	if (haul_failed(st))
		return st;
	f.size = len;
	fd = create_nameless(p, &f);
	if (fd < 0)
		fd = create_in_spot(&f, O_WRONLY);
	if (fd < 0) {
		st = haul_status_from_errno(errno);
		partial_leave_spot(&f);
		return st;
	}
	st = meta->has_holes ? write_with_holes(fd, data, len) : write_whole(fd, data, len);
	if (haul_ok(st))
		st = owner_give(fd, &f.owner);
	if (haul_ok(st))
		st = meta_apply(fd, meta, f.owns_dir ? META_OF_NEW_HERE : META_OF_NEW);
	if (haul_ok(st) && is_elsewhere)
		st = sync_file(fd);
	if (!f.is_nameless && close(fd) < 0 && haul_ok(st))
		st = haul_status_from_errno(errno);
	if (haul_ok(st))
		st = let_go_of_directory(p, &f, path);
	if (haul_failed(st))
		partial_discard(&f);
	else
		*ret_partial = f;
	return st;
}

/* It is closed before it gets its name: until then no other job may take it, or sweep it away. */
static haul_status hold_lock(struct partial *f)
{
	if (f->is_kept && f->lock_fd < 0)
		f->lock_fd = fcntl(f->file.fd, F_DUPFD_CLOEXEC, 3);
	return f->is_kept && f->lock_fd < 0 ? haul_status_from_errno(errno) : HAUL_OK;
}

/* A kept one may have been finished before, and its name then failed. */
static enum meta_of kind_of(const struct partial *f)
{
	if (f->is_in_place)
		return meta_of_old(f->file.fd);
	return f->owns_dir || f->is_kept ? META_OF_NEW_HERE : META_OF_NEW;
}

haul_status partial_finish(struct partial *f, struct place_meta *meta, bool sync, struct haul_fault *fault)
{
	int fd = f->file.fd;
	haul_status st = f->lost;

	if (haul_ok(st) && ftruncate(fd, (off_t)f->size) < 0)
		st = haul_status_from_errno(errno);
	if (haul_ok(st) && !f->is_in_place)
		st = owner_give(fd, &f->owner);
	if (haul_ok(st))
		st = meta_apply(fd, meta, kind_of(f));
	if (haul_ok(st) && sync)
		st = sync_file(fd);
	if (haul_ok(st))
		st = hold_lock(f);
	if (haul_ok(st)) {
		st = disk_file_close(&f->file);
		f->file.fd = -1;
	}
	if (haul_failed(st))
		return haul_fault_set(fault, st, "cannot finish a partial file: %s", haul_status_text(st));
	return st;
}

/* For file systems that cannot rename without replacing: a second name is as atomic. */
static int link_then_unlink(const struct partial *f, int from_fd, int dir_fd, const char *name)
{
	if (linkat(from_fd, f->name, dir_fd, name, 0) < 0)
		return -1;
	(void)unlinkat(from_fd, f->name, 0);
	return 0;
}

static int give_name(struct partial *f, int dir_fd, const char *name, enum publish_rule rule)
{
	int from_fd = f->beside ? dir_fd : f->dir_fd, failed;

	if (f->is_nameless) {
		failed = link_nameless(f, dir_fd, name);
		if (!failed || errno != EEXIST || rule != PUBLISH_REPLACE)
			return failed;
		if (name_nameless(f) < 0)
			return -1;
	}
	if (rule == PUBLISH_REPLACE)
		return renameat(from_fd, f->name, dir_fd, name);
	failed = renameat2(from_fd, f->name, dir_fd, name, RENAME_NOREPLACE);
	if (failed && (errno == EINVAL || errno == ENOSYS))
		failed = link_then_unlink(f, from_fd, dir_fd, name);
	return failed;
}

haul_status partial_publish(struct place *p, struct partial *f, const char *path, enum publish_rule rule)
{
	struct place_parent at;
	haul_status st = place_parent_get(p, path, &at);

	if (haul_failed(st))
		return st;
	if (f->is_in_place) {
		st = partial_confirm_in_place(f, &at);
		place_parent_put(&at);
		if (haul_ok(st))
			partial_leave_spot(f);
		return st;
	}
	partial_drop_record(f); /* after the rename the name in the private directory may be another job's */
	if (give_name(f, at.dir_fd, at.name, rule) < 0) {
		st = haul_status_from_errno(errno);
	} else {
		if (place_parent_is_elsewhere(p, &at))
			st = beneath_sync_directory(at.dir_fd, -1);
		close_nameless(f);
		partial_leave_spot(f);
	}
	place_parent_put(&at);
	return st;
}

static void unlink_beside(const struct partial *f)
{
	struct place_parent at = { 0 };

	if (haul_ok(place_parent_get(f->place, f->beside, &at)))
		(void)unlinkat(at.dir_fd, f->name, 0);
	place_parent_put(&at);
}

void partial_discard(struct partial *f)
{
	if (!f->name[0])
		return;
	partial_drop_record(f);
	if (f->beside)
		unlink_beside(f);
	else if (f->is_nameless)
		close_nameless(f);
	else if (!f->is_in_place)
		(void)unlinkat(f->dir_fd, f->name, 0);
	if (f->file.fd >= 0) /* with it goes the lock, and the name may be another job's */
		(void)disk_file_close(&f->file);
	partial_leave_spot(f);
}
