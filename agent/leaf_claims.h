/*
 * Which leaves of a kept partial are there, or are being written: one bit each, taken by the lane that writes the leaf.
 * A leaf that comes again is not written again, so that one that may be recorded as durable is never another one's
 * bytes, whatever the peer sends and whoever dies when. Any thread.
 */
#ifndef HAUL_AGENT_LEAF_CLAIMS_H
#define HAUL_AGENT_LEAF_CLAIMS_H

#include "engine/leaf_map.h"

#include <stdatomic.h>

#define LEAF_CLAIMS_MAX (UINT64_C(1) << 30) /* leaves: 128 MiB for 1 PiB, of which the kernel gives what is touched */

struct leaf_claims {
	_Atomic uint64_t *words; /* owned; NULL: nothing is followed */
};

/* Those of `have` are taken; it may be closed. False: no memory. More than LEAF_CLAIMS_MAX leaves are not followed. */
static inline bool leaf_claims_open(struct leaf_claims *c, uint64_t leaves, const struct leaf_map *have)
{
	uint64_t first, count, at = 0;

	*c = (struct leaf_claims){ 0 };
	if (leaves > LEAF_CLAIMS_MAX)
		return true;
	c->words = calloc((size_t)(leaves / 64 + 1), sizeof(*c->words));
	if (!c->words)
		return false;
	while (leaf_map_run(have, true, at, &first, &count)) {
		for (uint64_t i = first; i < first + count; i++)
			atomic_fetch_or(&c->words[i / 64], UINT64_C(1) << i % 64);
		at = first + count;
	}
	return true;
}

static inline void leaf_claims_close(struct leaf_claims *c)
{
	free((void *)c->words);
	c->words = NULL;
}

/* True: it is the caller's to write; always, where nothing is followed. */
static inline bool leaf_claims_take(struct leaf_claims *c, uint64_t leaf)
{
	uint64_t bit = UINT64_C(1) << leaf % 64;

	return !c->words || !(atomic_fetch_or(&c->words[leaf / 64], bit) & bit);
}

/* It was taken and is not written after all. */
static inline void leaf_claims_give_back(struct leaf_claims *c, uint64_t leaf)
{
	if (c->words)
		atomic_fetch_and(&c->words[leaf / 64], ~(UINT64_C(1) << leaf % 64));
}

#endif
