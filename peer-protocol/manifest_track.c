/* A stack of open directories and a few counters. */
#include "peer-protocol/manifest_track.h"

#include "engine/base/checked.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct open_directory {
	uint64_t index; /* HAUL_NO_INDEX: the root */
	uint64_t count; /* entries directly in it so far */
	size_t last_len;
	char last[HAUL_NAME_MAX]; /* name of the last of them */
};

enum { OPEN_CAP_MIN = 16 };

void manifest_track_open(struct manifest_track *t)
{
	*t = (struct manifest_track){ 0 };
}

void manifest_track_close(struct manifest_track *t)
{
	free(t->open);
	*t = (struct manifest_track){ 0 };
}

static haul_status push_directory(struct manifest_track *t, uint64_t index)
{
	if (t->depth == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : OPEN_CAP_MIN;
		struct open_directory *open = realloc(t->open, cap * sizeof(*open));

		if (!open)
			return HAUL_NO_MEMORY;
		t->open = open;
		t->cap = cap;
	}
	t->open[t->depth++] = (struct open_directory){ .index = index };
	return HAUL_OK;
}

/* The directory that is being listed; NULL after the root's end. */
static struct open_directory *top_directory(struct manifest_track *t)
{
	return t->depth ? &t->open[t->depth - 1] : NULL;
}

static haul_status references_check(const struct manifest_track *t, const struct manifest_entry *e,
				    struct haul_fault *fault)
{
	if (e->link_to != HAUL_NO_INDEX && e->link_to >= e->index)
		return haul_fault_set(fault, HAUL_NOT_ANNOUNCED,
				      "entry %" PRIu64 " links to entry %" PRIu64 " that was not announced before",
				      e->index, e->link_to);
	if ((e->owner != UINT32_MAX && e->owner >= t->owners) || (e->group != UINT32_MAX && e->group >= t->owners))
		return haul_fault_set(fault, HAUL_NOT_ANNOUNCED, "entry %" PRIu64 " has an owner without a name",
				      e->index);
	return HAUL_OK;
}

/* The place of an entry: next index, in the directory now open, after its siblings, not too deep. */
static haul_status place_check(struct manifest_track *t, const struct manifest_entry *e, struct haul_fault *fault)
{
	struct open_directory *top = top_directory(t);

	if (e->index != t->entries)
		return haul_fault_set(fault, HAUL_NOT_ANNOUNCED, "entry %" PRIu64 " came where %" PRIu64 " was due",
				      e->index, t->entries);
	if (!top || top->index != e->parent)
		return haul_fault_set(fault, HAUL_NOT_ANNOUNCED,
				      "entry %" PRIu64 " is not in the directory that is open", e->index);
	if (t->depth > HAUL_DEPTH_MAX)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "entry %" PRIu64 " lies deeper than %d components",
				      e->index, HAUL_DEPTH_MAX);
	if (manifest_is_root(e))
		return HAUL_OK; /* the first of all, so nothing comes before it */
	if (top->count && text_compare((struct text){ top->last, top->last_len }, e->name) >= 0)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "entry %" PRIu64 " is out of order", e->index);
	return HAUL_OK;
}

static haul_status track_entry(struct manifest_track *t, const struct manifest_entry *e, struct haul_fault *fault)
{
	struct open_directory *top;
	haul_status st = place_check(t, e, fault);

	if (haul_ok(st))
		st = references_check(t, e, fault);
	if (haul_failed(st))
		return st;
	st = haul_add_u64(t->file_bytes, e->size, &t->file_bytes);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "sum of all sizes is too large");
	if (manifest_is_root(e)) { /* open already, and nothing in it */
		t->has_root_entry = true;
		t->entries++;
		return HAUL_OK;
	}
	top = top_directory(t);
	top->count++;
	top->last_len = e->name.len;
	memcpy(top->last, e->name.at, e->name.len);
	t->entries++;
	if (e->kind != ENTRY_DIRECTORY)
		return HAUL_OK;
	st = push_directory(t, e->index);
	return haul_failed(st) ? haul_fault_set(fault, st, "no memory for directory %" PRIu64, e->index) : st;
}

static haul_status track_dir_end(struct manifest_track *t, const struct manifest_dir_end *e, struct haul_fault *fault)
{
	struct open_directory *top = top_directory(t);

	if (!top || top->index != e->directory)
		return haul_fault_set(fault, HAUL_NOT_ANNOUNCED, "end of a directory that is not the one open");
	if (top->count != e->count)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "directory has %" PRIu64 " entries, its end says %" PRIu64,
				      top->count, e->count);
	t->depth--;
	return HAUL_OK;
}

/* Any directory that is open: a name that is taken is told after its directory has been opened. */
static haul_status track_problem(const struct manifest_track *t, const struct manifest_problem *p,
				 struct haul_fault *fault)
{
	for (size_t i = t->depth; i > 0; i--) {
		if (t->open[i - 1].index == p->directory)
			return HAUL_OK;
	}
	return haul_fault_set(fault, HAUL_NOT_ANNOUNCED, "a problem in a directory that is not open");
}

static haul_status begin(struct manifest_track *t, struct haul_fault *fault)
{
	haul_status st;

	if (t->is_begun)
		return HAUL_OK;
	st = push_directory(t, HAUL_NO_INDEX);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "no memory for a manifest");
	t->is_begun = true;
	return HAUL_OK;
}

haul_status manifest_track_records(struct manifest_track *t, const struct msg_manifest *m, struct haul_fault *fault)
{
	haul_status st = begin(t, fault);

	for (size_t i = 0; haul_ok(st) && i < m->record_count; i++) {
		const struct manifest_record *r = &m->records[i];

		switch (r->type) {
		case RECORD_ENTRY:
			st = track_entry(t, &r->entry, fault);
			break;
		case RECORD_DIR_END:
			st = track_dir_end(t, &r->dir_end, fault);
			break;
		case RECORD_PROBLEM:
			st = track_problem(t, &r->problem, fault);
			break;
		}
	}
	return st;
}

haul_status manifest_track_owners(struct manifest_track *t, const struct msg_owners *m, struct haul_fault *fault)
{
	for (size_t i = 0; i < m->owner_count; i++) {
		if (m->owners[i].index != t->owners)
			return haul_fault_set(fault, HAUL_NOT_ANNOUNCED,
					      "owner %" PRIu32 " came where %" PRIu64 " was due", m->owners[i].index,
					      t->owners);
		t->owners++;
	}
	return HAUL_OK;
}

haul_status manifest_track_end(struct manifest_track *t, const struct msg_manifest_end *m, struct haul_fault *fault)
{
	if (t->depth == 1 && t->has_root_entry)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "manifest ends without the end of its root, an entry");
	if (t->depth > 1)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "manifest ends with %zu directories open", t->depth - 1);
	if (m->entries != t->entries || m->bytes != t->file_bytes)
		return haul_fault_set(fault, HAUL_BAD_VALUE,
				      "manifest had %" PRIu64 " entries of %" PRIu64 " bytes, its end says %" PRIu64
				      " of %" PRIu64,
				      t->entries, t->file_bytes, m->entries, m->bytes);
	return HAUL_OK;
}
