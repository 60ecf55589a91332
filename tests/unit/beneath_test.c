/* Nothing leaves the root: every test runs with openat2 and with the walk that older kernels get. */
#include "engine/beneath_open.h"

#include "temp_tree.h"

#include <linux/fs.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>
#include <cmocka.h>

struct fixture {
	struct temp_tree tree;
	int root; /* tree/root; tree/outside is what must not be touched */
};

static int open_fixture(void **state, enum beneath_way way)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	temp_tree_open_fast(&f->tree, "haul-beneath");
	temp_dir(f->tree.fd, "root");
	temp_dir(f->tree.fd, "root/a");
	temp_dir(f->tree.fd, "root/a/b");
	temp_text(f->tree.fd, "root/a/b/file", "inside");
	temp_dir(f->tree.fd, "outside");
	temp_dir(f->tree.fd, "outside/b");
	temp_text(f->tree.fd, "outside/b/file", "canary");
	f->root = openat(f->tree.fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	beneath_set_way(way);
	*state = f;
	return f->root < 0;
}

static const struct make_path_config synced = { .sync = true,
						.mode = 0777,
						.owner = { OWNER_OF_PROCESS, OWNER_OF_PROCESS } };
static const struct make_path_config unsynced = { .mode = 0777, .owner = { OWNER_OF_PROCESS, OWNER_OF_PROCESS } };

static int with_openat2(void **state)
{
	return open_fixture(state, BENEATH_OPENAT2);
}

static int with_walk(void **state)
{
	return open_fixture(state, BENEATH_WALK);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	(void)close(f->root);
	temp_tree_close(&f->tree);
	free(f);
	return 0;
}

static haul_status try_open(const struct fixture *f, const char *path, int flags)
{
	int fd = -1;
	haul_status st = beneath_open(f->root, path, flags, 0600, &fd);

	if (haul_ok(st))
		(void)close(fd);
	else
		assert_int_equal(fd, -1);
	return st;
}

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)

static void opens_what_is_there(void **state)
{
	struct fixture *f = *state;

	assert_code(try_open(f, "", O_RDONLY | O_DIRECTORY), HAUL_OK);
	assert_code(try_open(f, "a", O_RDONLY | O_DIRECTORY), HAUL_OK);
	assert_code(try_open(f, "a/b/file", O_RDONLY), HAUL_OK);
	assert_code(try_open(f, "a/b/new", O_WRONLY | O_CREAT | O_EXCL), HAUL_OK);
	assert_true(temp_exists(f->tree.fd, "root/a/b/new"));
	assert_code(try_open(f, "a/b/new", O_WRONLY | O_CREAT | O_EXCL), HAUL_EXISTS);
	assert_code(try_open(f, "a/none", O_RDONLY), HAUL_NOT_FOUND);
	assert_code(try_open(f, "none/file", O_RDONLY), HAUL_NOT_FOUND);
	assert_code(try_open(f, "a/b/file/x", O_RDONLY), HAUL_NOT_DIRECTORY);
	assert_code(try_open(f, "a/b/file", O_RDONLY | O_DIRECTORY), HAUL_NOT_DIRECTORY);
}

static void refuses_malformed_paths(void **state)
{
	static const char *const bad[] = {
		"/",    "/etc/passwd", "..", "../outside/b/file", "a/../../outside/b/file", "a/..", ".", "./a", "a/./b",
		"a//b", "a/",          "/a"
	};
	struct fixture *f = *state;
	char name[300];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_code(try_open(f, bad[i], O_RDONLY), HAUL_BAD_VALUE);
	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	assert_code(try_open(f, name, O_RDONLY | O_CREAT), HAUL_NAME_TOO_LONG);
	name[255] = '\0';
	assert_code(try_open(f, name, O_RDONLY | O_CREAT), HAUL_OK);
}

/* The component at each position is a link to its twin outside, or to a place inside: neither is followed. */
static void follows_no_link_at_any_position(void **state)
{
	static const char *const targets[] = { "../outside", "../../outside/b", "a", "/", "/etc", ".", "..", "none" };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		temp_link(f->root, "link", targets[i]);
		temp_link(f->root, "a/link", targets[i]);
		assert_code(try_open(f, "link", O_RDONLY), HAUL_LINK_IN_PATH);
		assert_code(try_open(f, "link", O_RDONLY | O_DIRECTORY), HAUL_LINK_IN_PATH);
		assert_code(try_open(f, "link", O_PATH | O_DIRECTORY), HAUL_LINK_IN_PATH);
		assert_code(try_open(f, "link/b/file", O_RDONLY), HAUL_LINK_IN_PATH);
		assert_code(try_open(f, "a/link/b/file", O_RDONLY), HAUL_LINK_IN_PATH);
		assert_code(try_open(f, "a/link/new", O_WRONLY | O_CREAT), HAUL_LINK_IN_PATH);
		assert_code(try_open(f, "a/link", O_WRONLY | O_TRUNC), HAUL_LINK_IN_PATH);
		assert_code(beneath_make_path(f->root, "a/link/x/y", &unsynced, NULL), HAUL_LINK_IN_PATH);
		assert_int_equal(unlinkat(f->root, "link", 0) | unlinkat(f->root, "a/link", 0), 0);
	}
	assert_true(temp_holds(f->tree.fd, "outside/b/file", "canary"));
	assert_int_equal(temp_count(f->tree.fd, "outside/b"), 1);
}

