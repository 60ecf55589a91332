/* Where the home lies, who may own it, and whether an agent serves it. */
#include "agent/agent_lock.h"
#include "agent/home.h"
#include "tests/unit/temp_directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/skip_because.h"

static struct temp_directory temp;

static int set_up(void **state)
{
	(void)state;
	temp_directory_open(&temp);
	unsetenv("HAUL_HOME");
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("XDG_STATE_HOME");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	temp_directory_close(&temp);
	return 0;
}

static mode_t mode_of(const char *path)
{
	struct stat facts;

	assert_int_equal(stat(path, &facts), 0);
	return facts.st_mode & 07777;
}

static void assert_home(const char *asked, const char *config, const char *state)
{
	struct haul_fault fault = { .text = "" };
	struct home h;

	if (haul_failed(home_open(&h, asked, &fault)))
		fail_msg("%s", fault.text);
	assert_string_equal(h.config_dir, config);
	assert_string_equal(h.state_dir, state);
	assert_int_equal(mode_of(config), 0700);
	assert_int_equal(mode_of(state), 0700);
	home_close(&h);
}

static void test_asked_comes_first(void **state)
{
	(void)state;
	setenv("HAUL_HOME", temp_path(&temp, "environment"), 1);
	assert_home(temp_path(&temp, "a/b/home"), temp_path(&temp, "a/b/home"), temp_path(&temp, "a/b/home/state"));
	assert_int_equal(access(temp_path(&temp, "environment"), F_OK), -1);
}

static void test_environment_comes_second(void **state)
{
	(void)state;
	setenv("HAUL_HOME", temp_path(&temp, "h"), 1);
	assert_home(NULL, temp_path(&temp, "h"), temp_path(&temp, "h/state"));
	assert_home(NULL, temp_path(&temp, "h"), temp_path(&temp, "h/state"));
}

static void test_relative_becomes_absolute(void **state)
{
	char *old = getcwd(NULL, 0);

	(void)state;
	assert_int_equal(chdir(temp.path), 0);
	assert_home("rel", temp_path(&temp, "rel"), temp_path(&temp, "rel/state"));
	assert_int_equal(chdir(old), 0);
	free(old);
}

static void test_empty_directory_is_closed_to_others(void **state)
{
	(void)state;
	assert_int_equal(mkdir(temp_path(&temp, "open"), 0755), 0);
	assert_int_equal(chmod(temp_path(&temp, "open"), 0755), 0);
	assert_home(temp_path(&temp, "open"), temp_path(&temp, "open"), temp_path(&temp, "open/state"));
}

static void test_used_directory_open_to_others_is_refused(void **state)
{
	struct haul_fault fault = { .text = "" };
	struct home h;

	(void)state;
	assert_int_equal(mkdir(temp_path(&temp, "open"), 0700), 0);
	temp_write(&temp, "open/peers", "x");
	assert_int_equal(chmod(temp_path(&temp, "open"), 0750), 0);
	assert_int_equal(home_open(&h, temp_path(&temp, "open"), &fault).code, HAUL_CODE_DENIED);
	assert_non_null(strstr(fault.text, "chmod 700 "));
	assert_int_equal(mode_of(temp_path(&temp, "open")), 0750);
}

static void test_foreign_home_is_refused(void **state)
{
	struct haul_fault fault = { .text = "" };
	struct home h;

	(void)state;
	if (geteuid())
		skip_because("a foreign home needs root");
	assert_int_equal(mkdir(temp_path(&temp, "foreign"), 0700), 0);
	assert_int_equal(chown(temp_path(&temp, "foreign"), 12345, 12345), 0);
	assert_int_equal(home_open(&h, temp_path(&temp, "foreign"), &fault).code, HAUL_CODE_DENIED);
	assert_non_null(strstr(fault.text, "belongs to uid 12345: run it as that user"));
}

