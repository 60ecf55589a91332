/* The destination of one job: opening it, looking at what stands there, directories, links and metadata. */
#include "engine/place.h"

#include "engine/attribute_read.h"
#include "engine/base/escape.h"
#include "engine/base/log.h"
#include "engine/sync_reach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

haul_status place_open_keeping(int root_fd, int private_fd, unsigned keep_days, struct place **ret_place,
			       struct haul_fault *fault)
{
	struct entry_facts facts;
	haul_status st = beneath_stat_handle(root_fd, &facts);
	struct place *p;

	if (haul_ok(st) && facts.kind != ENTRY_DIRECTORY)
		st = HAUL_NOT_DIRECTORY;
	if (haul_failed(st))
		return haul_fault_set(fault, st, "cannot use the destination: %s", haul_status_text(st));
	p = calloc(1, sizeof(*p));
	if (!p)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for the destination");
	p->root_fd = root_fd;
	p->private_fd = private_fd;
	p->root_device = facts.device;
	p->root_inode = facts.inode;
	p->kept_fd = -1;
	p->owner = OWNER_NONE;
	p->keep_days = keep_days;
	p->sync_fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	place_private_open(p);
	/* A root that may not be read: any other handle on its file system serves. */
	if (p->sync_fd < 0 && p->job_fd >= 0 && p->job_traits.device == p->root_device)
		p->sync_fd = fcntl(p->job_fd, F_DUPFD_CLOEXEC, 3);
	p->syncs_each = p->sync_fd >= 0 && !sync_reaches_all(p->sync_fd);
	if (private_fd >= 0)
		place_sweep_target(p, root_fd, time(NULL));
	*ret_place = p;
	return HAUL_OK;
}

haul_status place_open(int root_fd, int private_fd, struct place **ret_place, struct haul_fault *fault)
{
	return place_open_keeping(root_fd, private_fd, PLACE_KEEP_DAYS, ret_place, fault);
}

void place_set_owner(struct place *p, const struct owner *owner)
{
	p->owner = *owner;
}

void place_name_root(struct place *p, const char *path)
{
	p->root_name = path;
}

void place_keep(struct place *p, const uint8_t peer_id[32])
{
	memcpy(p->peer_id, peer_id, sizeof(p->peer_id));
	p->keeps = true;
	place_kept_open(p);
}

static haul_status open_up(int fd, uint32_t mode)
{
	const struct entry_facts wanted = { .mode = mode | 0700, .mtime.nsec = PARTIAL_KEEP_TIME };
	struct place_meta meta = { .facts = &wanted };

	if (faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS) == 0)
		return HAUL_OK;
	if (errno != EACCES)
		return haul_status_from_errno(errno);
	return meta_apply_by_path_handle(fd, &meta, META_OF_OLD);
}

/* What was private in the root goes from it whatever its mode is by now, and the root has its mode and time again. */
static void close_private(struct place *p)
{
	struct entry_facts was = { .mode = 0 };
	struct place_meta meta = { .facts = &was };
	bool is_here = p->job_fd >= 0 && (!p->root_name || !*p->root_name);
	bool is_shut = is_here && haul_ok(beneath_stat_handle(p->root_fd, &was)) &&
		       faccessat(p->root_fd, ".", W_OK | X_OK, AT_EACCESS) < 0 &&
		       haul_ok(open_up(p->root_fd, was.mode));

	place_private_close(p);
	was.mtime.nsec = PARTIAL_KEEP_TIME;
	if (is_shut && haul_failed(meta_apply_by_path_handle(p->root_fd, &meta, META_OF_OLD)))
		haul_log(HAUL_LOG_WARNING, "a directory keeps the write permission it was given for a job");
	if (p->has_root_time)
		(void)utimensat(p->root_fd, "", (struct timespec[]){ { .tv_nsec = UTIME_OMIT }, p->root_time },
				AT_EMPTY_PATH);
}

