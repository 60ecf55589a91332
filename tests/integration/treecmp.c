/*
 * Compares two trees: haul_treecmp [--no-times] [--no-modes] [--root] [--xattrs] [--owners] [--links] [--holes] A B
 *
 * Kinds, sizes, bytes, permission bits, modification times to the nanosecond and link targets; also what only one of
 * them has. Of A and B themselves, if they are directories, mode and time count only with --root. One line per
 * difference. --xattrs: extended attributes too, ACLs among them, but for the labels that a system gives by itself;
 * --owners: owner and group; --links: the same names lead to one inode in both; --holes: the second has not much more
 * on disk than the first. Exit 0: equal, 1: not, 2: trouble. Written apart from haul's own scan, so that it can judge
 * it: it walks by handles and "..", keeps one handle per tree, and so reaches any depth.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { BLOCK = 1 << 20, SHOWN_MAX = 200 };

struct names {
	char **at;
	size_t count, cap;
};

struct level {
	struct names common;
	size_t next;
	size_t path_len; /* of the directory */
};

static struct {
	bool no_times, no_modes, root, xattrs, owners, links, holes;
	unsigned long differences;
	char *path; /* of what is compared, relative to A and B */
	size_t path_len, path_cap;
} job;

static void *must(void *memory)
{
	if (memory)
		return memory;
	(void)fputs("out of memory\n", stderr);
	exit(2);
}

static void differ(const char *what, const char *name)
{
	bool is_long = job.path_len > SHOWN_MAX;

	printf("%s%s%s%s: %s\n", is_long ? "..." : "", job.path + (is_long ? job.path_len - SHOWN_MAX : 0),
	       job.path_len && *name ? "/" : "", name, what);
	job.differences++;
}

static void trouble(const char *what, const char *name)
{
	int err = errno;

	(void)fflush(stdout);
	(void)fprintf(stderr, "%s %s/%s: %s\n", what, job.path ? job.path : "", name, strerror(err));
	exit(2);
}

static void names_add(struct names *n, char *name)
{
	if (n->count == n->cap) {
		n->cap = n->cap ? 2 * n->cap : 16;
		n->at = must(realloc(n->at, n->cap * sizeof(*n->at)));
	}
	n->at[n->count++] = name;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct names list(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct names n = { 0 };
	struct dirent *e;

	if (!dir)
		trouble("cannot list", "");
	while ((e = readdir(dir))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			names_add(&n, must(strdup(e->d_name)));
	}
	(void)closedir(dir);
	if (n.count > 1)
		qsort(n.at, n.count, sizeof(*n.at), by_bytes);
	return n;
}

/* The names that both have; those of only one are told. Takes both lists. */
static struct names common_names(struct names a, struct names b)
{
	struct names both = { 0 };
	size_t i = 0, k = 0;

	while (i < a.count || k < b.count) {
		int order = i == a.count ? 1 : k == b.count ? -1 : strcmp(a.at[i], b.at[k]);

		if (order < 0)
			differ("only in the first", a.at[i]);
		if (order > 0)
			differ("only in the second", b.at[k]);
		if (order == 0)
			names_add(&both, a.at[i]);
		if (order < 0)
			free(a.at[i]);
		if (order >= 0)
			free(b.at[k++]);
		if (order <= 0)
			i++;
	}
	free(a.at);
	free(b.at);
	return both;
}

static ssize_t read_block(int fd, char *to)
{
	size_t have = 0;

	while (have < BLOCK) {
		ssize_t n = read(fd, to + have, BLOCK - have);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n == 0)
			break;
		if (n > 0)
			have += (size_t)n;
	}
	return (ssize_t)have;
}

