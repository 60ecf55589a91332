/*
 * One hauld per home, and how others find it: the file `agent` in the state directory is locked for as long as the
 * agent lives and holds its process id and the addresses it listens on. The lock goes with the process, whatever ends
 * it, so nothing is ever left behind that looks like a running agent.
 */
#ifndef HAUL_AGENT_AGENT_LOCK_H
#define HAUL_AGENT_AGENT_LOCK_H

#include "engine/base/fault.h"

#include <stddef.h>

struct agent_lock {
	int fd; /* owned; holds the lock */
};

/* Take the lock. HAUL_ALREADY_RUNNING: another hauld serves this home; the fault names its process id. */
HAUL_MUST_USE haul_status agent_lock_open(struct agent_lock *l, const char *state_dir, struct haul_fault *fault);

/* Tell where the agent listens: addresses separated by spaces (borrowed). */
HAUL_MUST_USE haul_status agent_lock_publish(struct agent_lock *l, const char *addresses, struct haul_fault *fault);

void agent_lock_close(struct agent_lock *l);

/*
 * Whether an agent holds the lock now. Takes no lock itself, so it never keeps a hauld from starting.
 *
 * ret_addresses  filled with "" when none is known (yet), cut at `cap`. ret_pid: 0 if none is known. Both may be NULL.
 */
bool agent_lock_look(const char *state_dir, char *ret_addresses, size_t cap, int *ret_pid);

#endif
