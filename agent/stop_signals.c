/*
 * A handler may set lock-free atomics, read the clock, set the alarm and end the process; that is all it does. Cannot
 * fail.
 */
#include "agent/stop_signals.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
static struct sigaction before[sizeof(numbers) / sizeof(numbers[0])], before_alarm;
static _Atomic bool has_come;
static _Atomic int number_come;
static _Atomic int64_t come_ms;
static unsigned begun; /* main thread's */

static int64_t now_ms(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The same wish may come twice at once: timeout(1) tells the process and its group. */
static void on_signal(int number)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&number_come, &none, number)) {
		atomic_store(&come_ms, now_ms());
		(void)alarm(STOP_SIGNALS_PATIENCE_S);
	} else if (now_ms() - atomic_load(&come_ms) >= STOP_SIGNALS_AGAIN_MS) {
		_exit(128 + atomic_load(&number_come));
	}
	atomic_store(&has_come, true);
}

static void on_alarm(int number)
{
	(void)number;
	_exit(128 + atomic_load(&number_come));
}

void stop_signals_begin(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigaction alarm_action = { .sa_handler = on_alarm };

	if (begun++)
		return;
	atomic_store(&has_come, false);
	atomic_store(&number_come, 0);
	(void)sigemptyset(&action.sa_mask);
	(void)sigemptyset(&alarm_action.sa_mask);
	(void)sigaction(SIGALRM, &alarm_action, &before_alarm);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		(void)sigaction(numbers[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			(void)sigaction(numbers[i], &action, NULL);
	}
}

void stop_signals_end(void)
{
	if (--begun)
		return;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)sigaction(numbers[i], &before[i], NULL);
	(void)alarm(0);
	(void)sigaction(SIGALRM, &before_alarm, NULL);
}

const _Atomic bool *stop_signals_flag(void)
{
	return &has_come;
}

int stop_signals_number(void)
{
	return atomic_load(&number_come);
}
