/*
 * Opening what lies in a source, by the rule that the job has for symbolic links. Only reading: nothing is ever written
 * through a link. Thread: any; no state.
 */
#ifndef HAUL_ENGINE_FOLLOW_H
#define HAUL_ENGINE_FOLLOW_H

#include "engine/base/entry.h"

enum link_rule {
	LINKS_KEPT,              /* a link is an entry of its own; none is followed (beneath.h) */
	LINKS_FOLLOWED_BELOW,    /* it stands for what it leads to, which must lie below the root */
	LINKS_FOLLOWED_ANYWHERE, /* wherever it leads: for what the user himself may read */
};

/* Where something is. Borrowed. */
struct source_place {
	int root_fd;
	const char *path; /* below it; "" is the root itself */
	enum link_rule links;
};

/*
 * Open what stands there with open(2) flags (O_CLOEXEC is added). *ret_fd is given. Fails as beneath_open(), and where
 * links are followed with HAUL_LINK_DANGLES, HAUL_LINK_LOOP (links that lead to one another), HAUL_LINK_LEADS_OUT (of
 * the root), HAUL_UNSUPPORTED (below the root, on a kernel without openat2).
 */
HAUL_MUST_USE haul_status follow_open(const struct source_place *at, int flags, int *ret_fd);

/* Facts of what the link that stands there leads to; the rule is not LINKS_KEPT. Fails as follow_open(). */
HAUL_MUST_USE haul_status follow_stat(const struct source_place *at, struct entry_facts *ret_facts);

#endif
