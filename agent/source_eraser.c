/*
 * Notes: a header, the two paths with their NULs, and the length of all that once more, so that they can be read
 * backwards. Forwards everything but directories goes; backwards the directories, children before parents.
 */
#include "agent/source_eraser.h"

#include "agent/eraser_entry.h"
#include "engine/beneath.h"
#include "engine/scratch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct note {
	struct entry_facts facts, landing;
	bool is_new;
	uint32_t source, source_bytes, landing_bytes; /* of the paths, with their NULs */
	uint32_t all_bytes;                           /* of the whole note, the trailer too */
};

struct eraser {
	FILE *notes;   /* owned; the scratch file */
	int64_t began; /* s since 1970: before anything was scanned */
	bool is_bad;   /* a note could not be written */
};

struct run {
	struct eraser *e;
	const struct scan_source *sources;
	size_t source_count;
	const struct eraser_callbacks *cb;
	struct eraser_totals *totals;
	struct parent_cache parents;
	bool is_dirty; /* something was deleted in the cached parent */
	char *paths;   /* owned; of the note in hand */
	size_t paths_cap;
	haul_status synced;
	struct eraser_proofs proofs;
};

haul_status eraser_new(const char *scratch_dir, struct eraser **ret_eraser, struct haul_fault *fault)
{
	struct eraser *e = calloc(1, sizeof(*e));
	int fd;

	if (!e)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for a move");
	e->began = time(NULL);
	fd = scratch_file_open(AT_FDCWD, scratch_dir);
	e->notes = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!e->notes) {
		haul_status st = haul_fault_errno(fault, errno, "cannot make a scratch file for a move");

		if (fd >= 0)
			(void)close(fd);
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
	(void)fclose(e->notes);
	free(e);
}

static uint32_t note_bytes(const struct note *n)
{
	return (uint32_t)sizeof(*n) + n->source_bytes + n->landing_bytes + (uint32_t)sizeof(n->all_bytes);
}

void eraser_note(struct eraser *e, const struct eraser_entry *entry)
{
	struct note n = { .facts = entry->facts,
			  .landing = entry->landing,
			  .is_new = entry->is_new,
			  .source = entry->source,
			  .source_bytes = (uint32_t)strlen(entry->source_path) + 1,
			  .landing_bytes = (uint32_t)strlen(entry->landing_path) + 1 };

	n.all_bytes = note_bytes(&n);
	if (fwrite(&n, sizeof(n), 1, e->notes) != 1 || fwrite(entry->source_path, n.source_bytes, 1, e->notes) != 1 ||
	    fwrite(entry->landing_path, n.landing_bytes, 1, e->notes) != 1 ||
	    fwrite(&n.all_bytes, sizeof(n.all_bytes), 1, e->notes) != 1)
		e->is_bad = true;
}

static bool make_room(struct run *r, size_t need)
{
	char *paths;

	if (need <= r->paths_cap)
		return true;
	paths = realloc(r->paths, need);
	if (!paths)
		return false;
	r->paths = paths;
	r->paths_cap = need;
	return true;
}

/* Read the note that begins at `at`; *ret_entry points into r->paths. */
static bool read_note(struct run *r, off_t at, struct eraser_entry *ret_entry, uint32_t *ret_bytes)
{
	struct note n;

	if (fseeko(r->e->notes, at, SEEK_SET) || fread(&n, sizeof(n), 1, r->e->notes) != 1 ||
	    n.source >= r->source_count || n.all_bytes != note_bytes(&n) ||
	    !make_room(r, (size_t)n.source_bytes + n.landing_bytes) ||
	    fread(r->paths, (size_t)n.source_bytes + n.landing_bytes, 1, r->e->notes) != 1)
		return false;
	*ret_entry = (struct eraser_entry){ .source = n.source,
					    .source_path = r->paths,
					    .landing_path = r->paths + n.source_bytes,
					    .facts = n.facts,
					    .landing = n.landing,
					    .is_new = n.is_new };
	*ret_bytes = n.all_bytes;
	return true;
}

/* Where the note that ends at `end` begins; -1: it cannot be read. */
static off_t note_before(struct run *r, off_t end)
{
	uint32_t bytes;

	if (fseeko(r->e->notes, end - (off_t)sizeof(bytes), SEEK_SET) ||
	    fread(&bytes, sizeof(bytes), 1, r->e->notes) != 1 || bytes == 0 || (off_t)bytes > end)
		return -1;
	return end - (off_t)bytes;
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

/* Files and links in the order in which they landed. False: not all notes could be read; what they name stays. */
static bool run_forwards(struct run *r, off_t end)
{
	bool is_whole = true;
	struct eraser_entry e;
	uint32_t bytes = 0;

	for (off_t at = 0; at < end && !is_stopped(r->proofs.stop); at += (off_t)bytes) {
		is_whole = read_note(r, at, &e, &bytes);
		if (!is_whole)
			break;
		if (e.facts.kind != ENTRY_DIRECTORY)
			erase(r, &e);
	}
	sync_parent(r);
	return is_whole;
}

/* Directories after what is in them. */
static bool run_backwards(struct run *r, off_t end)
{
	bool is_whole = true;
	struct eraser_entry e;
	uint32_t bytes;

	for (off_t at = end; at > 0 && !is_stopped(r->proofs.stop);) {
		at = note_before(r, at);
		is_whole = at >= 0 && read_note(r, at, &e, &bytes);
		if (!is_whole)
			break;
		if (e.facts.kind == ENTRY_DIRECTORY)
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
	if (e->is_bad || fflush(e->notes) || fseeko(e->notes, 0, SEEK_END) || (end = ftello(e->notes)) < 0)
		return haul_fault_set(fault, HAUL_IO, "the notes of what has landed could not be written: all stays");
	is_whole = run_forwards(&r, end) && run_backwards(&r, end);
	parent_cache_close(&r.parents);
	free(r.paths);
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