static void follows_no_magic_link(void **state)
{
	struct fixture *f = *state;
	char path[64];
	int proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;

	assert_true(proc >= 0);
	(void)snprintf(path, sizeof(path), "fd/%d", f->root);
	assert_code(beneath_open(proc, path, O_RDONLY, 0, &fd), HAUL_LINK_IN_PATH);
	assert_code(beneath_open(proc, "root/etc", O_RDONLY, 0, &fd), HAUL_LINK_IN_PATH);
	assert_code(beneath_open(proc, "cwd", O_RDONLY | O_DIRECTORY, 0, &fd), HAUL_LINK_IN_PATH);
	(void)close(proc);
}

static void stats_links_themselves(void **state)
{
	struct fixture *f = *state;
	struct entry_facts facts;
	char *target;
	size_t len;

	temp_link(f->root, "a/link", "../../outside");
	assert_code(beneath_stat(f->root, "a/link", &facts), HAUL_OK);
	assert_int_equal(facts.kind, ENTRY_LINK);
	assert_int_equal(facts.size, 0);
	assert_code(beneath_stat(f->root, "a/b/file", &facts), HAUL_OK);
	assert_int_equal(facts.kind, ENTRY_FILE);
	assert_int_equal(facts.size, 6);
	assert_code(beneath_stat(f->root, "", &facts), HAUL_OK);
	assert_int_equal(facts.kind, ENTRY_DIRECTORY);
	assert_code(beneath_stat(f->root, "a/link/b", &facts), HAUL_LINK_IN_PATH);
	assert_code(beneath_read_link(f->root, "a", &target, &len), HAUL_WRONG_KIND);
	temp_link(f->root, "l", "x\n y");
	assert_code(beneath_read_link(f->root, "l", &target, &len), HAUL_OK);
	assert_string_equal(target, "x\n y");
	assert_int_equal(len, 4);
	free(target);
}

static void longest_links_are_read(void **state)
{
	struct fixture *f = *state;
	char text[HAUL_LINK_TARGET_MAX + 1];
	char *target;
	size_t len;

	memset(text, 't', sizeof(text));
	text[HAUL_LINK_TARGET_MAX] = '\0';
	temp_link(f->root, "long", text);
	assert_code(beneath_read_link(f->root, "long", &target, &len), HAUL_OK);
	assert_int_equal(len, HAUL_LINK_TARGET_MAX);
	assert_string_equal(target, text);
	free(target);
}

static void splits_off_the_last_component(void **state)
{
	struct fixture *f = *state;
	const char *path = "a/b/file", *name;
	struct entry_facts facts;
	int dir;

	assert_code(beneath_parent(f->root, path, &dir, &name), HAUL_OK);
	assert_ptr_equal(name, path + 4);
	assert_code(beneath_stat_at(dir, name, &facts), HAUL_OK);
	(void)close(dir);
	assert_code(beneath_parent(f->root, "a", &dir, &name), HAUL_OK);
	assert_code(beneath_stat_at(dir, "a", &facts), HAUL_OK);
	(void)close(dir);
	assert_code(beneath_parent(f->root, "", &dir, &name), HAUL_BAD_VALUE);
	assert_code(beneath_parent(f->root, "a/b/file/x", &dir, &name), HAUL_NOT_DIRECTORY);
}

static void makes_what_is_missing(void **state)
{
	struct fixture *f = *state;
	unsigned made = 77;

	assert_code(beneath_make_path(f->root, "a/x/y/z", &synced, &made), HAUL_OK);
	assert_int_equal(made, 3);
	assert_true(temp_exists(f->root, "a/x/y/z"));
	assert_code(beneath_make_path(f->root, "a/x/y/z", &synced, &made), HAUL_OK);
	assert_int_equal(made, 0);
	assert_code(beneath_make_path(f->root, "", &synced, &made), HAUL_OK);
	assert_code(beneath_make_path(f->root, "a/b/file/x", &unsynced, &made), HAUL_NOT_DIRECTORY);
	assert_code(beneath_make_path(f->root, "a/../x", &unsynced, &made), HAUL_BAD_VALUE);
}

/* 4096 components of the given length; *ret_path is freed by the caller. */
static void long_path(size_t component, unsigned depth, char **ret_path)
{
	char *path = malloc((component + 1) * depth);

	assert_non_null(path);
	for (unsigned i = 0; i < depth; i++) {
		memset(path + i * (component + 1), 'a' + (int)(i % 26), component);
		path[i * (component + 1) + component] = i + 1 < depth ? '/' : '\0';
	}
	*ret_path = path;
}

