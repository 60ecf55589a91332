/* Files that are put aside before they are deleted: nothing is replaced, and what a dead process left comes back. */
#include "engine/aside.h"

#include "tests/unit/temp_dir.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>

static const uint8_t token[ASIDE_TOKEN_BYTES] = { 0, 1, 0xab, 0xff };

static void put(int dir_fd, const char *name, const char *text)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void assert_text(int dir_fd, const char *name, const char *expected)
{
	char text[64] = { 0 };
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	(void)close(fd);
	assert_string_equal(text, expected);
}

static bool is_there(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void a_token_has_one_name(void **state)
{
	char name[ASIDE_NAME_BYTES];

	(void)state;
	aside_name(token, name);
	assert_string_equal(name, ".haul-aside-0001abff000000000000000000000000");
	assert_true(aside_name_is(name));
	name[strlen(name) - 1] = '\0';
	assert_false(aside_name_is(name));
	assert_false(aside_name_is(".haul-aside-0001ABFF000000000000000000000000"));
	assert_false(aside_name_is("haul-aside-0001abff000000000000000000000000"));
	assert_false(aside_name_is(".haul-aside-"));
	assert_false(aside_name_is(""));
}

static void what_is_taken_aside_is_given_back(void **state)
{
	struct temp_dir t = temp_dir_open();
	char name[ASIDE_NAME_BYTES];
	int fd = -1;

	(void)state;
	aside_name(token, name);
	put(t.fd, "file", "one");
	assert_ok(aside_open(t.fd, name, &fd));
	assert_ok(aside_take(t.fd, "file", fd));
	assert_false(is_there(t.fd, "file"));
	assert_text(fd, "file", "one");
	assert_code(aside_take(t.fd, "file", fd), haul_status_from_errno(ENOENT));
	assert_ok(aside_give_back(fd, "file", t.fd));
	assert_text(t.fd, "file", "one");
	assert_ok(aside_close(t.fd, name, fd));
	assert_false(is_there(t.fd, name));
	temp_dir_close(&t);
}

static void nothing_is_replaced_either_way(void **state)
{
	struct temp_dir t = temp_dir_open();
	char name[ASIDE_NAME_BYTES];
	int fd = -1;

	(void)state;
	aside_name(token, name);
	put(t.fd, "file", "old");
	assert_ok(aside_open(t.fd, name, &fd));
	assert_code(aside_open(t.fd, name, &fd), HAUL_EXISTS);
	assert_ok(aside_take(t.fd, "file", fd));
	put(t.fd, "file", "new");
	assert_code(aside_take(t.fd, "file", fd), HAUL_EXISTS);
	assert_code(aside_give_back(fd, "file", t.fd), HAUL_EXISTS);
	assert_text(t.fd, "file", "new");
	assert_text(fd, "file", "old");
	assert_true(haul_failed(aside_close(t.fd, name, fd))); /* something is left in it */
	assert_true(is_there(t.fd, name));
	temp_dir_close(&t);
}

/* A directory has no second name; it comes back all the same. */
static void what_a_dead_process_left_comes_back(void **state)
{
	struct temp_dir t = temp_dir_open();
	char name[ASIDE_NAME_BYTES];
	int fd = -1;

	(void)state;
	aside_name(token, name);
	put(t.fd, "file", "one");
	put(t.fd, "taken", "old");
	assert_int_equal(mkdirat(t.fd, "dir", 0700), 0);
	assert_ok(aside_open(t.fd, name, &fd));
	assert_ok(aside_take(t.fd, "file", fd));
	assert_ok(aside_take(t.fd, "taken", fd));
	assert_ok(aside_take(t.fd, "dir", fd));
	put(t.fd, "taken", "new");
	(void)close(fd); /* as if killed: the lock goes with it */
	assert_int_equal(aside_restore(t.fd), 2);
	assert_text(t.fd, "file", "one");
	assert_true(is_there(t.fd, "dir"));
	assert_text(t.fd, "taken", "new");
	assert_true(is_there(t.fd, name)); /* with the old one, which had no place */
	assert_int_equal(unlinkat(t.fd, "taken", 0), 0);
	assert_int_equal(aside_restore_beside(t.fd, "file"), 1);
	assert_text(t.fd, "taken", "old");
	assert_false(is_there(t.fd, name));
	assert_int_equal(aside_restore(t.fd), 0);
	temp_dir_close(&t);
}

static void what_lives_stays_as_it_is(void **state)
{
	struct temp_dir t = temp_dir_open();
	char name[ASIDE_NAME_BYTES];
	int fd = -1;

	(void)state;
	aside_name(token, name);
	put(t.fd, "file", "one");
	assert_ok(aside_open(t.fd, name, &fd));
	assert_ok(aside_take(t.fd, "file", fd));
	assert_int_equal(aside_restore(t.fd), 0);
	assert_false(is_there(t.fd, "file"));
	assert_int_equal(unlinkat(fd, "file", 0), 0);
	assert_ok(aside_close(t.fd, name, fd));
	temp_dir_close(&t);
}

/* Somebody else's link of that name is not gone into. */
static void a_link_under_its_name_is_not_followed(void **state)
{
	struct temp_dir t = temp_dir_open();
	char name[ASIDE_NAME_BYTES];

	(void)state;
	aside_name(token, name);
	assert_int_equal(mkdirat(t.fd, "elsewhere", 0700), 0);
	put(t.fd, "elsewhere/canary", "stays");
	assert_int_equal(symlinkat("elsewhere", t.fd, name), 0);
	assert_int_equal(aside_restore(t.fd), 0);
	assert_text(t.fd, "elsewhere/canary", "stays");
	assert_false(is_there(t.fd, "canary"));
	temp_dir_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_has_one_name),
		cmocka_unit_test(what_is_taken_aside_is_given_back),
		cmocka_unit_test(nothing_is_replaced_either_way),
		cmocka_unit_test(what_a_dead_process_left_comes_back),
		cmocka_unit_test(what_lives_stays_as_it_is),
		cmocka_unit_test(a_link_under_its_name_is_not_followed),
	};

	return cmocka_run_group_tests_name("aside", tests, NULL, NULL);
}
