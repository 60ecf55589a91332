/* Where files have landed before: found by size and time, told again by later jobs, bounded, and no more than a hint.
 */
#include "agent/placed_files.h"

#include "tests/unit/temp_dir.h"

#include <sys/stat.h>

#define BIG (UINT64_C(100) << 20)

static const uint8_t peer[32] = "edit1", stranger[32] = "cam3";
static struct temp_dir state, root;

static int set_up(void **unused)
{
	(void)unused;
	state = temp_dir_open();
	root = temp_dir_open();
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	(void)temp_dir_close(&state);
	(void)temp_dir_close(&root);
	return 0;
}

static struct placed_files *begin(const uint8_t *of)
{
	struct placed_files *p = placed_files_new(state.path, of, root.fd);

	assert_non_null(p);
	return p;
}

static void put(struct placed_files *p, const char *path, uint64_t size, int64_t sec)
{
	placed_files_put(p, path, size, &(struct entry_time){ .sec = sec, .nsec = 7 });
}

static const char *find(struct placed_files *p, uint64_t size, int64_t sec, unsigned nth)
{
	return placed_files_find(p, size, &(struct entry_time){ .sec = sec, .nsec = 7 }, nth);
}

static void end(struct placed_files *p)
{
	placed_files_save(p);
	placed_files_free(p);
}

static void is_found_by_size_and_time(void **unused)
{
	struct placed_files *p = begin(peer);

	(void)unused;
	assert_null(find(p, BIG, 1, 0));
	put(p, "a/b c\n%", BIG, 1);
	put(p, "twin", BIG, 1);
	put(p, "older", BIG, -5);
	put(p, "short", PLACED_SIZE_MIN - 1, 1);
	assert_null(find(p, BIG, 1, 0)); /* of earlier jobs alone */
	end(p);

	p = begin(peer);
	assert_non_null(find(p, BIG, 1, 0));
	assert_non_null(find(p, BIG, 1, 1));
	assert_null(find(p, BIG, 1, 2));
	assert_string_equal(find(p, BIG, -5, 0), "older");
	assert_null(find(p, BIG + 1, 1, 0));
	assert_null(find(p, BIG, 2, 0));
	assert_null(find(p, PLACED_SIZE_MIN - 1, 1, 0));
	placed_files_free(p);

	p = begin(stranger);
	assert_null(find(p, BIG, 1, 0));
	placed_files_free(p);
}

static void what_is_told_again_replaces_the_rest_stays(void **unused)
{
	struct placed_files *p = begin(peer);

	(void)unused;
	put(p, "a", BIG, 1);
	put(p, "b", BIG, 2);
	end(p);
	p = begin(peer);
	put(p, "a", BIG + 9, 3);
	end(p);
	p = begin(peer);
	assert_null(find(p, BIG, 1, 0));
	assert_string_equal(find(p, BIG + 9, 3, 0), "a");
	assert_string_equal(find(p, BIG, 2, 0), "b");
	placed_files_free(p);
}

static const char *record_path(char *ret_path, size_t cap)
{
	DIR *dir = opendir(state.path);
	struct dirent *d;

	assert_non_null(dir);
	*ret_path = '\0';
	while ((d = readdir(dir))) {
		if (!strncmp(d->d_name, "placed-", 7) && !strstr(d->d_name, ".lock"))
			(void)snprintf(ret_path, cap, "%s/%s", state.path, d->d_name);
	}
	(void)closedir(dir);
	return ret_path;
}

static void nothing_new_writes_nothing(void **unused)
{
	struct placed_files *p = begin(peer);
	struct stat before, after;
	char path[512];

	(void)unused;
	put(p, "a", BIG, 1);
	end(p);
	assert_int_equal(stat(record_path(path, sizeof(path)), &before), 0);
	p = begin(peer);
	put(p, "a", BIG, 1);
	end(p);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}

static void what_is_damaged_is_nothing(void **unused)
{
	struct placed_files *p = begin(peer);
	char path[512];
	int fd;

	(void)unused;
	put(p, "a", BIG, 1);
	end(p);
	fd = open(record_path(path, sizeof(path)), O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "x", 1, 20), 1);
	(void)close(fd);
	p = begin(peer);
	assert_null(find(p, BIG, 1, 0));
	put(p, "b", BIG, 1);
	end(p);
	p = begin(peer);
	assert_string_equal(find(p, BIG, 1, 0), "b");
	placed_files_free(p);
}

static void there_are_no_more_than_so_many(void **unused)
{
	struct placed_files *p = begin(peer);
	char path[32];
	unsigned found = 0;

	(void)unused;
	for (int i = 0; i < PLACED_FILES_MAX; i++) {
		(void)snprintf(path, sizeof(path), "old/%d", i);
		put(p, path, BIG, i);
	}
	end(p);
	p = begin(peer);
	for (int i = 0; i < PLACED_FILES_MAX + 9; i++) {
		(void)snprintf(path, sizeof(path), "new/%d", i);
		put(p, path, BIG + 1, i);
	}
	end(p);
	p = begin(peer);
	for (int i = 0; i < PLACED_FILES_MAX + 9; i++)
		found += find(p, BIG + 1, i, 0) != NULL;
	assert_int_equal(found, PLACED_FILES_MAX);
	assert_null(find(p, BIG, 5, 0));
	placed_files_free(p);
}

#define placed_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		placed_test(is_found_by_size_and_time),      placed_test(what_is_told_again_replaces_the_rest_stays),
		placed_test(nothing_new_writes_nothing),     placed_test(what_is_damaged_is_nothing),
		placed_test(there_are_no_more_than_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
