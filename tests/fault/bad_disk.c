/*
 * A disk that errors: a file system (FUSE) that passes everything on to a directory, and lets calls fail, be slow, or
 * be done by half as its rules say (bad_disk_rules.h).
 *
 *     haul_bad_disk DIRECTORY MOUNTPOINT RULES LOG
 *
 * Stays in the foreground and ends with the mount, or with its parent. It is an odd file system even without a rule: no
 * nameless files, syncfs(2) that is not passed on to it (as for every FUSE), attributes that the kernel believes for a
 * second. What is synced is noted in LOG too (`synced PATH`, and `synced directory PATH`).
 */
#define FUSE_USE_VERSION 35
#include "tests/fault/bad_disk_rules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* An open file or directory. */
struct handle {
	int fd;
	DIR *dir;
	char *path; /* as it was opened */
};

static int top_fd;
static FILE *synced_log;

static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

static int done(int rc)
{
	return rc < 0 ? -errno : 0;
}

/* A call without bytes: what its rule says, or `rc` is computed. */
#define ASK_FIRST(op, path)                                                                                            \
	do {                                                                                                           \
		int asked = rules_ask((op), (path), 0, NULL);                                                          \
		if (asked)                                                                                             \
			return asked;                                                                                  \
	} while (0)

/* ---- names ---- */

static int bad_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	return done(fi ? fstat(handle_of(fi)->fd, st) : fstatat(top_fd, below(path), st, AT_SYMLINK_NOFOLLOW));
}

static int bad_readlink(const char *path, char *text, size_t size)
{
	ssize_t len = readlinkat(top_fd, below(path), text, size - 1);

	if (len < 0)
		return -errno;
	text[len] = '\0';
	return 0;
}

static int bad_mkdir(const char *path, mode_t mode)
{
	ASK_FIRST("mkdir", path);
	return done(mkdirat(top_fd, below(path), mode));
}

static int bad_unlink(const char *path)
{
	ASK_FIRST("unlink", path);
	return done(unlinkat(top_fd, below(path), 0));
}

static int bad_rmdir(const char *path)
{
	ASK_FIRST("unlink", path);
	return done(unlinkat(top_fd, below(path), AT_REMOVEDIR));
}

static int bad_symlink(const char *target, const char *path)
{
	ASK_FIRST("symlink", path);
	return done(symlinkat(target, top_fd, below(path)));
}

static int bad_rename(const char *from, const char *to, unsigned flags)
{
	ASK_FIRST("rename", to);
	return done(renameat2(top_fd, below(from), top_fd, below(to), flags));
}

static int bad_link(const char *from, const char *to)
{
	ASK_FIRST("link", to);
	return done(linkat(top_fd, below(from), top_fd, below(to), 0));
}

/* ---- metadata ---- */

static int bad_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	ASK_FIRST("meta", fi ? handle_of(fi)->path : path);
	return done(fi ? fchmod(handle_of(fi)->fd, mode) : fchmodat(top_fd, below(path), mode, 0));
}

static int bad_chown(const char *path, uid_t uid, gid_t gid, struct fuse_file_info *fi)
{
	ASK_FIRST("meta", fi ? handle_of(fi)->path : path);
	return done(fi ? fchown(handle_of(fi)->fd, uid, gid)
		       : fchownat(top_fd, below(path), uid, gid, AT_SYMLINK_NOFOLLOW));
}

static int bad_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *fi)
{
	ASK_FIRST("meta", fi ? handle_of(fi)->path : path);
	return done(fi ? futimens(handle_of(fi)->fd, times)
		       : utimensat(top_fd, below(path), times, AT_SYMLINK_NOFOLLOW));
}

static int bad_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	int fd, rc;

	ASK_FIRST("truncate", fi ? handle_of(fi)->path : path);
	if (fi)
		return done(ftruncate(handle_of(fi)->fd, size));
	fd = openat(top_fd, below(path), O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = done(ftruncate(fd, size));
	(void)close(fd);
	return rc;
}

