/*
 * Manifest records become entries, in order: the store looks at each. Directories live as long as anything in them is
 * in work; a directory is committed (final mode and times) when it has ended and everything in it is settled.
 */
#include "agent/receiver_parts.h"

#include "peer-protocol/codec.h"
#include "peer-protocol/lane_frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dir_node_drop(struct dir_node *d)
{
	while (d && --d->refs == 0) {
		struct dir_node *parent = d->parent;

		for (size_t i = 0; i < d->name_count; i++)
			free(d->names[i]);
		free(d->names);
		free(d->path);
		free(d);
		d = parent;
	}
}

void recv_entry_free(struct recv_entry *e)
{
	dir_node_drop(e->dir);
	dir_node_drop(e->node);
	hash_tree_free(e->tree);
	if (e->grant)
		leaf_claims_close(&e->grant->claims);
	free(e->grant);
	recv_entry_drop_have(e);
	store_give_back(e);
	store_leave_quota(e);
	free(e->notes);
	if (e->old.fd >= 0)
		(void)disk_file_close(&e->old);
	if (e->path)
		e->receiver->path_bytes -= strlen(e->path);
	free(e->path);
	free(e->link_target);
	free(e->attributes);
	free(e);
}

static char *join(const char *dir, const struct text *name)
{
	size_t dir_len = strlen(dir), at = dir_len ? dir_len + 1 : 0;
	char *path = malloc(at + name->len + 1);

	if (!path)
		return NULL;
	if (dir_len) {
		memcpy(path, dir, dir_len);
		path[dir_len] = '/';
	}
	memcpy(path + at, name->at, name->len);
	path[at + name->len] = '\0';
	return path;
}

struct dir_node *dir_node_new(struct dir_node *parent, uint64_t index, const char *path)
{
	struct dir_node *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->path = strdup(path);
	if (!d->path) {
		free(d);
		return NULL;
	}
	d->index = index;
	d->refs = 1;
	d->parent = parent;
	if (parent)
		parent->refs++;
	return d;
}

static haul_status push_dir(struct receiver *r, struct dir_node *d)
{
	if (r->open_count == r->open_cap) {
		size_t cap = r->open_cap ? r->open_cap * 2 : 16;
		struct dir_node **dirs = realloc(r->open_dirs, cap * sizeof(struct dir_node *));

		if (!dirs)
			return HAUL_NO_MEMORY;
		r->open_dirs = dirs;
		r->open_cap = cap;
	}
	r->open_dirs[r->open_count++] = d;
	d->refs++;
	return HAUL_OK;
}

/* The session has checked that the parent is open; the top of the stack is nearly always the one. */
static struct dir_node *open_dir(struct receiver *r, uint64_t index)
{
	for (size_t i = r->open_count; i > 0; i--) {
		if (r->open_dirs[i - 1]->index == index)
			return r->open_dirs[i - 1];
	}
	return NULL;
}

/* The credit of a directory's comes back at once, since it may wait for what is announced after it; so they are
 * counted. */
static haul_status take_attributes(struct recv_entry *e, const struct manifest_entry *me)
{
	struct receiver *r = e->receiver;
	size_t bytes = attributes_bytes(me->attributes, me->attribute_count);

	if (r->job->flags & JOB_NO_ATTRIBUTES)
		return HAUL_OK;
	e->is_read_by_root = me->flags & ENTRY_ATTRIBUTES_OF_ROOT;
	if (me->flags & ENTRY_ATTRIBUTES_LEFT_OUT)
		e->lost |= LOST_ATTRIBUTES_SOURCE;
	if (bytes && me->kind == ENTRY_DIRECTORY && r->attribute_bytes + bytes > RECEIVER_ATTRIBUTE_BYTES_MAX) {
		e->lost |= LOST_ATTRIBUTES_ROOM;
		return HAUL_OK;
	}
	r->attribute_bytes += bytes;
	return attributes_copy(me->attributes, me->attribute_count, &e->attributes);
}

