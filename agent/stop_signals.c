/* A handler may set lock-free atomics and nothing else; that is all it does. Cannot fail. */
#include "agent/stop_signals.h"

#include <signal.h>
#include <stddef.h>

static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
static struct sigaction before[sizeof(numbers) / sizeof(numbers[0])];
static _Atomic bool has_come;
static _Atomic int number_come;

static void on_signal(int number)
{
	int none = 0;

	(void)atomic_compare_exchange_strong(&number_come, &none, number);
	atomic_store(&has_come, true);
}

void stop_signals_begin(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	atomic_store(&has_come, false);
	atomic_store(&number_come, 0);
	(void)sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		(void)sigaction(numbers[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			(void)sigaction(numbers[i], &action, NULL);
	}
}

void stop_signals_end(void)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)sigaction(numbers[i], &before[i], NULL);
}

const _Atomic bool *stop_signals_flag(void)
{
	return &has_come;
}

int stop_signals_number(void)
{
	return atomic_load(&number_come);
}
