/* Sets are small and rare: they are searched from their beginning. */
#include "engine/base/attributes.h"

#include <stdlib.h>
#include <string.h>

/* posix_acl_xattr.h of Linux: u32 version, then entries of u16 tag, u16 permissions, u32 id; little-endian. */
enum { ACL_HEADER_BYTES = 4, ACL_ENTRY_BYTES = 8, ACL_TAG_USER = 0x02, ACL_TAG_GROUP_OBJ = 0x04, ACL_TAG_GROUP = 0x08 };

static bool begins_with(const char *name, size_t len, const char *prefix)
{
	size_t prefix_len = strlen(prefix);

	return len > prefix_len && memcmp(name, prefix, prefix_len) == 0;
}

static bool is(const char *name, size_t len, const char *whole)
{
	return len == strlen(whole) && memcmp(name, whole, len) == 0;
}

/* Given by the system at the destination by its own rules: a copied one would be wrong there, or refused. */
static bool is_label(const char *name, size_t len)
{
	return is(name, len, "security.selinux") || is(name, len, "security.ima") || is(name, len, "security.evm");
}

enum attribute_kind attribute_kind_of(const char *name, size_t len)
{
	if (len > ATTRIBUTE_NAME_MAX || memchr(name, '\0', len))
		return 0;
	if (begins_with(name, len, "user."))
		return ATTRIBUTE_USER;
	if (is(name, len, ATTRIBUTE_ACL_ACCESS) || is(name, len, ATTRIBUTE_ACL_DEFAULT))
		return ATTRIBUTE_ACL;
	if (begins_with(name, len, "security.") && !is_label(name, len))
		return ATTRIBUTE_SECURITY;
	return begins_with(name, len, "trusted.") ? ATTRIBUTE_TRUSTED : 0;
}

static int compare_names(const struct attribute *a, const struct attribute *b)
{
	size_t least = a->name_len < b->name_len ? a->name_len : b->name_len;
	int order = memcmp(a->name, b->name, least);

	return order ? order : (a->name_len > b->name_len) - (a->name_len < b->name_len);
}

static int by_name(const void *a, const void *b)
{
	return compare_names(a, b);
}

size_t attributes_bytes(const struct attribute *at, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += at[i].name_len + at[i].value_len;
	return bytes;
}

haul_status attributes_check(const struct attribute *at, size_t count)
{
	if (count > ATTRIBUTES_MAX)
		return HAUL_BAD_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (!attribute_kind_of(at[i].name, at[i].name_len) || at[i].value_len > ATTRIBUTE_VALUE_MAX)
			return HAUL_BAD_VALUE;
		if (i && compare_names(&at[i - 1], &at[i]) >= 0)
			return HAUL_BAD_VALUE;
	}
	return attributes_bytes(at, count) > ATTRIBUTES_BYTES_MAX ? HAUL_BAD_VALUE : HAUL_OK;
}

static const char *put(char **to, const char *from, size_t len)
{
	char *at = *to;

	if (len)
		memcpy(at, from, len);
	at[len] = '\0';
	*to += len + 1;
	return at;
}

haul_status attributes_copy(const struct attribute *at, size_t count, struct attributes **ret_set)
{
	struct attributes *set;
	size_t bytes = attributes_bytes(at, count);
	char *to;

	*ret_set = NULL;
	if (!count)
		return HAUL_OK;
	set = malloc(sizeof(*set) + count * sizeof(set->at[0]) + bytes + 2 * count);
	if (!set)
		return HAUL_NO_MEMORY;
	set->count = count;
	set->bytes = bytes;
	to = (char *)&set->at[count];
	for (size_t i = 0; i < count; i++) {
		set->at[i] = at[i];
		set->at[i].name = put(&to, at[i].name, at[i].name_len);
		set->at[i].value = put(&to, at[i].value, at[i].value_len);
	}
	qsort(set->at, count, sizeof(set->at[0]), by_name);
	*ret_set = set;
	return HAUL_OK;
}

unsigned attributes_keep(struct attributes *set, unsigned kinds)
{
	unsigned dropped = 0;
	size_t kept = 0;

	for (size_t i = 0; set && i < set->count; i++) {
		unsigned kind = attribute_kind_of(set->at[i].name, set->at[i].name_len);

		if (kind & kinds)
			set->at[kept++] = set->at[i];
		else
			dropped |= kind;
	}
	if (set)
		set->count = kept;
	return dropped;
}

static bool is_same_value(const struct attribute *a, const struct attribute *b)
{
	return a->value_len == b->value_len && (!a->value_len || memcmp(a->value, b->value, a->value_len) == 0);
}

unsigned attributes_differ(const struct attributes *a, const struct attributes *b)
{
	size_t a_count = a ? a->count : 0, b_count = b ? b->count : 0, i = 0, k = 0;
	unsigned kinds = 0;

	while (i < a_count || k < b_count) {
		int order = i == a_count ? 1 : k == b_count ? -1 : compare_names(&a->at[i], &b->at[k]);
		const struct attribute *of = order <= 0 ? &a->at[i] : &b->at[k];

		if (order || !is_same_value(of, &b->at[k]))
			kinds |= attribute_kind_of(of->name, of->name_len);
		i += order <= 0;
		k += order >= 0;
	}
	return kinds;
}

const struct attribute *attributes_find(const struct attributes *set, const char *name)
{
	for (size_t i = 0; set && i < set->count; i++) {
		if (is(set->at[i].name, set->at[i].name_len, name))
			return &set->at[i];
	}
	return NULL;
}

static uint32_t u16_at(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8;
}

uint32_t attributes_mode_without_acl(const struct attributes *set, uint32_t mode)
{
	const struct attribute *acl = attributes_find(set, ATTRIBUTE_ACL_ACCESS);
	uint32_t group = 0;

	if (!acl)
		return mode;
	for (size_t i = ACL_HEADER_BYTES; i + ACL_ENTRY_BYTES <= acl->value_len; i += ACL_ENTRY_BYTES) {
		const uint8_t *entry = (const uint8_t *)acl->value + i;

		if (u16_at(entry) == ACL_TAG_GROUP_OBJ)
			group = u16_at(entry + 2) & 07;
	}
	/* Only bits that the mask allows: an ACL that makes no sense grants nothing. */
	return mode & (~UINT32_C(070) | group << 3);
}

bool acl_next_id(const struct attribute *acl, size_t *at, struct acl_id *ret_id)
{
	size_t i = *at ? *at : ACL_HEADER_BYTES;

	for (; i + ACL_ENTRY_BYTES <= acl->value_len; i += ACL_ENTRY_BYTES) {
		const uint8_t *entry = (const uint8_t *)acl->value + i;
		uint32_t tag = u16_at(entry);

		if (tag != ACL_TAG_USER && tag != ACL_TAG_GROUP)
			continue;
		*ret_id = (struct acl_id){ .is_group = tag == ACL_TAG_GROUP,
					   .id = u16_at(entry + 4) | u16_at(entry + 6) << 16,
					   .at = i + 4 };
		*at = i + ACL_ENTRY_BYTES;
		return true;
	}
	return false;
}

void acl_set_id(const struct attribute *acl, const struct acl_id *where, uint32_t id)
{
	char *to = (char *)(uintptr_t)acl->value + where->at;

	for (unsigned i = 0; i < 4; i++)
		to[i] = (char)(uint8_t)(id >> 8 * i);
}