static haul_status fill_entry(struct recv_entry *e, const struct manifest_entry *me)
{
	haul_status st;

	e->index = me->index;
	e->old.fd = -1;
	e->first_bad = UINT64_MAX;
	e->facts = (struct entry_facts){
		.kind = me->kind,
		.mode = me->mode,
		.size = me->size,
		.mtime = me->mtime,
		.uid = me->owner,
		.gid = me->group,
	};
	receiver_set_sparse(e, me->flags);
	if (me->flags & ENTRY_HAS_SOURCE_ID)
		memcpy(e->source_id, me->source_id, sizeof(e->source_id));
	if (e->receiver->cfg.origin_of &&
	    !e->receiver->cfg.origin_of(e->receiver->cfg.origin_ctx, me->index, &e->origin))
		e->origin.at.path = NULL;
	e->path = join(e->dir->path, &me->name);
	if (!e->path)
		return HAUL_NO_MEMORY;
	e->receiver->path_bytes += strlen(e->path);
	if (e->receiver->path_bytes > RECEIVER_PATH_BYTES_MAX)
		return HAUL_NO_MEMORY;
	st = take_attributes(e, me);
	if (haul_failed(st) || me->kind != ENTRY_LINK)
		return st;
	e->link_target = strndup(me->link_target.at, me->link_target.len);
	e->link_target_len = me->link_target.len;
	return e->link_target ? HAUL_OK : HAUL_NO_MEMORY;
}

static haul_status open_node(struct receiver *r, struct recv_entry *e)
{
	haul_status st;

	e->node = dir_node_new(e->dir, e->index, e->path);
	st = e->node ? push_dir(r, e->node) : HAUL_NO_MEMORY;
	if (e->node)
		e->node->entry = e;
	return st;
}

/* The root is open already. */
static haul_status take_root(struct receiver *r, struct recv_entry *e)
{
	e->node = r->root;
	e->node->refs++;
	e->node->entry = e;
	return HAUL_OK;
}

static haul_status make_entry(struct receiver *r, const struct manifest_entry *me, struct recv_entry **ret_entry)
{
	bool is_root = manifest_is_root(me);
	struct dir_node *dir = is_root ? r->above : open_dir(r, me->parent);
	struct recv_entry *e;
	haul_status st;

	if (is_root && !(r->job->flags & JOB_ROOT_TOO))
		return HAUL_BAD_VALUE;
	if (!dir)
		return HAUL_NOT_ANNOUNCED;
	e = calloc(1, sizeof(*e));
	if (!e)
		return HAUL_NO_MEMORY;
	e->receiver = r;
	e->dir = dir;
	dir->refs++;
	list_init(&e->link);
	st = fill_entry(e, me);
	if (haul_ok(st) && me->kind == ENTRY_DIRECTORY)
		st = is_root ? take_root(r, e) : open_node(r, e);
	if (haul_ok(st))
		st = index_map_put(&r->entries, e->index, e);
	if (haul_failed(st)) {
		recv_entry_free(e);
		return st;
	}
	dir->unsettled++;
	*ret_entry = e;
	return HAUL_OK;
}

/* A probe is one file in the root, no longer than was agreed, and too long for a pack. */
static bool is_probe_entry(const struct receiver *r, const struct manifest_entry *me)
{
	return !r->announced && me->kind == ENTRY_FILE && me->parent == HAUL_NO_INDEX &&
	       me->size > LANE_PACK_FILE_MAX && me->size <= r->job->probe.bytes;
}

static haul_status on_entry(struct receiver *r, const struct manifest_entry *me)
{
	struct recv_entry *e = NULL;
	haul_status st;

	if (r->job->verb == JOB_PROBE && !is_probe_entry(r, me))
		return HAUL_BAD_VALUE;
	st = make_entry(r, me, &e);

	if (haul_failed(st))
		return st;
	r->announced++;
	r->totals.entries++;
	if (me->kind == ENTRY_FILE) {
		r->totals.files++;
		r->totals.bytes += me->size;
	}
	if (r->choice && *e->path)
		choice_note_met(r->choice, e->path);
	r->in_threads++;
	store_look(&r->store, e);
	return HAUL_OK;
}

/* The directory's own commit can go: everything in it has been posted before it. */
static void dir_is_settled(struct receiver *r, struct dir_node *d)
{
	struct recv_entry *e = d->entry;

	(void)r;
	if (!e || !d->has_ended || d->unsettled || e->phase != RECV_WAITING)
		return;
	receiver_await_contents(e, false);
	receiver_commit(e, COMMIT_DIRECTORY);
}

void receiver_settle(struct recv_entry *e)
{
	if (e->is_settled)
		return;
	e->is_settled = true;
	e->dir->unsettled--;
	dir_is_settled(e->receiver, e->dir);
}

static haul_status on_dir_end(struct receiver *r, const struct manifest_dir_end *end)
{
	struct dir_node *d = r->open_count ? r->open_dirs[r->open_count - 1] : NULL;
	haul_status st;

	if (!d || d->index != end->directory)
		return HAUL_NOT_ANNOUNCED;
	if (!end->is_complete && !d->is_told) {
		const struct job_entry je = { .path = d->path,
					      .kind = ENTRY_DIRECTORY,
					      .outcome = OUTCOME_FAILED,
					      .code = haul_status_from_number(end->error) };

		if (r->job->cb.on_entry)
			r->job->cb.on_entry(r->job->ctx, &je);
	}
	d->is_partial = end->is_partial;
	st = store_dir_end(&r->store, r, d, end->is_complete);
	if (haul_ok(st)) {
		r->open_count--; /* the reference has gone on to the store */
		r->dir_ends++;
	}
	return st;
}

