/* Measuring a disk: what comes of it, and what is said when nothing could be measured. */
#include "agent/measure.h"

#include "temp_tree.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { ROOM_BYTES = 8 * MEASURE_BLOCK_BYTES };

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)

static int open_tree(void **state)
{
	static struct temp_tree tree;

	temp_tree_open(&tree, "measure");
	*state = &tree;
	return 0;
}

static int close_tree(void **state)
{
	temp_tree_close(*state);
	return 0;
}

static void what_is_written_is_read_again(void **state)
{
	const struct temp_tree *tree = *state;
	const struct measure_config cfg = { .seconds = 0.2 };
	struct measured m;
	struct stat sb;
	int fd = -1;

	assert_code(measure_write(tree->fd, ROOM_BYTES, &cfg, &fd, &m), HAUL_OK);
	assert_int_equal(fstat(fd, &sb), 0);
	assert_true(m.bytes > 0 && m.bytes <= ROOM_BYTES && (uint64_t)sb.st_size == m.bytes);
	assert_true(measured_rate(&m) > 0);
	assert_code(measure_read(fd, &cfg, &m), HAUL_OK);
	assert_true(m.bytes >= MEASURE_BLOCK_BYTES);
	close(fd);
}

static void a_short_file_is_no_big_one(void **state)
{
	const struct temp_tree *tree = *state;
	const struct measure_config cfg = { .seconds = 0.2 };
	struct measured m;
	int fd = openat(tree->fd, "short", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(ftruncate(fd, MEASURE_BLOCK_BYTES - 1), 0);
	assert_code(measure_read(fd, &cfg, &m), HAUL_TRUNCATED);
	close(fd);
}

static void a_stop_is_no_full_disk(void **state)
{
	const struct temp_tree *tree = *state;
	_Atomic bool stop = true;
	const struct measure_config cfg = { .seconds = 0.2, .stop = &stop };
	struct measured m;
	int fd = openat(tree->fd, "long", O_RDWR | O_CREAT | O_CLOEXEC, 0600), made = -1;

	assert_int_equal(ftruncate(fd, ROOM_BYTES), 0);
	assert_code(measure_read(fd, &cfg, &m), HAUL_CANCELLED);
	assert_code(measure_write(tree->fd, ROOM_BYTES, &cfg, &made, &m), HAUL_CANCELLED);
	assert_int_equal(made, -1);
	close(fd);
}

static void too_little_room_is_said(void **state)
{
	const struct temp_tree *tree = *state;
	const struct measure_config cfg = { .seconds = 0.2 };
	struct measured m;
	int made = -1;

	assert_code(measure_write(tree->fd, MEASURE_BLOCK_BYTES - 1, &cfg, &made, &m), HAUL_NO_SPACE);
	assert_int_equal(made, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_written_is_read_again, open_tree, close_tree),
		cmocka_unit_test_setup_teardown(a_short_file_is_no_big_one, open_tree, close_tree),
		cmocka_unit_test_setup_teardown(a_stop_is_no_full_disk, open_tree, close_tree),
		cmocka_unit_test_setup_teardown(too_little_room_is_said, open_tree, close_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