void place_close(struct place *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < PLACE_CACHES; i++)
		parent_cache_close(&p->caches[i].parents);
	close_private(p);
	if (p->only_looks)
		(void)close(p->kept_fd);
	if (p->sync_fd >= 0)
		(void)close(p->sync_fd);
	free(p);
}

bool place_is_elsewhere(const struct place *p, int fd)
{
	struct stat st;

	return p->syncs_each || (fstat(fd, &st) == 0 && st.st_dev != p->root_device);
}

haul_status place_sync_parent(struct place *p, const char *path)
{
	struct place_parent at;
	haul_status st = place_parent_get(p, path, &at);

	if (haul_failed(st))
		return st;
	st = beneath_sync_directory(at.dir_fd, p->sync_fd);
	place_parent_put(&at);
	return st;
}

haul_status place_sync_all(struct place *p)
{
	if (p->sync_fd < 0)
		return HAUL_DENIED;
	return syncfs(p->sync_fd) < 0 ? haul_status_from_errno(errno) : HAUL_OK;
}

haul_status place_stat(struct place *p, const char *path, struct entry_facts *ret_facts)
{
	struct place_parent at;
	haul_status st;

	if (!*path)
		return beneath_stat_handle(p->root_fd, ret_facts);
	st = place_parent_get(p, path, &at);
	if (haul_failed(st))
		return st;
	st = beneath_stat_at(at.dir_fd, at.name, ret_facts);
	place_parent_put(&at);
	return st;
}

/* At once, not at the end: a directory that an interrupted job has left must not be of another owner than its files. */
static haul_status new_directory(struct place *p, const struct place_parent *at)
{
	haul_status st = owner_give_directory(at->dir_fd, at->name, &p->owner);

	if (haul_failed(st)) {
		(void)unlinkat(at->dir_fd, at->name, AT_REMOVEDIR);
		return st;
	}
	return place_is_elsewhere(p, at->dir_fd) ? beneath_sync_directory(at->dir_fd, -1) : HAUL_OK;
}

static haul_status make_directory_at(struct place *p, const struct place_parent *at, enum entry_kind *ret_kind)
{
	struct entry_facts facts;
	haul_status st;

	if (mkdirat(at->dir_fd, at->name, 0700) == 0)
		return new_directory(p, at);
	if (errno != EEXIST)
		return haul_status_from_errno(errno);
	st = beneath_stat_at(at->dir_fd, at->name, &facts);
	if (haul_failed(st))
		return st;
	*ret_kind = facts.kind;
	return HAUL_EXISTS;
}

haul_status place_make_directory(struct place *p, const char *path, enum entry_kind *ret_kind)
{
	struct place_parent at;
	haul_status st = place_parent_get(p, path, &at);

	if (haul_failed(st))
		return st;
	st = make_directory_at(p, &at, ret_kind);
	place_parent_put(&at);
	return st;
}

haul_status place_open_up_directory(struct place *p, const char *path, uint32_t *ret_old_mode)
{
	struct entry_facts facts;
	int fd;
	haul_status st = beneath_open(p->root_fd, path, O_PATH | O_DIRECTORY, 0, &fd);

	if (haul_failed(st))
		return st;
	st = beneath_stat_handle(fd, &facts);
	if (haul_ok(st))
		st = open_up(fd, facts.mode);
	(void)close(fd);
	if (haul_ok(st))
		*ret_old_mode = facts.mode;
	return st;
}

static void note_root_time(struct place *p)
{
	struct stat st;

	p->has_root_time = fstat(p->root_fd, &st) == 0;
	if (p->has_root_time)
		p->root_time = st.st_mtim;
}

