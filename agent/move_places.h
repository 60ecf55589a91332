/* The places of a local move: what the sources are, where they land, and whether they may. Internal to move*.c. */
#ifndef HAUL_AGENT_MOVE_PLACES_H
#define HAUL_AGENT_MOVE_PLACES_H

#include "agent/landing.h"
#include "agent/move.h"

struct move_source {
	const struct place_spec *spec;
	size_t index;             /* in the request */
	struct entry_facts facts; /* of the thing itself, or of what `link/` leads to */
	int dir_fd;               /* named: the directory it lies in; contents: the directory itself. Owned */
	char *name;               /* owned; NULL: its contents move */
};

struct move_places {
	struct move_source *sources;  /* owned; those that are there */
	struct landing_place *looked; /* owned; parallel */
	size_t count;
	struct landing_place destination;
	struct landing landing;
	int root_fd;     /* what everything lands in, or its nearest ancestor that is there; owned */
	char *missing;   /* what of the landing root is not there yet, "" when all is; owned */
	int above_fd;    /* what the missing directories were made in; owned, -1: none were */
	char *made_path; /* the one that was made, below it, with `made` new directories at its end; owned */
	unsigned made;
	enum move_rule rule;
};

/*
 * Look, land, open. `tell` gets sources that are not there; the fault is for what ends it all.
 * HAUL_USAGE: refused. HAUL_NOT_FOUND: no source is there, each was told. By errno for the destination.
 */
HAUL_MUST_USE haul_status move_places_open(struct move_places *p, const struct move_request *req,
					   void (*tell)(void *ctx, const char *path, haul_status st), void *ctx,
					   struct haul_fault *fault);
void move_places_close(struct move_places *p);

/* Make what of the root is missing, each directory durable; root_fd becomes the root's own. */
HAUL_MUST_USE haul_status move_places_make_root(struct move_places *p, struct haul_fault *fault);
/* Nothing has landed: take them away again, as far as they are empty. */
void move_places_unmake(struct move_places *p);

#endif
