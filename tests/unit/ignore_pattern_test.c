/*
 * gitignore's syntax: a table of cases, and the same question put to `git check-ignore` for random patterns and paths.
 * HAUL_TEST_SEED repeats a run, HAUL_TEST_ROUNDS makes it longer.
 */
#include "agent/ignore_pattern.h"

#include "agent/filter.h"

#include "cmocka_first.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATHS = 60, LINES_MAX = 6, ROUNDS = 20 };

static bool matches(const char *pattern, const char *path, bool is_directory)
{
	struct ignore_matcher *m = ignore_matcher_new();
	struct ignore_pattern p;
	bool is_match = false;

	assert_non_null(m);
	assert_ok(ignore_pattern_open(&p, pattern, strlen(pattern)));
	assert_ok(ignore_pattern_match(&p, m, path, strlen(path), is_directory, &is_match));
	ignore_pattern_close(&p);
	ignore_matcher_free(m);
	return is_match;
}

static const struct {
	const char *pattern, *path;
	bool is_directory, is_match;
} cases[] = {
	{ "a.tmp", "a.tmp", false, true },
	{ "a.tmp", "x/y/a.tmp", false, true },
	{ "a.tmp", "a.tmp2", false, false },
	{ "*.tmp", "x/.tmp", false, true },
	{ "*.tmp", "x.tmp/y", false, false },
	{ "/a", "a", false, true },
	{ "/a", "x/a", false, false },
	{ "x/a", "x/a", false, true },
	{ "x/a", "y/x/a", false, false },
	{ "/x/a", "x/a", false, true },
	{ "a/", "a", true, true },
	{ "a/", "a", false, false },
	{ "a/", "x/a", true, true },
	{ "x/a/", "x/a", true, true },
	{ "**/a", "a", false, true },
	{ "**/a", "x/y/a", false, true },
	{ "**/a/b", "x/a/b", false, true },
	{ "a/**", "a", true, false },
	{ "a/**", "a/b/c", false, true },
	{ "a/**/b", "a/b", false, true },
	{ "a/**/b", "a/x/y/b", false, true },
	{ "a/**/b", "a/x/yb", false, false },
	{ "a/**/b/**/c", "a/b/x/b/y/c", false, true },
	{ "a/**/b/**/c", "a/x/c", false, false },
	{ "a/*/b", "a/x/b", false, true },
	{ "a/*/b", "a/x/y/b", false, false },
	{ "a/*b*c/d", "a/xbybzc/d", false, true },
	{ "a/*b*c/d", "a/xbybz/d", false, false },
	{ "a/b*", "a/b", false, true },
	{ "a/b*", "a/b/c", false, false },
	{ "a/b**", "a/b/c", false, false },
	{ "?", "x", false, true },
	{ "x?y/z", "x/y/z", false, false },
	{ "[a-c]", "b", false, true },
	{ "[!a-c]", "b", false, false },
	{ "[^a-c]", "d", false, true },
	{ "[]a]", "]", false, true },
	{ "[!]a]", "]", false, false },
	{ "[a-]", "-", false, true },
	{ "[[:digit:]x]", "7", false, true },
	{ "[[:digit:]x]", "y", false, false },
	{ "[\\]]", "]", false, true },
	{ "x[/]y", "x/y", false, false },
	{ "x[!a]y/z", "x/y/z", false, false },
	{ "[[:wrong:]]", "w", false, false },
	{ "[a", "a", false, false },
	{ "[a", "[a", false, false },
	{ "a\\", "a", false, false },
	{ "a\\", "a\\", false, false },
	{ "\\!a", "!a", false, true },
	{ "\\#a", "#a", false, true },
	{ "\\*", "*", false, true },
	{ "\\*", "x", false, false },
	{ "a\\ ", "a ", false, true },
	{ "*", "anything", true, true },
	{ "**", "x/y", false, true },
	{ "/**", "x/y", false, true },
	{ "/", "x", true, false },
	{ "", "x", true, false },
	{ "\xff*", "\xff\xfe", false, true },
	{ "[\x80-\xff]", "\xc3", false, true },
	{ "a\nb", "a\nb", false, true },
	{ "*b", "a\nb", false, true },
	{ "%s$(x)|.", "%s$(x)|.", false, true },
	{ "(a|b)+*", "a", false, false },
	{ "(a|b)+*", "(a|b)+c", false, true },
};

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (matches(cases[i].pattern, cases[i].path, cases[i].is_directory) != cases[i].is_match)
			fail_msg("%s against %s", cases[i].pattern, cases[i].path);
	}
}

