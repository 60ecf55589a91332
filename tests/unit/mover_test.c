/* Renaming with calls that refuse: other file systems, no RENAME_NOREPLACE, no hard links; nothing is ever lost. */
#include "agent/mover.h"

#include "tests/unit/cmocka_first.h"
#include "tests/unit/temp_tree.h"

#include <stdio.h>
#include <sys/resource.h>

static struct fake {
	int new_errno;         /* rename_new fails with it; 0: the system's own */
	const char *only_name; /* … for this name alone */
	int link_errno;
	unsigned renames, links, unlinks;
} fake;

static int fake_rename_new(int from_fd, const char *from, int to_fd, const char *to)
{
	fake.renames++;
	if (fake.new_errno && (!fake.only_name || !strcmp(fake.only_name, from))) {
		errno = fake.new_errno;
		return -1;
	}
	return mover_system_calls.rename_new(from_fd, from, to_fd, to);
}

static int fake_rename_over(int from_fd, const char *from, int to_fd, const char *to)
{
	fake.renames++;
	return mover_system_calls.rename_over(from_fd, from, to_fd, to);
}

static int fake_link_new(int from_fd, const char *from, int to_fd, const char *to)
{
	fake.links++;
	if (fake.link_errno) {
		errno = fake.link_errno;
		return -1;
	}
	return mover_system_calls.link_new(from_fd, from, to_fd, to);
}

static int fake_unlink(int dir_fd, const char *name, int flags)
{
	fake.unlinks++;
	return mover_system_calls.unlink(dir_fd, name, flags);
}

static const struct mover_calls fake_calls = { fake_rename_new, fake_rename_over, fake_link_new, fake_unlink };

struct fixture {
	struct temp_tree tree;
	int from, to;
	struct mover m;
	haul_status problem;
	char moved_to[64];
};

static void on_moved(void *ctx, const char *from, const char *to, enum entry_kind kind)
{
	struct fixture *f = ctx;

	(void)from;
	(void)kind;
	(void)snprintf(f->moved_to, sizeof(f->moved_to), "%s", to);
}

