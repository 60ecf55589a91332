/* The lock of a copy, held by another process: a child that says when it has it and lets go when it is told to. */
#include "agent/copy_lock.h"

#include "cmocka_first.h"
#include "temp_directory.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct temp_directory dir;

/* A process that has the lock. */
static pid_t holder(uint64_t key)
{
	struct copy_lock l;
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (copy_lock_open(&l, dir.path, key, NULL).code != HAUL_CODE_OK || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0);
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void another_process_has_it(void **state)
{
	const uint64_t key = UINT64_C(0xfedcba9876543210);
	pid_t pid = holder(key);
	struct haul_fault fault = { 0 };
	struct copy_lock l;
	char number[32];

	(void)state;
	assert_int_equal(copy_lock_open(&l, dir.path, key, &fault).code, HAUL_CODE_ALREADY_RUNNING);
	assert_int_equal(l.fd, -1);
	(void)snprintf(number, sizeof(number), "(process %ld)", (long)pid);
	assert_non_null(strstr(fault.text, number));
	end(pid);
	assert_int_equal(copy_lock_open(&l, dir.path, key, &fault).code, HAUL_CODE_OK);
	copy_lock_close(&l);
	copy_lock_close(&l);
}

static void other_copies_are_free(void **state)
{
	const uint64_t keys[] = { 0, 4, UINT64_MAX, UINT64_C(1) << 63 };
	pid_t pid = holder(400);

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct copy_lock l;

		assert_int_equal(copy_lock_open(&l, dir.path, keys[i], NULL).code, HAUL_CODE_OK);
		copy_lock_close(&l);
	}
	end(pid);
}

static void without_a_directory_there_is_none(void **state)
{
	struct haul_fault fault = { 0 };
	struct copy_lock l;

	(void)state;
	assert_int_equal(copy_lock_open(&l, temp_path(&dir, "absent"), 1, &fault).code, HAUL_CODE_NOT_FOUND);
	assert_int_equal(l.fd, -1);
}

static int open_directory(void **state)
{
	(void)state;
	temp_directory_open(&dir);
	return 0;
}

static int close_directory(void **state)
{
	(void)state;
	temp_directory_close(&dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(another_process_has_it, open_directory, close_directory),
		cmocka_unit_test_setup_teardown(other_copies_are_free, open_directory, close_directory),
		cmocka_unit_test_setup_teardown(without_a_directory_there_is_none, open_directory, close_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
