/* Facts that a directory hands to its files, and facts that we set. */
#include "engine/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static const uint32_t NSEC_LIMIT = 1000000000;

void dir_traits_of(int dir_fd, struct dir_traits *ret_traits)
{
	struct dir_traits t = { 0 };
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct fsxattr attributes;
	struct statx x;

	*ret_traits = t;
	if (statx(dir_fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &x) == 0) {
		t.device = makedev(x.stx_dev_major, x.stx_dev_minor);
		t.mount = x.stx_mask & STATX_MNT_ID ? x.stx_mnt_id : 0;
		t.gives_to_files = x.stx_mode & S_ISGID;
		t.is_known = fd >= 0;
	}
	if (fd >= 0) {
		t.gives_to_files |= fgetxattr(fd, "system.posix_acl_default", NULL, 0) > 0;
		if (ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == 0)
			t.project = attributes.fsx_projid;
		(void)close(fd);
	}
	*ret_traits = t;
}

static bool has_mode(const struct entry_facts *meta)
{
	return meta->mode != PARTIAL_KEEP_MODE;
}

static bool has_time(const struct entry_facts *meta)
{
	return meta->mtime.nsec != PARTIAL_KEEP_TIME;
}

static bool is_allowed(const struct entry_facts *meta)
{
	return !has_time(meta) || meta->mtime.nsec < NSEC_LIMIT;
}

static void times_of(const struct entry_facts *meta, struct timespec ret_times[2])
{
	ret_times[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
	ret_times[1] = (struct timespec){ .tv_sec = meta->mtime.sec, .tv_nsec = meta->mtime.nsec };
}

/* A file that is ours beyond doubt: EPERM can only mean that the file system has no such thing (FAT, some mounts). */
static haul_status result(int failed, bool is_new)
{
	if (!failed || (is_new && (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS)))
		return HAUL_OK;
	return haul_status_from_errno(errno);
}

enum meta_of meta_of_old(int fd)
{
	struct statx x;
	bool is_ours = statx(fd, "", AT_EMPTY_PATH, STATX_UID, &x) == 0 && x.stx_uid == geteuid() &&
		       !(x.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND));

	return is_ours ? META_OF_OURS : META_OF_OLD;
}

/* The mode, without setuid and setgid where the owner for whom they were meant could not be set. */
static mode_t mode_of(const struct place_meta *meta)
{
	mode_t mode = meta->facts->mode & 07777;

	return meta->keeps_owner && meta->lost & LOST_OWNER_STORE ? mode & ~(mode_t)06000 : mode;
}

/* Before all else: it takes setuid, setgid and capabilities away. Nothing is asked for where it is so already. */
haul_status meta_give_owner(int fd, struct place_meta *meta)
{
	uint32_t uid = meta->facts->uid, gid = meta->facts->gid;
	struct statx x;

	if (!meta->keeps_owner)
		return HAUL_OK;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_UID | STATX_GID, &x) < 0)
		return haul_status_from_errno(errno);
	if ((uid == UINT32_MAX || uid == x.stx_uid) && (gid == UINT32_MAX || gid == x.stx_gid))
		return HAUL_OK;
	if (fchownat(fd, "", uid, gid, AT_EMPTY_PATH) == 0)
		return HAUL_OK;
	if (errno != EPERM && errno != EACCES && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS)
		return haul_status_from_errno(errno);
	meta->lost |= LOST_OWNER_STORE;
	return HAUL_OK;
}

haul_status meta_apply(int fd, struct place_meta *meta, enum meta_of of)
{
	const struct entry_facts *facts = meta->facts;
	const struct attribute_wish wish = { meta->attributes, meta->kinds, of == META_OF_NEW };
	bool is_new = of != META_OF_OLD;
	struct timespec times[2];
	haul_status st;

	if (!is_allowed(facts))
		return HAUL_BAD_VALUE;
	times_of(facts, times);
	st = meta_give_owner(fd, meta);
	if (haul_ok(st))
		st = attribute_apply(fd, &wish, &meta->lost);
	if (haul_ok(st) && has_mode(facts))
		st = result(fchmod(fd, mode_of(meta)), is_new);
	if (haul_ok(st) && has_time(facts))
		st = result(futimens(fd, times), is_new);
	return st;
}

haul_status meta_apply_by_path_handle(int path_fd, struct place_meta *meta, enum meta_of of)
{
	const struct entry_facts *facts = meta->facts;
	const struct attribute_wish wish = { meta->attributes, meta->kinds, false };
	bool is_lenient = of != META_OF_OLD;
	struct timespec times[2];
	haul_status st;
	char path[32];

	if (!is_allowed(facts))
		return HAUL_BAD_VALUE;
	/* No call before Linux 6.6 changes the mode through an O_PATH handle; this name leads to the open object
	 * itself, a link too. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	times_of(facts, times);
	st = meta_give_owner(path_fd, meta);
	if (haul_ok(st))
		st = attribute_apply(path_fd, &wish, &meta->lost);
	if (haul_ok(st) && has_mode(facts))
		st = result(chmod(path, mode_of(meta)), is_lenient);
	if (haul_ok(st) && has_time(facts))
		st = result(utimensat(AT_FDCWD, path, times, 0), is_lenient);
	return st.code == HAUL_NOT_FOUND.code ? HAUL_UNSUPPORTED : st;
}
