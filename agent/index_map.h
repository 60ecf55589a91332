/*
 * From an entry's index to the object that stands for it, while it is in the window. Memory follows the window, not the
 * number of entries. One thread.
 */
#ifndef HAUL_AGENT_INDEX_MAP_H
#define HAUL_AGENT_INDEX_MAP_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct index_slot {
	uint64_t index;
	void *object; /* NULL: free */
};

/* Zero-initialised is empty. Fields are the map's own. */
struct index_map {
	struct index_slot *slots;
	size_t count, cap; /* cap: 0 or a power of two */
	size_t first;      /* slots below are free */
};

/* `object` (not NULL) stays the caller's. HAUL_EXISTS: the index is taken. HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status index_map_put(struct index_map *m, uint64_t index, void *object);
void *index_map_get(const struct index_map *m, uint64_t index); /* NULL: not there */
void *index_map_remove(struct index_map *m, uint64_t index);    /* what was there, or NULL */
void *index_map_remove_any(struct index_map *m);                /* some object, or NULL when empty */
/*
 * One object after the other, in no order: *at is 0 at first, NULL comes at the end. Nothing may be put or removed
 * meanwhile.
 */
void *index_map_next(const struct index_map *m, size_t *at);
void index_map_close(struct index_map *m);

#endif
