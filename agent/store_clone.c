/*
 * One try per pair of file systems tells whether it is worth trying again; a pair that cannot is remembered, a single
 * file that cannot (copy-on-write turned off for it, say) is copied as usual. The source is checked before and after,
 * as a lane does: a file that changes meanwhile fails rather than arriving as a mixture.
 */
#include "agent/store_clone.h"

#include "engine/beneath.h"

#include <fcntl.h>
#include <unistd.h>

static bool is_hopeless(const struct store *s, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < s->unclonable_count; i++) {
		if (s->unclonable[i].from == from && s->unclonable[i].to == to)
			return true;
	}
	return false;
}

static void give_up_pair(struct store *s, uint64_t from, uint64_t to)
{
	if (s->unclonable_count == STORE_PAIRS_MAX)
		s->unclonable_count = 0; /* so many file systems: try them again rather than grow */
	s->unclonable[s->unclonable_count].from = from;
	s->unclonable[s->unclonable_count++].to = to;
}

static haul_status open_origin(const struct entry_origin *o, int *ret_fd, struct entry_facts *ret_facts)
{
	haul_status st = follow_open(&o->at, O_RDONLY | O_NONBLOCK | O_NOATIME, ret_fd);

	if (st.code == HAUL_CODE_DENIED) /* O_NOATIME is for the owner alone */
		st = follow_open(&o->at, O_RDONLY | O_NONBLOCK, ret_fd);
	if (haul_failed(st))
		return st;
	st = beneath_stat_handle(*ret_fd, ret_facts);
	if (haul_ok(st) &&
	    (ret_facts->kind != ENTRY_FILE || ret_facts->inode != o->facts->inode ||
	     ret_facts->size != o->facts->size || !entry_time_equal(&ret_facts->mtime, &o->facts->mtime)))
		st = HAUL_CHANGED;
	if (haul_failed(st))
		(void)close(*ret_fd);
	return st;
}

static haul_status still_the_same(int fd, const struct entry_facts *then)
{
	struct entry_facts now;
	haul_status st = beneath_stat_handle(fd, &now);

	if (haul_ok(st) && (now.size != then->size || !entry_time_equal(&now.mtime, &then->mtime) ||
			    !entry_time_equal(&now.ctime, &then->ctime)))
		st = HAUL_CHANGED;
	return st;
}

/* HAUL_CROSS_DEVICE, HAUL_UNSUPPORTED: not by cloning; nothing is left of the partial. */
static haul_status clone_from(struct store *s, struct recv_entry *e, int fd, const struct entry_facts *facts)
{
	/* Room is not taken in advance: sharing needs none. */
	const struct partial_config cfg = { .size = facts->size, .direct = DIRECT_NEVER, .is_sparse = true };
	haul_status st = partial_create(s->cfg.place, e->path, &cfg, &e->partial, NULL);

	if (haul_failed(st))
		return st;
	st = partial_clone(&e->partial, fd);
	if (haul_ok(st))
		st = still_the_same(fd, facts);
	if (haul_failed(st))
		partial_discard(&e->partial);
	return st;
}

/* The device that the file will lie on; 0: it cannot be told. */
static uint64_t device_at(struct store *s, const struct recv_entry *e)
{
	struct entry_facts dir;

	return haul_ok(place_stat(s->cfg.place, e->dir->path, &dir)) ? dir.device : 0;
}

bool store_clone(struct store *s, struct recv_entry *e)
{
	uint64_t from, to;
	struct entry_facts facts;
	haul_status st;
	int fd;

	if (!s->cfg.may_clone || !e->origin.at.path || !e->facts.size)
		return false;
	from = e->origin.facts->device;
	to = device_at(s, e);
	if (is_hopeless(s, from, to))
		return false;
	st = open_origin(&e->origin, &fd, &facts);
	if (haul_ok(st)) {
		st = clone_from(s, e, fd, &facts);
		(void)close(fd);
	}
	if (st.code == HAUL_CODE_CROSS_DEVICE)
		give_up_pair(s, from, to);
	if (st.code == HAUL_CODE_CROSS_DEVICE || st.code == HAUL_CODE_UNSUPPORTED)
		return false;
	if (st.code == HAUL_CODE_CHANGED)
		return false; /* it is asked for: the sender sees that too, and tells it anew */
	e->was_cloned = haul_ok(st);
	e->code = st;
	return true;
}
