/*
 * What a receiving job allows to come over its lanes: one object per wanted entry and attempt.
 *
 * Made by the main loop, posted to every lane, and not changed while any lane holds it. The files and paths behind it
 * belong to the entry and outlive the grant.
 */
#ifndef HAUL_AGENT_GRANT_H
#define HAUL_AGENT_GRANT_H

#include "agent/leaf_claims.h"
#include "engine/partial.h"

enum grant_mode {
	GRANT_WRITE,   /* blocks go into the partial */
	GRANT_SMALL,   /* one item of a pack becomes a small file */
	GRANT_DIGESTS, /* digests are compared with the file that is there */
	GRANT_BYTES,   /* leaves are compared byte by byte with the file that is there */
	GRANT_DROP,    /* a probe's blocks are checked, and that is all */
};

struct grant {
	uint64_t entry;
	uint32_t attempt;
	enum grant_mode mode;
	uint64_t size; /* of the file, as announced */
	uint64_t first_leaf, end_leaf;
	struct leaf_claims claims; /* WRITE, of a partial that is kept; owned; the lanes' */
	struct disk_file *file;    /* WRITE, DIGESTS, BYTES: held */
	/* DIGESTS: leaves of it that are equal are written to `file`; held. NULL: `file` is what is compared. */
	struct disk_file *basis;
	struct place *place;                 /* SMALL: held */
	const char *path;                    /* SMALL: below the place's root; held */
	struct entry_facts meta;             /* SMALL: what the file gets, with the two below */
	const struct attributes *attributes; /* SMALL: held */
	unsigned attribute_kinds;
	bool keeps_owner;
	bool has_holes;   /* WRITE, SMALL: pages of zeros become holes */
	uint32_t holders; /* bit n: lane n has not released it; the main loop's */
};

#endif
