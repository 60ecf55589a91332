/*
 * Something on this machine that is to be removed or renamed: the handle of the directory it lies in, and its name
 * there. What the user typed may lead through links on the way; the last component is never followed.
 */
#ifndef HAUL_AGENT_LOCAL_PLACE_H
#define HAUL_AGENT_LOCAL_PLACE_H

#include "engine/base/entry.h"
#include "engine/base/fault.h"

struct local_place {
	const char *text; /* as typed, borrowed */
	int dir_fd;       /* O_PATH; owned, -1: none */
	char *name;       /* one component; owned */
	bool has_slash;   /* typed with one at its end */
	struct entry_facts facts;
	bool is_root;        /* the process's "/" */
	bool is_mount_point; /* something is mounted on it */
};

/*
 * Look at `path`. The fault names it.
 * HAUL_USAGE: it ends in "." or "..", or is a link or a file typed with a slash at its end. HAUL_NOT_FOUND,
 * HAUL_DENIED, by errno. For "/" is_root is set and there is no name. On success local_place_close().
 */
HAUL_MUST_USE haul_status local_place_open(struct local_place *p, const char *path, struct haul_fault *fault);
void local_place_close(struct local_place *p);

/* The path without the slashes at its end, which would follow a link; given (free), NULL: no memory. */
char *local_place_bare(const char *path);

/* Facts of the thing itself, slashes at the end of its path or not; and of what the path leads to, links followed
 * (errno says why it does not). By errno, HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status local_place_facts(const char *path, struct entry_facts *ret_facts);
HAUL_MUST_USE haul_status local_place_target(const char *path, struct entry_facts *ret_facts);

#endif
