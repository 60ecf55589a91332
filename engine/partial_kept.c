/*
 * Kept partials. One job at a time has one, by a lock on it; who finds it locked makes an ordinary partial instead, so
 * two jobs that bring the same file never write into one.
 *
 * The record begins with the first checkpoint: most files are done before, and cost no more than the lock. A partial
 * without a record is worth nothing to a later job.
 */
#include "engine/hash_tree.h"
#include "engine/kept_list.h"
#include "engine/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_ATTEMPTS = 3, PEER_BYTES = 32, RECORD_BATCH = 64 };

/* ---- names ---- */

/* Of peer, root and path; the root by its inode, since one `.haul/` lies on one file system. */
static haul_status key_of(const struct place *p, const char *path, char ret_hex[JOB_NAME_CHARS + 1])
{
	size_t len = strlen(path), total = PEER_BYTES + sizeof(p->root_inode) + len;
	uint8_t *text = malloc(total);
	struct haul_digest digest;

	if (!text)
		return HAUL_NO_MEMORY;
	memcpy(text, p->peer_id, PEER_BYTES);
	memcpy(text + PEER_BYTES, &p->root_inode, sizeof(p->root_inode));
	memcpy(text + PEER_BYTES + sizeof(p->root_inode), path, len);
	leaf_digest(text, total, &digest);
	free(text);
	for (size_t i = 0; i < sizeof(digest.bytes); i++)
		(void)snprintf(ret_hex + 2 * i, 3, "%02x", digest.bytes[i]);
	return HAUL_OK;
}

void partial_record_name(const char *partial_name, char ret_name[RECORD_NAME_MAX])
{
	size_t stem = strlen(partial_name) - (sizeof(PARTIAL_SUFFIX) - 1);

	(void)snprintf(ret_name, RECORD_NAME_MAX, "%.*s" RECORD_SUFFIX, (int)stem, partial_name);
}

/* NULL without memory: then it has none. */
static char *label_of(const struct place *p, const char *path)
{
	const char *root = p->root_name ? p->root_name : "";
	char *label = NULL;

	return asprintf(&label, "%s%s%s", root, *root ? "/" : "", path) < 0 ? NULL : label;
}

static haul_status find_kept_spot(struct place *p, const struct place_parent *at, const char *path,
				  struct partial *ret_partial)
{
	struct dir_traits target;
	char hex[JOB_NAME_CHARS + 1];
	haul_status st = key_of(p, path, hex);

	if (haul_failed(st))
		return st;
	place_parent_traits(at, &target);
	*ret_partial = (struct partial){ .file = { .fd = -1 }, .owner = p->owner, .is_kept = true, .lock_fd = -1 };
	if (job_directory_will_do(p, &target)) {
		if (p->kept_fd < 0)
			return HAUL_UNSUPPORTED; /* in such a directory nobody would look for it again */
		ret_partial->dir_fd = p->kept_fd;
		(void)snprintf(ret_partial->name, sizeof(ret_partial->name), "%s" PARTIAL_SUFFIX, hex);
		return HAUL_OK;
	}
	ret_partial->dir_fd = fcntl(at->dir_fd, F_DUPFD_CLOEXEC, 3);
	if (ret_partial->dir_fd < 0)
		return haul_status_from_errno(errno);
	ret_partial->owns_dir = true;
	(void)snprintf(ret_partial->name, sizeof(ret_partial->name), PLACE_PRIVATE_NAME ".%s" PARTIAL_SUFFIX, hex);
	return HAUL_OK;
}

/* ---- opening ---- */

/* Nobody but us has written to it or can: not one that was finished and has never got its name. */
static bool is_private(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & 07777) == 0600;
}

/* One of ours that is of no use any more; the name is free then. */
static bool remove_stale(const struct partial *f)
{
	char record[RECORD_NAME_MAX];

	partial_record_name(f->name, record);
	(void)unlinkat(f->dir_fd, record, 0);
	return unlinkat(f->dir_fd, f->name, 0) == 0;
}

