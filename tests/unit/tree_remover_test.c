/* Counting and removing trees: deep ones, odd names, links, what may not go, what appears and vanishes meanwhile. */
#include "engine/tree_remover.h"

#include "tests/unit/cmocka_first.h"
#include "tests/unit/temp_tree.h"

#include <pthread.h>
#include <sys/resource.h>

enum { DEEP = 1500 };

struct told {
	unsigned entries, problems;
	char last_entry[256], last_problem[256];
	enum entry_kind last_kind;
	haul_status status;
};

static void on_entry(void *ctx, const char *path, enum entry_kind kind)
{
	struct told *t = ctx;

	t->last_kind = kind;
	t->entries++;
	(void)snprintf(t->last_entry, sizeof(t->last_entry), "%s", path);
}

static void on_problem(void *ctx, const char *path, enum entry_kind kind, const struct haul_fault *fault)
{
	struct told *t = ctx;

	(void)kind;
	t->problems++;
	t->status = fault->status;
	(void)snprintf(t->last_problem, sizeof(t->last_problem), "%s", path);
}

static struct tree_totals run(enum tree_mode mode, int dir_fd, const char *name, struct told *told, uint64_t max)
{
	const struct tree_remover_config cfg = { .mode = mode,
						 .threads = 3,
						 .entries_max = max,
						 .ctx = told,
						 .on_entry = on_entry,
						 .on_problem = on_problem };
	const struct tree_target target = { .dir_fd = dir_fd, .name = name, .shown = name };
	struct tree_totals totals;

	assert_true(haul_ok(tree_remover_run(&cfg, &target, 1, &totals, NULL)));
	return totals;
}

static int set_up(void **state)
{
	static struct temp_tree t;

	temp_tree_open_fast(&t, "tree-remover");
	*state = &t;
	return 0;
}

static int tear_down(void **state)
{
	temp_tree_close(*state);
	return 0;
}

static void make_wide(int fd, unsigned dirs, unsigned files)
{
	char name[64];

	temp_dir(fd, "wide");
	for (unsigned d = 0; d < dirs; d++) {
		(void)snprintf(name, sizeof(name), "wide/d%u", d);
		temp_dir(fd, name);
		for (unsigned f = 0; f < files; f++) {
			(void)snprintf(name, sizeof(name), "wide/d%u/f%u", d, f);
			temp_text(fd, name, "abc");
		}
	}
}

static void a_tree_is_counted_and_removed(void **state)
{
	struct temp_tree *t = *state;
	struct told told = { 0 };
	struct tree_totals n;

	make_wide(t->fd, 20, 30);
	temp_text(t->fd, "beside", "stays");
	temp_link(t->fd, "wide/link", "../beside");
	temp_link(t->fd, "wide/d0/up", "../..");
	n = run(TREE_COUNT, t->fd, "wide", &told, 0);
	assert_int_equal(n.entries, 1 + 20 + 20 * 30 + 2);
	assert_int_equal(n.files, 600);
	assert_int_equal(n.bytes, 1800);
	assert_int_equal(told.entries, n.entries);
	assert_string_equal(told.last_entry, "wide"); /* a directory after what is in it */
	assert_true(temp_exists(t->fd, "wide/d19/f29"));
	n = run(TREE_REMOVE, t->fd, "wide", &told, 0);
	assert_int_equal(n.entries, 1 + 20 + 20 * 30 + 2);
	assert_int_equal(n.files, 600);
	assert_int_equal(told.problems, 0);
	assert_false(temp_exists(t->fd, "wide"));
	assert_true(temp_holds(t->fd, "beside", "stays"));
}

static void counting_ends_when_it_is_enough(void **state)
{
	struct temp_tree *t = *state;
	struct told told = { 0 };

	make_wide(t->fd, 40, 50);
	assert_true(run(TREE_COUNT, t->fd, "wide", &told, 100).is_over);
	assert_false(run(TREE_COUNT, t->fd, "wide", &told, 2041).is_over);
	assert_true(run(TREE_COUNT, t->fd, "wide", &told, 2040).is_over);
}

