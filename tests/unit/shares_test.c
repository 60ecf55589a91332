/* The list of shares: added, found, removed, and refused when it is not what we wrote. */
#include "agent/shares.h"
#include "tests/unit/temp_directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp_directory temp;
static struct home home;

static int set_up(void **state)
{
	(void)state;
	temp_directory_open(&temp);
	return haul_failed(home_open(&home, temp_path(&temp, "home"), NULL));
}

static int tear_down(void **state)
{
	(void)state;
	home_close(&home);
	temp_directory_close(&temp);
	return 0;
}

static haul_status add(const char *name, const char *path, struct haul_fault *fault)
{
	char name_copy[128], path_copy[512];
	struct share s = {
		.name = name_copy, .path = path_copy, .own_uid = UINT64_MAX, .own_gid = UINT64_MAX, .umask = UINT32_MAX
	};

	snprintf(name_copy, sizeof(name_copy), "%s", name);
	snprintf(path_copy, sizeof(path_copy), "%s", path);
	return shares_add(&home, &s, fault);
}

static struct share_list load(void)
{
	struct haul_fault fault = { .text = "" };
	struct share_list l;

	if (haul_failed(shares_load(&home, &l, &fault)))
		fail_msg("%s", fault.text);
	return l;
}

static void test_none_at_first(void **state)
{
	struct share_list l = load();

	(void)state;
	assert_int_equal(l.count, 0);
	assert_null(shares_find(&l, "inbox", 5));
	shares_free(&l);
}

static void test_add_and_find(void **state)
{
	struct share_list l;
	const struct share *s;

	(void)state;
	assert_int_equal(mkdir(temp_path(&temp, "a b\n%"), 0700), 0);
	assert_true(haul_ok(add("odd", temp_path(&temp, "a b\n%"), NULL)));
	assert_true(haul_ok(add("inbox", temp.path, NULL)));
	assert_true(haul_ok(add("inbox", temp.path, NULL)));
	l = load();
	assert_int_equal(l.count, 2);
	assert_string_equal(l.shares[0].name, "inbox");
	s = shares_find(&l, "oddly", 3);
	assert_non_null(s);
	assert_string_equal(s->path, temp_path(&temp, "a b\n%"));
	assert_true(s->own_uid == UINT64_MAX && s->own_gid == UINT64_MAX && s->umask == UINT32_MAX &&
		    s->keep_days == 0);
	assert_null(shares_find(&l, "od", 2));
	shares_free(&l);
}

static void test_owner_and_umask_are_kept(void **state)
{
	char name[] = "inbox";
	struct share s = { .name = name,
			   .path = temp.path,
			   .own_uid = 0,
			   .own_gid = 4294967294u,
			   .umask = 0027,
			   .keep_days = SHARE_KEEP_DAYS_MAX };
	struct share_list l;

	(void)state;
	assert_true(haul_ok(shares_add(&home, &s, NULL)));
	l = load();
	assert_int_equal(l.shares[0].own_uid, 0);
	assert_true(l.shares[0].own_gid == 4294967294u);
	assert_int_equal(l.shares[0].umask, 0027);
	assert_int_equal(l.shares[0].keep_days, SHARE_KEEP_DAYS_MAX);
	shares_free(&l);
}

static void test_relative_path_becomes_absolute(void **state)
{
	char *old = getcwd(NULL, 0);
	struct share_list l;

	(void)state;
	assert_int_equal(mkdir(temp_path(&temp, "data"), 0700), 0);
	assert_int_equal(chdir(temp.path), 0);
	assert_true(haul_ok(add("data", "data//", NULL)));
	assert_true(haul_ok(add("here", ".", NULL)));
	assert_int_equal(chdir("/"), 0);
	assert_true(haul_ok(add("top", temp.path + 1, NULL)));
	assert_int_equal(chdir(old), 0);
	free(old);
	l = load();
	assert_string_equal(l.shares[2].path, temp.path);
	assert_string_equal(l.shares[0].path, temp_path(&temp, "data"));
	assert_string_equal(l.shares[1].path, temp.path);
	shares_free(&l);
}

static void assert_refused(const char *name, const char *path, haul_status expected, const char *words)
{
	struct haul_fault fault = { .text = "" };

	assert_int_equal(add(name, path, &fault).code, expected.code);
	if (!strstr(fault.text, words))
		fail_msg("\"%s\" lacks \"%s\"", fault.text, words);
}

static void test_refusals(void **state)
{
	static const char long_name[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	struct share_list l;

	(void)state;
	temp_write(&temp, "file", "x");
	assert_true(haul_ok(add("inbox", temp.path, NULL)));
	assert_refused("inbox", "/", HAUL_EXISTS, "haul share remove inbox first");
	assert_refused("in/box", temp.path, HAUL_BAD_VALUE, "cannot name a share");
	assert_refused("", temp.path, HAUL_BAD_VALUE, "cannot name a share");
	assert_refused("..", temp.path, HAUL_BAD_VALUE, "cannot name a share");
	assert_refused("Inbox", temp.path, HAUL_BAD_VALUE, "a-z");
	assert_int_equal(strlen(long_name), 65);
	assert_refused(long_name, temp.path, HAUL_BAD_VALUE, "1 to 64");
	assert_refused("new", temp_path(&temp, "file"), HAUL_NOT_DIRECTORY, "not a directory");
	assert_refused("new", temp_path(&temp, "none"), HAUL_NOT_FOUND, "cannot be shared");
	l = load();
	assert_int_equal(l.count, 1);
	shares_free(&l);
}

static void test_link_as_share_is_kept_as_given(void **state)
{
	struct share_list l;

	(void)state;
	assert_int_equal(symlink("/", temp_path(&temp, "link")), 0);
	assert_true(haul_ok(add("root", temp_path(&temp, "link"), NULL)));
	l = load();
	assert_string_equal(l.shares[0].path, temp_path(&temp, "link"));
	shares_free(&l);
}

static void test_remove(void **state)
{
	struct haul_fault fault = { .text = "" };
	struct share_list l;

	(void)state;
	assert_true(haul_ok(add("a", temp.path, NULL)));
	assert_true(haul_ok(add("b", temp.path, NULL)));
	assert_true(haul_ok(shares_remove(&home, "a", NULL)));
	l = load();
	assert_int_equal(l.count, 1);
	assert_string_equal(l.shares[0].name, "b");
	shares_free(&l);
	assert_int_equal(shares_remove(&home, "a", &fault).code, HAUL_CODE_NO_SHARE);
	assert_non_null(strstr(fault.text, "no share a"));
}

static void test_damage_is_refused(void **state)
{
	struct haul_fault fault = { .text = "" };
	struct share_list l;

	(void)state;
	assert_true(haul_ok(add("inbox", temp.path, NULL)));
	temp_write(&temp, "home/shares", "haul-shares 1\ninbox / - - -\n");
	assert_int_equal(shares_load(&home, &l, &fault).code, HAUL_CODE_BAD_VALUE);
	assert_int_equal(shares_remove(&home, "inbox", &fault).code, HAUL_CODE_BAD_VALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_none_at_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_add_and_find, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_owner_and_umask_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_relative_path_becomes_absolute, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_link_as_share_is_kept_as_given, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_remove, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damage_is_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
