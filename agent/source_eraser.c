/*
 * Notes: a header, the two paths with their NULs, and the length of all that once more, so that they can be read
 * backwards. Forwards everything but directories goes; backwards the directories, children before parents.
 *
 * The last look and unlinkat() are two calls, and what somebody writes between them goes with the file: Linux has no
 * call that deletes a name only while it leads to a given inode in a given state. They follow each other directly.
 */
#include "agent/source_eraser.h"

#include "agent/eraser_meta.h"
#include "agent/eraser_proof.h"
#include "engine/beneath.h"
#include "engine/scratch_file.h"

#include <dirent.h>
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
	int root_fd;
	const struct eraser_callbacks *cb;
	const _Atomic bool *stop;
	struct eraser_totals *totals;
	struct parent_cache parents;
	bool is_dirty; /* something was deleted in the cached parent */
	char *paths;   /* owned; of the note in hand */
	size_t paths_cap;
	haul_status synced;
	struct eraser_synced synced_devices;
	struct { /* of two directories; the last that were looked at */
		unsigned opened;
		uint64_t device, inode;
		haul_status apart;
		struct haul_fault fault;
	} pair;
};

/* Both ends of an entry in hand. */
struct at {
	int dir_fd; /* borrowed */
	const char *name;
	struct entry_facts now;
	int to_fd; /* owned */
	const char *to_name;
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

/* Nothing may have changed but what reading changes. */
static bool is_unchanged(const struct entry_facts *was, const struct entry_facts *is)
{
	return was->kind == is->kind && was->device == is->device && was->inode == is->inode && was->size == is->size &&
	       was->mtime.sec == is->mtime.sec && was->mtime.nsec == is->mtime.nsec &&
	       was->ctime.sec == is->ctime.sec && was->ctime.nsec == is->ctime.nsec;
}

static bool is_not_empty(haul_status st)
{
	return st.code == HAUL_NOT_EMPTY.code || st.code == HAUL_EXISTS.code;
}

static bool is_same_link(int dir_fd, const char *name, int to_fd, const char *to_name)
{
	char *here = NULL, *there = NULL;
	size_t here_len, there_len;
	bool is_same = haul_ok(beneath_read_link(dir_fd, name, &here, &here_len)) &&
		       haul_ok(beneath_read_link(to_fd, to_name, &there, &there_len)) && here_len == there_len &&
		       memcmp(here, there, here_len) == 0;

	free(here);
	free(there);
	return is_same;
}

/* The directory that what has landed lies in, and the entry's name there; dir_fd is given. */
static haul_status enter_landing(const struct run *r, const struct eraser_entry *e, int *ret_dir_fd,
				 const char **ret_name, struct haul_fault *fault)
{
	haul_status st = beneath_parent(r->root_fd, e->landing_path, ret_dir_fd, ret_name);

	return haul_ok(st) ? st : haul_fault_set(fault, HAUL_CHANGED, "what landed is not there any more");
}

/* What has landed is still there, just as it was then, and not the very entry that is to be deleted. */
static haul_status check_landing(const struct eraser_entry *e, const struct entry_facts *source, int to_fd,
				 const char *to_name, struct haul_fault *fault)
{
	struct entry_facts there;

	if (haul_failed(beneath_stat_at(to_fd, to_name, &there)) || there.kind != e->facts.kind)
		return haul_fault_set(fault, HAUL_CHANGED, "what landed is not there any more");
	if (there.device == e->facts.device && there.inode == e->facts.inode)
		return haul_fault_set(fault, HAUL_SAME_FILE, "what is at the destination is the very same file");
	if (!e->is_new && eraser_may_be_one(source, &there))
		return haul_fault_set(fault, HAUL_SAME_FILE,
				      "what is at the destination may be the very same, seen through another file "
				      "system: both have changed at the same nanosecond");
	if (there.kind != ENTRY_DIRECTORY && (there.size != e->facts.size || !is_unchanged(&e->landing, &there)))
		return haul_fault_set(fault, HAUL_CHANGED, "what landed has changed");
	return HAUL_OK;
}

/* The two directories are apart, and what this run has not written there is durable. Once for a run of entries. */
static haul_status prove_pair(struct run *r, const struct eraser_entry *e, int dir_fd, int to_fd,
			      struct haul_fault *fault)
{
	struct entry_facts to;
	haul_status st = beneath_stat_handle(to_fd, &to);

	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	if (r->pair.opened != r->parents.opened || r->pair.device != to.device || r->pair.inode != to.inode) {
		r->pair.opened = r->parents.opened;
		r->pair.device = to.device;
		r->pair.inode = to.inode;
		r->pair.apart = eraser_prove_apart(dir_fd, to_fd, &r->pair.fault);
	}
	if (haul_failed(r->pair.apart)) {
		*fault = r->pair.fault;
		return r->pair.apart;
	}
	return e->is_new ? HAUL_OK : eraser_sync(&r->synced_devices, to_fd, to.device, fault);
}

static haul_status check_entry(struct run *r, const struct eraser_entry *e, const struct at *at,
			       struct haul_fault *fault)
{
	haul_status st = check_landing(e, &at->now, at->to_fd, at->to_name, fault);

