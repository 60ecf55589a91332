/* Two paths of one hash would be taken for one: with 64 bits and a million of them that is one run in 30 million. */
#include "agent/told_set.h"

#include "engine/hash_tree.h"

#include <string.h>

static uint64_t key_of(const char *path, uint64_t what)
{
	struct haul_digest d;
	uint64_t key;

	leaf_digest(path, strlen(path), &d);
	memcpy(&key, d.bytes, sizeof(key));
	return key ^ what * UINT64_C(0x9e3779b97f4a7c15);
}

/* 1 + the attempt, 0: not told. */
static uintptr_t told_by(const struct told_set *s, uint64_t key)
{
	return (uintptr_t)index_map_get(&s->seen, key);
}

bool told_set_note(struct told_set *s, const char *path, uint64_t what, unsigned attempt)
{
	uint64_t key = key_of(path, what);
	uintptr_t by = told_by(s, key);

	if (by)
		return by <= attempt;
	/* Without memory it may be told twice. */
	if (s->seen.count < TOLD_MAX)
		(void)haul_ok(index_map_put(&s->seen, key, (void *)((uintptr_t)attempt + 1)));
	return false;
}

bool told_set_take(struct told_set *s, const char *path, uint64_t what, unsigned attempt)
{
	uint64_t key = key_of(path, what);
	uintptr_t by = told_by(s, key);

	if (!by || by > attempt)
		return false;
	(void)index_map_remove(&s->seen, key);
	return true;
}

void told_set_close(struct told_set *s)
{
	index_map_close(&s->seen);
}
