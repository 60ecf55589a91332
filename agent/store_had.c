/* Each leaf is put once; the rest is walking a bitmap. */
#include "agent/store_had.h"

#include "agent/job.h"
#include "agent/recv_entry.h"
#include "agent/store.h"

enum { RUNS_MAX = 4 * MESSAGE_RANGES_MAX /* each want has a descriptor at the sender */ };

/* A want has so many ranges at most: leaves behind the last of them are fetched again. */
static void limit_runs(struct leaf_map *have)
{
	uint64_t first, count, at = 0;
	unsigned runs = 0;

	while (runs < RUNS_MAX && leaf_map_run(have, false, at, &first, &count)) {
		at = first + count;
		runs++;
	}
	while (runs == RUNS_MAX && leaf_map_run(have, true, at, &first, &count)) {
		for (uint64_t i = 0; i < count; i++)
			leaf_map_clear(have, first + i);
		at = first + count;
	}
}

haul_status store_had_take(struct recv_entry *e)
{
	uint64_t first, count, at = 0;
	haul_status st = HAUL_OK;

	limit_runs(&e->have);
	hash_tree_free(e->tree);
	e->tree = hash_tree_new(leaf_count(e->facts.size));
	if (!e->tree)
		return HAUL_NO_MEMORY;
	while (haul_ok(st) && leaf_map_run(&e->have, true, at, &first, &count)) {
		for (at = first; haul_ok(st) && at < first + count; at++)
			st = hash_tree_put(e->tree, at, &e->digests[at]);
	}
	return st;
}

haul_status store_had_open(struct store *s, struct recv_entry *e)
{
	uint64_t leaves = leaf_count(e->facts.size);

	if (atomic_fetch_add(&s->had_leaves, leaves) + leaves > JOB_HAD_LEAVES_MAX) {
		atomic_fetch_sub(&s->had_leaves, leaves);
		return HAUL_BUSY;
	}
	e->has_budget = true;
	e->digests = calloc((size_t)leaves, sizeof(*e->digests));
	return e->digests && leaf_map_open(&e->have, leaves) ? HAUL_OK : HAUL_NO_MEMORY;
}

void store_give_back(struct recv_entry *e)
{
	if (e->has_budget)
		atomic_fetch_sub(&e->store->had_leaves, leaf_count(e->facts.size));
	e->has_budget = false;
}

void store_had_close(struct recv_entry *e)
{
	store_give_back(e);
	recv_entry_drop_have(e);
	hash_tree_free(e->tree);
	e->tree = NULL;
	e->compares_kept = e->has_basis = false;
}
