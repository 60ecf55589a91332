/*
 * CPU time comes from the thread's clock. How long it stood in line for a core is the second number of
 * /proc/thread-self/schedstat (Linux, Documentation/scheduler/sched-stats.rst); without that file it counts as 0.
 */
#include "agent/thread_cpu.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

void thread_cpu_now(struct thread_cpu *ret_cpu)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "re");
	unsigned long long ran = 0, ready = 0;
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	if (f && fscanf(f, "%llu %llu", &ran, &ready) != 2)
		ready = 0;
	if (f)
		(void)fclose(f);
	*ret_cpu = (struct thread_cpu){ (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec, ready };
}

static uint64_t ms_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000 + (uint64_t)t->tv_usec / 1000;
}

uint64_t process_cpu_ms(void)
{
	struct rusage used = { 0 };

	(void)getrusage(RUSAGE_SELF, &used);
	return ms_of(&used.ru_utime) + ms_of(&used.ru_stime);
}

unsigned own_cores(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return cores < 1 ? 1 : (unsigned)cores;
}