/* One that was finished may be read-only; it is only to be removed. */
static int open_or_make(const struct partial *f)
{
	enum { FLAGS = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
	int fd = openat(f->dir_fd, f->name, O_RDWR | O_CREAT | FLAGS, 0600);

	return fd < 0 && errno == EACCES ? openat(f->dir_fd, f->name, O_RDONLY | FLAGS) : fd;
}

/* Open and locked, or -1. A sweep may have removed it between the two; what it is, is looked at under the lock. */
static int open_locked(const struct partial *f, struct stat *ret_st)
{
	for (int i = 0; i < OPEN_ATTEMPTS; i++) {
		int fd = open_or_make(f);
		bool is_usable = fd >= 0 && private_lock(fd, LOCK_EX | LOCK_NB) && fstat(fd, ret_st) == 0 &&
				 partial_is_ours(f->owns_dir, ret_st);

		if (is_usable && is_still_named(f->dir_fd, f->name, fd)) {
			if (is_private(ret_st))
				return fd;
			is_usable = remove_stale(f);
		}
		if (fd >= 0)
			(void)close(fd);
		if (!is_usable)
			return -1;
	}
	return -1;
}

/* Before the data goes: the other way round a loss of power could leave the record alone. */
static haul_status forget_record(const struct partial *f, const char *name)
{
	if (unlinkat(f->dir_fd, name, 0) == 0)
		return beneath_sync_directory(f->dir_fd, -1);
	return errno == ENOENT ? HAUL_OK : HAUL_UNSUPPORTED;
}

static uint64_t bytes_on_disk(const struct stat *st)
{
	return (uint64_t)st->st_blocks * 512;
}

static uint64_t named_bytes(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) ? bytes_on_disk(&st) : 0;
}

/* The tail is written in whole units of its alignment, and cut when the file is finished. */
static bool is_sized(const struct stat *st, uint64_t size)
{
	uint64_t now = (uint64_t)st->st_size;

	return now >= size && now - size < DISK_FILE_ALIGN_MAX;
}

/*
 * What an earlier job has left: nothing, something of the same source, something else. A record that does not count
 * goes at once: when its inode comes back it would speak of a partial that it knows nothing of.
 *
 * HAUL_UNSUPPORTED   something that is no file stands in the place of the record, or it is of another peer or root: the
 * name is only a digest.
 */
static haul_status find_record(struct partial *f, const struct stat *st, const struct partial_config *cfg)
{
	char name[RECORD_NAME_MAX];
	struct leaf_source of;
	bool is_ours;

	partial_record_name(f->name, name);
	f->has_record = st->st_size > 0 && haul_ok(leaf_record_open(f->dir_fd, name, st->st_ino, &of, &f->record));
	is_ours = f->has_record && leaf_owner_equal(&of.owner, &f->source.owner);
	f->had_bytes = is_ours ? bytes_on_disk(st) : 0;
	if (f->has_record && (!is_ours || cfg->starts_anew)) {
		leaf_record_close(&f->record);
		f->has_record = false;
		if (!cfg->starts_anew)
			return HAUL_UNSUPPORTED;
	}
	if (!f->has_record) {
		f->found = PARTIAL_NEW;
		return forget_record(f, name);
	}
	f->found = leaf_source_equal(&of, &f->source) && is_sized(st, cfg->size) ? PARTIAL_OF_SAME : PARTIAL_OF_OTHER;
	return HAUL_OK;
}

static haul_status create_record(struct partial *f, const char *name, uint64_t inode)
{
	haul_status st = leaf_record_create(f->dir_fd, name, &f->source, inode, &f->record);

	if (haul_failed(st) || !f->label)
		return st;
	st = leaf_record_label(&f->record, f->label);
	if (haul_failed(st)) {
		leaf_record_close(&f->record);
		(void)unlinkat(f->dir_fd, name, 0);
	}
	return st;
}

/* The old leaves stay where they are until they are compared; nothing is recorded of them any more. */
static haul_status begin_anew(struct partial *f, int fd, const struct stat *st)
{
	char name[RECORD_NAME_MAX];
	haul_status result;

	leaf_record_close(&f->record);
	f->has_record = false;
	partial_record_name(f->name, name);
	result = create_record(f, name, st->st_ino);
	f->has_record = haul_ok(result);
	if (haul_ok(result) && (uint64_t)st->st_size > f->size && ftruncate(fd, (off_t)f->size) < 0)
		return haul_status_from_errno(errno);
	return result;
}

