/* Which leaves of a file: one bit each. Plain memory; thread: one at a time. */
#ifndef HAUL_ENGINE_LEAF_MAP_H
#define HAUL_ENGINE_LEAF_MAP_H

#include "engine/base/entry.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct leaf_map {
	uint64_t leaves; /* bits beyond are 0 */
	uint64_t count;  /* of those that are set */
	uint64_t *words; /* owned; NULL: closed */
};

/* All clear. False: no memory. */
static inline bool leaf_map_open(struct leaf_map *m, uint64_t leaves)
{
	*m = (struct leaf_map){ .leaves = leaves, .words = calloc((size_t)(leaves / 64 + 1), sizeof(uint64_t)) };
	return m->words;
}

/* Fine on a closed one, and on one that is all zero. */
static inline void leaf_map_close(struct leaf_map *m)
{
	free(m->words);
	*m = (struct leaf_map){ 0 };
}

static inline bool leaf_map_has(const struct leaf_map *m, uint64_t leaf)
{
	return leaf < m->leaves && m->words[leaf / 64] >> leaf % 64 & 1;
}

static inline void leaf_map_set(struct leaf_map *m, uint64_t leaf)
{
	if (leaf >= m->leaves || leaf_map_has(m, leaf))
		return;
	m->words[leaf / 64] |= UINT64_C(1) << leaf % 64;
	m->count++;
}

static inline void leaf_map_clear(struct leaf_map *m, uint64_t leaf)
{
	if (!leaf_map_has(m, leaf))
		return;
	m->words[leaf / 64] &= ~(UINT64_C(1) << leaf % 64);
	m->count--;
}

/* The first leaf at or after `from` that is set, or clear; `leaves` if there is none. Whole words at a time. */
static inline uint64_t leaf_map_next(const struct leaf_map *m, bool set, uint64_t from)
{
	while (from < m->leaves) {
		uint64_t word = set ? m->words[from / 64] : ~m->words[from / 64];

		word >>= from % 64;
		if (word) {
			from += (uint64_t)__builtin_ctzll(word);
			return from < m->leaves ? from : m->leaves;
		}
		from = (from / 64 + 1) * 64;
	}
	return m->leaves;
}

/* The first run of leaves at or after `from` that are all set, or all clear. False: there is none. */
static inline bool leaf_map_run(const struct leaf_map *m, bool set, uint64_t from, uint64_t *ret_first,
				uint64_t *ret_count)
{
	*ret_first = leaf_map_next(m, set, from);
	*ret_count = leaf_map_next(m, !set, *ret_first) - *ret_first;
	return *ret_count;
}

/* Bytes in `count` leaves from `first` on, of a file of `size`; they lie in it. */
static inline uint64_t leaf_range_bytes(uint64_t size, uint64_t first, uint64_t count)
{
	uint64_t bytes = count * HAUL_LEAF_BYTES, left = size - first * HAUL_LEAF_BYTES;

	return bytes < left ? bytes : left;
}

/* Bytes in the leaves that are set. The map is of the whole file, `size` is not 0. */
static inline uint64_t leaf_map_bytes(const struct leaf_map *m, uint64_t size)
{
	uint64_t last = m->leaves - 1;

	if (!leaf_map_has(m, last))
		return m->count * HAUL_LEAF_BYTES;
	return (m->count - 1) * HAUL_LEAF_BYTES + leaf_range_bytes(size, last, 1);
}

#endif