static int bad_statfs(const char *path, struct statvfs *fs)
{
	(void)path;
	return done(fstatvfs(top_fd, fs));
}

/* ---- files ---- */

static int keep_handle(int fd, const char *path, struct fuse_file_info *fi)
{
	struct handle *h = calloc(1, sizeof(*h));

	if (!h || !(h->path = strdup(path))) {
		free(h);
		(void)close(fd);
		return -ENOMEM;
	}
	h->fd = fd;
	fi->fh = (uintptr_t)h;
	return 0;
}

static int bad_open(const char *path, struct fuse_file_info *fi)
{
	int fd;

	ASK_FIRST("open", path);
	fd = openat(top_fd, below(path), (fi->flags & ~(O_DIRECT | O_NOFOLLOW)) | O_CLOEXEC);
	return fd < 0 ? -errno : keep_handle(fd, path, fi);
}

static int bad_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	int fd;

	ASK_FIRST("create", path);
	fd = openat(top_fd, below(path), (fi->flags & ~O_DIRECT) | O_CREAT | O_CLOEXEC, mode);
	return fd < 0 ? -errno : keep_handle(fd, path, fi);
}

static int bad_read(const char *path, char *buf, size_t len, off_t offset, struct fuse_file_info *fi)
{
	const struct handle *h = handle_of(fi);
	int asked = rules_ask("read", h->path, (uint64_t)offset, &len);
	ssize_t n;

	(void)path;
	if (asked)
		return asked;
	n = pread(h->fd, buf, len, offset);
	return n < 0 ? -errno : (int)n;
}

static int bad_write(const char *path, const char *buf, size_t len, off_t offset, struct fuse_file_info *fi)
{
	const struct handle *h = handle_of(fi);
	int asked = rules_ask("write", h->path, (uint64_t)offset, &len);
	ssize_t n;

	(void)path;
	if (asked)
		return asked;
	n = pwrite(h->fd, buf, len, offset);
	return n < 0 ? -errno : (int)n;
}

static int bad_fallocate(const char *path, int mode, off_t offset, off_t len, struct fuse_file_info *fi)
{
	(void)path;
	ASK_FIRST("fallocate", handle_of(fi)->path);
	return done(fallocate(handle_of(fi)->fd, mode, offset, len));
}

static off_t bad_lseek(const char *path, off_t offset, int whence, struct fuse_file_info *fi)
{
	off_t at = lseek(handle_of(fi)->fd, offset, whence);

	(void)path;
	return at < 0 ? -errno : at;
}

static int bad_flush(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	return rules_ask("flush", handle_of(fi)->path, 0, NULL);
}

static int bad_fsync(const char *path, int data_only, struct fuse_file_info *fi)
{
	const struct handle *h = handle_of(fi);

	(void)path;
	ASK_FIRST("fsync", h->path);
	if (data_only ? fdatasync(h->fd) : fsync(h->fd))
		return -errno;
	fprintf(synced_log, "synced %s\n", h->path);
	return 0;
}

static int bad_release(const char *path, struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);

	(void)path;
	if (h->dir)
		(void)closedir(h->dir);
	else
		(void)close(h->fd);
	free(h->path);
	free(h);
	return 0;
}

/* ---- directories ---- */

static int bad_opendir(const char *path, struct fuse_file_info *fi)
{
	int fd, rc;

	ASK_FIRST("open", path);
	fd = openat(top_fd, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = keep_handle(fd, path, fi);
	if (rc == 0 && !(handle_of(fi)->dir = fdopendir(fd))) {
		rc = -errno;
		(void)bad_release(path, fi);
	}
	return rc;
}

/* A directory is answered at once; `from=N` in its rule is the number of the entry at which it strikes. */
static int bad_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *fi,
		       enum fuse_readdir_flags flags)
{
	struct handle *h = handle_of(fi);
	const struct dirent *entry;
	uint64_t number = 0;

