/*
 * The walk itself: a stack of frames, each step yields one item.
 *
 * In a frame names are taken one by one. The first source that has a name makes the entry; a directory that further
 * sources have too gathers them in `below`, and is gone into when the next name comes: so every clash is told before
 * the contents. When no name is left the directory has ended. Source paths are never stored: they are the landing path
 * with the source's own beginning.
 *
 * A directory on the way to what is chosen is pending: a frame without an entry. Before the first item in it, it and
 * those above it become entries, one a step, and the name that asked for it is looked at again.
 */
#include "engine/scan.h"

#include "engine/aside.h"
#include "engine/attribute_read.h"
#include "engine/beneath.h"
#include "engine/scan_state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static haul_status push(struct scan *s, struct scan_frame *f)
{
	if (s->depth == s->stack_cap) {
		unsigned cap = s->stack_cap ? 2 * s->stack_cap : 16;
		struct scan_frame **stack = realloc(s->stack, cap * sizeof(*stack));

		if (!stack)
			return HAUL_NO_MEMORY;
		s->stack = stack;
		s->stack_cap = cap;
	}
	s->stack[s->depth++] = f;
	return HAUL_OK;
}

static void pop(struct scan *s)
{
	struct scan_frame *f = s->stack[--s->depth];

	for (unsigned i = 0; i < f->dir_count; i++)
		scan_handles_close(&s->handles, &f->dirs[i]);
	frame_free(f);
}

/* The job's root: sources that land by name are its first names, in the same frame as the contents of the others. */
static haul_status root_frame(struct scan *s)
{
	struct scan_frame *f = frame_new(HAUL_NO_INDEX, 0, 0);
	haul_status st = HAUL_OK;

	if (!f)
		return HAUL_NO_MEMORY;
	for (unsigned i = 0; haul_ok(st) && i < s->source_count; i++) {
		st = frame_add_dir(f, i, NULL, 0);
		if (haul_ok(st) && s->sources[i].landing) {
			f->dirs[i].is_named = true;
			st = frame_add_name(f, s->sources[i].landing, i);
		}
	}
	if (haul_ok(st))
		st = push(s, f);
	if (haul_failed(st))
		frame_free(f);
	return st;
}

haul_status scan_new(const struct scan_source *sources, size_t count, struct scan **ret_scan, struct haul_fault *fault)
{
	struct scan *s = calloc(1, sizeof(*s));
	haul_status st = HAUL_OK;

	if (!s)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for the scan");
	scan_handles_open(&s->handles);
	s->sources = calloc(count ? count : 1, sizeof(*s->sources));
	if (!s->sources)
		st = haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for the scan");
	for (size_t i = 0; haul_ok(st) && i < count; i++) {
		s->source_count++;
		st = scan_root_open(&s->sources[i], &sources[i], fault);
	}
	if (haul_ok(st))
		st = root_frame(s);
	if (haul_failed(st)) {
		scan_free(s);
		return st;
	}
	*ret_scan = s;
	return HAUL_OK;
}

void scan_restore_aside(struct scan *s)
{
	s->restores_aside = true;
}

void scan_tell_root(struct scan *s)
{
	s->tells_root = true;
}

void scan_free(struct scan *s)
{
	if (!s)
		return;
	while (s->depth > 0)
		pop(s);
	for (unsigned i = 0; i < s->source_count; i++)
		scan_root_close(&s->sources[i]);
	free(s->sources);
	free(s->stack);
	free(s->path.at);
	free(s->source_path.at);
	free(s->link_target);
	free(s->attributes);
	free(s);
}

void scan_read_attributes(struct scan *s, unsigned kinds)
{
	s->reader.kinds = kinds;
}

struct attributes *scan_take_attributes(struct scan *s)
{
	struct attributes *taken = s->attributes;

	s->attributes = NULL;
	return taken;
}