haul_status place_finish_directory(struct place *p, const char *path, struct place_meta *meta, bool sync)
{
	int fd;
	bool is_path_only = false;
	haul_status st = beneath_open(p->root_fd, path, O_RDONLY | O_DIRECTORY, 0, &fd);

	if (st.code == HAUL_DENIED.code) { /* of others, or of a mode that does not let us read */
		is_path_only = true;
		st = beneath_open(p->root_fd, path, O_PATH | O_DIRECTORY, 0, &fd);
	}
	if (haul_failed(st))
		return st;
	place_sweep_target(p, fd, time(NULL));
	st = is_path_only ? meta_apply_by_path_handle(fd, meta, META_OF_OLD) : meta_apply(fd, meta, meta_of_old(fd));
	if (haul_ok(st) && !*path)
		note_root_time(p);
	if (haul_ok(st) && (sync || place_is_elsewhere(p, fd)))
		st = is_path_only ? beneath_sync_directory(fd, p->sync_fd)
				  : (fsync(fd) < 0 ? haul_status_from_errno(errno) : HAUL_OK);
	(void)close(fd);
	return st;
}

static bool is_untouched(const struct entry_facts *a, const struct entry_facts *b)
{
	return entry_is_same(a, b) && entry_time_equal(&a->ctime, &b->ctime);
}

haul_status place_set_meta(struct place *p, const char *path, const struct entry_facts *seen, struct place_meta *meta)
{
	struct entry_facts facts = *meta->facts;
	struct place_meta wanted = *meta;
	struct entry_facts now;
	int fd;
	haul_status st = beneath_open(p->root_fd, path, O_PATH, 0, &fd);

	if (haul_failed(st))
		return st;
	st = beneath_stat_handle(fd, &now);
	if (haul_ok(st) && (now.kind != seen->kind || (now.kind != ENTRY_FILE && now.kind != ENTRY_LINK)))
		st = HAUL_WRONG_KIND;
	if (haul_ok(st) && !is_untouched(&now, seen))
		st = HAUL_CHANGED;
	if (haul_ok(st) && now.kind == ENTRY_LINK)
		facts.mode = PARTIAL_KEEP_MODE;
	wanted.facts = &facts;
	if (haul_ok(st))
		st = meta_apply_by_path_handle(fd, &wanted, meta_of_old(fd));
	meta->lost = wanted.lost;
	(void)close(fd);
	return st;
}

