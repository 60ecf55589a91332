/*
 * The owners of a sending job's entries: each user and group gets a number of its own the first time it is seen, and is
 * announced (OWNERS) with its name before the entries that have it. Belongs to the scan thread. Memory follows the
 * number of owners, MESSAGE_OWNERS_TOTAL_MAX at most.
 */
#ifndef HAUL_AGENT_OWNER_INDEX_H
#define HAUL_AGENT_OWNER_INDEX_H

#include "agent/index_map.h"
#include "engine/base/attributes.h"
#include "peer-protocol/message.h"

/* Owners seen for the first time; owned, with their names. Zero is empty. */
struct new_owners {
	struct owner_name *at;
	size_t count, cap;
};

struct owner_index {
	struct index_map known; /* by number, groups apart */
	uint32_t count;
};

/*
 * The index of a user or group; UINT32_MAX when there are too many. One that is new is added to `fresh`.
 * HAUL_NO_MEMORY.
 */
HAUL_MUST_USE haul_status owner_index_get(struct owner_index *o, uint32_t id, bool is_group, struct new_owners *fresh,
					  uint32_t *ret_index);

/* The same for all that the ACLs in a set (NULL is fine) speak of. */
HAUL_MUST_USE haul_status owner_index_note_acls(struct owner_index *o, const struct attributes *set,
						struct new_owners *fresh);

void owner_index_close(struct owner_index *o);
void new_owners_clear(struct new_owners *n); /* and free its memory */

#endif
