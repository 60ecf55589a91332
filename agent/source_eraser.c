/*
 * The notes twice, in the order in which their entries landed: first everything but directories goes, then the
 * directories. One lands after all that is in it, so children come before parents.
 */
#include "agent/source_eraser.h"

#include "agent/eraser_entry.h"
#include "agent/note_file.h"
#include "engine/beneath.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct note {
	struct entry_facts facts, landing;
	bool is_new;
	uint32_t source;
};

struct eraser {
	struct note_file *notes; /* owned */
	int64_t began;           /* s since 1970: before anything was scanned */
};

struct run {
	struct eraser *e;
	const struct scan_source *sources;
	size_t source_count;
	const struct eraser_callbacks *cb;
	struct eraser_totals *totals;
	struct parent_cache parents;
	bool is_dirty; /* something was deleted in the cached parent */
	haul_status synced;
	struct eraser_proofs proofs;
};

haul_status eraser_new(const char *scratch_dir, struct eraser **ret_eraser, struct haul_fault *fault)
{
	struct eraser *e = calloc(1, sizeof(*e));
	haul_status st;

	if (!e)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for a move");
	e->began = time(NULL);
	st = note_file_new(scratch_dir, &e->notes, fault);
	if (haul_failed(st)) {
		free(e);
		return st;
	}
	*ret_eraser = e;
	return HAUL_OK;
}

void eraser_free(struct eraser *e)
{
	if (!e)
		return;
	note_file_free(e->notes);
	free(e);
}

void eraser_note(struct eraser *e, const struct eraser_entry *entry)
{
	const struct note n = {
		.facts = entry->facts, .landing = entry->landing, .is_new = entry->is_new, .source = entry->source
	};

	(void)note_file_add(e->notes, &n, sizeof(n), entry->source_path, entry->landing_path);
}

/* Read the note that begins at `at`; what *ret_entry points to is valid until the next one is read. */
static bool read_note(struct run *r, off_t at, struct eraser_entry *ret_entry, off_t *ret_next)
{
	struct note n;
	const char *source_path, *landing_path;

	if (haul_failed(note_file_read(r->e->notes, at, &n, sizeof(n), &source_path, &landing_path, ret_next)) ||
	    n.source >= r->source_count)
		return false;
	*ret_entry = (struct eraser_entry){ .source = n.source,
					    .source_path = source_path,
					    .landing_path = landing_path,
					    .facts = n.facts,
					    .landing = n.landing,
					    .is_new = n.is_new };
	return true;
}

static void keep(struct run *r, const struct eraser_entry *e, const struct haul_fault *fault)
{
	r->totals->kept_files += e->facts.kind == ENTRY_FILE;
	r->cb->on_kept(r->cb->ctx, e, fault);
}

static void sync_parent(struct run *r)
{
	if (r->is_dirty) {
		haul_status st = beneath_sync_directory(r->parents.dir_fd, -1);

		if (haul_failed(st))
			r->synced = st;
	}
	r->is_dirty = false;
}

static haul_status enter_parent(struct run *r, const struct eraser_entry *e, int *ret_fd, const char **ret_name)
{
	int root_fd = r->sources[e->source].root_fd;
	const char *slash = strrchr(e->source_path, '/');
	size_t len = slash ? (size_t)(slash - e->source_path) : 0;

	if (r->parents.path && (r->parents.root_fd != root_fd || strlen(r->parents.path) != len ||
				memcmp(r->parents.path, e->source_path, len) != 0))
		sync_parent(r);
	return parent_cache_get(&r->parents, root_fd, e->source_path, ret_fd, ret_name);
}

/* What is to be deleted, as it is now; HAUL_NOT_FOUND: it is gone. */
static haul_status look(struct run *r, const struct eraser_entry *e, struct eraser_source *ret_from,
			struct haul_fault *fault)
{
	haul_status st = enter_parent(r, e, &ret_from->dir_fd, &ret_from->name);

	ret_from->dir_number = r->parents.opened;
	if (haul_ok(st))
		st = beneath_stat_at(ret_from->dir_fd, ret_from->name, &ret_from->now);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	return HAUL_OK;
}