static void on_problem(void *ctx, const char *from, enum entry_kind kind, const struct haul_fault *fault,
		       const char *remedy)
{
	(void)from;
	(void)kind;
	(void)remedy;
	((struct fixture *)ctx)->problem = fault->status;
}

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .m = {
				  .calls = &fake_calls, .ctx = &f, .on_moved = on_moved, .on_problem = on_problem } };
	fake = (struct fake){ 0 };
	temp_tree_open_fast(&f.tree, "mover");
	temp_dir(f.tree.fd, "from");
	temp_dir(f.tree.fd, "to");
	f.from = openat(f.tree.fd, "from", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f.to = openat(f.tree.fd, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	mover_close(&f->m);
	(void)close(f->from);
	(void)close(f->to);
	temp_tree_close(&f->tree);
	return 0;
}

static haul_status move(struct fixture *f, const char *name)
{
	const struct move_place from = { .dir_fd = f->from, .name = name, .shown = name };
	char shown[64];
	struct move_place to = { .dir_fd = f->to, .name = name, .shown = shown };

	(void)snprintf(shown, sizeof(shown), "to/%s", name);
	return mover_move(&f->m, &from, &to);
}

#define assert_moved(st) assert_int_equal((st).code, HAUL_CODE_OK)

static void one_rename_is_all(void **state)
{
	struct fixture *f = *state;

	temp_dir(f->from, "dir");
	temp_text(f->from, "dir/x", "x");
	assert_moved(move(f, "dir"));
	assert_int_equal(fake.renames, 1);
	assert_int_equal(fake.unlinks, 0);
	assert_true(temp_holds(f->to, "dir/x", "x"));
	assert_string_equal(f->moved_to, "to/dir");
}

static void another_file_system_is_left_to_copying(void **state)
{
	struct fixture *f = *state;

	fake.new_errno = EXDEV;
	temp_text(f->from, "x", "x");
	assert_int_equal(move(f, "x").code, HAUL_CODE_CROSS_DEVICE);
	assert_true(temp_holds(f->from, "x", "x"));
	assert_int_equal(f->m.failed, 0); /* not told: whoever copies it does */
}

static void what_cannot_be_renamed_inside_stays_and_the_rest_goes(void **state)
{
	struct fixture *f = *state;

	fake.new_errno = EXDEV;
	fake.only_name = "b";
	temp_dir(f->from, "dir");
	temp_dir(f->to, "dir");
	temp_text(f->from, "dir/a", "a");
	temp_text(f->from, "dir/b", "b");
	temp_text(f->from, "dir/c", "c");
	assert_int_equal(move(f, "dir").code, HAUL_CODE_CROSS_DEVICE);
	assert_true(temp_holds(f->to, "dir/a", "a"));
	assert_true(temp_holds(f->to, "dir/c", "c"));
	assert_true(temp_holds(f->from, "dir/b", "b"));
	assert_false(temp_exists(f->to, "dir/b"));
}

static void refusals_are_told(void **state)
{
	struct fixture *f = *state;

	fake.new_errno = EPERM;
	temp_text(f->from, "x", "x");
	assert_moved(move(f, "x"));
	assert_int_equal(f->problem.code, HAUL_CODE_DENIED);
	assert_int_equal(f->m.failed_files, 1);
	assert_true(temp_holds(f->from, "x", "x"));
	fake.new_errno = 0;
	assert_moved(move(f, "never there"));
	assert_int_equal(f->problem.code, HAUL_CODE_VANISHED);
}

static void without_noreplace_nothing_is_replaced(void **state)
{
	struct fixture *f = *state;

	fake.new_errno = EINVAL;
	temp_text(f->from, "x", "new");
	temp_text(f->to, "x", "old");
	assert_moved(move(f, "x"));
	assert_int_equal(f->problem.code, HAUL_CODE_EXISTS);
	assert_true(temp_holds(f->to, "x", "old"));
	assert_true(temp_holds(f->from, "x", "new"));
	temp_text(f->from, "y", "y");
	assert_moved(move(f, "y"));
	assert_int_equal(fake.links, 1);
	assert_true(temp_holds(f->to, "y", "y"));
	assert_false(temp_exists(f->from, "y"));
	temp_dir(f->from, "dir");
	temp_text(f->from, "dir/z", "z");
	assert_moved(move(f, "dir"));
	assert_true(temp_holds(f->to, "dir/z", "z"));
}

static void without_hard_links_copying_has_to_do_it(void **state)
{
	struct fixture *f = *state;

	fake.new_errno = EINVAL;
	fake.link_errno = EPERM;
	temp_text(f->from, "x", "x");
	assert_int_equal(move(f, "x").code, HAUL_CODE_CROSS_DEVICE);
	assert_true(temp_holds(f->from, "x", "x"));
	assert_false(temp_exists(f->to, "x"));
	assert_int_equal(fake.unlinks, 0);
}

static void one_inode_under_two_names_is_never_touched(void **state)
{
	static const enum move_rule rules[] = { MOVE_FAIL, MOVE_REPLACE, MOVE_NUMBER };
	struct fixture *f = *state;

	temp_text(f->from, "x", "x");
	assert_int_equal(linkat(f->from, "x", f->to, "x", 0), 0);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		f->m.rule = rules[i];
		assert_moved(move(f, "x"));
		assert_int_equal(f->m.moved, 0);
		assert_true(temp_holds(f->from, "x", "x"));
		assert_true(temp_holds(f->to, "x", "x"));
	}
}

static void what_arrived_is_not_replaced(void **state)
{
	struct fixture *f = *state;

	f->m.rule = MOVE_REPLACE;
	temp_text(f->from, "x", "first");
	temp_text(f->to, "x", "old");
	assert_moved(move(f, "x"));
	assert_true(temp_holds(f->to, "x", "first"));
	temp_text(f->from, "x", "second");
	assert_moved(move(f, "x"));
	assert_int_equal(f->problem.code, HAUL_CODE_EXISTS);
	assert_true(temp_holds(f->to, "x", "first"));
	assert_true(temp_holds(f->from, "x", "second"));
	for (unsigned i = 0; i < 300; i++) { /* the table grows */
		char name[16];

		(void)snprintf(name, sizeof(name), "n%u", i);
		temp_text(f->from, name, name);
		assert_moved(move(f, name));
	}
	temp_text(f->from, "n7", "other");
	assert_moved(move(f, "n7"));
	assert_true(temp_holds(f->to, "n7", "n7"));
	assert_true(temp_holds(f->from, "n7", "other"));
}