void scan_choose(struct scan *s, const struct scan_choice *choice)
{
	s->choice = *choice;
}

static void fill_paths(const struct scan *s, struct scan_item *item, unsigned source)
{
	const char *slash = strrchr(s->path.at, '/');

	item->path = s->path.at;
	item->name = slash ? slash + 1 : s->path.at;
	item->source = source;
	item->source_path = s->source_path.at;
}

static void fill_problem(const struct scan *s, struct scan_item *item, unsigned source, haul_status problem)
{
	*item = (struct scan_item){ .event = SCAN_PROBLEM, .parent = HAUL_NO_INDEX, .problem = problem };
	fill_paths(s, item, source);
}

/* Failures of a scan are items, but memory is not. */
static bool is_fatal(haul_status st)
{
	return st.code == HAUL_NO_MEMORY.code;
}

/* As it was before a move that died: what that has put aside has its names again. */
static haul_status list_restored(struct scan *s, struct scan_frame *f, unsigned dir, int fd)
{
	size_t before = f->name_count;
	haul_status st = frame_read_names(f, dir, fd, s->buffer, sizeof(s->buffer));

	if (!f->has_aside || !s->restores_aside)
		return st;
	f->has_aside = false;
	if (!aside_restore(fd) || lseek(fd, 0, SEEK_SET) < 0)
		return st;
	f->name_count = before;
	return frame_read_names(f, dir, fd, s->buffer, sizeof(s->buffer));
}

static haul_status list_dir(struct scan *s, struct scan_frame *f, unsigned dir)
{
	size_t before = f->name_count;
	int fd = -1;
	haul_status st = scan_dir_handle(s, f, &f->dirs[dir], &fd);

	if (haul_ok(st))
		st = list_restored(s, f, dir, fd);
	/* What lies deeper than any path may be is told, not half taken. */
	if (haul_ok(st) && f->depth == HAUL_DEPTH_MAX && f->name_count > before) {
		f->name_count = before;
		st = HAUL_NAME_TOO_LONG;
	}
	if (haul_failed(st) && !is_fatal(st)) {
		f->dirs[dir].status = st;
		f->problem = st;
		return HAUL_OK;
	}
	return st;
}

/* List the sources' directories of a frame that has just become the top. */
static haul_status list_frame(struct scan *s, struct scan_frame *f)
{
	haul_status st = HAUL_OK;

	for (unsigned i = 0; haul_ok(st) && i < f->dir_count; i++) {
		if (!f->dirs[i].is_named)
			st = list_dir(s, f, i);
	}
	if (haul_ok(st))
		frame_sort(f);
	return st;
}

static haul_status go_below(struct scan *s, struct scan_frame *f)
{
	struct scan_frame *below = f->below;
	haul_status st = push(s, below);

	if (haul_failed(st))
		return st;
	f->below = NULL;
	s->is_flushing = below->is_pending && below->is_wanted;
	return list_frame(s, below);
}

/* Nothing of a pending directory is told before itself. True: the step is over. */
static bool waits_for_flush(struct scan *s, const struct scan_frame *f)
{
	s->is_flushing = s->is_flushing || f->is_pending;
	return s->is_flushing;
}

/* The next source's directory of this frame that failed and has not been told yet. */
static haul_status tell_failed_dir(struct scan *s, struct scan_frame *f, struct scan_item *item, bool *ret_is_item)
{
	for (; f->next_dir < f->dir_count; f->next_dir++) {
		struct scan_dir *d = &f->dirs[f->next_dir];
		haul_status st;

		if (haul_ok(d->status) || d->is_told)
			continue;
		if (waits_for_flush(s, f))
			return HAUL_OK;
		d->is_told = true;
		st = scan_set_path(s, f, NULL);
		if (haul_ok(st))
			st = scan_set_source_path(s, d->source);
		if (haul_failed(st))
			return st;
		fill_problem(s, item, d->source, d->status);
		item->is_listing = true;
		*ret_is_item = true;
		return HAUL_OK;
	}
	return HAUL_OK;
}