static void compare_bytes(int a_dir, int b_dir, const char *a_name, const char *b_name)
{
	static char a[BLOCK], b[BLOCK];
	int a_fd = openat(a_dir, a_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int b_fd = openat(b_dir, b_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t a_len, b_len;

	if (a_fd < 0 || b_fd < 0)
		trouble("cannot open", a_name);
	do {
		a_len = read_block(a_fd, a);
		b_len = read_block(b_fd, b);
		if (a_len < 0 || b_len < 0)
			trouble("cannot read", a_name);
		if (a_len != b_len || memcmp(a, b, (size_t)a_len) != 0) {
			differ("contents differ", a_name);
			break;
		}
	} while (a_len > 0);
	(void)close(a_fd);
	(void)close(b_fd);
}

static void compare_links(int a_dir, int b_dir, const char *a_name, const char *b_name)
{
	char a[4097], b[4097];
	ssize_t a_len = readlinkat(a_dir, a_name, a, sizeof(a)), b_len = readlinkat(b_dir, b_name, b, sizeof(b));

	if (a_len < 0 || b_len < 0)
		trouble("cannot read link", a_name);
	if (a_len != b_len || memcmp(a, b, (size_t)a_len) != 0)
		differ("link targets differ", a_name);
}

static void compare_meta(const struct stat *a, const struct stat *b, const char *name)
{
	char text[160];

	if (!job.no_modes && !S_ISLNK(a->st_mode) && (a->st_mode & 07777) != (b->st_mode & 07777)) {
		(void)snprintf(text, sizeof(text), "modes differ: %04o %04o", a->st_mode & 07777, b->st_mode & 07777);
		differ(text, name);
	}
	if (!job.no_times && (a->st_mtim.tv_sec != b->st_mtim.tv_sec || a->st_mtim.tv_nsec != b->st_mtim.tv_nsec)) {
		(void)snprintf(text, sizeof(text), "times differ: %lld.%09ld %lld.%09ld", (long long)a->st_mtim.tv_sec,
			       a->st_mtim.tv_nsec, (long long)b->st_mtim.tv_sec, b->st_mtim.tv_nsec);
		differ(text, name);
	}
}

/* ---- extended attributes ---- */

enum { LIST = 1 << 16, VALUE = 1 << 16, PATH = 64 + 256, SLACK_BLOCKS = 256 };

static bool is_label(const char *name)
{
	return !strcmp(name, "security.selinux") || !strcmp(name, "security.ima") || !strcmp(name, "security.evm");
}

static void xattr_path(char path[PATH], int dir_fd, const char *name)
{
	if (dir_fd == AT_FDCWD)
		(void)snprintf(path, PATH, "%s", name);
	else
		(void)snprintf(path, PATH, "/proc/self/fd/%d/%s", dir_fd, name);
}

/* Every attribute of the first is in the second, with that value. */
static void compare_attributes_of(const char *a, const char *b, const char *name, const char *missing)
{
	static char list[LIST], of_a[VALUE], of_b[VALUE];
	char text[400];
	ssize_t len = llistxattr(a, list, sizeof(list));

	if (len < 0 && errno != EOPNOTSUPP)
		trouble("cannot list the attributes of", name);
	for (const char *at = list; at < list + (len > 0 ? len : 0); at += strlen(at) + 1) {
		ssize_t a_len = lgetxattr(a, at, of_a, sizeof(of_a)), b_len = lgetxattr(b, at, of_b, sizeof(of_b));

		if (is_label(at))
			continue;
		(void)snprintf(text, sizeof(text), b_len < 0 ? missing : "attribute %.200s differs", at);
		if (a_len != b_len || (b_len > 0 && memcmp(of_a, of_b, (size_t)a_len) != 0))
			differ(text, name);
	}
}

static void compare_attributes(int a_dir, int b_dir, const char *a_name, const char *b_name, const char *shown)
{
	char a[PATH], b[PATH];

	xattr_path(a, a_dir, a_name);
	xattr_path(b, b_dir, b_name);
	compare_attributes_of(a, b, shown, "attribute %.200s is missing in the second");
	compare_attributes_of(b, a, shown, "attribute %.200s is only in the second");
}

/* ---- hard links ---- */

struct pair {
	dev_t a_dev, b_dev;
	ino_t a, b;
};

static struct {
	struct pair *at;
	size_t count, cap;
} pairs;

/* Each inode of one tree goes with one of the other, for all its names. */
static void compare_inodes(const struct stat *a, const struct stat *b, const char *name)
{
	if (a->st_nlink < 2 && b->st_nlink < 2)
		return;
	for (size_t i = pairs.count; i > 0; i--) {
		const struct pair *p = &pairs.at[i - 1];
		bool is_a = p->a == a->st_ino && p->a_dev == a->st_dev;

		if (is_a != (p->b == b->st_ino && p->b_dev == b->st_dev)) {
			differ("is linked with other names", name);
			return;
		}
		if (is_a)
			return;
	}
	if (pairs.count == pairs.cap) {
		pairs.cap = pairs.cap ? 2 * pairs.cap : 64;
		pairs.at = must(realloc(pairs.at, pairs.cap * sizeof(*pairs.at)));
	}
	pairs.at[pairs.count++] = (struct pair){ a->st_dev, b->st_dev, a->st_ino, b->st_ino };
}

static void compare_more(const struct stat *a, const struct stat *b, const char *name)
{
	char text[160];

	if (job.owners && (a->st_uid != b->st_uid || a->st_gid != b->st_gid)) {
		(void)snprintf(text, sizeof(text), "owners differ: %u:%u %u:%u", a->st_uid, a->st_gid, b->st_uid,
			       b->st_gid);
		differ(text, name);
	}
	if (job.links && !S_ISDIR(a->st_mode))
		compare_inodes(a, b, name);
	if (job.holes && S_ISREG(a->st_mode) && b->st_blocks > a->st_blocks + SLACK_BLOCKS) {
		(void)snprintf(text, sizeof(text), "holes are lost: %lld blocks, %lld", (long long)a->st_blocks,
			       (long long)b->st_blocks);
		differ(text, name);
	}
	if ((S_ISCHR(a->st_mode) || S_ISBLK(a->st_mode)) && a->st_rdev != b->st_rdev)
		differ("device numbers differ", name);
}

/* Returns whether both are directories, to be gone into. */
static bool compare(int a_dir, int b_dir, const char *a_name, const char *b_name, bool is_root)
{
	const char *shown = is_root ? "" : a_name;
	struct stat a, b;

	if (fstatat(a_dir, a_name, &a, AT_SYMLINK_NOFOLLOW) < 0 || fstatat(b_dir, b_name, &b, AT_SYMLINK_NOFOLLOW) < 0)
		trouble("cannot look at", a_name);
	if ((a.st_mode & S_IFMT) != (b.st_mode & S_IFMT)) {
		differ("kinds differ", shown);
		return false;
	}
	if (!is_root || job.root || !S_ISDIR(a.st_mode))
		compare_meta(&a, &b, shown);
	if (!is_root || job.root || !S_ISDIR(a.st_mode))
		compare_more(&a, &b, shown);
	if (job.xattrs && (!is_root || job.root || !S_ISDIR(a.st_mode)))
		compare_attributes(a_dir, b_dir, a_name, b_name, shown);
	if (S_ISLNK(a.st_mode))
		compare_links(a_dir, b_dir, a_name, b_name);
	if (S_ISREG(a.st_mode) && a.st_size != b.st_size)
		differ("sizes differ", shown);
	else if (S_ISREG(a.st_mode))
		compare_bytes(a_dir, b_dir, a_name, b_name);
	return S_ISDIR(a.st_mode);
}

static void set_path(size_t keep, const char *name)
{
	size_t len = strlen(name), need = keep + len + 2;

	if (need > job.path_cap) {
		job.path_cap = 2 * need;
		job.path = must(realloc(job.path, job.path_cap));
	}
	if (keep && len)
		job.path[keep++] = '/';
	memcpy(job.path + keep, name, len + 1);
	job.path_len = keep + len;
}

static int change_to(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		trouble("cannot enter", name);
	if (dir_fd >= 0)
		(void)close(dir_fd);
	return fd;
}

static void walk(int a, int b)
{
	struct level *levels = NULL;
	size_t depth = 0, cap = 0;

	do {
		if (depth == cap) {
			cap = cap ? 2 * cap : 64;
			levels = must(realloc(levels, cap * sizeof(*levels)));
		}
		levels[depth++] = (struct level){ .common = common_names(list(a), list(b)), .path_len = job.path_len };
		for (bool is_entered = false; depth > 0 && !is_entered;) {
			struct level *l = &levels[depth - 1];

			set_path(l->path_len, "");
			if (l->next > 0)
				free(l->common.at[l->next - 1]);
			if (l->next == l->common.count) {
				free(l->common.at);
				if (--depth > 0) {
					a = change_to(a, "..");
					b = change_to(b, "..");
				}
				continue;
			}
			const char *name = l->common.at[l->next++];

			if (compare(a, b, name, name, false)) {
				set_path(l->path_len, name);
				a = change_to(a, name);
				b = change_to(b, name);
				is_entered = true;
			}
		}
	} while (depth > 0);
	free(levels);
	(void)close(a);
	(void)close(b);
}

static bool take_option(const char *arg)
{
	if (strcmp(arg, "--no-times") == 0)
		job.no_times = true;
	else if (strcmp(arg, "--no-modes") == 0)
		job.no_modes = true;
	else if (strcmp(arg, "--root") == 0)
		job.root = true;
	else if (strcmp(arg, "--xattrs") == 0)
		job.xattrs = true;
	else if (strcmp(arg, "--owners") == 0)
		job.owners = true;
	else if (strcmp(arg, "--links") == 0)
		job.links = true;
	else if (strcmp(arg, "--holes") == 0)
		job.holes = true;
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	int i = 1;

	while (i < argc && take_option(argv[i]))
		i++;
	if (argc - i != 2) {
		(void)fputs("usage: haul_treecmp [--no-times] [--no-modes] [--root] [--xattrs] [--owners] [--links] "
			    "[--holes] A B\n",
			    stderr);
		return 2;
	}
	set_path(0, "");
	if (compare(AT_FDCWD, AT_FDCWD, argv[i], argv[i + 1], true))
		walk(change_to(AT_FDCWD, argv[i]), change_to(AT_FDCWD, argv[i + 1]));
	free(job.path);
	free(pairs.at);
	return job.differences ? 1 : 0;
}
