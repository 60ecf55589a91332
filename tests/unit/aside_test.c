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

struct fixture {
	struct temp_dir t;
	char name[ASIDE_NAME_BYTES];
	int fd; /* of the private directory, once open */
};

/* `file` lies there. */
static struct fixture begin(void)
{
	struct fixture f = { .t = temp_dir_open(), .fd = -1 };

	aside_name(token, f.name);
	put(f.t.fd, "file", "one");
	return f;
}

/* … and has been taken aside. */
static struct fixture begin_taken(void)
{
	struct fixture f = begin();

	assert_ok(aside_open(f.t.fd, f.name, &f.fd));
	assert_ok(aside_take(f.t.fd, "file", f.fd));
	return f;
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
	struct fixture f = begin_taken();

	(void)state;
	assert_false(is_there(f.t.fd, "file"));
	assert_text(f.fd, "file", "one");
	assert_code(aside_take(f.t.fd, "file", f.fd), haul_status_from_errno(ENOENT));
	assert_ok(aside_give_back(f.fd, "file", f.t.fd));
	assert_text(f.t.fd, "file", "one");
	assert_ok(aside_close(f.t.fd, f.name, f.fd));
	assert_false(is_there(f.t.fd, f.name));
	temp_dir_close(&f.t);
}

static void nothing_is_replaced_either_way(void **state)
{
	struct fixture f = begin_taken();
	int fd;

	(void)state;
	assert_code(aside_open(f.t.fd, f.name, &fd), HAUL_EXISTS);
	put(f.t.fd, "file", "new");
	assert_code(aside_take(f.t.fd, "file", f.fd), HAUL_EXISTS);
	assert_code(aside_give_back(f.fd, "file", f.t.fd), HAUL_EXISTS);
	assert_text(f.t.fd, "file", "new");
	assert_text(f.fd, "file", "one");
	assert_true(haul_failed(aside_close(f.t.fd, f.name, f.fd))); /* something is left in it */
	assert_true(is_there(f.t.fd, f.name));
	temp_dir_close(&f.t);
}

/* A directory has no second name; it comes back all the same. */
static void what_a_dead_process_left_comes_back(void **state)
{
	struct fixture f = begin_taken();

	(void)state;
	put(f.t.fd, "taken", "old");
	assert_int_equal(mkdirat(f.t.fd, "dir", 0700), 0);
	assert_ok(aside_take(f.t.fd, "taken", f.fd));
	assert_ok(aside_take(f.t.fd, "dir", f.fd));
	put(f.t.fd, "taken", "new");
	(void)close(f.fd); /* as if killed: the lock goes with it */
	assert_int_equal(aside_restore(f.t.fd), 2);
	assert_text(f.t.fd, "file", "one");
	assert_true(is_there(f.t.fd, "dir"));
	assert_text(f.t.fd, "taken", "new");
	assert_true(is_there(f.t.fd, f.name)); /* with the old one, which had no place */
	assert_int_equal(unlinkat(f.t.fd, "taken", 0), 0);
	assert_int_equal(aside_restore_beside(f.t.fd, "file"), 1);
	assert_text(f.t.fd, "taken", "old");
	assert_false(is_there(f.t.fd, f.name));
	assert_int_equal(aside_restore(f.t.fd), 0);
	temp_dir_close(&f.t);
}

static void what_lives_stays_as_it_is(void **state)
{
	struct fixture f = begin_taken();

	(void)state;
	assert_int_equal(aside_restore(f.t.fd), 0);
	assert_false(is_there(f.t.fd, "file"));
	assert_int_equal(unlinkat(f.fd, "file", 0), 0);
	assert_ok(aside_close(f.t.fd, f.name, f.fd));
	temp_dir_close(&f.t);
}

/* Somebody else's link of that name is not gone into. */
static void a_link_under_its_name_is_not_followed(void **state)
{
	struct fixture f = begin();

	(void)state;
	assert_int_equal(mkdirat(f.t.fd, "elsewhere", 0700), 0);
	put(f.t.fd, "elsewhere/canary", "stays");
	assert_int_equal(symlinkat("elsewhere", f.t.fd, f.name), 0);
	assert_int_equal(aside_restore(f.t.fd), 0);
	assert_text(f.t.fd, "elsewhere/canary", "stays");
	assert_false(is_there(f.t.fd, "canary"));
	temp_dir_close(&f.t);
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