/* The frame's directory of one source was swapped or taken away while we were below: its other names go with it. */
static void lose_dir(struct scan_frame *f, unsigned dir, haul_status st)
{
	f->dirs[dir].status = st;
	f->dirs[dir].is_told = false;
	f->dirs[dir].is_lost = true;
	f->next_dir = dir < f->next_dir ? dir : f->next_dir;
	f->problem = st;
}

/* The name has its entry, or will have it; a directory is gone into before the next name. */
static haul_status win(struct scan *s, struct scan_frame *f, size_t i, const struct entry_facts *facts, uint32_t choice)
{
	unsigned source = f->dirs[f->names[i].dir].source;

	f->has_winner = true;
	f->winner = i;
	f->winner_kind = facts->kind;
	if (facts->kind != ENTRY_DIRECTORY)
		return HAUL_OK;
	f->below = frame_new(HAUL_NO_INDEX, s->path.len, f->depth + 1);
	if (!f->below)
		return HAUL_NO_MEMORY;
	return frame_add_dir(f->below, source, facts, choice);
}

/* A directory on the way: no entry yet. */
static haul_status go_through(struct scan *s, struct scan_frame *f, size_t i, const struct entry_facts *facts,
			      uint32_t choice, bool is_unknown)
{
	haul_status st = win(s, f, i, facts, choice);

	if (haul_failed(st))
		return st;
	f->below->is_pending = true;
	f->below->is_unknown = is_unknown;
	f->below->facts = *facts;
	f->below->attributes = scan_take_attributes(s);
	f->below->attributes_left_out = s->attributes_left_out;
	return HAUL_OK;
}

static haul_status fill_entry(struct scan *s, struct scan_frame *f, size_t i, const struct entry_facts *facts,
			      size_t link_len, uint32_t choice, struct scan_item *item)
{
	unsigned source = f->dirs[f->names[i].dir].source;
	haul_status st = win(s, f, i, facts, choice);

	if (haul_failed(st))
		return st;
	*item = (struct scan_item){
		.event = SCAN_ENTRY,
		.index = s->next_index,
		.parent = f->index,
		.facts = *facts,
		.link_target = s->link_target,
		.link_target_len = link_len,
		.attributes = s->attributes,
		.attributes_left_out = s->attributes_left_out,
	};
	fill_paths(s, item, source);
	if (f->below)
		f->below->index = s->next_index;
	f->reported++;
	s->next_index++;
	return HAUL_OK;
}

/* The uppermost pending directory becomes an entry; with none left the walk goes on. */
static haul_status flush(struct scan *s, struct scan_item *item, bool *ret_is_item)
{
	struct scan_frame *f = NULL, *above;
	unsigned i = 1;
	haul_status st;

	while (i < s->depth && !s->stack[i]->is_pending)
		i++;
	if (i == s->depth) {
		s->is_flushing = false;
		return HAUL_OK;
	}
	f = s->stack[i];
	above = s->stack[i - 1];
	if (above->path_len > 0)
		s->path.at[above->path_len] = '/'; /* where telling the one above has cut the path */
	st = scan_set_path(s, f, NULL);
	if (haul_ok(st))
		st = scan_set_source_path(s, f->dirs[0].source);
	if (haul_failed(st))
		return st;
	free(s->attributes);
	s->attributes = f->attributes;
	f->attributes = NULL;
	f->is_pending = false;
	f->index = s->next_index++;
	above->reported++;
	*item = (struct scan_item){ .event = SCAN_ENTRY,
				    .index = f->index,
				    .parent = above->index,
				    .facts = f->facts,
				    .attributes = s->attributes,
				    .attributes_left_out = f->attributes_left_out };
	fill_paths(s, item, f->dirs[0].source);
	*ret_is_item = true;
	return HAUL_OK;
}

