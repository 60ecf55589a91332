/*
 * Opening below a root. The kernel resolves up to PATH_MAX bytes per call; a longer path is walked in pieces, each
 * below the handle of the one before. Without openat2 a piece is one component, opened with O_PATH | O_NOFOLLOW: slower
 * but as safe, as no component is ever followed.
 */
#include "engine/beneath_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PIECE_MAX = PATH_MAX - 1, RACE_RETRIES = 64 };

static _Atomic int way_chosen; /* enum beneath_way */

void beneath_set_way(enum beneath_way way)
{
	atomic_store(&way_chosen, way);
}

static enum beneath_way way(void);

static int open_resolved(int dir_fd, const char *piece, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (unsigned)flags,
		.mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = -1;

	/* EAGAIN: a rename or mount somewhere kept the kernel from being sure (openat2(2)). */
	for (int i = 0; i < RACE_RETRIES; i++) {
		fd = syscall(SYS_openat2, dir_fd, piece, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return (int)fd;
}

/* Links inside the tree are followed, by the kernel, and cannot lead out of it. Not on kernels without openat2. */
haul_status beneath_open_following(int root_fd, const char *path, int flags, int *ret_fd)
{
	struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	long fd = -1;

	if (way() == BENEATH_WALK)
		return HAUL_UNSUPPORTED;
	for (int i = 0; i < RACE_RETRIES; i++) {
		fd = syscall(SYS_openat2, root_fd, *path ? path : ".", &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	if (fd < 0)
		return errno == EXDEV ? HAUL_LINK_IN_PATH : haul_status_from_errno(errno);
	*ret_fd = (int)fd;
	return HAUL_OK;
}

/* Without openat2: whether the handle lies in the mount that its directory lies in. */
static bool is_same_mount(int dir_fd, int fd)
{
	struct statx above, below;

	if (statx(dir_fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &above) < 0 ||
	    statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &below) < 0)
		return false;
	if (above.stx_mask & below.stx_mask & STATX_MNT_ID)
		return above.stx_mnt_id == below.stx_mnt_id;
	return above.stx_dev_major == below.stx_dev_major && above.stx_dev_minor == below.stx_dev_minor;
}

static int open_component(int dir_fd, const char *name, int flags, mode_t mode)
{
	int fd;

	do {
		fd = openat(dir_fd, name, flags, mode);
	} while (fd < 0 && errno == EINTR);
	return fd;
}

static haul_status open_child_walking(int dir_fd, const char *name, int flags, int *ret_fd)
{
	int fd = open_component(dir_fd, name, flags | O_CLOEXEC | O_NOFOLLOW, 0);

	if (fd < 0)
		return haul_status_from_errno(errno);
	if (!is_same_mount(dir_fd, fd)) {
		(void)close(fd);
		return HAUL_CROSS_DEVICE;
	}
	*ret_fd = fd;
	return HAUL_OK;
}

haul_status beneath_open_child(int dir_fd, const char *name, int flags, int *ret_fd)
{
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	long fd = -1;

	if (way() == BENEATH_WALK)
		return open_child_walking(dir_fd, name, flags, ret_fd);
	for (int i = 0; i < RACE_RETRIES; i++) {
		fd = syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	if (fd < 0)
		return errno == EXDEV ? HAUL_CROSS_DEVICE : haul_status_from_errno(errno);
	*ret_fd = (int)fd;
	return HAUL_OK;
}

/* Seccomp filters answer a call that they do not know with ENOSYS or EPERM. */
static enum beneath_way way_probe(void)
{
	int fd = open_resolved(AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

	if (fd < 0)
		return errno == ENOSYS || errno == EPERM ? BENEATH_WALK : BENEATH_OPENAT2;
	(void)close(fd);
	return BENEATH_OPENAT2;
}

static enum beneath_way way(void)
{
	int known = atomic_load_explicit(&way_chosen, memory_order_relaxed);

	if (known == BENEATH_UNKNOWN) {
		known = (int)way_probe();
		atomic_store_explicit(&way_chosen, known, memory_order_relaxed);
	}
	return (enum beneath_way)known;
}

/* How much of the path one call takes: up to a '/', as far as it goes. */
static size_t piece_bytes(const char *path, size_t len, bool is_walk)
{
	const char *slash;

	if (!is_walk && len <= PIECE_MAX)
		return len;
	slash = is_walk ? memchr(path, '/', len) : memrchr(path, '/', PIECE_MAX);
	return slash ? (size_t)(slash - path) : len;
}

/* O_DIRECTORY | O_NOFOLLOW on a link says ENOTDIR; what we report is the link. */
static haul_status open_failure(int dir_fd, const char *piece, int err)
{
	struct stat st;
	int fd;

	if (err != ENOTDIR)
		return haul_status_from_errno(err);
	if (way() == BENEATH_WALK) {
		if (fstatat(dir_fd, piece, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
			return HAUL_LINK_IN_PATH;
		return HAUL_NOT_DIRECTORY;
	}
	fd = open_resolved(dir_fd, piece, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return haul_status_from_errno(errno);
	if (fstat(fd, &st) < 0)
		st.st_mode = 0;
	(void)close(fd);
	return S_ISLNK(st.st_mode) ? HAUL_LINK_IN_PATH : HAUL_NOT_DIRECTORY;
}

static haul_status open_piece(int dir_fd, const char *path, size_t len, int flags, mode_t mode, int *ret_fd)
{
	char piece[PATH_MAX];
	int fd;

	if (len >= sizeof(piece))
		return HAUL_NAME_TOO_LONG;
	memcpy(piece, path, len);
	piece[len] = '\0';
	flags |= O_CLOEXEC | O_NOFOLLOW;
	fd = way() == BENEATH_WALK ? open_component(dir_fd, piece, flags, mode)
				   : open_resolved(dir_fd, piece, flags, mode);
	if (fd < 0)
		return open_failure(dir_fd, piece, errno);
	*ret_fd = fd;
	return HAUL_OK;
}

haul_status beneath_open_range(int root_fd, const char *path, size_t len, int flags, mode_t mode, int *ret_fd)
{
	bool is_walk = way() == BENEATH_WALK;
	int dir_fd = root_fd;
	haul_status st = HAUL_OK;

	if (len == 0)
		return open_piece(root_fd, ".", 1, flags, mode, ret_fd);
	for (;;) {
		size_t piece = piece_bytes(path, len, is_walk);
		bool is_last = piece == len;
		int fd = -1;

		st = open_piece(dir_fd, path, piece, is_last ? flags : O_PATH | O_DIRECTORY, mode, &fd);
		if (dir_fd != root_fd)
			(void)close(dir_fd);
		if (haul_failed(st))
			return st;
		if (is_last) {
			*ret_fd = fd;
			return HAUL_OK;
		}
		dir_fd = fd;
		path += piece + 1;
		len -= piece + 1;
	}
}

static haul_status check_component(const char *name, size_t len)
{
	if (len > HAUL_NAME_MAX)
		return HAUL_NAME_TOO_LONG;
	if (len == 0 || (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'))))
		return HAUL_BAD_VALUE;
	return HAUL_OK;
}

haul_status beneath_check_path(const char *path, size_t *ret_parent_len, const char **ret_name)
{
	const char *name = path;

	for (unsigned depth = 0; *path; depth++) {
		const char *end = strchrnul(name, '/');
		haul_status st = check_component(name, (size_t)(end - name));

		if (haul_failed(st))
			return st;
		if (depth >= HAUL_DEPTH_MAX)
			return HAUL_NAME_TOO_LONG;
		if (!*end)
			break;
		name = end + 1;
	}
	if (ret_parent_len)
		*ret_parent_len = name == path ? 0 : (size_t)(name - path) - 1;
	if (ret_name)
		*ret_name = name;
	return HAUL_OK;
}