	if (haul_ok(st) && e->facts.kind == ENTRY_LINK && !is_same_link(at->dir_fd, at->name, at->to_fd, at->to_name))
		st = haul_fault_set(fault, HAUL_CHANGED, "what landed has changed");
	if (haul_ok(st))
		st = eraser_check_meta(at->dir_fd, at->name, at->to_fd, at->to_name, fault);
	return haul_ok(st) ? prove_pair(r, e, at->dir_fd, at->to_fd, fault) : st;
}

/* Back under its own name. Where that is taken meanwhile, or cannot be, the private name is told. */
static haul_status put_back(const struct at *at, const char *aside, haul_status st, struct haul_fault *fault)
{
	char why[HAUL_FAULT_TEXT_MAX];

	if (renameat2(at->dir_fd, aside, at->dir_fd, at->name, RENAME_NOREPLACE) == 0)
		return st;
	(void)snprintf(why, sizeof(why), "%s", fault->text);
	return haul_fault_set(fault, st, "%.300s; it is now %s in its directory: %s", why, aside, strerror(errno));
}

/*
 * For what this run did not write: take the name away, see that the destination still has it, and only then let go.
 * What is one file by two ways is gone there too, and comes back.
 */
static haul_status unlink_equal(const struct eraser_entry *e, const struct at *at, struct haul_fault *fault)
{
	char aside[ERASER_NAME_BYTES];
	struct entry_facts moved;
	haul_status st = eraser_private_name("aside-", aside);

	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	if (renameat2(at->dir_fd, at->name, at->dir_fd, aside, RENAME_NOREPLACE))
		return haul_fault_errno(fault, errno, "it cannot be set aside");
	st = check_landing(e, &at->now, at->to_fd, at->to_name, fault);
	if (haul_ok(st) &&
	    (haul_failed(beneath_stat_at(at->dir_fd, aside, &moved)) || moved.kind != e->facts.kind ||
	     moved.device != e->facts.device || moved.inode != e->facts.inode || moved.size != e->facts.size ||
	     moved.mtime.sec != e->facts.mtime.sec || moved.mtime.nsec != e->facts.mtime.nsec))
		st = haul_fault_set(fault, HAUL_CHANGED, "it has changed since it was read");
	if (haul_ok(st) && unlinkat(at->dir_fd, aside, 0))
		st = haul_fault_errno(fault, errno, "it cannot be deleted");
	return haul_ok(st) ? st : put_back(at, aside, st, fault);
}

/* What stands in the way of a directory was told, unless it was never looked at: names that are reserved for haul. */
static haul_status remove_directory(const struct at *at, struct haul_fault *fault)
{
	haul_status st;
	struct dirent *d;
	DIR *dir;
	int fd;

	if (unlinkat(at->dir_fd, at->name, AT_REMOVEDIR) == 0)
		return HAUL_OK;
	st = haul_fault_errno(fault, errno, "it cannot be deleted");
	if (!is_not_empty(st))
		return st;
	fd = openat(at->dir_fd, at->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (d = readdir(dir))) {
		if (haul_component_check(d->d_name, strlen(d->d_name)).code == HAUL_RESERVED_NAME.code) {
			st = haul_fault_set(fault, HAUL_RESERVED_NAME,
					    "names in it are reserved for haul (.haul, .haul.*, .haul-*) and were not "
					    "copied: rename them and run again");
			break;
		}
	}
	if (dir)
		(void)closedir(dir);
	else if (fd >= 0)
		(void)close(fd);
	return st;
}

static haul_status unlink_entry(const struct eraser_entry *e, const struct at *at, struct haul_fault *fault)
{
	if (e->facts.kind == ENTRY_DIRECTORY)
		return remove_directory(at, fault);
	if (!e->is_new)
		return unlink_equal(e, at, fault);
	return unlinkat(at->dir_fd, at->name, 0) ? haul_fault_errno(fault, errno, "it cannot be deleted") : HAUL_OK;
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
static haul_status look(struct run *r, const struct eraser_entry *e, struct at *ret_at, struct haul_fault *fault)
{
	haul_status st = enter_parent(r, e, &ret_at->dir_fd, &ret_at->name);

	if (haul_ok(st))
		st = beneath_stat_at(ret_at->dir_fd, ret_at->name, &ret_at->now);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	return HAUL_OK;
}

/* Where times may hide a change they are not believed: its bytes are looked at, and then its times once more. */
static haul_status check_fresh(const struct run *r, const struct eraser_entry *e, const struct at *at,
			       struct haul_fault *fault)
{
	struct entry_facts now;
	haul_status st;

	if (e->facts.kind != ENTRY_FILE || !eraser_is_fresh(&e->facts, r->e->began))
		return HAUL_OK;
	st = eraser_compare(at->dir_fd, at->name, at->to_fd, at->to_name, r->stop, fault);
	if (haul_ok(st) && (haul_failed(beneath_stat_at(at->dir_fd, at->name, &now)) || !is_unchanged(&e->facts, &now)))
		st = haul_fault_set(fault, HAUL_CHANGED, "it has changed since it was read");
	return st;
}

static void erase_checked(struct run *r, const struct eraser_entry *e, struct at *at)
{
	struct haul_fault fault = { 0 };
	haul_status st = enter_landing(r, e, &at->to_fd, &at->to_name, &fault);

	if (haul_failed(st)) {
		keep(r, e, &fault);
		return;
	}
	st = check_entry(r, e, at, &fault);
	if (haul_ok(st))
		st = check_fresh(r, e, at, &fault);
	if (haul_ok(st))
		st = unlink_entry(e, at, &fault);
	(void)close(at->to_fd);
	if (haul_ok(st)) {
		r->totals->files += e->facts.kind == ENTRY_FILE;
		r->totals->entries++;
		r->is_dirty = true;
	} else if (st.code != HAUL_NOT_FOUND.code && (e->facts.kind != ENTRY_DIRECTORY || !is_not_empty(st))) {
		keep(r, e, &fault);
	}
}

static void erase(struct run *r, const struct eraser_entry *e)
{
	struct haul_fault fault = { 0 };
	struct at at;
	haul_status st = look(r, e, &at, &fault);

	if (st.code == HAUL_NOT_FOUND.code)
		return; /* somebody else took it away */
	if (haul_failed(st)) {
		keep(r, e, &fault);
	} else if (!is_unchanged(&e->facts, &at.now)) {
		(void)haul_fault_set(&fault, HAUL_CHANGED, "it has changed since it was read");
		keep(r, e, &fault);
	} else {
		erase_checked(r, e, &at);
	}
}

/* A directory in which something stays, which was told, stays too. */
static void erase_directory(struct run *r, const struct eraser_entry *e)
{
	struct haul_fault fault = { 0 };
	struct at at;
	haul_status st;

	if (!*e->source_path)
		return;
	st = look(r, e, &at, &fault);
	if (haul_failed(st)) {
		if (st.code != HAUL_NOT_FOUND.code)
			keep(r, e, &fault);
		return;
	}
	if (at.now.kind != ENTRY_DIRECTORY || !entry_is_same(&at.now, &e->facts))
		return;
	erase_checked(r, e, &at);
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

	for (off_t at = 0; at < end && !is_stopped(r->stop); at += (off_t)bytes) {
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

	for (off_t at = end; at > 0 && !is_stopped(r->stop);) {
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
			 .root_fd = root_fd,
			 .cb = cb,
			 .stop = stop,
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
	struct run r = { .root_fd = root_fd };
	struct eraser_entry e = { .landing_path = landing_path };
	struct at at = { .dir_fd = dir_fd, .name = name };
	haul_status st = beneath_stat_at(dir_fd, name, &at.now);

	if (haul_failed(st))
		return haul_fault_set(fault, st, "%s", haul_status_text(st));
	e.facts = at.now;
	st = enter_landing(&r, &e, &at.to_fd, &at.to_name, fault);
	if (haul_failed(st))
		return st;
	r.parents.opened = 1; /* the pair is new */
	st = check_entry(&r, &e, &at, fault);
	if (haul_ok(st))
		st = unlink_entry(&e, &at, fault);
	(void)close(at.to_fd);
	return st;
}
