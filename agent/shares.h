/*
 * Directories that this agent offers, by name. Kept in the home's `shares` file; hauld reads it again when it changes.
 */
#ifndef HAUL_AGENT_SHARES_H
#define HAUL_AGENT_SHARES_H

#include "agent/home.h"

#include <sys/types.h>

struct share {
	char *name;                /* [a-z0-9._-]{1,64} */
	char *path;                /* absolute, as given (links in it are resolved when it is opened) */
	uint64_t own_uid, own_gid; /* owner of what arrives; UINT64_MAX: the agent's own */
	uint32_t umask;            /* UINT32_MAX: not set */
	uint32_t keep_days;        /* how long an unfinished file stays; 0: not set */
};

enum { SHARE_KEEP_DAYS_MAX = 3650 };

struct share_list {
	struct share *shares; /* by name */
	size_t count;
};

HAUL_MUST_USE haul_status shares_load(const struct home *h, struct share_list *ret_list, struct haul_fault *fault);
void shares_free(struct share_list *l);
const struct share *shares_find(const struct share_list *l, const char *name, size_t name_len);

/* HAUL_EXISTS: name taken by another path (the same path again is fine); HAUL_NOT_DIRECTORY, HAUL_BAD_VALUE (name),
 * with the cure in the fault. */
HAUL_MUST_USE haul_status shares_add(const struct home *h, const struct share *share, struct haul_fault *fault);
HAUL_MUST_USE haul_status shares_remove(const struct home *h, const char *name, struct haul_fault *fault);

#endif
