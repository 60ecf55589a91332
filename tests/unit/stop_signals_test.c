/* A child that hangs: one signal is told, and whatever it does about it, it ends. */
#include "agent/stop_signals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&time, NULL);
}

/* It says when it is ready and when it has seen the flag, then hangs; alarm_s is set after the first signal. */
static pid_t hang(int *ret_fd, unsigned alarm_s)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid) {
		(void)close(ends[1]);
		*ret_fd = ends[0];
		return pid;
	}
	stop_signals_begin();
	stop_signals_begin(); /* inside another pair, nothing changes */
	stop_signals_end();
	(void)!write(ends[1], "r", 1);
	while (!atomic_load(stop_signals_flag()))
		sleep_ms(1);
	if (alarm_s)
		(void)alarm(alarm_s);
	(void)!write(ends[1], stop_signals_number() == SIGTERM ? "T" : "?", 1);
	for (;;)
		(void)pause();
}

static void expect_word(int fd, char word)
{
	char got = 0;

	assert_int_equal(read(fd, &got, 1), 1);
	assert_int_equal(got, word);
}

static void expect_end(pid_t pid, int fd, int code)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), code);
	(void)close(fd);
}

static void the_second_wish_ends_it_with_the_number_of_the_first(void **state)
{
	int fd, status;
	pid_t pid = hang(&fd, 0);

	(void)state;
	expect_word(fd, 'r');
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(kill(pid, SIGTERM), 0); /* the same wish */
	expect_word(fd, 'T');
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	sleep_ms(STOP_SIGNALS_AGAIN_MS + 50);
	assert_int_equal(kill(pid, SIGINT), 0);
	expect_end(pid, fd, 128 + SIGTERM);
}

static void without_a_second_one_it_ends_when_patience_does(void **state)
{
	int fd;
	pid_t pid = hang(&fd, 1);

	(void)state;
	expect_word(fd, 'r');
	assert_int_equal(kill(pid, SIGTERM), 0);
	expect_word(fd, 'T');
	expect_end(pid, fd, 128 + SIGTERM);
}

static void the_alarm_is_set_by_the_signal_and_taken_back_at_the_end(void **state)
{
	(void)state;
	stop_signals_begin();
	assert_int_equal(stop_signals_number(), 0);
	assert_int_equal(raise(SIGHUP), 0);
	assert_int_equal(stop_signals_number(), SIGHUP);
	assert_in_range(alarm(STOP_SIGNALS_PATIENCE_S), STOP_SIGNALS_PATIENCE_S - 5, STOP_SIGNALS_PATIENCE_S);
	stop_signals_end();
	assert_int_equal(alarm(0), 0);
}

static void what_was_ignored_on_purpose_stays_so(void **state)
{
	struct sigaction now;

	(void)state;
	(void)signal(SIGHUP, SIG_IGN);
	stop_signals_begin();
	assert_int_equal(raise(SIGHUP), 0);
	assert_false(atomic_load(stop_signals_flag()));
	stop_signals_end();
	assert_int_equal(sigaction(SIGHUP, NULL, &now), 0);
	assert_true(now.sa_handler == SIG_IGN);
	(void)signal(SIGHUP, SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_second_wish_ends_it_with_the_number_of_the_first),
		cmocka_unit_test(without_a_second_one_it_ends_when_patience_does),
		cmocka_unit_test(the_alarm_is_set_by_the_signal_and_taken_back_at_the_end),
		cmocka_unit_test(what_was_ignored_on_purpose_stays_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
