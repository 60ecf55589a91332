/*
 * By name, else by number; 0 is root whatever it is called. A name service that fails is not one that knows nobody:
 * then the owner is not kept, and never guessed.
 */
#include "agent/store_owners.h"

#include "agent/store.h"
#include "engine/owner_names.h"

#include <stdlib.h>
#include <string.h>

struct owners_mail {
	struct mail mail;
	size_t count;
	struct {
		uint32_t number;
		bool is_group;
		char name[OWNER_NAME_MAX + 1];
	} at[];
};

static struct known_owner resolve(const struct store *s, uint32_t number, bool is_group, const char *name)
{
	struct known_owner known = { .number = number, .local = number, .is_group = is_group };
	haul_status st;

	if (s->cfg.flags & JOB_NUMERIC_IDS || number == 0 || !*name)
		return known;
	st = owner_number_of(name, is_group, &known.local);
	known.is_by_number = st.code == HAUL_CODE_NOT_FOUND;
	if (known.is_by_number)
		known.local = number;
	else if (haul_failed(st))
		known.local = UINT32_MAX;
	return known;
}

/* Without memory for it an owner stays unknown: what it has is told as not kept. */
static void add(struct store_owners *o, struct known_owner known)
{
	if (o->count == o->cap) {
		size_t cap = o->cap ? 2 * o->cap : 64;
		struct known_owner *at = realloc(o->at, cap * sizeof(*at));

		if (!at)
			return;
		o->at = at;
		o->cap = cap;
	}
	o->at[o->count++] = known;
}

static void deliver_owners(struct mail *m, void *ctx)
{
	struct owners_mail *o = list_item(m, struct owners_mail, mail);
	struct store *s = ctx;

	for (size_t i = 0; i < o->count; i++)
		add(&s->owners, resolve(s, o->at[i].number, o->at[i].is_group, o->at[i].name));
	free(o);
}

haul_status store_take_owners(struct store *s, const struct msg_owners *m)
{
	struct owners_mail *o = calloc(1, sizeof(*o) + m->owner_count * sizeof(o->at[0]));

	if (!o)
		return HAUL_NO_MEMORY;
	o->mail.deliver = deliver_owners;
	o->count = m->owner_count;
	for (size_t i = 0; i < m->owner_count; i++) {
		o->at[i].number = m->owners[i].number;
		o->at[i].is_group = m->owners[i].is_group;
		memcpy(o->at[i].name, m->owners[i].name.at, m->owners[i].name.len);
	}
	worker_post(&s->worker, &o->mail);
	return HAUL_OK;
}

static uint32_t local_of(const struct store *s, uint32_t index, bool is_group, uint32_t *lost)
{
	const struct known_owner *known = index < s->owners.count ? &s->owners.at[index] : NULL;

	if (index == UINT32_MAX)
		return UINT32_MAX;
	if (!known || known->is_group != is_group || known->local == UINT32_MAX) {
		*lost |= LOST_OWNER_STORE;
		return UINT32_MAX;
	}
	if (known->is_by_number)
		*lost |= LOST_OWNER_NAME;
	return known->local;
}

static void map_acl(const struct store *s, const struct attribute *acl)
{
	struct acl_id id;

	for (size_t at = 0; acl && acl_next_id(acl, &at, &id);) {
		for (size_t i = 0; i < s->owners.count; i++) {
			const struct known_owner *known = &s->owners.at[i];

			if (known->number != id.id || known->is_group != id.is_group || known->local == UINT32_MAX)
				continue;
			acl_set_id(acl, &id, known->local);
			break;
		}
	}
}

void store_map_owners(struct store *s, struct recv_entry *e)
{
	uint32_t lost = 0;

	e->facts.uid = local_of(s, e->facts.uid, false, &lost);
	e->facts.gid = local_of(s, e->facts.gid, true, &lost);
	if (e->keeps_owner)
		e->lost |= lost;
	if (!e->attributes)
		return;
	map_acl(s, attributes_find(e->attributes, ATTRIBUTE_ACL_ACCESS));
	map_acl(s, attributes_find(e->attributes, ATTRIBUTE_ACL_DEFAULT));
}

void store_owners_close(struct store *s)
{
	free(s->owners.at);
	s->owners = (struct store_owners){ 0 };
}
