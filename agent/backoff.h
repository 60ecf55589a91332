/*
 * When to try again what nobody is to blame for. A connection that was lost before anything was said on it, as a busy
 * agent does with the oldest of too many newcomers: five more tries within 3.1 s, so that a port where something else
 * answers is told in good time, and an agent on this machine has forgotten its worst guest. A job that was running: for
 * as long as its user is patient. Times alone; any thread.
 */
#ifndef HAUL_AGENT_BACKOFF_H
#define HAUL_AGENT_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

enum { BACKOFF_TRIES = 5, BACKOFF_FIRST_MS = 100, BACKOFF_MOST_MS = 5000 };

struct backoff {
	unsigned tries; /* that have been made again; 0 at first */
};

/* How long to wait until the next try; false when there has been the last one, or `left_ms` would be over by then. */
static inline bool backoff_next(struct backoff *b, uint64_t left_ms, uint64_t *ret_ms)
{
	*ret_ms = (uint64_t)BACKOFF_FIRST_MS << b->tries;
	if (b->tries >= BACKOFF_TRIES || *ret_ms >= left_ms)
		return false;
	b->tries++;
	return true;
}

/* As above, twice as long each time up to BACKOFF_MOST_MS, and at the very end of what is left once more; 0: nothing
 * is. */
static inline uint64_t backoff_patiently(struct backoff *b, uint64_t left_ms)
{
	uint64_t wait_ms = b->tries < BACKOFF_TRIES + 1 ? (uint64_t)BACKOFF_FIRST_MS << b->tries : BACKOFF_MOST_MS;

	if (b->tries < BACKOFF_TRIES + 1)
		b->tries++;
	return wait_ms < left_ms ? wait_ms : left_ms;
}

#endif
