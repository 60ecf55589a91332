/*
 * Rights decide by kind: `meta` for user.* and ACLs, `special` and a process that is root's for other attributes,
 * owners, setuid and setgid. Comparing (verify) takes none of them: it looks at all that can be read here.
 */
#include "agent/store_meta.h"

#include "certs/rights.h"

#include <stdlib.h>
#include <unistd.h>

/* Everything that could be set here if the sender had every right. */
static unsigned kinds_here(const struct store *s, const struct recv_entry *e)
{
	if (s->cfg.flags & JOB_NO_ATTRIBUTES)
		return 0;
	return s->attributes.kinds & (e->is_read_by_root ? ATTRIBUTE_KINDS_ALL : ATTRIBUTE_USER | ATTRIBUTE_ACL);
}

static unsigned kinds_allowed(const struct store *s, const struct recv_entry *e)
{
	uint64_t rights = atomic_load(&s->rights);
	unsigned kinds = 0;

	if (s->cfg.verb == JOB_VERIFY)
		return kinds_here(s, e);
	if (rights & RIGHT_META)
		kinds |= ATTRIBUTE_USER | ATTRIBUTE_ACL;
	if (rights & RIGHT_SPECIAL)
		kinds |= ATTRIBUTE_SECURITY | ATTRIBUTE_TRUSTED;
	return kinds & kinds_here(s, e);
}

/* What nobody can set in this process is not missed for want of a right. */
static uint32_t lost_for_rights(unsigned kinds)
{
	uint32_t lost = 0;

	if (kinds & ATTRIBUTE_USER)
		lost |= LOST_ATTRIBUTES_RIGHT;
	if (kinds & ATTRIBUTE_ACL)
		lost |= LOST_ACL_RIGHT;
	if (kinds & (ATTRIBUTE_SECURITY | ATTRIBUTE_TRUSTED))
		lost |= LOST_TRUSTED_RIGHT;
	return lost;
}

enum { SPECIAL_BITS = 06000, STICKY_BIT = 01000 };

/*
 * Owners are root's to give. setuid and setgid without their owner would lend somebody else's rights, and are left out;
 * so is a sticky bit of anything but a directory.
 */
static void trim_owner(struct store *s, struct recv_entry *e)
{
	bool is_root = geteuid() == 0 && !s->cfg.has_owner && !(s->cfg.flags & JOB_NO_OWNERS);
	bool may = s->cfg.verb == JOB_VERIFY || atomic_load(&s->rights) & RIGHT_SPECIAL;
	uint32_t bits = e->facts.mode & SPECIAL_BITS;

	e->keeps_owner = is_root && may;
	if (!e->is_mapped)
		store_map_owners(s, e);
	e->is_mapped = true;
	if (e->keeps_owner)
		return;
	e->facts.mode &= ~(uint32_t)(e->facts.kind == ENTRY_DIRECTORY ? SPECIAL_BITS : SPECIAL_BITS | STICKY_BIT);
	if (!is_root)
		return;
	if ((e->facts.uid != UINT32_MAX && e->facts.uid != geteuid()) ||
	    (e->facts.gid != UINT32_MAX && e->facts.gid != getegid()))
		e->lost |= LOST_OWNER_RIGHT;
	if (bits)
		e->lost |= LOST_SPECIAL_BITS;
}

void store_trim_meta(struct store *s, struct recv_entry *e)
{
	trim_owner(s, e);
	e->facts.mode &= ~s->cfg.umask;
	e->attribute_kinds = (uint8_t)kinds_allowed(s, e);
	if (!e->attributes)
		return;
	if (!(e->attribute_kinds & ATTRIBUTE_ACL))
		e->facts.mode = attributes_mode_without_acl(e->attributes, e->facts.mode);
	e->lost |= lost_for_rights(attributes_keep(e->attributes, e->attribute_kinds) & kinds_here(s, e));
}

static uint32_t attribute_changes(struct store *s, const struct recv_entry *e)
{
	struct attribute_reader *reader = &s->attributes;
	unsigned all = reader->kinds, differing;
	struct attributes *there = NULL;
	bool is_left_out = false;
	haul_status st;

	if (!e->attribute_kinds)
		return 0;
	reader->kinds = e->attribute_kinds;
	st = place_read_attributes(s->cfg.place, e->path, &e->seen, reader, &there, &is_left_out);
	reader->kinds = all;
	if (haul_failed(st))
		return 0; /* it says why when it is set, if it has to be */
	differing = attributes_differ(there, e->attributes);
	free(there);
	if (is_left_out)
		differing |= ATTRIBUTE_USER;
	return (differing & ATTRIBUTE_ACL ? CHANGE_ACL : 0u) |
	       (differing & ~(unsigned)ATTRIBUTE_ACL ? CHANGE_ATTRIBUTES : 0u);
}

bool store_time_equal(const struct store *s, const struct entry_time *a, const struct entry_time *b)
{
	uint64_t window = s->cfg.time_window_ns;
	int64_t sec = a->sec - b->sec, nsec = (int64_t)a->nsec - (int64_t)b->nsec;

	if (window <= 1)
		return sec == 0 && nsec == 0;
	if (sec > INT32_MAX || sec < INT32_MIN)
		return false;
	nsec += sec * 1000000000;
	return (uint64_t)(nsec < 0 ? -nsec : nsec) < window;
}

uint32_t store_meta_changes(struct store *s, struct recv_entry *e)
{
	uint32_t changes = 0;

	if (e->facts.kind != ENTRY_LINK && (e->seen.mode & 07777) != e->facts.mode)
		changes |= CHANGE_MODE;
	if (!store_time_equal(s, &e->seen.mtime, &e->facts.mtime))
		changes |= CHANGE_TIME;
	if (e->keeps_owner && e->facts.uid != UINT32_MAX && e->facts.uid != e->seen.uid)
		changes |= CHANGE_OWNER;
	if (e->keeps_owner && e->facts.gid != UINT32_MAX && e->facts.gid != e->seen.gid)
		changes |= CHANGE_GROUP;
	return changes | attribute_changes(s, e);
}