/* Something of the source that will not come. */
static haul_status on_problem(struct receiver *r, const struct manifest_problem *p)
{
	struct dir_node *d = open_dir(r, p->directory);
	char *path = d ? join(d->path, &p->name) : NULL;
	const struct job_entry je = { .path = path,
				      .outcome = OUTCOME_FAILED,
				      .code = haul_status_from_number(p->code) };

	if (!path)
		return d ? HAUL_NO_MEMORY : HAUL_NOT_ANNOUNCED;
	d->is_told = true;
	if (r->mirror && haul_failed(store_left_out(&r->store, d, &p->name))) {
		free(path);
		return HAUL_NO_MEMORY;
	}
	if (r->choice)
		choice_note_met(r->choice, path);
	r->out.credit_records++;
	if (r->job->cb.on_entry)
		r->job->cb.on_entry(r->job->ctx, &je);
	free(path);
	return HAUL_OK;
}

static haul_status on_record(struct receiver *r, const struct manifest_record *rec)
{
	switch (rec->type) {
	case RECORD_ENTRY:
		return on_entry(r, &rec->entry);
	case RECORD_DIR_END:
		return on_dir_end(r, &rec->dir_end);
	case RECORD_PROBLEM:
		return on_problem(r, &rec->problem);
	}
	return HAUL_BAD_FRAME;
}

/* Only the destination has it; with a code: it is a directory that may hold more, and could not be read. The path is
 * taken; NULL: there was no memory for it. */
static void tell_surplus(struct receiver *r, char *path, haul_status st)
{
	struct entry_result result = {
		.entry = HAUL_NO_INDEX, .outcome = OUTCOME_FAILED, .code = (uint32_t)st.code, .changes = CHANGE_SURPLUS
	};
	const struct job_entry je = { .path = path,
				      .outcome = OUTCOME_FAILED,
				      .code = st,
				      .failed_here = haul_failed(st),
				      .changes = CHANGE_SURPLUS };

	if (!path) {
		receiver_fail(r, HAUL_NO_MEMORY, NULL);
		return;
	}
	if (r->job->cb.on_entry)
		r->job->cb.on_entry(r->job->ctx, &je);
	result.detail = (struct text){ path, strlen(path) < MESSAGE_PATH_MAX ? strlen(path) : MESSAGE_PATH_MAX };
	out_result(r, &result, path);
}

void receiver_on_dir_end(struct receiver *r, struct dir_node *d, haul_status st, char **surplus, size_t count)
{
	r->dir_ends--;
	if (haul_failed(st) && !r->mirror && r->state == RECEIVER_RUNNING)
		tell_surplus(r, strdup(d->path), st);
	for (size_t i = 0; i < count; i++) {
		const struct text name = { surplus[i], strlen(surplus[i]) };

		if (r->state == RECEIVER_RUNNING)
			tell_surplus(r, join(d->path, &name), HAUL_OK);
		free(surplus[i]);
	}
	free(surplus);
	r->out.credit_records++;
	d->has_ended = true;
	if (r->state == RECEIVER_RUNNING)
		dir_is_settled(r, d);
	dir_node_drop(d);
	if (r->state == RECEIVER_STOPPING)
		receiver_check_end(r); /* this may be the last thing that the end waited for */
}

/* Of a file's attributes the credit comes back with its result: what is held of them is bounded so. */
static size_t attribute_bytes_held(const struct receiver *r, const struct manifest_record *rec)
{
	if (rec->type != RECORD_ENTRY || rec->entry.kind == ENTRY_DIRECTORY || r->job->flags & JOB_NO_ATTRIBUTES)
		return 0;
	return attributes_bytes(rec->entry.attributes, rec->entry.attribute_count);
}

void receiver_manifest(struct receiver *r, const struct msg_manifest *m)
{
	struct haul_fault fault = { 0 };
	haul_status st = HAUL_OK;

	for (size_t i = 0; i < m->record_count && haul_ok(st); i++) {
		const struct manifest_record *rec = &m->records[i];

		r->out.credit_bytes += manifest_record_bytes_max(rec) - attribute_bytes_held(r, rec);
		st = on_record(r, rec);
	}
	if (haul_failed(st))
		receiver_fail(r, haul_fault_set(&fault, st, "the manifest cannot be followed"), &fault);
}