static void lines(void **state)
{
	static const struct {
		const char *line;
		size_t used; /* 0: no pattern */
	} told[] = { { "", 0 },         { "# comment", 0 }, { "\\#a", 3 },   { "a", 1 },       { "a  ", 1 },
		     { "a\\ ", 3 },     { "a\\ \\ ", 5 },   { "a\\\\ ", 3 }, { "a\r", 1 },     { "a \r", 1 },
		     { " a", 2 },       { "   ", 0 },       { "a\t", 2 },    { "a b c  ", 5 }, { "a\\", 2 },
		     { "a\\ b   ", 4 }, { "!a ", 2 } };

	(void)state;
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		size_t used = 0;
		bool is_pattern = ignore_line(told[i].line, strlen(told[i].line), &used);

		assert_int_equal(is_pattern, told[i].used > 0);
		if (is_pattern)
			assert_int_equal(used, told[i].used);
	}
}

static void bounds(void **state)
{
	static char text[IGNORE_PATTERN_MAX + 2];
	struct ignore_pattern p;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	assert_code(ignore_pattern_open(&p, text, IGNORE_PATTERN_MAX + 1), HAUL_BAD_VALUE);
	assert_code(ignore_pattern_open(&p, "a\0b", 3), HAUL_BAD_VALUE);
	assert_ok(ignore_pattern_open(&p, text, IGNORE_PATTERN_MAX));
	ignore_pattern_close(&p);
	for (size_t i = 0; i + 3 <= IGNORE_PATTERN_MAX; i += 3)
		memcpy(text + i, "[a]", 3);
	if (haul_ok(ignore_pattern_open(&p, text, IGNORE_PATTERN_MAX))) /* else refused, and no more */
		ignore_pattern_close(&p);
}

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What makes other matchers take for ever: many stars, and a path that almost matches. */
static void stars_cost_little(void **state)
{
	char pattern[600] = "", path[4001];
	double began = seconds();

	(void)state;
	for (unsigned i = 0; i < 60; i++)
		strcat(pattern, "*a");
	strcat(pattern, "b");
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	path[250] = '\0';
	assert_false(matches(pattern, path, false));
	pattern[0] = '\0';
	for (unsigned i = 0; i < 60; i++)
		strcat(pattern, "**/a/");
	strcat(pattern, "b");
	for (size_t i = 1; i < sizeof(path) - 1; i += 2)
		path[i] = '/';
	path[250] = 'a';
	path[sizeof(path) - 2] = 'a';
	path[sizeof(path) - 3] = '/';
	path[3999] = 'a';
	assert_false(matches(pattern, path, false));
	assert_true(seconds() - began < 2); /* microseconds; far below it under any load */
}

/* ---- git as the oracle ---- */

static uint64_t seed;

