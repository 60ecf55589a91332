/*
 * A back end for the engine whose disk misbehaves as told: it does the real reads and writes, one after another, and
 * then says something else of those that were chosen. Thread: the test's.
 */
#ifndef HAUL_TESTS_UNIT_MEDDLER_H
#define HAUL_TESTS_UNIT_MEDDLER_H

#include "engine/engine_backend.h"

enum { MEDDLER_SEEN_MAX = 256 };

struct meddler {
	/* The plan. Steps are counted from 1; a direct and a buffered one alike. */
	int direct_errno;     /* instead of a direct step from `from` on; 0: none */
	int buffered_errno;   /* the same of buffered ones */
	unsigned from, count; /* count 0: for ever */
	size_t short_bytes;   /* direct steps move no more than so many */
	/* What was seen. */
	unsigned steps, refused, flying, flying_max;
	uint64_t offsets[MEDDLER_SEEN_MAX]; /* where requests began, in the order in which the disk got them */
	unsigned started;
	struct list held; /* done, until the next reap */
};

/* The plan in force; set before engine_new() with `ops` = &meddler_backend. */
extern struct meddler meddler;
extern const struct engine_ops meddler_backend;

#endif