	(void)path;
	(void)offset;
	(void)flags;
	rewinddir(h->dir);
	while ((entry = readdir(h->dir))) {
		const struct stat st = { .st_ino = entry->d_ino, .st_mode = (mode_t)DTTOIF(entry->d_type) };
		size_t one = 1;
		int asked = rules_ask("readdir", h->path, number++, &one);

		if (asked)
			return asked;
		if (fill(buf, entry->d_name, &st, 0, 0))
			return -ENOMEM;
	}
	return 0;
}

static int bad_fsyncdir(const char *path, int data_only, struct fuse_file_info *fi)
{
	const struct handle *h = handle_of(fi);

	(void)path;
	(void)data_only;
	ASK_FIRST("fsyncdir", h->path);
	if (fsync(h->fd))
		return -errno;
	fprintf(synced_log, "synced directory %s\n", h->path);
	return 0;
}

/* ---- extended attributes ---- */

/* By way of /proc: there is no call relative to a handle. */
static const char *xattr_path(const char *path, char text[PATH_MAX])
{
	(void)snprintf(text, PATH_MAX, "/proc/self/fd/%d/%s", top_fd, below(path));
	return text;
}

static int bad_setxattr(const char *path, const char *name, const char *value, size_t size, int flags)
{
	char text[PATH_MAX];

	ASK_FIRST("meta", path);
	return done(lsetxattr(xattr_path(path, text), name, value, size, flags));
}

static int bad_getxattr(const char *path, const char *name, char *value, size_t size)
{
	char text[PATH_MAX];
	ssize_t n = lgetxattr(xattr_path(path, text), name, value, size);

	return n < 0 ? -errno : (int)n;
}

static int bad_listxattr(const char *path, char *list, size_t size)
{
	char text[PATH_MAX];
	ssize_t n = llistxattr(xattr_path(path, text), list, size);

	return n < 0 ? -errno : (int)n;
}

static int bad_removexattr(const char *path, const char *name)
{
	char text[PATH_MAX];

	ASK_FIRST("meta", path);
	return done(lremovexattr(xattr_path(path, text), name));
}

/* ---- */

static void *bad_init(struct fuse_conn_info *conn, struct fuse_config *cfg)
{
	(void)conn;
	cfg->use_ino = 1;
	cfg->hard_remove = 1;
	cfg->nullpath_ok = 1;
	return NULL;
}

static const struct fuse_operations operations = {
	.getattr = bad_getattr,
	.readlink = bad_readlink,
	.mkdir = bad_mkdir,
	.unlink = bad_unlink,
	.rmdir = bad_rmdir,
	.symlink = bad_symlink,
	.rename = bad_rename,
	.link = bad_link,
	.chmod = bad_chmod,
	.chown = bad_chown,
	.truncate = bad_truncate,
	.open = bad_open,
	.read = bad_read,
	.write = bad_write,
	.statfs = bad_statfs,
	.flush = bad_flush,
	.release = bad_release,
	.fsync = bad_fsync,
	.setxattr = bad_setxattr,
	.getxattr = bad_getxattr,
	.listxattr = bad_listxattr,
	.opendir = bad_opendir,
	.readdir = bad_readdir,
	.releasedir = bad_release,
	.fsyncdir = bad_fsyncdir,
	.init = bad_init,
	.create = bad_create,
	.utimens = bad_utimens,
	.fallocate = bad_fallocate,
	.removexattr = bad_removexattr,
	.lseek = bad_lseek,
};

int main(int argc, char **argv)
{
	char *fuse_argv[] = { argv[0], (char *)(uintptr_t) "-f",
			      (char *)(uintptr_t) "-oallow_other,default_permissions,fsname=bad_disk,subtype=bad",
			      argv[2], NULL };

	if (argc != 5) {
		fprintf(stderr, "usage: haul_bad_disk DIRECTORY MOUNTPOINT RULES LOG\n");
		return 2;
	}
	top_fd = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	synced_log = fopen(argv[4], "ae");
	if (top_fd < 0 || !synced_log) {
		perror(argv[1]);
		return 2;
	}
	setvbuf(synced_log, NULL, _IOLBF, 0);
	rules_open(argv[3], argv[4]);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)umask(0);
	return fuse_main(4, fuse_argv, &operations, NULL);
}