static haul_status prepare(struct partial *f, int fd, const struct stat *st, const struct partial_config *cfg,
			   struct haul_fault *fault)
{
	haul_status result = find_record(f, st, cfg);

	if (haul_failed(result))
		return result;
	if (f->found == PARTIAL_NEW && st->st_size > 0 && ftruncate(fd, 0) < 0)
		return haul_status_from_errno(errno);
	if (f->found == PARTIAL_OF_OTHER)
		result = begin_anew(f, fd, st);
	if (haul_ok(result) && f->found != PARTIAL_OF_SAME)
		result = partial_make_room(fd, cfg->size, cfg->is_sparse);
	return haul_ok(result) ? disk_file_open(&f->file, fd, cfg->direct, cfg->size, fault) : result;
}

haul_status partial_open_kept(struct place *p, const struct place_parent *at, const char *path,
			      const struct partial_config *cfg, struct partial *ret_partial, struct haul_fault *fault)
{
	struct partial f;
	struct stat st;
	haul_status result;
	int fd;

	if (cfg->size <= HAUL_LEAF_BYTES || leaf_count(cfg->size) > LEAF_RECORD_LEAVES_MAX)
		return HAUL_UNSUPPORTED;
	result = find_kept_spot(p, at, path, &f);
	if (haul_failed(result))
		return result;
	f.size = cfg->size;
	f.place = p;
	f.is_sparse = cfg->is_sparse;
	f.source = *cfg->source;
	memcpy(f.source.owner.peer_id, p->peer_id, sizeof(p->peer_id));
	f.source.owner.root_inode = p->root_inode;
	f.label = label_of(p, path);
	fd = open_locked(&f, &st);
	if (fd < 0) {
		partial_leave_spot(&f);
		return HAUL_UNSUPPORTED;
	}
	result = prepare(&f, fd, &st, cfg, fault);
	if (haul_failed(result)) {
		if (result.code == HAUL_CODE_UNSUPPORTED && st.st_size > 0)
			partial_leave_spot(&f); /* it is not ours */
		else
			partial_keep(&f); /* for a time with more room, or more handles; without a record it goes */
		(void)close(fd);
		return result;
	}
	*ret_partial = f;
	return HAUL_OK;
}

/* ---- in work ---- */

haul_status partial_read_record(struct partial *f, struct leaf_map *ret_have, struct haul_digest *ret_digests)
{
	return leaf_record_read(&f->record, ret_have, ret_digests);
}

/* 0, or the error. */
static int make_zero(int fd, int how, off_t from, off_t len)
{
	int failed;

	do {
		failed = fallocate(fd, how, from, len);
	} while (failed && errno == EINTR);
	return failed ? errno : 0;
}

