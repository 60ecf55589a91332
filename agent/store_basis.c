/*
 * Which files have a basis: those long enough that comparing is worth the turn it takes, where a file of the same size
 * and time has landed under another name before, or else one about as long is there under theirs.
 *
 * What is wanted of a file, and what is not, tells the peer which leaves of the old one are as in its own: whoever may
 * not read here learns nothing that way, his files travel whole. What an earlier job has left of the new version goes
 * first: it was sent, or taken from the old one, with more than the old one could give.
 */
#include "agent/store_basis.h"

#include "agent/placed_files.h"
#include "agent/store_had.h"
#include "certs/rights.h"

#include <string.h>

enum {
	BASIS_LEAVES_MIN = 4,
	BASIS_FACTOR = 2,     /* neither is longer than so many times the other */
	BASIS_PLACES_MAX = 4, /* names under which it may have landed that are tried */
};

static bool is_alike(uint64_t there, uint64_t comes)
{
	return there / BASIS_FACTOR <= comes && comes / BASIS_FACTOR <= there;
}

static bool may_compare(const struct store *s, const struct recv_entry *e)
{
	return s->cfg.verb == JOB_COPY && atomic_load(&s->rights) & RIGHT_READ &&
	       e->facts.size >= BASIS_LEAVES_MIN * HAUL_LEAF_BYTES;
}

static bool may_have_basis(const struct store *s, const struct recv_entry *e)
{
	return s->cfg.has_far_source && may_compare(s, e) && e->partial.found == PARTIAL_NEW;
}

static bool has_version(const struct recv_entry *e)
{
	return e->has_seen && e->may_replace && e->seen.kind == ENTRY_FILE && is_alike(e->seen.size, e->facts.size);
}

bool store_wants_in_place(const struct store *s, const struct recv_entry *e)
{
	return s->cfg.flags & JOB_INPLACE && may_compare(s, e) && has_version(e);
}

void store_close_basis(struct recv_entry *e)
{
	if (e->old.fd >= 0)
		(void)disk_file_close(&e->old);
	e->old.fd = -1;
}

/* Of a length that will do; nothing is open on false. */
static bool open_it(struct store *s, struct recv_entry *e, const char *path, bool is_exact)
{
	uint64_t there;

	if (haul_failed(place_open_file(s->cfg.place, path, s->cfg.direct, &e->old, NULL))) {
		e->old.fd = -1;
		return false;
	}
	there = e->old.facts.size;
	if (is_exact ? there == e->facts.size : is_alike(there, e->facts.size)) {
		e->basis_path = path;
		return true;
	}
	store_close_basis(e);
	return false;
}

static bool open_placed(struct store *s, struct recv_entry *e)
{
	const char *path;

	for (unsigned i = 0; s->cfg.placed && i < BASIS_PLACES_MAX; i++) {
		path = placed_files_find(s->cfg.placed, e->facts.size, &e->facts.mtime, i);
		if (!path)
			return false;
		if (strcmp(path, e->path) && open_it(s, e, path, true))
			return true;
	}
	return false;
}

static bool open_basis(struct store *s, struct recv_entry *e)
{
	if (!may_have_basis(s, e))
		return false;
	return open_placed(s, e) || (has_version(e) && !e->is_unlike && open_it(s, e, e->path, false));
}

/* Where extents can be shared the partial itself is compared. A failure: the partial is of no use. */
static haul_status clone_basis(struct recv_entry *e)
{
	haul_status st = partial_clone_basis(&e->partial, e->old.fd);

	if (st.code == HAUL_CODE_CROSS_DEVICE || st.code == HAUL_CODE_UNSUPPORTED)
		return HAUL_OK; /* its leaves are written */
	store_close_basis(e);
	return st;
}

haul_status store_take_basis(struct store *s, struct recv_entry *e)
{
	if (!open_basis(s, e))
		return HAUL_OK;
	if (haul_ok(store_had_open(s, e))) {
		e->compares_kept = e->has_basis = true;
		return clone_basis(e);
	}
	store_had_close(e);
	store_close_basis(e);
	return HAUL_OK;
}

void store_guess_rename(struct store *s, struct recv_entry *e)
{
	const char *path;
	struct entry_facts there;

	for (unsigned i = 0; s->cfg.placed && may_compare(s, e) && !e->is_renamed && i < BASIS_PLACES_MAX; i++) {
		path = placed_files_find(s->cfg.placed, e->facts.size, &e->facts.mtime, i);
		if (!path)
			return;
		if (!strcmp(path, e->path) || haul_failed(place_stat(s->cfg.place, path, &there)))
			continue;
		e->is_renamed = there.kind == ENTRY_FILE && there.size == e->facts.size;
		e->basis_path = path;
	}
}
