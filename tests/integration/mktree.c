/*
 * Makes the trees that the integration tests send, always the same bytes:
 *
 *     haul_mktree small N BYTES DIR   N files of BYTES each
 *     haul_mktree deep DEPTH DIR      a chain of directories, far beyond PATH_MAX, with a file in each
 *     haul_mktree odd DIR             names that trip programs up
 *     haul_mktree sizes DIR           sizes around pages, leaves and blocks
 *     haul_mktree big BYTES FILE      one file
 *     haul_mktree kinds DIR           pipe, socket, links of all sorts, empty directories
 *     haul_mktree rm PATH             remove a tree of any depth
 *
 * DIR is made, with its parents, unless it is there. Exit 0, or 1 with a line on stderr.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

static void fail(const char *what, const char *name)
{
	int err = errno;

	(void)fprintf(stderr, "haul_mktree: %s %s: %s\n", what, name, strerror(err));
	exit(1);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *end || end == text || *text == '-') {
		errno = EINVAL;
		fail("not a number:", text);
	}
	return n;
}

/* splitmix64: eight bytes per step, never the same block twice. */
static void fill(uint64_t *to, size_t words, uint64_t *state)
{
	for (size_t i = 0; i < words; i++) {
		uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
		to[i] = z ^ z >> 31;
	}
}

static void make_file(int dir_fd, const char *name, uint64_t size, uint64_t seed)
{
	static uint64_t block[BLOCK / 8];
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	uint64_t state = seed * UINT64_C(0x100000001b3) + size;

	if (fd < 0)
		fail("cannot make", name);
	while (size > 0) {
		size_t len = size < BLOCK ? (size_t)size : BLOCK;

		fill(block, (len + 7) / 8, &state);
		for (size_t done = 0; done < len;) {
			ssize_t n = write(fd, (const char *)block + done, len - done);

			if (n < 0 && errno != EINTR)
				fail("cannot write", name);
			done += n > 0 ? (size_t)n : 0;
		}
		size -= len;
	}
	if (close(fd) < 0)
		fail("cannot close", name);
}

static void make_dir(int dir_fd, const char *name)
{
	if (mkdirat(dir_fd, name, 0755) < 0 && errno != EEXIST)
		fail("cannot make directory", name);
}

static void make_link(int dir_fd, const char *name, const char *target)
{
	if (symlinkat(target, dir_fd, name) < 0)
		fail("cannot make link", name);
}

static int enter(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		fail("cannot enter", name);
	return fd;
}

static int make_top(const char *path)
{
	char *copy = strdup(path);
	int fd;

	if (!copy)
		fail("no memory for", path);
	for (char *slash = copy + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		make_dir(AT_FDCWD, copy);
		*slash = '/';
	}
	free(copy);
	make_dir(AT_FDCWD, path);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fail("cannot enter", path);
	return fd;
}

static void make_small(char **arg)
{
	uint64_t count = number(arg[0]), size = number(arg[1]);
	int top = make_top(arg[2]);

	for (uint64_t i = 0; i < count; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "file-%06llu", (unsigned long long)i);
		make_file(top, name, size, i + 1);
	}
}

static void make_deep(char **arg)
{
	uint64_t depth = number(arg[0]);
	int dir = make_top(arg[1]);

	for (uint64_t i = 0; i < depth; i++) {
		char name[32];
		int below;

		(void)snprintf(name, sizeof(name), "level-%04llu", (unsigned long long)i);
		make_file(dir, "file", 100, i + 1);
		make_dir(dir, name);
		below = enter(dir, name);
		(void)close(dir);
		dir = below;
	}
	make_file(dir, "file", 100, depth + 1);
}

static const char *const odd_names[] = {
	"new\nline",
	"\n",
	" ",
	" leading",
	"trailing ",
	"-rf",
	"--delete",
	"-",
	"tab\there",
	"\"",
	"'",
	"it's \"so\"",
	"back\\slash",
	"\\n",
	"\\",
	"\x01\x1b[31mred",
	"\x7f",
	"*",
	"?",
	"[a-z]",
	"{a,b}",
	"$HOME",
	"`id`",
	"$(id)",
	";id",
	"|id",
	"&",
	"#",
	"!",
	"%s%n%d",
	"~",
	"~root",
	"...",
	"..a",
	".hidden",
	"a:b",
	"C:\\x",
	"con",
	"nul.txt",
	"a.",
	"=",
	"\xff\xfe",
	"caf\xc3\xa9",
	"cafe\xcc\x81",
	"\xc3",
	("\xe2\x80\xae"
	 "gpj.exe"),
	"\xe2\x80\x8b",
	"\xf0\x9f\x93\xbd",
	"<b>",
	"haul",
	".hauler",
	"host:share",
	"carriage\rreturn",
};

