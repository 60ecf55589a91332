/*
 * One copy at a time: two processes of one home that would do the same thing (the same sources, the same place at the
 * same device) do not run side by side. A byte of the file `copies` in the state directory stands for each copy, and
 * is locked while its process lives; the lock goes with the process, whatever ends it.
 */
#ifndef HAUL_AGENT_COPY_LOCK_H
#define HAUL_AGENT_COPY_LOCK_H

#include "engine/base/fault.h"

#include <stdint.h>

struct copy_lock {
	int fd; /* owned; -1: none */
};

/*
 * key  what is copied, and where to: any bytes of a digest will do
 *
 * HAUL_ALREADY_RUNNING: another process has it; the fault names its process id. Any other failure: there is no lock to
 * be had here. l->fd is -1 then.
 */
HAUL_MUST_USE haul_status copy_lock_open(struct copy_lock *l, const char *state_dir, uint64_t key,
					 struct haul_fault *fault);
void copy_lock_close(struct copy_lock *l);

#endif
