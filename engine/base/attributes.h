/*
 * Extended attributes of one thing in a tree, POSIX ACLs among them: a set with its names in order, in one piece of
 * memory. No set (NULL) is the empty one, so what has none costs nothing. Thread: any; no state.
 */
#ifndef HAUL_BASE_ATTRIBUTES_H
#define HAUL_BASE_ATTRIBUTES_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ATTRIBUTE_NAME_MAX = 255,          /* bytes: XATTR_NAME_MAX of Linux */
	ATTRIBUTE_VALUE_MAX = 64 * 1024,   /* bytes: XATTR_SIZE_MAX */
	ATTRIBUTES_MAX = 256,              /* of one thing */
	ATTRIBUTES_BYTES_MAX = 128 * 1024, /* its names and values together */
};

#define ATTRIBUTE_ACL_ACCESS "system.posix_acl_access"
#define ATTRIBUTE_ACL_DEFAULT "system.posix_acl_default"

/* What is carried over, by who may set it. All else (labels that the system gives, other file systems' own) is not. */
enum attribute_kind {
	ATTRIBUTE_USER = 1 << 0,     /* user.* */
	ATTRIBUTE_ACL = 1 << 1,      /* the two above */
	ATTRIBUTE_SECURITY = 1 << 2, /* security.*, but for selinux, ima and evm */
	ATTRIBUTE_TRUSTED = 1 << 3,  /* trusted.* */
	ATTRIBUTE_KINDS_ALL = (1 << 4) - 1,
};

/* Layout: each pair is a struct text of peer-protocol/message.h. */
struct attribute {
	const char *name; /* name_len bytes, no NUL in them; in a set one follows */
	size_t name_len;
	const char *value;
	size_t value_len;
};

struct attributes {
	size_t count;          /* at least 1 unless attributes_keep() took them */
	size_t bytes;          /* of all names and values when it was made */
	struct attribute at[]; /* ascending by name */
};

/* The kind of a name; 0: it is not carried over. */
enum attribute_kind attribute_kind_of(const char *name, size_t len);

/*
 * Whether these may be one thing's attributes: names of a kind, ascending, values and sums within the bounds above.
 * HAUL_BAD_VALUE.
 */
HAUL_MUST_USE haul_status attributes_check(const struct attribute *at, size_t count);

/* Bytes of all names and values. */
size_t attributes_bytes(const struct attribute *at, size_t count);

/* A set of its own, in order; given: free(). None: *ret_set is NULL. HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status attributes_copy(const struct attribute *at, size_t count, struct attributes **ret_set);

/* Those of other kinds are taken out of the set (NULL is fine). Returns which kinds they were of. */
unsigned attributes_keep(struct attributes *set, unsigned kinds);

/* The kinds of which the two do not have the same names and values. NULL is an empty set. */
unsigned attributes_differ(const struct attributes *a, const struct attributes *b);

/* The one of that name, or NULL. */
const struct attribute *attributes_find(const struct attributes *set, const char *name);

/*
 * The mode of something whose access ACL (in the set, if there is one) is not carried over. With an ACL the group's
 * bits of a mode are the mask over all that the ACL grants; without it they would be the group's own and could allow
 * more.
 */
uint32_t attributes_mode_without_acl(const struct attributes *set, uint32_t mode);

/* A user or group that an ACL speaks of. */
struct acl_id {
	bool is_group;
	uint32_t id;
	size_t at; /* where the number lies in the value */
};

/* The next one of the ACL; *at is 0 at first. False: there are no more, whatever else the value holds. */
bool acl_next_id(const struct attribute *acl, size_t *at, struct acl_id *ret_id);

/* Another number in its place; the value is the caller's own. */
void acl_set_id(const struct attribute *acl, const struct acl_id *where, uint32_t id);

#endif
