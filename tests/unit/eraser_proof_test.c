/* What is shown before a move deletes: directories that are one, times that hide changes, bytes that differ. */
#include "agent/eraser_proof.h"

#include "tests/unit/cmocka_first.h"
#include "tests/unit/temp_tree.h"

enum { LONG_BYTES = 700000 };

static struct temp_tree tree;

static int set_up(void **state)
{
	(void)state;
	temp_tree_open(&tree, "eraser-proof");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	temp_tree_close(&tree);
	return 0;
}

static void one_directory_is_found_out_and_nothing_is_left(void **state)
{
	struct haul_fault fault;
	struct stat before, after;
	int other;

	(void)state;
	assert_int_equal(mkdirat(tree.fd, "other", 0700), 0);
	other = openat(tree.fd, "other", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fstat(other, &before), 0);
	assert_true(haul_ok(eraser_prove_apart(tree.fd, other, &fault)));
	assert_int_equal(eraser_prove_apart(other, other, &fault).code, HAUL_SAME_FILE.code);
	assert_int_equal(fstat(other, &after), 0);
	assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	(void)close(other);
	assert_int_equal(unlinkat(tree.fd, "other", AT_REMOVEDIR), 0);
}

static void young_times_are_not_believed(void **state)
{
	const struct entry_facts old = { .mtime = { .sec = 90 }, .ctime = { .sec = 97 } };
	const struct entry_facts young = { .mtime = { .sec = 90 }, .ctime = { .sec = 98 } };
	const struct entry_facts future = { .mtime = { .sec = 900 }, .ctime = { .sec = 90 } };

	(void)state;
	assert_false(eraser_is_fresh(&old, 100));
	assert_true(eraser_is_fresh(&young, 100));
	assert_true(eraser_is_fresh(&future, 100));
}

static void write_file(const char *name, size_t len, size_t odd_at)
{
	int fd = openat(tree.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *bytes = calloc(1, len);

	assert_non_null(bytes);
	if (odd_at < len)
		bytes[odd_at] = 1;
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	free(bytes);
	(void)close(fd);
}

static void every_byte_is_compared(void **state)
{
	struct haul_fault fault;

	(void)state;
	write_file("a", LONG_BYTES, LONG_BYTES);
	write_file("b", LONG_BYTES, LONG_BYTES);
	assert_true(haul_ok(eraser_compare(tree.fd, "a", tree.fd, "b", NULL, &fault)));
	write_file("b", LONG_BYTES, LONG_BYTES - 1);
	assert_int_equal(eraser_compare(tree.fd, "a", tree.fd, "b", NULL, &fault).code, HAUL_CHANGED.code);
	write_file("b", LONG_BYTES - 1, LONG_BYTES);
	assert_int_equal(eraser_compare(tree.fd, "a", tree.fd, "b", NULL, &fault).code, HAUL_CHANGED.code);
	assert_int_equal(eraser_compare(tree.fd, "a", tree.fd, "none", NULL, &fault).code, HAUL_NOT_FOUND.code);
}

int main(void)
{
#define IN_A_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		IN_A_TREE(one_directory_is_found_out_and_nothing_is_left),
		IN_A_TREE(young_times_are_not_believed),
		IN_A_TREE(every_byte_is_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