static unsigned pick(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

static void random_name(char *to)
{
	static const char bytes[] = "aabbcAB-.!#[]\\* ?";
	unsigned len = 1 + pick(4);

	for (unsigned i = 0; i < len; i++)
		to[i] = bytes[pick(sizeof(bytes) - 1)];
	to[len] = '\0';
	if (!strcmp(to, ".") || !strcmp(to, ".."))
		to[0] = 'a';
}

static void random_path(char *to, size_t cap)
{
	char name[8];

	*to = '\0';
	for (unsigned i = 1 + pick(4); i > 0; i--) {
		random_name(name);
		(void)snprintf(to + strlen(to), cap - strlen(to), "%s%s", *to ? "/" : "", name);
	}
}

/* `**` stands alone or behind a star: what git makes of "a**" + "/" depends on what stands before it. */
static void random_part(char *to, size_t cap)
{
	static const char *const parts[] = { "a",    "b",           "c",    "A",      "*",   "?",   "[ab]",
					     "[!a]", "[a-c]",       "[]a]", "[^-b]",  "\\*", "\\[", "-",
					     ".",    "[[:upper:]]", "\\ ",  "[\\]b]", "\\!", "#",   "[" };

	if (pick(6) == 0) {
		(void)snprintf(to, cap, "**");
		return;
	}
	*to = '\0';
	for (unsigned i = 1 + pick(3); i > 0; i--) {
		const char *part = parts[pick(sizeof(parts) / sizeof(parts[0]) - (pick(8) ? 1 : 0))];
		size_t len = strlen(to);

		if (*part == '*' && len && to[len - 1] == '*')
			continue;
		(void)snprintf(to + len, cap - len, "%s", part);
	}
}

static void random_line(char *to, size_t cap)
{
	char part[64];

	(void)snprintf(to, cap, "%s%s", pick(5) ? "" : "!", pick(3) ? "" : "/");
	for (unsigned i = 1 + pick(3); i > 0; i--) {
		random_part(part, sizeof(part));
		(void)snprintf(to + strlen(to), cap - strlen(to), "%s%s", part, i > 1 ? "/" : "");
	}
	if (pick(4) == 0)
		(void)snprintf(to + strlen(to), cap - strlen(to), "/");
	if (pick(8) == 0)
		(void)snprintf(to + strlen(to), cap - strlen(to), "  ");
}

static void run(const char *command)
{
	if (system(command) != 0)
		fail_msg("%s", command);
}

static char repository[] = "/tmp/haul-ignore-XXXXXX";

static int make_repository(void **state)
{
	char command[256];

	(void)state;
	if (!mkdtemp(repository))
		return -1;
	(void)snprintf(command, sizeof(command), "git init -q '%s' >/dev/null 2>&1", repository);
	return system(command) == 0 ? 0 : -1;
}

static int drop_repository(void **state)
{
	char command[256];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", repository);
	return system(command);
}

static void write_file(const char *name, const void *data, size_t len)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", repository, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

struct round {
	char tree[16];
	char lines[LINES_MAX][256];
	unsigned line_count;
	char paths[PATHS][128];
	bool is_directory[PATHS];
	bool by_git[PATHS];
};

/* It exists from now on, with the directories above it; false: a file stands in its way. What was there already keeps
 * its kind. */
static bool make_path(int tree_fd, const char *path, bool *is_directory)
{
	char above[128];
	struct stat st;
	int fd;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		(void)snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
		if (mkdirat(tree_fd, above, 0700) && errno != EEXIST)
			return false;
	}
	if (*is_directory)
		(void)mkdirat(tree_fd, path, 0700);
	else if ((fd = openat(tree_fd, path, O_CREAT | O_EXCL | O_WRONLY, 0600)) >= 0)
		(void)close(fd);
	if (fstatat(tree_fd, path, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	*is_directory = S_ISDIR(st.st_mode);
	return true;
}

/* A tree of its own for each round; git has to see of what kind each path is. */
static void make_tree(struct round *r)
{
	static unsigned number;
	char path[256];
	int fd;

	(void)snprintf(r->tree, sizeof(r->tree), "%u", ++number);
	(void)snprintf(path, sizeof(path), "%s/%s", repository, r->tree);
	assert_int_equal(mkdir(path, 0700), 0);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	for (unsigned i = 0; i < PATHS; i++) {
		do {
			random_path(r->paths[i], sizeof(r->paths[i]));
			r->is_directory[i] = pick(2);
		} while (!make_path(fd, r->paths[i], &r->is_directory[i]));
	}
	(void)close(fd);
}

/* Its answers come in the order asked, four fields each: source, line, pattern, path; the first three are empty where
 * nothing matches. */
static void ask_git(struct round *r)
{
	char command[512], buffer[64 * 1024], *at = buffer;
	size_t len = 0;
	FILE *f;

	for (unsigned i = 0; i < PATHS; i++)
		len += (size_t)snprintf(buffer + len, sizeof(buffer) - len, "./%s", r->paths[i]) + 1;
	write_file(".git/asked", buffer, len);
	len = 0;
	for (unsigned i = 0; i < r->line_count; i++)
		len += (size_t)snprintf(buffer + len, sizeof(buffer) - len, "%s\n", r->lines[i]);
	write_file(".git/info/exclude", buffer, len);
	(void)snprintf(command, sizeof(command),
		       "cd '%s/%s' && git --git-dir=../.git --work-tree=. -c core.excludesFile=/dev/null check-ignore "
		       "-z -v -n --no-index --stdin <../.git/asked >../.git/answered; test $? -le 1",
		       repository, r->tree);
	run(command);
	(void)snprintf(command, sizeof(command), "%s/.git/answered", repository);
	f = fopen(command, "r");
	assert_non_null(f);
	len = fread(buffer, 1, sizeof(buffer) - 1, f);
	buffer[len] = '\0';
	(void)fclose(f);
	for (unsigned i = 0; i < PATHS; i++) {
		at += strlen(at) + 1; /* source */
		at += strlen(at) + 1; /* line */
		r->by_git[i] = *at && *at != '!';
		at += strlen(at) + 1; /* pattern */
		at += strlen(at) + 1; /* path */
		assert_true((size_t)(at - buffer) <= len);
	}
}

static struct filter *filter_of(const struct round *r)
{
	struct choice_spec spec;
	struct filter *f = NULL;

	choice_spec_open(&spec);
	for (unsigned i = 0; i < r->line_count; i++) {
		const char *line = r->lines[i];
		bool is_negated = *line == '!';
		size_t used;

		if (ignore_line(line, strlen(line), &used))
			assert_ok(choice_spec_add_rule(&spec, 0, is_negated ? FILTER_INCLUDE : FILTER_EXCLUDE,
						       line + is_negated, used - is_negated, NULL));
	}
	assert_ok(filter_new(&spec, &f, NULL));
	choice_spec_close(&spec);
	return f;
}

/* As a scan goes: what lies in a directory that is left out is never asked for. */
static bool is_left(struct filter *f, const char *path, bool is_directory)
{
	bool is_last = false;

	for (size_t len = 0; !is_last;) {
		const char *slash = strchr(path + len + (len > 0), '/');
		struct filter_answer answer;
		struct filter_question q = { .path = path };

		len = slash ? (size_t)(slash - path) : strlen(path);
		is_last = !slash;
		q.len = len;
		q.is_directory = !is_last || is_directory;
		assert_ok(filter_ask(f, &q, &answer));
		if (answer.take == SCAN_LEAVE)
			return true;
	}
	return false;
}

static void play(struct round *r)
{
	struct filter *f;

	r->line_count = 1 + pick(LINES_MAX);
	for (unsigned i = 0; i < r->line_count; i++)
		random_line(r->lines[i], sizeof(r->lines[i]));
	make_tree(r);
	ask_git(r);
	f = filter_of(r);
	for (unsigned i = 0; i < PATHS; i++) {
		if (is_left(f, r->paths[i], r->is_directory[i]) == r->by_git[i])
			continue;
		for (unsigned n = 0; n < r->line_count; n++)
			print_message("line %u: [%s]\n", n + 1, r->lines[n]);
		fail_msg("git says %s to [%s]%s", r->by_git[i] ? "ignored" : "not ignored", r->paths[i],
			 r->is_directory[i] ? ", a directory" : "");
	}
	filter_free(f);
}

static void agrees_with_git(void **state)
{
	static struct round r;
	const char *asked = getenv("HAUL_TEST_SEED"), *rounds = getenv("HAUL_TEST_ROUNDS");
	unsigned count = rounds ? (unsigned)strtoul(rounds, NULL, 10) : ROUNDS;

	(void)state;
	seed = asked ? strtoull(asked, NULL, 10) : (uint64_t)time(NULL);
	print_message("seed %llu\n", (unsigned long long)seed);
	while (count--)
		play(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(lines),
		cmocka_unit_test(bounds),
		cmocka_unit_test(stars_cost_little),
		cmocka_unit_test_setup_teardown(agrees_with_git, make_repository, drop_repository),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
