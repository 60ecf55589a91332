/* Most entries have the owner of the one before, or one of a few: a hash map, and names are asked for once. */
#include "agent/owner_index.h"

#include "engine/owner_names.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS (UINT64_C(1) << 32)

static haul_status announce(struct new_owners *n, uint32_t index, uint32_t id, bool is_group)
{
	char name[OWNER_NAME_MAX + 1], *copy = strdup(owner_name_of(id, is_group, name));

	if (n->count == n->cap) {
		size_t cap = n->cap ? 2 * n->cap : 16;
		struct owner_name *at = copy ? realloc(n->at, cap * sizeof(*at)) : NULL;

		if (!at) {
			free(copy);
			return HAUL_NO_MEMORY;
		}
		n->at = at;
		n->cap = cap;
	}
	if (!copy)
		return HAUL_NO_MEMORY;
	n->at[n->count++] =
	    (struct owner_name){ .index = index, .is_group = is_group, .number = id, .name = { copy, strlen(copy) } };
	return HAUL_OK;
}

haul_status owner_index_get(struct owner_index *o, uint32_t id, bool is_group, struct new_owners *fresh,
			    uint32_t *ret_index)
{
	uint64_t key = id | (is_group ? GROUPS : 0);
	uintptr_t known = (uintptr_t)index_map_get(&o->known, key);
	haul_status st;

	*ret_index = UINT32_MAX;
	if (known) {
		*ret_index = (uint32_t)(known - 1);
		return HAUL_OK;
	}
	if (o->count == MESSAGE_OWNERS_TOTAL_MAX)
		return HAUL_OK;
	st = announce(fresh, o->count, id, is_group);
	if (haul_ok(st))
		st = index_map_put(&o->known, key, (void *)((uintptr_t)o->count + 1));
	if (haul_ok(st))
		*ret_index = o->count++;
	return st;
}

static haul_status note_acl(struct owner_index *o, const struct attribute *acl, struct new_owners *fresh)
{
	haul_status st = HAUL_OK;
	struct acl_id id;
	uint32_t index;

	for (size_t at = 0; haul_ok(st) && acl && acl_next_id(acl, &at, &id);)
		st = owner_index_get(o, id.id, id.is_group, fresh, &index);
	return st;
}

haul_status owner_index_note_acls(struct owner_index *o, const struct attributes *set, struct new_owners *fresh)
{
	haul_status st = HAUL_OK;

	if (!set)
		return HAUL_OK;
	st = note_acl(o, attributes_find(set, ATTRIBUTE_ACL_ACCESS), fresh);
	return haul_ok(st) ? note_acl(o, attributes_find(set, ATTRIBUTE_ACL_DEFAULT), fresh) : st;
}

void owner_index_close(struct owner_index *o)
{
	index_map_close(&o->known);
}

void new_owners_clear(struct new_owners *n)
{
	for (size_t i = 0; i < n->count; i++)
		free((char *)(uintptr_t)n->at[i].name.at);
	free(n->at);
	*n = (struct new_owners){ 0 };
}