/* In a child that has given up root; returns its verdict. */
static int as_nobody(int (*check)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(setgid(65534) || setuid(65534) ? 99 : check());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int check_xdg(void)
{
	char config[512], state[512];
	struct home h;

	setenv("HOME", temp.path, 1);
	if (haul_failed(home_open(&h, NULL, NULL)))
		return 1;
	snprintf(config, sizeof(config), "%s/.config/haul", temp.path);
	snprintf(state, sizeof(state), "%s/.local/state/haul", temp.path);
	if (strcmp(h.config_dir, config) || strcmp(h.state_dir, state) || h.is_system)
		return 2;
	home_close(&h);
	setenv("XDG_CONFIG_HOME", temp_path(&temp, "c"), 1);
	setenv("XDG_STATE_HOME", "relative", 1); /* not absolute: does not count */
	if (haul_failed(home_open(&h, NULL, NULL)))
		return 3;
	snprintf(config, sizeof(config), "%s/c/haul", temp.path);
	if (strcmp(h.config_dir, config) || strcmp(h.state_dir, state))
		return 4;
	home_close(&h);
	return 0;
}

static void test_xdg_for_a_user(void **state)
{
	(void)state;
	if (geteuid()) {
		assert_int_equal(check_xdg(), 0);
		return;
	}
	assert_int_equal(chown(temp.path, 65534, 65534), 0);
	assert_int_equal(as_nobody(check_xdg), 0);
}

static void test_machine_name_is_plain(void **state)
{
	char name[64], small[4];

	(void)state;
	home_machine_name(name, sizeof(name));
	assert_true(*name);
	assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-"), strlen(name));
	home_machine_name(small, sizeof(small));
	assert_true(strlen(small) < sizeof(small));
}

static void test_no_agent_runs(void **state)
{
	char text[64] = "x";
	int pid = 7;

	(void)state;
	assert_false(agent_lock_look(temp.path, text, sizeof(text), &pid));
	assert_string_equal(text, "");
	assert_int_equal(pid, 0);
	assert_false(agent_lock_look(temp_path(&temp, "missing"), NULL, 0, NULL));
}

static void test_agent_is_found_and_is_alone(void **state)
{
	struct haul_fault fault = { .text = "" };
	struct agent_lock lock, second;
	struct home h = { .state_dir = temp.path };
	char text[64], pid_text[32];
	int pid;

	(void)state;
	assert_true(haul_ok(agent_lock_open(&lock, temp.path, NULL)));
	assert_true(home_agent_runs(&h, text, sizeof(text), &pid));
	assert_string_equal(text, "");
	assert_int_equal(pid, getpid());
	assert_true(haul_ok(agent_lock_publish(&lock, "127.0.0.1:42850 [::1]:42850", NULL)));
	assert_true(haul_ok(agent_lock_publish(&lock, "127.0.0.1:1 [::1]:2", NULL)));
	assert_true(home_agent_runs(&h, text, sizeof(text), &pid));
	assert_string_equal(text, "127.0.0.1:1 [::1]:2");
	assert_true(home_agent_runs(&h, text, 10, NULL));
	assert_string_equal(text, "127.0.0.1");

	assert_int_equal(agent_lock_open(&second, temp.path, &fault).code, HAUL_CODE_ALREADY_RUNNING);
	snprintf(pid_text, sizeof(pid_text), "(process %d)", getpid());
	assert_non_null(strstr(fault.text, pid_text));
	assert_true(home_agent_runs(&h, NULL, 0, NULL));

	agent_lock_close(&lock);
	assert_false(home_agent_runs(&h, text, sizeof(text), &pid));
	assert_true(haul_ok(agent_lock_open(&second, temp.path, NULL)));
	agent_lock_close(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_asked_comes_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_environment_comes_second, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_relative_becomes_absolute, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_empty_directory_is_closed_to_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_used_directory_open_to_others_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_foreign_home_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_xdg_for_a_user, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_machine_name_is_plain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_agent_runs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_agent_is_found_and_is_alone, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
