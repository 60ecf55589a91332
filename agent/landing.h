/*
 * Where sources land (docs/CLI.md "Places", the landing table): pure text and facts in, names out. No I/O.
 */
#ifndef HAUL_AGENT_LANDING_H
#define HAUL_AGENT_LANDING_H

#include "engine/base/entry.h"
#include "engine/base/fault.h"

#include <stddef.h>

/* What is known of a place before anything moves. */
struct landing_place {
	const char *text; /* as typed, for messages */
	const char *path; /* local path, or path in the share ("" = its top) */
	bool has_slash;   /* means the contents */
	bool is_there;
	enum entry_kind kind;        /* of the thing itself */
	enum entry_kind target_kind; /* of what a link leads to; 0: nothing, or no link */
};

/* Where one source goes. */
struct landed {
	char *name;   /* below the root; NULL: its contents land in the root. Owned */
	bool is_link; /* a link that lands as a link */
	bool follow;  /* a link given with a slash: what it leads to */
};

struct landing {
	char *root;            /* directory everything lands in: as landing_place.path of the destination. Owned */
	struct landed *landed; /* per source. Owned */
	size_t count;
};

struct landing_request {
	const struct landing_place *sources;
	size_t source_count;
	bool is_several; /* more than one was named, however many are there */
	const struct landing_place *destination;
	const char *as_name; /* NULL: none */
	bool follow_links;   /* -L: a link that cannot be followed is named by the scan, not landed */
	bool is_verify;      /* the two named things themselves: no slash rule */
};

/*
 * Decide. HAUL_USAGE (two sources of one landing name, --as with several, a file given with a slash),
 * HAUL_NOT_DIRECTORY (into a file), HAUL_NO_MEMORY; the fault is the line for the user.
 */
HAUL_MUST_USE haul_status landing_decide(const struct landing_request *req, struct landing *ret_landing,
					 struct haul_fault *fault);
void landing_close(struct landing *l);

/* Last component of a path, slashes at the end ignored; "" for "/" and "". *ret_len in bytes. Points into `path`. */
const char *landing_base_name(const char *path, size_t *ret_len);

#endif