static void make_odd(char **arg)
{
	int top = make_top(arg[0]);
	char longest[256];

	for (size_t i = 0; i < sizeof(odd_names) / sizeof(odd_names[0]); i++)
		make_file(top, odd_names[i], 10 + i, i + 1);
	memset(longest, 'n', 255);
	longest[255] = '\0';
	make_file(top, longest, 1, 1000);
	longest[0] = 'd';
	make_dir(top, longest);
	top = enter(top, longest);
	make_file(top, longest, 2, 1001);
	make_dir(top, "dir\nwith\nlines");
	make_link(top, "link\n", "to\n\xff '\"\\");
}

static void make_sizes(char **arg)
{
	static const uint64_t sizes[] = {
		0, 1, 4095, 4096, 4097, 1048575, 1048576, 1048577, 4194303, 4194304, 4194305
	};
	int top = make_top(arg[0]);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "size-%llu", (unsigned long long)sizes[i]);
		make_file(top, name, sizes[i], 1);
	}
}

static void make_big(char **arg)
{
	make_file(AT_FDCWD, arg[1], number(arg[0]), 1);
}

static void make_kinds(char **arg)
{
	int top = make_top(arg[0]);
	char target[4096];

	if (mkfifoat(top, "pipe", 0644) < 0 || mknodat(top, "socket", S_IFSOCK | 0644, 0) < 0)
		fail("cannot make a pipe or socket in", arg[0]);
	make_file(top, "file", 1000, 1);
	make_dir(top, "empty");
	make_dir(top, "nested");
	make_dir(top, "nested/empty");
	make_link(top, "to-file", "file");
	make_link(top, "to-directory", "nested");
	make_link(top, "dangling", "no/such/thing");
	make_link(top, "absolute", "/etc/passwd");
	make_link(top, "escaping", "../../../../../../etc/passwd");
	make_link(top, "self", "self");
	memset(target, 't', sizeof(target) - 1);
	target[sizeof(target) - 1] = '\0';
	make_link(top, "longest", target);
}

/* Unlink what is no directory; the name of a directory that is left (malloc), NULL when it is empty. */
static char *clear(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char *left = NULL;
	struct dirent *e;

	if (!dir)
		fail("cannot list", "a directory");
	while (!left && (e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || unlinkat(dir_fd, e->d_name, 0) == 0)
			continue;
		if (errno != EISDIR)
			fail("cannot remove", e->d_name);
		if (unlinkat(dir_fd, e->d_name, AT_REMOVEDIR) == 0)
			continue;
		left = strdup(e->d_name);
		if (!left || fchmodat(dir_fd, left, 0700, 0) < 0)
			fail("cannot open up", e->d_name);
	}
	(void)closedir(dir);
	return left;
}

/* Down into whatever is left, up by ".." when it is empty: two handles, any depth. */
static void remove_tree(char **arg)
{
	char **names = NULL;
	size_t depth = 0, cap = 0;
	int dir;

	if (unlink(arg[0]) == 0 || rmdir(arg[0]) == 0)
		return;
	dir = enter(AT_FDCWD, arg[0]);
	for (;;) {
		char *left = clear(dir);
		int next;

		if (!left && depth == 0)
			break;
		next = enter(dir, left ? left : "..");
		(void)close(dir);
		dir = next;
		if (!left) {
			if (unlinkat(dir, names[--depth], AT_REMOVEDIR) < 0)
				fail("cannot remove", names[depth]);
			free(names[depth]);
			continue;
		}
		if (depth == cap) {
			cap = cap ? 2 * cap : 64;
			names = realloc(names, cap * sizeof(*names));
			if (!names)
				fail("no memory for", arg[0]);
		}
		names[depth++] = left;
	}
	free(names);
	(void)close(dir);
	if (rmdir(arg[0]) < 0)
		fail("cannot remove", arg[0]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int args;
		void (*make)(char **arg);
	} trees[] = {
		{ "small", 3, make_small }, { "deep", 2, make_deep }, { "odd", 1, make_odd },
		{ "sizes", 1, make_sizes }, { "big", 2, make_big },   { "kinds", 1, make_kinds },
		{ "rm", 1, remove_tree },
	};

	for (size_t i = 0; argc > 1 && i < sizeof(trees) / sizeof(trees[0]); i++) {
		if (strcmp(argv[1], trees[i].name) == 0 && argc == 2 + trees[i].args) {
			trees[i].make(argv + 2);
			return 0;
		}
	}
	(void)fputs(
	    "usage: haul_mktree small N BYTES DIR | deep DEPTH DIR | odd DIR | sizes DIR | big BYTES FILE | kinds DIR |"
	    " rm PATH\n",
	    stderr);
	return 1;
}
