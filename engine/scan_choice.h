/* Which of the names that a scan meets it takes: asked of whoever knows the user's filters, limits and lists. */
#ifndef HAUL_ENGINE_SCAN_CHOICE_H
#define HAUL_ENGINE_SCAN_CHOICE_H

#include "engine/base/entry.h"

#include <stddef.h>

enum scan_take {
	SCAN_TAKE,
	SCAN_ON_WAY,         /* a directory: looked into, and told only when something in it is */
	SCAN_ON_WAY_UNKNOWN, /* the same, but only this end can know: by a list */
	SCAN_LEAVE, /* not told, not opened, not looked into; whoever has the same filters knows it by its path alone */
	SCAN_LEAVE_UNKNOWN, /* the same, but only this end can know: by its size, its time, or a list */
};

struct scan_question {
	const char *path; /* landing path; borrowed for the call */
	size_t len;
	size_t below; /* of `path`: where it lies below the source begins; == len: the source itself */
	const struct entry_facts *facts; /* of the thing, or what a followed link leads to */
	uint32_t state;                  /* what was answered for its directory; 0 at the top */
};

struct scan_choice {
	/* Thread: the scan's. ret_state: for what lies in it, if it is a directory. The same question asked again has
	 * the same answer. A failure ends the scan. */
	haul_status (*take)(void *ctx, const struct scan_question *q, enum scan_take *ret_take, uint32_t *ret_state);
	void *ctx; /* held until scan_free() */
};

#endif