static void works_at_any_depth(void **state)
{
	struct fixture *f = *state;
	struct entry_facts facts;
	char *path;

	long_path(31, HAUL_DEPTH_MAX, &path);
	assert_code(beneath_make_path(f->root, path, &unsynced, NULL), HAUL_OK);
	assert_code(beneath_stat(f->root, path, &facts), HAUL_OK);
	assert_int_equal(facts.kind, ENTRY_DIRECTORY);
	free(path);
	long_path(31, HAUL_DEPTH_MAX + 1, &path);
	assert_code(beneath_stat(f->root, path, &facts), HAUL_NAME_TOO_LONG);
	assert_code(beneath_make_path(f->root, path, &unsynced, NULL), HAUL_NAME_TOO_LONG);
	free(path);
}

static void pieces_end_where_the_kernel_wants(void **state)
{
	struct fixture *f = *state;
	char *path;

	/* Around PATH_MAX every length once: a piece must never be one byte too long. */
	long_path(1, 2100, &path);
	assert_code(beneath_make_path(f->root, path, &unsynced, NULL), HAUL_OK);
	for (size_t len = 4085; len < 4110; len++) {
		char saved = path[len];

		if (path[len - 1] == '/')
			continue;
		path[len] = '\0';
		assert_code(try_open(f, path, O_PATH | O_DIRECTORY), HAUL_OK);
		path[len] = saved;
	}
	free(path);
}

static void a_cache_serves_one_directory(void **state)
{
	struct fixture *f = *state;
	struct parent_cache c = { 0 };
	const char *name;
	int first, second;

	assert_code(parent_cache_get(&c, f->root, "a/b/file", &first, &name), HAUL_OK);
	assert_string_equal(name, "file");
	assert_code(parent_cache_get(&c, f->root, "a/b/other", &second, &name), HAUL_OK);
	assert_int_equal(first, second);
	assert_string_equal(name, "other");
	assert_code(parent_cache_get(&c, f->root, "a/none/x", &second, &name), HAUL_NOT_FOUND);
	assert_null(c.path);
	assert_code(parent_cache_get(&c, f->root, "a", &second, &name), HAUL_OK);
	assert_code(parent_cache_get(&c, f->root, "", &second, &name), HAUL_BAD_VALUE);
	parent_cache_close(&c);
	parent_cache_close(&c);
}

struct racer {
	const struct fixture *f;
	_Atomic bool stop;
	_Atomic unsigned swaps;
};

/* Exchange root/a with a link to outside, over and over. */
static void *race(void *arg)
{
	struct racer *r = arg;

	while (!atomic_load(&r->stop)) {
		if (renameat2(r->f->tree.fd, "root/a", r->f->tree.fd, "twin", RENAME_EXCHANGE) == 0)
			atomic_fetch_add(&r->swaps, 1);
	}
	return NULL;
}

static void write_below(const struct fixture *f, unsigned n)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "a/b/new-%u", n % 8);
	if (haul_ok(beneath_open(f->root, path, O_WRONLY | O_CREAT, 0600, &fd)))
		(void)close(fd);
	if (haul_ok(beneath_open(f->root, "a/b/file", O_WRONLY | O_TRUNC, 0, &fd)))
		(void)close(fd);
	(void)snprintf(path, sizeof(path), "a/b/dir-%u/x", n % 8);
	if (haul_failed(beneath_make_path(f->root, path, &unsynced, NULL)))
		return;
}

static void a_racing_link_leads_nowhere(void **state)
{
	struct fixture *f = *state;
	struct racer r = { .f = f };
	time_t end = time(NULL) + 2;
	pthread_t thread;
	unsigned tries = 0;

	temp_link(f->tree.fd, "twin", "../outside");
	assert_int_equal(pthread_create(&thread, NULL, race, &r), 0);
	while (time(NULL) < end)
		write_below(f, tries++);
	atomic_store(&r.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(atomic_load(&r.swaps) > 100);
	assert_true(tries > 100);
	assert_true(temp_holds(f->tree.fd, "outside/b/file", "canary"));
	assert_int_equal(temp_count(f->tree.fd, "outside/b"), 1);
	assert_int_equal(temp_count(f->tree.fd, "outside"), 1);
}

static void finds_out_what_the_kernel_has(void **state)
{
	struct fixture *f = *state;

	beneath_set_way(BENEATH_UNKNOWN);
	assert_code(try_open(f, "a/b/file", O_RDONLY), HAUL_OK);
}

#define both_ways(test)                                                                                                \
	cmocka_unit_test_setup_teardown(test, with_openat2, tear_down),                                                \
	    cmocka_unit_test_setup_teardown(test, with_walk, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		both_ways(opens_what_is_there),
		both_ways(refuses_malformed_paths),
		both_ways(follows_no_link_at_any_position),
		both_ways(follows_no_magic_link),
		both_ways(stats_links_themselves),
		both_ways(longest_links_are_read),
		both_ways(splits_off_the_last_component),
		both_ways(makes_what_is_missing),
		both_ways(works_at_any_depth),
		both_ways(pieces_end_where_the_kernel_wants),
		both_ways(a_cache_serves_one_directory),
		both_ways(a_racing_link_leads_nowhere),
		both_ways(finds_out_what_the_kernel_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
