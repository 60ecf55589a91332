/*
 * What has been told of a job's entries, so that a job that begins again says nothing twice. Paths are kept as hashes;
 * beyond TOLD_MAX of them nothing is remembered any more. Zero-initialised is empty. One thread.
 */
#ifndef HAUL_AGENT_TOLD_SET_H
#define HAUL_AGENT_TOLD_SET_H

#include "agent/index_map.h"

#include <stdbool.h>

enum { TOLD_MAX = 1 << 20 };

struct told_set {
	struct index_map seen; /* hash -> 1 + the attempt that told it, as a pointer that leads nowhere */
};

/* Told of `path` in this attempt: `what` tells different things of one path apart. True: an earlier one has told it. */
bool told_set_note(struct told_set *s, const char *path, uint64_t what, unsigned attempt);

/* Whether an earlier attempt has told it; it is forgotten with that. */
bool told_set_take(struct told_set *s, const char *path, uint64_t what, unsigned attempt);

void told_set_close(struct told_set *s);

#endif
