/* Open addressing with linear probing; removal shifts the followers back, so that no markers pile up. */
#include "agent/index_map.h"

#include <stdlib.h>

enum { CAP_MIN = 64 };

/* Indices come in runs; the multiplier (2^64 / golden ratio) spreads them over the table. */
static size_t home_of(const struct index_map *m, uint64_t index)
{
	return (size_t)((index * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & (m->cap - 1);
}

static struct index_slot *find(const struct index_map *m, uint64_t index)
{
	size_t at = home_of(m, index);

	while (m->slots[at].object && m->slots[at].index != index)
		at = (at + 1) & (m->cap - 1);
	return &m->slots[at];
}

static haul_status resize(struct index_map *m, size_t cap)
{
	struct index_map bigger = { .slots = calloc(cap, sizeof(*bigger.slots)), .count = m->count, .cap = cap };

	if (!bigger.slots)
		return HAUL_NO_MEMORY;
	for (size_t i = 0; i < m->cap; i++) {
		if (m->slots[i].object)
			*find(&bigger, m->slots[i].index) = m->slots[i];
	}
	free(m->slots);
	*m = bigger;
	return HAUL_OK;
}

haul_status index_map_put(struct index_map *m, uint64_t index, void *object)
{
	struct index_slot *slot;

	if (m->count * 2 >= m->cap) {
		haul_status st = resize(m, m->cap ? m->cap * 2 : CAP_MIN);

		if (haul_failed(st))
			return st;
	}
	slot = find(m, index);
	if (slot->object)
		return HAUL_EXISTS;
	*slot = (struct index_slot){ .index = index, .object = object };
	if ((size_t)(slot - m->slots) < m->first)
		m->first = (size_t)(slot - m->slots);
	m->count++;
	return HAUL_OK;
}

void *index_map_get(const struct index_map *m, uint64_t index)
{
	return m->cap ? find(m, index)->object : NULL;
}

/* Close the gap at `at`: move up every follower whose home does not lie between the gap and itself. */
static void shift_back(struct index_map *m, size_t at)
{
	size_t mask = m->cap - 1;

	for (size_t next = (at + 1) & mask; m->slots[next].object; next = (next + 1) & mask) {
		size_t home = home_of(m, m->slots[next].index);

		if (((next - home) & mask) >= ((next - at) & mask)) {
			m->slots[at] = m->slots[next];
			at = next;
		}
	}
	m->slots[at].object = NULL;
}

void *index_map_remove(struct index_map *m, uint64_t index)
{
	struct index_slot *slot;
	void *object;

	if (!m->cap)
		return NULL;
	slot = find(m, index);
	object = slot->object;
	if (!object)
		return NULL;
	shift_back(m, (size_t)(slot - m->slots));
	m->count--;
	return object;
}

void *index_map_remove_any(struct index_map *m)
{
	for (; m->first < m->cap; m->first++) {
		if (m->slots[m->first].object)
			return index_map_remove(m, m->slots[m->first].index);
	}
	return NULL;
}

void *index_map_next(const struct index_map *m, size_t *at)
{
	while (*at < m->cap) {
		void *object = m->slots[(*at)++].object;

		if (object)
			return object;
	}
	return NULL;
}

void index_map_close(struct index_map *m)
{
	free(m->slots);
	*m = (struct index_map){ 0 };
}
