/*
 * Ctrl-C for work that runs without a loop: SIGINT, SIGTERM and SIGHUP set a flag that the work looks at, instead of
 * ending the process. One at a time in a process; main thread.
 */
#ifndef HAUL_AGENT_STOP_SIGNALS_H
#define HAUL_AGENT_STOP_SIGNALS_H

#include <stdatomic.h>
#include <stdbool.h>

/* From now on until stop_signals_end(), which puts back what was before. What was ignored on purpose (nohup) stays so.
 */
void stop_signals_begin(void);
void stop_signals_end(void);

/* True once a signal came. Any thread; static. */
const _Atomic bool *stop_signals_flag(void);

/* The first signal that came since stop_signals_begin(), 0: none. */
int stop_signals_number(void);

#endif
