/*
 * Which stage of a transfer was the narrowest, from what both ends measured (docs/LIMITS.md).
 *
 * The narrowest stage is the one that the others wait for and which itself does not wait. A share is the part of the
 * lanes' time for which that held; the largest one names the stage. A pure function.
 */
#ifndef HAUL_AGENT_LIMIT_H
#define HAUL_AGENT_LIMIT_H

#include "agent/lane_meter.h"
#include "agent/transfer.h"

#include <stdbool.h>

enum { LIMIT_KINDS = LIMIT_RATE + 1 };

#define LIMIT_LEAST_S 0.5
#define LIMIT_LEAST_BYTES (UINT64_C(16) * 1024 * 1024)

struct limit_facts {
	const struct lane_times *source, *destination; /* of all lanes of an end */
	double elapsed_s;
	uint64_t bytes; /* read at the source, sent or compared */
};

/* ret_shares[limit]: 0 to 1 each; they need not add up. */
void limit_shares(const struct limit_facts *f, double ret_shares[LIMIT_KINDS]);

/* The stage with the largest share, and that share. LIMIT_NONE and 0: nothing was measured. */
enum transfer_limit limit_narrowest(const struct limit_facts *f, double *ret_share);

/* LIMIT_NONE: too little was moved to say (less than LIMIT_LEAST_S or LIMIT_LEAST_BYTES), or nothing was measured. */
enum transfer_limit limit_of(const struct limit_facts *f);

#endif