static bool is_taken(const struct scan_frame *f, size_t i)
{
	return f->has_winner && strcmp(frame_name(f, f->winner), frame_name(f, i)) == 0;
}

/* An item for the name i of the frame, s->path and s->source_path being set to it. */
static haul_status fill_item(struct scan *s, struct scan_frame *f, size_t i, haul_status looked,
			     const struct entry_facts *facts, size_t link_len, uint32_t choice, struct scan_item *item)
{
	unsigned source = f->dirs[f->names[i].dir].source;

	if (haul_ok(looked) && !is_taken(f, i))
		return fill_entry(s, f, i, facts, link_len, choice, item);
	fill_problem(s, item, source, haul_ok(looked) ? HAUL_EXISTS : looked);
	item->parent = f->index;
	/* What is gone is no part of the directory; what may not be looked at is, and is missing from the listing. */
	if (haul_failed(looked) && looked.code != HAUL_NOT_FOUND.code)
		f->problem = looked;
	return HAUL_OK;
}

/* Without links a directory cannot lie in itself. Every directory is looked at, since a link may lead above the top. */
static bool leads_back(const struct scan *s, unsigned source, const struct entry_facts *facts)
{
	if (s->sources[source].links == LINKS_KEPT || facts->kind != ENTRY_DIRECTORY)
		return false;
	for (unsigned i = 0; i < s->depth; i++) {
		const struct scan_frame *f = s->stack[i];

		for (unsigned k = 0; k < f->dir_count; k++) {
			const struct scan_dir *d = &f->dirs[k];

			if (d->source == source && d->is_known && d->device == facts->device &&
			    d->inode == facts->inode)
				return true;
		}
	}
	return false;
}

static void forget_attributes(struct scan *s)
{
	free(s->attributes);
	s->attributes = NULL;
	s->attributes_left_out = false;
}

/* Look at the next name: an entry, a problem, or (a directory joining another, a lost one) no item at all. */
static haul_status next_name(struct scan *s, struct scan_frame *f, struct scan_item *item, bool *ret_is_item)
{
	size_t i = f->next++;
	struct scan_dir *d = &f->dirs[f->names[i].dir];
	struct entry_facts facts;
	size_t link_len = 0;
	uint32_t choice = 0;
	bool dir_failed = false, joins;
	enum scan_take take = SCAN_TAKE;
	haul_status looked, st;

	if (d->is_lost)
		return HAUL_OK;
	forget_attributes(s);
	looked = scan_look_at(s, f, i, &facts, &link_len, &dir_failed);
	if (haul_ok(looked) && leads_back(s, d->source, &facts))
		looked = HAUL_LINK_LOOP;
	if (is_fatal(looked))
		return looked;
	if (dir_failed) {
		lose_dir(f, f->names[i].dir, looked);
		return HAUL_OK;
	}
	st = scan_set_path(s, f, frame_name(f, i));
	if (haul_ok(st))
		st = scan_set_source_path(s, d->source);
	if (haul_failed(st))
		return st;
	st = scan_ask_choice(s, f, i, haul_ok(looked) ? &facts : NULL, &take, &choice);
	if (haul_failed(st))
		return st;
	if (take == SCAN_LEAVE || take == SCAN_LEAVE_UNKNOWN) {
		f->is_partial = f->is_partial || take == SCAN_LEAVE_UNKNOWN;
		return HAUL_OK;
	}
	joins = haul_ok(looked) && is_taken(f, i) && f->winner_kind == ENTRY_DIRECTORY && facts.kind == ENTRY_DIRECTORY;
	if (joins) {
		f->below->is_wanted = f->below->is_wanted || take == SCAN_TAKE;
		return frame_add_dir(f->below, d->source, &facts, choice);
	}
	if (take != SCAN_TAKE && haul_ok(looked) && !is_taken(f, i))
		return go_through(s, f, i, &facts, choice, take == SCAN_ON_WAY_UNKNOWN);
	if (waits_for_flush(s, f)) {
		f->next = i;
		return HAUL_OK;
	}
	*ret_is_item = true;
	return fill_item(s, f, i, looked, &facts, link_len, choice, item);
}

