/* A directory in another one, by itself and by its neighbours. Bind mounts: tests/integration/local.bats. */
#include "engine/inside.h"

#include "cmocka_first.h"
#include "temp_tree.h"

static struct temp_tree tree;

static int open_tree(void **state)
{
	(void)state;
	temp_tree_open(&tree, "inside");
	temp_dir(tree.fd, "dir");
	temp_dir(tree.fd, "dir/sub");
	temp_dir(tree.fd, "dir/sub/sub");
	temp_dir(tree.fd, "dir-more");
	temp_link(tree.fd, "way", "dir/sub");
	return 0;
}

static int close_tree(void **state)
{
	(void)state;
	temp_tree_close(&tree);
	return 0;
}

static bool is_inside(const char *dir, const char *other)
{
	int a = openat(tree.fd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int b = openat(tree.fd, other, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool is = false;

	assert_true(a >= 0 && b >= 0);
	assert_ok(directory_is_inside(a, b, &is));
	(void)close(a);
	(void)close(b);
	return is;
}

static void itself_and_what_lies_in_it(void **state)
{
	(void)state;
	assert_true(is_inside("dir", "dir"));
	assert_true(is_inside("dir/sub", "dir"));
	assert_true(is_inside("dir/sub/sub", "dir"));
	assert_true(is_inside("way", "dir"));
	assert_true(is_inside("dir", "/"));
	assert_true(is_inside("/", "/"));
}

static void neighbours_and_parents_are_not(void **state)
{
	(void)state;
	assert_false(is_inside("dir", "dir/sub"));
	assert_false(is_inside("dir-more", "dir"));
	assert_false(is_inside("dir", "dir-more"));
	assert_false(is_inside(".", "dir"));
	assert_false(is_inside("dir", "way"));
	assert_false(is_inside("/", "dir"));
	assert_false(is_inside("/proc/self", "dir")); /* another file system */
}

static void what_cannot_be_looked_at_is_told(void **state)
{
	bool is = true;

	(void)state;
	assert_true(haul_failed(directory_is_inside(-1, tree.fd, &is)));
	assert_true(haul_failed(directory_is_inside(tree.fd, -1, &is)));
	assert_true(is);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(itself_and_what_lies_in_it),
		cmocka_unit_test(neighbours_and_parents_are_not),
		cmocka_unit_test(what_cannot_be_looked_at_is_told),
	};

	return cmocka_run_group_tests(tests, open_tree, close_tree);
}
