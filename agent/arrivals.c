/* Two tables with open addressing, at most half full, that only grow. */
#include "agent/arrivals.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CAP_FIRST = 64 };

static size_t hash_inode(uint64_t device, uint64_t inode)
{
	uint64_t h = (inode ^ device << 32) * 0x9E3779B97F4A7C15U;

	return (size_t)(h ^ h >> 29);
}

/* FNV-1a: the paths are the user's own, nobody gains by collisions. */
static size_t hash_path(const char *path)
{
	uint64_t h = 0xCBF29CE484222325U;

	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * 0x100000001B3U;
	return (size_t)(h ^ h >> 29);
}

static struct arrival *slot_of(struct arrival *set, size_t cap, uint64_t device, uint64_t inode)
{
	size_t at = hash_inode(device, inode) & (cap - 1);

	while (set[at].inode && (set[at].inode != inode || set[at].device != device))
		at = (at + 1) & (cap - 1);
	return &set[at];
}

static struct claim *claim_of(struct claim *claims, size_t cap, const char *to)
{
	size_t at = hash_path(to) & (cap - 1);

	while (claims[at].to && strcmp(claims[at].to, to) != 0)
		at = (at + 1) & (cap - 1);
	return &claims[at];
}

void arrivals_free(struct arrivals *a)
{
	for (size_t i = 0; i < a->claims_cap; i++) {
		free(a->claims[i].to);
		free(a->claims[i].from);
	}
	free(a->claims);
	free(a->set);
	*a = (struct arrivals){ 0 };
}

haul_status arrivals_reserve(struct arrivals *a)
{
	size_t cap = a->cap ? 2 * a->cap : CAP_FIRST;
	struct arrival *bigger;

	if (2 * (a->count + 1) <= a->cap)
		return HAUL_OK;
	bigger = calloc(cap, sizeof(*bigger));
	if (!bigger)
		return HAUL_NO_MEMORY;
	for (size_t i = 0; i < a->cap; i++)
		if (a->set[i].inode)
			*slot_of(bigger, cap, a->set[i].device, a->set[i].inode) = a->set[i];
	free(a->set);
	a->set = bigger;
	a->cap = cap;
	return HAUL_OK;
}

void arrivals_add(struct arrivals *a, const struct entry_facts *facts)
{
	struct arrival *slot;

	assert(2 * (a->count + 1) <= a->cap);
	slot = slot_of(a->set, a->cap, facts->device, facts->inode);
	a->count += !slot->inode;
	*slot = (struct arrival){ .device = facts->device, .inode = facts->inode };
}

bool arrivals_has(const struct arrivals *a, const struct entry_facts *facts)
{
	return a->count && slot_of(a->set, a->cap, facts->device, facts->inode)->inode;
}

static haul_status grow_claims(struct arrivals *a)
{
	size_t cap = a->claims_cap ? 2 * a->claims_cap : CAP_FIRST;
	struct claim *bigger;

	if (2 * (a->claims_count + 1) <= a->claims_cap)
		return HAUL_OK;
	bigger = calloc(cap, sizeof(*bigger));
	if (!bigger)
		return HAUL_NO_MEMORY;
	for (size_t i = 0; i < a->claims_cap; i++)
		if (a->claims[i].to)
			*claim_of(bigger, cap, a->claims[i].to) = a->claims[i];
	free(a->claims);
	a->claims = bigger;
	a->claims_cap = cap;
	return HAUL_OK;
}

haul_status arrivals_claim(struct arrivals *a, const char *to, const char *from, const struct entry_facts *facts)
{
	struct claim c = { .to = strdup(to), .from = strdup(from), .facts = *facts }, *slot;
	haul_status st = c.to && c.from ? grow_claims(a) : HAUL_NO_MEMORY;

	if (haul_failed(st)) {
		free(c.to);
		free(c.from);
		return st;
	}
	slot = claim_of(a->claims, a->claims_cap, to);
	a->claims_count += !slot->to;
	free(slot->to);
	free(slot->from);
	*slot = c;
	return HAUL_OK;
}

const struct claim *arrivals_claimed(const struct arrivals *a, const char *to)
{
	const struct claim *c = a->claims_count ? claim_of(a->claims, a->claims_cap, to) : NULL;

	return c && c->to ? c : NULL;
}