static void erase_checked(struct run *r, const struct eraser_entry *e, const struct eraser_source *from)
{
	struct haul_fault fault = { 0 };
	haul_status st = eraser_entry_erase(&r->proofs, e, from, &fault);

	if (haul_ok(st)) {
		r->totals->files += e->facts.kind == ENTRY_FILE;
		r->totals->entries++;
		r->is_dirty = true;
	} else if (st.code != HAUL_NOT_FOUND.code && (e->facts.kind != ENTRY_DIRECTORY || !eraser_is_not_empty(st))) {
		keep(r, e, &fault);
	}
}

static void erase(struct run *r, const struct eraser_entry *e)
{
	struct haul_fault fault = { 0 };
	struct eraser_source from;
	haul_status st = look(r, e, &from, &fault);

	if (st.code == HAUL_NOT_FOUND.code)
		return; /* somebody else took it away */
	if (haul_failed(st)) {
		keep(r, e, &fault);
	} else if (!eraser_is_unchanged(&e->facts, &from.now)) {
		(void)haul_fault_set(&fault, HAUL_CHANGED, "it has changed since it was read");
		keep(r, e, &fault);
	} else {
		erase_checked(r, e, &from);
	}
}

/* A directory in which something stays, which was told, stays too. */
static void erase_directory(struct run *r, const struct eraser_entry *e)
{
	struct haul_fault fault = { 0 };
	struct eraser_source from;
	haul_status st;

	if (!*e->source_path)
		return;
	st = look(r, e, &from, &fault);
	if (haul_failed(st)) {
		if (st.code != HAUL_NOT_FOUND.code)
			keep(r, e, &fault);
		return;
	}
	if (from.now.kind != ENTRY_DIRECTORY || !entry_is_same(&from.now, &e->facts))
		return;
	erase_checked(r, e, &from);
}

static bool is_stopped(const _Atomic bool *stop)
{
	return stop && atomic_load_explicit(stop, memory_order_relaxed);
}

/* False: not all notes could be read; what they name stays. */
static bool run_through(struct run *r, off_t end, bool wants_directories)
{
	bool is_whole = true;
	struct eraser_entry e;

	for (off_t at = 0; at < end && !is_stopped(r->proofs.stop);) {
		is_whole = read_note(r, at, &e, &at);
		if (!is_whole)
			break;
		if (!wants_directories && e.facts.kind != ENTRY_DIRECTORY)
			erase(r, &e);
		if (wants_directories && e.facts.kind == ENTRY_DIRECTORY)
			erase_directory(r, &e);
	}
	sync_parent(r);
	return is_whole;
}

haul_status eraser_run(struct eraser *e, const struct scan_source *sources, size_t source_count, int root_fd,
		       const _Atomic bool *stop, const struct eraser_callbacks *cb, struct eraser_totals *ret_totals,
		       struct haul_fault *fault)
{
	struct run r = { .e = e,
			 .sources = sources,
			 .source_count = source_count,
			 .cb = cb,
			 .proofs = { .root_fd = root_fd, .began = e->began, .stop = stop },
			 .totals = ret_totals,
			 .synced = HAUL_OK };
	bool is_whole;
	off_t end;

	*ret_totals = (struct eraser_totals){ 0 };
	if (haul_failed(note_file_end(e->notes, &end)))
		return haul_fault_set(fault, HAUL_IO, "the notes of what has landed could not be written: all stays");
	is_whole = run_through(&r, end, false) && run_through(&r, end, true);
	parent_cache_close(&r.parents);
	if (is_stopped(stop))
		return HAUL_CANCELLED;
	if (haul_failed(r.synced))
		return haul_fault_set(fault, r.synced, "what was deleted could not be made durable: %s",
				      haul_status_text(r.synced));
	return is_whole ? HAUL_OK
			: haul_fault_set(fault, HAUL_IO,
					 "the notes of what has landed could not be read: what is left stays. Run the "
					 "same command again");
}

haul_status eraser_remove_directory(int dir_fd, const char *name, int root_fd, const char *landing_path,
				    struct haul_fault *fault)
{
	struct eraser_proofs proofs = { .root_fd = root_fd };
	struct eraser_entry e = { .landing_path = landing_path };
	struct eraser_source from = { .dir_fd = dir_fd, .dir_number = 1, .name = name };
	haul_status st = beneath_stat_at(dir_fd, name, &from.now);

	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	e.facts = from.now;
	return eraser_entry_erase(&proofs, &e, &from, fault);
}