/* Its owner and attributes. */
static haul_status give_link(const struct partial *f, struct place_meta *meta)
{
	const struct attribute_wish wish = { meta->attributes, meta->kinds, true };
	haul_status st = HAUL_WRONG_KIND;
	struct stat facts;
	int fd;

	if (!owner_is_set(&f->owner) && !meta->attributes && !meta->keeps_owner)
		return HAUL_OK;
	fd = openat(f->dir_fd, f->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return haul_status_from_errno(errno);
	if (fstat(fd, &facts) == 0 && S_ISLNK(facts.st_mode)) /* somebody may have swapped it: never a file of ours */
		st = owner_give(fd, &f->owner);
	if (haul_ok(st))
		st = meta_give_owner(fd, meta);
	if (haul_ok(st))
		st = attribute_apply(fd, &wish, &meta->lost);
	(void)close(fd);
	return st;
}

/* Links without times of their own (some network file systems) keep the time of their making. */
static void set_link_time(const struct partial *f, const struct entry_facts *meta)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = meta->mtime.sec, .tv_nsec = meta->mtime.nsec } };

	if (meta->mtime.nsec == PARTIAL_KEEP_TIME)
		return;
	if (utimensat(f->dir_fd, f->name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return;
}

haul_status place_make_link(struct place *p, const char *path, const char *target, struct place_meta *meta,
			    enum publish_rule rule)
{
	struct partial f = { .name = "" };
	struct place_parent at;
	bool is_elsewhere;
	haul_status st = place_parent_get(p, path, &at);

	if (haul_failed(st))
		return st;
	if (!*target || strlen(target) > HAUL_LINK_TARGET_MAX)
		st = HAUL_BAD_VALUE;
	if (haul_ok(st))
		st = partial_find_spot(p, &at, &f, &is_elsewhere);
	place_parent_put(&at);
	if (haul_failed(st))
		return st;
	if (symlinkat(target, f.dir_fd, f.name) < 0)
		st = haul_status_from_errno(errno);
	if (haul_ok(st))
		st = give_link(&f, meta);
	if (haul_ok(st)) {
		set_link_time(&f, meta->facts);
		st = partial_publish(p, &f, path, rule);
	}
	partial_discard(&f);
	return st;
}

haul_status place_read_attributes(struct place *p, const char *path, const struct entry_facts *facts,
				  struct attribute_reader *reader, struct attributes **ret_set, bool *ret_left_out)
{
	struct place_parent at;
	haul_status st;

	*ret_set = NULL;
	if (!reader->kinds)
		return HAUL_OK;
	if (!*path)
		return attribute_read_at(reader, p->root_fd, ".", facts, ret_set, ret_left_out);
	st = place_parent_get(p, path, &at);
	if (haul_failed(st))
		return st;
	st = attribute_read_at(reader, at.dir_fd, at.name, facts, ret_set, ret_left_out);
	place_parent_put(&at);
	return st;
}

haul_status place_read_link(struct place *p, const char *path, char **ret_target, size_t *ret_len)
{
	struct place_parent at;
	haul_status st = place_parent_get(p, path, &at);

	if (haul_failed(st))
		return st;
	st = beneath_read_link(at.dir_fd, at.name, ret_target, ret_len);
	place_parent_put(&at);
	return st;
}

static haul_status open_regular(const struct place_parent *at, int *ret_fd, uint64_t *ret_size)
{
	struct entry_facts facts;
	haul_status st = beneath_stat_at(at->dir_fd, at->name, &facts);

	if (haul_failed(st))
		return st;
	if (facts.kind != ENTRY_FILE) /* a device must not even be opened */
		return facts.kind == ENTRY_DIRECTORY ? HAUL_IS_DIRECTORY : HAUL_WRONG_KIND;
	*ret_size = facts.size;
	st = beneath_open(at->dir_fd, at->name, O_RDONLY | O_NONBLOCK | O_NOATIME, 0, ret_fd);
	if (st.code == HAUL_DENIED.code) /* O_NOATIME is for owners */
		st = beneath_open(at->dir_fd, at->name, O_RDONLY | O_NONBLOCK, 0, ret_fd);
	return st;
}

haul_status place_open_file(struct place *p, const char *path, enum direct_mode mode, struct disk_file *ret_file,
			    struct haul_fault *fault)
{
	char text[HAUL_FAULT_TEXT_MAX / 2];
	uint64_t size = 0;
	struct place_parent at = { 0 };
	int fd = -1;
	haul_status st = place_parent_get(p, path, &at);

	if (haul_ok(st))
		st = open_regular(&at, &fd, &size);
	place_parent_put(&at);
	if (haul_ok(st)) {
		st = disk_file_open(ret_file, fd, mode, size, fault);
		if (haul_failed(st))
			(void)close(fd);
	}
	if (haul_failed(st))
		return haul_fault_set(fault, st, "cannot open %s: %s",
				      haul_escape(path, strlen(path), text, sizeof(text)), haul_status_text(st));
	return st;
}

uint64_t place_time_step_ns(const struct place *p)
{
	static const struct {
		uint32_t type;
		uint64_t step_ns;
	} coarse[] = {
		{ MSDOS_SUPER_MAGIC, 2000000000 },    { 0x2011bab0 /* exfat */, 10000000 },
		{ 0x7366746e /* ntfs3 */, 100 },      { 0x5346544e /* ntfs */, 100 },
		{ 0xff534d42 /* cifs */, 100 },       { 0xfe534d42 /* smb2 */, 100 },
		{ 0x482b /* hfsplus */, 1000000000 }, { UDF_SUPER_MAGIC, 1000 },
	};
	struct statfs fs;

	if (fstatfs(p->root_fd, &fs) < 0)
		return 1;
	for (size_t i = 0; i < sizeof(coarse) / sizeof(coarse[0]); i++) {
		if ((uint32_t)fs.f_type == coarse[i].type)
			return coarse[i].step_ns;
	}
	return 1;
}
