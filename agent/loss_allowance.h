/*
 * How many losses of lanes a job takes as such: 64 at once, and one more every 10 s. A network that breaks a lane now
 * and then never gets there, and one that breaks all of them all the time, or a peer that says so, is dealt with as a
 * lost connection of the job, which has its own patience. Times alone; any thread.
 */
#ifndef HAUL_AGENT_LOSS_ALLOWANCE_H
#define HAUL_AGENT_LOSS_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

enum { LOSSES_AT_ONCE = 64 };

#define LOSS_PAUSE_NS UINT64_C(10000000000)

/* Zero: none has been. */
struct loss_allowance {
	unsigned used;
	uint64_t since_ns; /* from when on the next one is given back; counts while some are used */
};

/* One more; false: it is too much. */
static inline bool loss_allowance_take(struct loss_allowance *a, uint64_t now_ns)
{
	uint64_t back = a->used ? (now_ns - a->since_ns) / LOSS_PAUSE_NS : 0;

	if (back >= a->used) {
		a->used = 0;
		a->since_ns = now_ns;
	} else {
		a->used -= (unsigned)back;
		a->since_ns += back * LOSS_PAUSE_NS;
	}
	if (a->used == LOSSES_AT_ONCE)
		return false;
	a->used++;
	return true;
}

#endif