/* For file systems that can do neither (ramfs, older NFS). Through a handle of its own: the file's may be direct. */
static haul_status write_zeros(const struct partial *f, off_t from, uint64_t len)
{
	static const uint8_t zeros[64 * 1024];
	char path[32];
	int fd;
	haul_status st = HAUL_OK;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", f->file.fd);
	fd = f->is_in_place ? open(path, O_WRONLY | O_CLOEXEC)
			    : openat(f->dir_fd, f->name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return haul_status_from_errno(errno);
	while (len > 0 && haul_ok(st)) {
		ssize_t n = pwrite(fd, zeros, len < sizeof(zeros) ? (size_t)len : sizeof(zeros), from);

		if (n > 0) {
			from += n;
			len -= (uint64_t)n;
		} else if (n == 0 || errno != EINTR) {
			st = haul_status_from_errno(n < 0 ? errno : EIO);
		}
	}
	if (close(fd) < 0 && haul_ok(st))
		st = haul_status_from_errno(errno);
	return st;
}

static haul_status zero_range(const struct partial *f, off_t from, uint64_t len)
{
	int err = f->is_sparse ? EOPNOTSUPP : make_zero(f->file.fd, FALLOC_FL_ZERO_RANGE, from, (off_t)len);

	if (err) /* or what zeroing would do to a sparse file: fill its holes */
		err = make_zero(f->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, (off_t)len);
	if (err == EOPNOTSUPP || err == ENOSYS)
		return write_zeros(f, from, len);
	return err ? haul_status_from_errno(err) : HAUL_OK;
}

haul_status partial_zero_rest(struct partial *f, const struct leaf_map *have)
{
	haul_status st = HAUL_OK;
	uint64_t first, count;

	if (ftruncate(f->file.fd, (off_t)f->size) < 0)
		return haul_status_from_errno(errno);

	for (uint64_t at = 0; haul_ok(st) && leaf_map_run(have, false, at, &first, &count); at = first + count) {
		uint64_t from = first * HAUL_LEAF_BYTES, len = count * HAUL_LEAF_BYTES;

		st = zero_range(f, (off_t)from, len < f->size - from ? len : f->size - from);
	}
	return st;
}

/* The names above the record: `.haul/` and `partials/`, once in a job. */
static haul_status sync_above(struct place *p)
{
	haul_status st;

	if (p->kept_fd < 0 || atomic_load(&p->kept_is_named))
		return HAUL_OK;
	st = beneath_sync_directory(p->haul_fd, -1);
	if (haul_ok(st))
		st = beneath_sync_directory(p->private_fd, p->sync_fd);
	atomic_store(&p->kept_is_named, haul_ok(st));
	return st;
}

/* The file has its room reserved, the record has not: on a full disk it stays behind, and the file goes on. */
static haul_status unless_full(struct partial *f, haul_status st)
{
	if (st.code != HAUL_CODE_NO_SPACE && st.code != HAUL_CODE_QUOTA)
		return st;
	f->stops_recording = true;
	return HAUL_OK;
}

/* What has been written is on the medium, and there is a record, unless f->stops_recording. */
static haul_status begin_checkpoint(struct partial *f)
{
	char name[RECORD_NAME_MAX];
	struct stat st;
	haul_status result;

	if (haul_failed(f->lost))
		return f->lost; /* a sync that succeeds after one that failed says nothing */
	if (fdatasync(f->file.fd) < 0 || fstat(f->file.fd, &st) < 0) {
		f->lost = haul_status_from_errno(errno);
		return f->lost;
	}
	if (f->stops_recording || f->has_record)
		return HAUL_OK;
	partial_record_name(f->name, name);
	result = sync_above(f->place);
	if (haul_ok(result))
		result = create_record(f, name, st.st_ino);
	f->has_record = haul_ok(result);
	return unless_full(f, result);
}

haul_status partial_checkpoint(struct partial *f, const struct leaf_piece *pieces, size_t count)
{
	haul_status st = begin_checkpoint(f);

	if (haul_failed(st) || f->stops_recording)
		return st;
	st = leaf_record_append(&f->record, pieces, count);
	if (haul_ok(st))
		st = leaf_record_sync(&f->record);
	return unless_full(f, st);
}

/* One run of leaves, piece by piece. */
static haul_status append_run(struct leaf_record *r, uint64_t first, uint64_t end, const struct haul_digest *digests)
{
	struct leaf_piece pieces[RECORD_BATCH];
	haul_status st = HAUL_OK;

	while (first < end && haul_ok(st)) {
		size_t n = 0;

		for (; n < RECORD_BATCH && first < end; first += pieces[n++].count) {
			uint64_t count = end - first < HAUL_BLOCK_LEAVES_MAX ? end - first : HAUL_BLOCK_LEAVES_MAX;

			pieces[n].first = first;
			pieces[n].count = (uint32_t)count;
			memcpy(pieces[n].digests, digests + first, (size_t)count * sizeof(*digests));
		}
		st = leaf_record_append(r, pieces, n);
	}
	return st;
}

haul_status partial_record_have(struct partial *f, const struct leaf_map *have, const struct haul_digest *digests)
{
	haul_status st = have->count ? begin_checkpoint(f) : HAUL_OK;
	uint64_t first, count;

	if (haul_failed(st) || f->stops_recording || !have->count)
		return st;
	for (uint64_t at = 0; haul_ok(st) && leaf_map_run(have, true, at, &first, &count); at = first + count)
		st = append_run(&f->record, first, first + count, digests);
	if (haul_ok(st))
		st = leaf_record_sync(&f->record);
	return unless_full(f, st);
}

void partial_drop_record(struct partial *f)
{
	char name[RECORD_NAME_MAX];

	if (!f->has_record)
		return;
	f->has_record = false;
	leaf_record_close(&f->record);
	partial_record_name(f->name, name);
	(void)unlinkat(f->dir_fd, name, 0);
}

/* What was reserved for leaves that have not come is given back. Best effort: the file stands as it is else. */
static void give_back_room(struct partial *f)
{
	struct leaf_map have = { 0 };
	uint64_t first, count;

	leaf_record_rewind(&f->record);
	if (leaf_map_open(&have, leaf_count(f->size)) && haul_ok(leaf_record_read(&f->record, &have, NULL))) {
		for (uint64_t at = 0; leaf_map_run(&have, false, at, &first, &count); at = first + count)
			(void)make_zero(f->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
					(off_t)(first * HAUL_LEAF_BYTES), (off_t)(count * HAUL_LEAF_BYTES));
	}
	leaf_map_close(&have);
}

void partial_keep(struct partial *f)
{
	uint64_t bytes;
	bool is_beside;

	if (!f->name[0])
		return;
	if (!f->is_kept || !f->has_record || haul_failed(f->lost)) {
		partial_discard(f);
		return;
	}
	if (f->file.fd >= 0 && f->found != PARTIAL_OF_OTHER) /* its leaves may still be equal */
		give_back_room(f);
	bytes = named_bytes(f->dir_fd, f->name);
	is_beside = f->owns_dir;
	leaf_record_close(&f->record);
	if (f->file.fd >= 0)
		(void)disk_file_close(&f->file);
	partial_leave_spot(f);
	f->kept_bytes = bytes;
	f->kept_beside = is_beside;
}

uint64_t place_kept_bytes(struct place *p, const char *path)
{
	char hex[JOB_NAME_CHARS + 1], name[RECORD_NAME_MAX];
	struct place_parent at = { 0 };
	struct partial f;
	uint64_t bytes = 0;

	if (p->only_looks && haul_ok(key_of(p, path, hex))) {
		(void)snprintf(name, sizeof(name), "%s" PARTIAL_SUFFIX, hex);
		return named_bytes(p->kept_fd, name);
	}
	if (p->keeps && haul_ok(place_parent_get(p, path, &at)) && haul_ok(find_kept_spot(p, &at, path, &f))) {
		bytes = named_bytes(f.dir_fd, f.name);
		partial_leave_spot(&f);
	}
	place_parent_put(&at);
	return bytes;
}

bool place_forget_kept(struct place *p, const char *path)
{
	struct place_parent at = { 0 };
	bool is_gone = false;
	struct partial f;
	struct stat st;
	int fd;

	if (p->keeps && haul_ok(place_parent_get(p, path, &at)) && haul_ok(find_kept_spot(p, &at, path, &f))) {
		fd = openat(f.dir_fd, f.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && private_lock(fd, LOCK_EX | LOCK_NB) && fstat(fd, &st) == 0 &&
		    partial_is_ours(f.owns_dir, &st) && is_still_named(f.dir_fd, f.name, fd))
			is_gone = remove_stale(&f);
		if (fd >= 0)
			(void)close(fd);
		partial_leave_spot(&f);
	}
	place_parent_put(&at);
	return is_gone;
}

/* ---- the directory ---- */

void place_kept_open(struct place *p)
{
	if (p->haul_fd < 0 || !private_lock(p->haul_fd, LOCK_EX))
		return;
	p->kept_fd = private_directory(p->haul_fd, PLACE_KEPT_NAME);
	if (p->kept_fd >= 0) {
		(void)private_lock(p->kept_fd, LOCK_SH);
		place_sweep_kept(p, time(NULL));
	}
	(void)private_lock(p->haul_fd, LOCK_UN);
}

void place_look_kept(struct place *p, int private_fd, const uint8_t peer_id[32])
{
	memcpy(p->peer_id, peer_id, sizeof(p->peer_id));
	p->only_looks = haul_ok(kept_open_directory(private_fd, &p->kept_fd)) && p->kept_fd >= 0;
}

void place_kept_close(struct place *p)
{
	if (p->kept_fd < 0)
		return;
	if (private_lock(p->kept_fd, LOCK_EX | LOCK_NB)) /* the last job with it */
		(void)unlinkat(p->haul_fd, PLACE_KEPT_NAME, AT_REMOVEDIR);
	(void)close(p->kept_fd);
	p->kept_fd = -1;
}
