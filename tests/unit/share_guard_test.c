/* Shares that are there, gone, out of reach, or cannot be looked at: only the second kind is no reason to refuse. */
#include "agent/share_guard.h"

#include "tests/unit/cmocka_first.h"
#include "tests/unit/temp_tree.h"

#include <sys/resource.h>

struct fixture {
	struct temp_tree tree;
	char path[512]; /* of the share */
	struct share share;
	struct share_list list;
};

static int set_up(void **state)
{
	static struct fixture f;
	char here[256];

	temp_tree_open_fast(&f.tree, "guard");
	temp_dir(f.tree.fd, "holds");
	temp_dir(f.tree.fd, "holds/share");
	temp_dir(f.tree.fd, "other");
	assert_non_null(getcwd(here, sizeof(here)));
	(void)snprintf(f.path, sizeof(f.path), "%s/%s/holds/share", *f.tree.path == '/' ? "" : here, f.tree.path);
	f.share = (struct share){ .name = (char[]){ "inbox" }, .path = f.path };
	f.list = (struct share_list){ &f.share, 1 };
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	temp_tree_close(&((struct fixture *)*state)->tree);
	return 0;
}

static enum haul_code check(const struct fixture *f, const char *name, bool contents)
{
	struct haul_fault fault;

	return (enum haul_code)share_guard_check(&f->list, f->tree.fd, name, contents, name, &fault).code;
}

static void only_what_holds_it_is_refused(void **state)
{
	const struct fixture *f = *state;

	assert_int_equal(check(f, "holds", false), HAUL_CODE_GUARD);
	assert_int_equal(check(f, "holds", true), HAUL_CODE_GUARD);
	assert_int_equal(check(f, "other", false), HAUL_CODE_OK);
	assert_int_equal(check(f, "nothing", false), HAUL_CODE_OK);
	assert_int_equal(unlinkat(f->tree.fd, "holds/share", AT_REMOVEDIR), 0);
	assert_int_equal(check(f, "holds", false), HAUL_CODE_OK);
}

/* No handle for the tree itself, then none for the share. */
static void without_handles_it_is_refused(void **state)
{
	const struct fixture *f = *state;
	struct rlimit before, few;
	int next = dup(f->tree.fd);

	assert_true(next >= 0);
	(void)close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (unsigned more = 0; more < 2; more++) {
		few = (struct rlimit){ (rlim_t)next + more, before.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		assert_int_equal(check(f, "other", false), HAUL_CODE_GUARD);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* What holds the way to a share that may not be reached holds the share; anything else is free to go. */
static void a_share_out_of_reach_counts_by_its_way(void **state)
{
	const struct fixture *f = *state;
	enum haul_code holds, contents, other;
	bool is_root = geteuid() == 0;

	assert_int_equal(fchmod(f->tree.fd, 0755), 0);
	assert_int_equal(fchmodat(f->tree.fd, "holds", 0, 0), 0);
	if (is_root)
		assert_int_equal(seteuid(65534), 0);
	holds = check(f, "holds", false);
	contents = check(f, "holds", true);
	other = check(f, "other", false);
	if (is_root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(fchmodat(f->tree.fd, "holds", 0700, 0), 0);
	assert_int_equal(holds, HAUL_CODE_GUARD);
	assert_int_equal(contents, HAUL_CODE_GUARD);
	assert_int_equal(other, HAUL_CODE_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_what_holds_it_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_handles_it_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_share_out_of_reach_counts_by_its_way, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