/* By handles that are good for no more than the way, as those of a move are. */
static void what_may_not_be_read_is_made_durable_all_the_same(void **state)
{
	struct fixture *f = *state;
	bool is_root = geteuid() == 0;
	haul_status st;

	(void)close(f->from);
	f->from = openat(f->tree.fd, "from", O_PATH | O_DIRECTORY | O_CLOEXEC);
	f->m.rule = MOVE_REPLACE;
	temp_text(f->from, "x", "new");
	temp_text(f->to, "x", "old");
	assert_int_equal(fchmodat(f->from, "x", 0, 0), 0);
	for (unsigned i = 0; is_root && i < 3; i++) {
		static const char *const names[] = { "from", "to", "from/x" };

		assert_int_equal(fchownat(f->tree.fd, names[i], 65534, 65534, 0), 0);
	}
	if (is_root)
		assert_int_equal(seteuid(65534), 0);
	st = move(f, "x");
	if (is_root)
		assert_int_equal(seteuid(0), 0);
	assert_moved(st);
	assert_int_equal(f->m.moved, 1);
	assert_int_equal(fchmodat(f->to, "x", 0600, 0), 0);
	assert_true(temp_holds(f->to, "x", "new"));
}

/* Not "Permission denied", whatever it is. */
static void why_a_directory_cannot_be_opened_is_told(void **state)
{
	struct fixture *f = *state;
	struct rlimit before, few;
	int next = dup(f->tree.fd);

	temp_dir(f->from, "dir");
	temp_dir(f->to, "dir");
	assert_true(next >= 0);
	(void)close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ (rlim_t)next, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_moved(move(f, "dir"));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(f->problem.code, haul_status_from_errno(EMFILE).code);
	assert_int_not_equal(f->problem.code, HAUL_CODE_DENIED);
}

static void numbers_go_before_the_extension(void **state)
{
	struct fixture *f = *state;
	char longest[256];

	f->m.rule = MOVE_NUMBER;
	temp_text(f->from, "a.tar.gz", "new");
	temp_text(f->to, "a.tar.gz", "old");
	assert_moved(move(f, "a.tar.gz"));
	assert_string_equal(f->moved_to, "to/a.tar 2.gz");
	temp_text(f->from, ".rc", "new");
	temp_text(f->to, ".rc", "old");
	assert_moved(move(f, ".rc"));
	assert_string_equal(f->moved_to, "to/.rc 2");
	memset(longest, 'n', 255);
	longest[255] = '\0';
	temp_text(f->from, longest, "new");
	temp_text(f->to, longest, "old");
	f->m.on_moved = NULL;
	assert_int_equal(mover_move(&f->m, &(struct move_place){ .dir_fd = f->from, .name = longest, .shown = longest },
				    &(struct move_place){ .dir_fd = f->to, .name = longest, .shown = longest })
			     .code,
			 HAUL_CODE_OK);
	assert_true(temp_holds(f->to, longest, "old"));
	assert_false(temp_exists(f->from, longest));
}

static void a_dry_run_changes_nothing(void **state)
{
	struct fixture *f = *state;

	f->m.dry_run = true;
	temp_dir(f->from, "dir");
	temp_dir(f->to, "dir");
	temp_text(f->from, "dir/x", "x");
	temp_text(f->from, "y", "y");
	temp_text(f->to, "y", "old");
	assert_moved(move(f, "dir"));
	assert_moved(move(f, "y"));
	assert_int_equal(f->m.moved, 1);
	assert_int_equal(f->m.failed, 1);
	assert_int_equal(fake.renames + fake.links + fake.unlinks, 0);
	assert_true(temp_holds(f->from, "dir/x", "x"));
}

static void stop_comes_between_two_renames(void **state)
{
	struct fixture *f = *state;
	_Atomic bool stop = true;

	f->m.stop = &stop;
	temp_text(f->from, "x", "x");
	assert_int_equal(move(f, "x").code, HAUL_CODE_CANCELLED);
	assert_int_equal(mover_move_contents(&f->m, f->from, "from", f->to, "to").code, HAUL_CODE_CANCELLED);
	assert_true(temp_holds(f->from, "x", "x"));
}

int main(void)
{
#define IN_A_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		IN_A_TREE(one_rename_is_all),
		IN_A_TREE(another_file_system_is_left_to_copying),
		IN_A_TREE(what_cannot_be_renamed_inside_stays_and_the_rest_goes),
		IN_A_TREE(refusals_are_told),
		IN_A_TREE(without_noreplace_nothing_is_replaced),
		IN_A_TREE(without_hard_links_copying_has_to_do_it),
		IN_A_TREE(one_inode_under_two_names_is_never_touched),
		IN_A_TREE(what_arrived_is_not_replaced),
		IN_A_TREE(what_may_not_be_read_is_made_durable_all_the_same),
		IN_A_TREE(why_a_directory_cannot_be_opened_is_told),
		IN_A_TREE(numbers_go_before_the_extension),
		IN_A_TREE(a_dry_run_changes_nothing),
		IN_A_TREE(stop_comes_between_two_renames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