static haul_status end_directory(struct scan *s, struct scan_frame *f, struct scan_item *item, bool *ret_is_item)
{
	unsigned source = f->dir_count ? f->dirs[0].source : 0;
	haul_status st;

	if (f->is_pending) { /* nothing in it was chosen */
		s->stack[s->depth - 2]->is_partial |= f->is_unknown;
		pop(s);
		return HAUL_OK;
	}
	*ret_is_item = true;
	st = scan_set_path(s, f, NULL);
	if (haul_ok(st) && f->dir_count)
		st = scan_set_source_path(s, source);
	else if (haul_ok(st))
		st = text_set(&s->source_path, 0, "", 0);
	if (haul_failed(st))
		return st;
	*item = (struct scan_item){
		.event = SCAN_DIR_END,
		.index = f->index,
		.parent = HAUL_NO_INDEX,
		.count = f->reported,
		.is_complete = haul_ok(f->problem),
		.is_partial = f->is_partial,
		.problem = f->problem,
	};
	fill_paths(s, item, source);
	pop(s);
	return HAUL_OK;
}

static haul_status tell_root(struct scan *s, struct scan_item *item, bool *ret_is_item)
{
	struct scan_frame *f = s->stack[0];
	struct entry_facts facts;
	int fd = -1;
	haul_status st;

	s->tells_root = false;
	if (s->source_count != 1 || f->dirs[0].is_named || haul_failed(f->dirs[0].status))
		return HAUL_OK;
	st = scan_dir_handle(s, f, &f->dirs[0], &fd);
	if (haul_ok(st))
		st = beneath_stat_handle(fd, &facts);
	if (haul_ok(st))
		st = attribute_read(fd, s->reader.kinds, &s->attributes, &s->attributes_left_out);
	if (haul_failed(st))
		return is_fatal(st) ? st : HAUL_OK; /* gone meanwhile: its listing says so */
	*item = (struct scan_item){ .event = SCAN_ENTRY,
				    .index = s->next_index++,
				    .parent = HAUL_NO_INDEX,
				    .facts = facts,
				    .attributes = s->attributes,
				    .attributes_left_out = s->attributes_left_out };
	fill_paths(s, item, 0);
	*ret_is_item = true;
	return HAUL_OK;
}

/* One step in the top frame. */
static haul_status step(struct scan *s, struct scan_item *item, bool *ret_is_item)
{
	struct scan_frame *f = s->stack[s->depth - 1];
	haul_status st;

	if (s->is_flushing)
		return flush(s, item, ret_is_item);
	st = tell_failed_dir(s, f, item, ret_is_item);
	if (haul_failed(st) || *ret_is_item || s->is_flushing)
		return st;
	if (f->below && (f->next == f->name_count || !is_taken(f, f->next)))
		return go_below(s, f);
	if (f->next < f->name_count)
		return next_name(s, f, item, ret_is_item);
	return end_directory(s, f, item, ret_is_item);
}

haul_status scan_next(struct scan *s, struct scan_item *ret_item)
{
	bool is_item = false;
	haul_status st = HAUL_OK;

	free(s->link_target);
	s->link_target = NULL;
	if (s->depth == 0) {
		*ret_item = (struct scan_item){ .event = SCAN_END };
		return HAUL_OK;
	}
	if (!s->is_started) {
		s->is_started = true;
		st = list_frame(s, s->stack[0]);
	}
	if (haul_ok(st) && s->tells_root)
		st = tell_root(s, ret_item, &is_item);
	while (haul_ok(st) && !is_item)
		st = step(s, ret_item, &is_item);
	return st;
}
