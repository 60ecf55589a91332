/*
 * Ctrl-C: SIGINT, SIGTERM and SIGHUP set a flag that the work looks at, instead of ending the process. Whatever the
 * work does then, and wherever it may be stuck, the process ends: at once when another signal comes
 * STOP_SIGNALS_AGAIN_MS later or after that, by itself when STOP_SIGNALS_PATIENCE_S have passed, as if it had been
 * killed (docs/DURABILITY.md says what that leaves), with 128 + the number of the first. One at a time in a process;
 * main thread.
 */
#ifndef HAUL_AGENT_STOP_SIGNALS_H
#define HAUL_AGENT_STOP_SIGNALS_H

#include <stdatomic.h>
#include <stdbool.h>

enum { STOP_SIGNALS_AGAIN_MS = 500, STOP_SIGNALS_PATIENCE_S = 60 };

/* From now on until stop_signals_end(), which puts back what was before. What was ignored on purpose (nohup) stays so.
 * Inside of another pair both do nothing. */
void stop_signals_begin(void);
void stop_signals_end(void);

/* True once a signal came. Any thread; static. */
const _Atomic bool *stop_signals_flag(void);

/* The first signal that came since stop_signals_begin(), 0: none. */
int stop_signals_number(void);

#endif
