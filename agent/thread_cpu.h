/* The machine's cores, and what the kernel says a thread or the process has used of them. Any thread, about itself. */
#ifndef HAUL_AGENT_THREAD_CPU_H
#define HAUL_AGENT_THREAD_CPU_H

#include <stdint.h>

struct thread_cpu {
	uint64_t cpu_ns;   /* ran */
	uint64_t ready_ns; /* could have run and waited for a core; 0 where the kernel does not tell */
};

/* Of the calling thread, since it began. */
void thread_cpu_now(struct thread_cpu *ret_cpu);

/* Of the process with all its threads, user and system, milliseconds. */
uint64_t process_cpu_ms(void);

/* Cores of this machine that are online; at least 1. */
unsigned own_cores(void);

#endif