/* Far beyond PATH_MAX, and beyond the handles that are kept open. */
static void a_deep_tree_goes(void **state)
{
	struct temp_tree *t = *state;
	struct told told = { 0 };
	struct tree_totals n;
	int fd = dup(t->fd);

	for (unsigned i = 0; i < DEEP; i++) {
		int next;

		temp_dir(fd, "directory");
		temp_text(fd, "file", "x");
		next = openat(fd, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(fd);
		fd = next;
	}
	(void)close(fd);
	n = run(TREE_COUNT, t->fd, "directory", &told, 0);
	assert_int_equal(n.entries, DEEP + DEEP - 1);
	n = run(TREE_REMOVE, t->fd, "directory", &told, 0);
	assert_int_equal(n.entries, DEEP + DEEP - 1);
	assert_int_equal(n.left, 0);
	assert_false(temp_exists(t->fd, "directory"));
}

static void few_handles_are_enough(void **state)
{
	struct rlimit before, few = { .rlim_cur = 64 };

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	a_deep_tree_goes(state);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* More directories than one listing may put on the stack. */
static void very_many_directories_go(void **state)
{
	struct temp_tree *t = *state;
	struct told told = { 0 };
	char name[32];

	temp_dir(t->fd, "many");
	for (unsigned i = 0; i < 9000; i++) {
		(void)snprintf(name, sizeof(name), "many/%u", i);
		temp_dir(t->fd, name);
	}
	assert_int_equal(run(TREE_COUNT, t->fd, "many", &told, 0).entries, 9001);
	assert_int_equal(run(TREE_REMOVE, t->fd, "many", &told, 0).entries, 9001);
	assert_false(temp_exists(t->fd, "many"));
}

static void what_is_no_directory_goes_by_itself(void **state)
{
	struct temp_tree *t = *state;
	struct told told = { 0 };

	temp_dir(t->fd, "dir");
	temp_text(t->fd, "dir/file", "x");
	temp_link(t->fd, "link", "dir");
	assert_int_equal(run(TREE_REMOVE, t->fd, "link", &told, 0).entries, 1);
	assert_true(temp_exists(t->fd, "dir/file"));
	assert_false(temp_exists(t->fd, "link"));
	assert_int_equal(run(TREE_REMOVE, t->fd, "dir/file", &told, 0).files, 1);
	assert_int_equal(run(TREE_REMOVE, t->fd, "gone already", &told, 0).entries, 0);
	assert_int_equal(told.problems, 0);
}

/* A target that is no directory is told as what it is. */
static void kinds_are_told(void **state)
{
	const struct {
		mode_t mode;
		enum entry_kind kind;
	} made[] = { { S_IFREG, ENTRY_FILE }, { S_IFIFO, ENTRY_FIFO }, { S_IFSOCK, ENTRY_SOCKET } };
	struct temp_tree *t = *state;

	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		struct told told = { 0 };

		assert_int_equal(mknodat(t->fd, "it", made[i].mode | 0600, 0), 0);
		(void)run(TREE_REMOVE, t->fd, "it", &told, 0);
		assert_string_equal(told.last_entry, "it");
		assert_int_equal(told.last_kind, made[i].kind);
	}
}

static void odd_names_are_names(void **state)
{
	struct temp_tree *t = *state;
	struct told told = { 0 };

	temp_dir(t->fd, "odd");
	temp_text(t->fd, "odd/-rf", "x");
	temp_text(t->fd, "odd/a\nb", "x");
	temp_text(t->fd, "odd/\xff\xfe", "x");
	temp_text(t->fd, "odd/.haul-not-ours", "x");
	temp_dir(t->fd, "odd/...");
	assert_int_equal(run(TREE_REMOVE, t->fd, "odd", &told, 0).entries, 6);
	assert_false(temp_exists(t->fd, "odd"));
}

static void stop_ends_it(void **state)
{
	struct temp_tree *t = *state;
	_Atomic bool stop = true;
	const struct tree_remover_config cfg = { .mode = TREE_REMOVE, .threads = 2, .stop = &stop };
	const struct tree_target target = { .dir_fd = t->fd, .name = "wide", .shown = "wide" };
	struct tree_totals n;

	make_wide(t->fd, 5, 5);
	assert_true(haul_ok(tree_remover_run(&cfg, &target, 1, &n, NULL)));
	assert_true(n.is_stopped);
	assert_int_equal(n.entries, 0);
	assert_true(temp_exists(t->fd, "wide/d4/f4"));
}

struct meddler {
	int fd;
	_Atomic bool is_over;
	bool adds;
};

/* Puts files into a directory that is being removed, or takes them away under the remover's hands. */
static void *meddle(void *arg)
{
	struct meddler *m = arg;
	char name[64];

	for (unsigned i = 0; !atomic_load(&m->is_over); i++) {
		(void)snprintf(name, sizeof(name), "wide/d%u/%s%u", i % 20, m->adds ? "new" : "f", i / 20 % 30);
		if (m->adds) {
			int fd = openat(m->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

			if (fd >= 0)
				(void)close(fd);
		} else {
			(void)unlinkat(m->fd, name, 0);
		}
	}
	return NULL;
}

static void with_a_meddler(struct temp_tree *t, bool adds)
{
	struct meddler m = { .fd = t->fd, .adds = adds };
	struct told told = { 0 };
	struct tree_totals n;
	pthread_t thread;

	make_wide(t->fd, 20, 30);
	assert_int_equal(pthread_create(&thread, NULL, meddle, &m), 0);
	n = run(TREE_REMOVE, t->fd, "wide", &told, 0);
	atomic_store(&m.is_over, true);
	(void)pthread_join(thread, NULL);
	/* Gone, or told why not; never a lie. */
	assert_int_equal(told.problems, n.left);
	if (!adds || !n.left)
		assert_false(temp_exists(t->fd, "wide"));
	if (told.problems)
		assert_int_equal(told.status.code, HAUL_CODE_NOT_EMPTY);
}

static void entries_that_vanish_are_fine(void **state)
{
	with_a_meddler(*state, false);
}

static void entries_that_appear_go_too_or_are_told(void **state)
{
	with_a_meddler(*state, true);
}

static void what_may_not_go_is_told_and_the_rest_goes(void **state)
{
	struct temp_tree *t = *state;
	struct told told = { 0 };
	struct tree_totals n;

	if (geteuid() == 0 && setegid(65534) == 0 && seteuid(0) == 0) {
		assert_int_equal(fchownat(t->fd, "", 65534, 65534, AT_EMPTY_PATH), 0);
		assert_int_equal(seteuid(65534), 0);
	}
	make_wide(t->fd, 3, 3);
	assert_int_equal(fchmodat(t->fd, "wide/d1", 0555, 0), 0);
	n = run(TREE_REMOVE, t->fd, "wide", &told, 0);
	if (geteuid() == 65534) {
		assert_int_equal(seteuid(0), 0);
		assert_int_equal(setegid(0), 0);
	}
	assert_int_equal(n.left, 3);
	assert_int_equal(n.left_files, 3);
	assert_int_equal(told.problems, 3);
	assert_int_equal(told.status.code, HAUL_CODE_DENIED);
	assert_int_equal(strncmp(told.last_problem, "wide/d1/f", 9), 0);
	assert_false(temp_exists(t->fd, "wide/d0"));
	assert_true(temp_exists(t->fd, "wide/d1/f2"));
}

int main(void)
{
#define IN_A_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		IN_A_TREE(a_tree_is_counted_and_removed),
		IN_A_TREE(counting_ends_when_it_is_enough),
		IN_A_TREE(a_deep_tree_goes),
		IN_A_TREE(few_handles_are_enough),
		IN_A_TREE(very_many_directories_go),
		IN_A_TREE(what_is_no_directory_goes_by_itself),
		IN_A_TREE(kinds_are_told),
		IN_A_TREE(odd_names_are_names),
		IN_A_TREE(stop_ends_it),
		IN_A_TREE(entries_that_vanish_are_fine),
		IN_A_TREE(entries_that_appear_go_too_or_are_told),
		IN_A_TREE(what_may_not_go_is_told_and_the_rest_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
