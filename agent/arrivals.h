/*
 * What one move command has put somewhere, or is still to take from somewhere: none of it may be replaced by another
 * source of the same command. Real arrivals are known by device and inode, those of a dry run by the path they would
 * have. Memory: 32 bytes a rename at most; of a dry run, the two paths of each.
 *
 * Zero is empty. One thread; no I/O.
 */
#ifndef HAUL_AGENT_ARRIVALS_H
#define HAUL_AGENT_ARRIVALS_H

#include "engine/base/entry.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct arrival {
	uint64_t device, inode; /* inode 0: nothing here */
};

/* A name that a dry run has given away. */
struct claim {
	char *to;   /* the path; owned; NULL: nothing here */
	char *from; /* what would lie there lies here yet; owned */
	struct entry_facts facts;
};

struct arrivals {
	struct arrival *set; /* open addressing; owned */
	size_t cap, count;
	struct claim *claims; /* the same; owned */
	size_t claims_cap, claims_count;
};

void arrivals_free(struct arrivals *a);

/* Room for one more, so that arrivals_add() cannot fail after the rename. HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status arrivals_reserve(struct arrivals *a);
void arrivals_add(struct arrivals *a, const struct entry_facts *facts);
bool arrivals_has(const struct arrivals *a, const struct entry_facts *facts);

/* `from` would land as `to`; both are copied. HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status arrivals_claim(struct arrivals *a, const char *to, const char *from,
					 const struct entry_facts *facts);
/* Borrowed until the next claim; NULL: nobody has it. */
const struct claim *arrivals_claimed(const struct arrivals *a, const char *to);

#endif
