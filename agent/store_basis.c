/*
 * Which files have a basis: long enough that comparing is worth the turn it takes, and about as long as what comes.
 *
 * What is wanted of a file, and what is not, tells the peer which leaves of the old version are as in its own: whoever
 * may not read here learns nothing that way, his files travel whole. What an earlier job has left of the new version
 * goes first: it was sent, or taken from the old one, with more than the old one could give.
 */
#include "agent/store_basis.h"

#include "certs/rights.h"

enum {
	BASIS_LEAVES_MIN = 4,
	BASIS_FACTOR = 2, /* neither is longer than so many times the other */
};

static bool is_alike(uint64_t there, uint64_t comes)
{
	uint64_t least = BASIS_LEAVES_MIN * HAUL_LEAF_BYTES;

	return comes >= least && there / BASIS_FACTOR <= comes && comes / BASIS_FACTOR <= there;
}

bool store_wants_basis(const struct store *s, const struct recv_entry *e)
{
	const uint64_t needs = RIGHT_READ | RIGHT_OVERWRITE;

	return s->cfg.has_far_source && s->cfg.verb == JOB_COPY && (atomic_load(&s->rights) & needs) == needs &&
	       e->has_seen && e->may_replace && e->seen.kind == ENTRY_FILE && is_alike(e->seen.size, e->facts.size) &&
	       e->partial.found == PARTIAL_NEW;
}

bool store_open_basis(struct store *s, struct recv_entry *e)
{
	if (haul_failed(place_open_file(s->cfg.place, e->path, s->cfg.direct, &e->old, NULL))) {
		e->old.fd = -1;
		return false;
	}
	if (is_alike(e->old.facts.size, e->facts.size))
		return true;
	(void)disk_file_close(&e->old);
	e->old.fd = -1;
	return false;
}
