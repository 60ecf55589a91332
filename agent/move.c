/* Places, landing, one rename a source, both parents synced. */
#include "agent/move.h"

#include "agent/exit_class.h"
#include "agent/move_places.h"
#include "agent/report_exit.h"
#include "agent/share_guard.h"
#include "agent/stop_signals.h"
#include "engine/base/escape.h"
#include "engine/beneath.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { SHOWN_MAX = 384 };

struct move {
	const struct move_request *req;
	const struct move_observer *obs;
	struct transfer_report *report;
	unsigned reasons; /* bit n: exit class n */
	struct move_places places;
	bool *must_copy;
};

static void tell(struct move *v, int exit_code, haul_status st, const char *path, const char *text, const char *remedy)
{
	const struct transfer_problem p = {
		.code = st.code, .exit_code = exit_code, .side = "local", .path = path, .text = text, .remedy = remedy
	};

	v->reasons |= 1u << exit_code;
	v->obs->on_error(v->obs->ctx, &p);
}

static void on_missing(void *ctx, const char *path, haul_status st)
{
	struct move *v = ctx;
	char text[HAUL_FAULT_TEXT_MAX], shown[SHOWN_MAX];
	int code = v->req->source_count == 1 ? EXIT_CLASS_NO_SOURCE : EXIT_CLASS_ENTRIES;

	(void)snprintf(text, sizeof(text), "%s: %s", haul_escape(path, strlen(path), shown, sizeof(shown)),
		       haul_status_text(st));
	tell(v, code, st, path, text, NULL);
}

static void on_problem(void *ctx, const char *from, enum entry_kind kind, const struct haul_fault *fault,
		       const char *remedy)
{
	char shown[SHOWN_MAX], text[HAUL_FAULT_TEXT_MAX + SHOWN_MAX];
	int code = exit_class_of(fault->status);

	(void)kind;
	(void)snprintf(text, sizeof(text), "%s stays: %s", haul_escape(from, strlen(from), shown, sizeof(shown)),
		       fault->text);
	if (code == EXIT_CLASS_BUG || fault->status.code == HAUL_SAME_FILE.code)
		code = EXIT_CLASS_ENTRIES;
	tell(ctx, code, fault->status, from, text, remedy);
}

static void on_moved(void *ctx, const char *from, const char *to, enum entry_kind kind)
{
	struct move *v = ctx;

	v->obs->on_moved(v->obs->ctx, from, to, kind);
}

/* "root/name" as a user would type it; given, NULL without memory. */
static char *landing_path(const struct move_places *p, size_t i)
{
	const char *root = p->landing.root, *name = p->landing.landed[i].name;
	size_t len = strlen(root);
	char *path = NULL;

	if (!name)
		return strdup(*root ? root : ".");
	return asprintf(&path, "%s%s%s", root, len && root[len - 1] != '/' ? "/" : "", name) < 0 ? NULL : path;
}

static haul_status tell_landings(struct move *v)
{
	const struct move_places *p = &v->places;
	struct transfer_landing *l = calloc(p->count, sizeof(*l));
	char **paths = calloc(p->count, sizeof(*paths));
	bool is_whole = l && paths;
	struct entry_facts facts;

	for (size_t i = 0; is_whole && i < p->count; i++) {
		const struct landed *at = &p->landing.landed[i];

		paths[i] = landing_path(p, i);
		is_whole = paths[i];
		l[i] = (struct transfer_landing){ .source = p->sources[i].spec->text,
						  .destination = paths[i],
						  .is_contents = !at->name,
						  .is_link = at->is_link };
		l[i].is_new = *p->missing || (at->name && haul_failed(beneath_stat_at(p->root_fd, at->name, &facts)));
		if (!i && *p->missing && at->name)
			l[i].made_parents = p->landing.root;
	}
	if (is_whole)
		v->obs->on_landing(v->obs->ctx, l, p->count);
	for (size_t i = 0; paths && i < p->count; i++)
		free(paths[i]);
	free(paths);
	free(l);
	return is_whole ? HAUL_OK : HAUL_NO_MEMORY;
}

static haul_status move_source(struct move *v, struct mover *m, size_t i)
{
	const struct move_places *p = &v->places;
	const struct move_source *s = &p->sources[i];
	const char *name = p->landing.landed[i].name;
	int root_fd = *p->missing ? -1 : p->root_fd; /* missing: a dry run */
	char *path = landing_path(p, i);
	haul_status st = HAUL_NO_MEMORY;

	if (path && name && s->name) {
		const struct move_place from = { .dir_fd = s->dir_fd, .name = s->name, .shown = s->spec->text };
		const struct move_place to = { .dir_fd = root_fd, .name = name, .shown = path };

		st = mover_move(m, &from, &to);
	} else if (path) {
		st = mover_move_contents(m, s->dir_fd, s->spec->text, root_fd, path);
	}
	free(path);
	if (st.code != HAUL_CROSS_DEVICE.code)
		return st;
	v->must_copy[s->index] = true;
	return HAUL_OK;
}

static haul_status sync_parent(const struct move *v, int fd, struct haul_fault *fault)
{
	haul_status st = beneath_sync_directory(fd, v->places.root_fd);

	return haul_ok(st)
		   ? st
		   : haul_fault_set(fault, st, "what was renamed could not be made durable: %s", haul_status_text(st));
}

/* Destination first. Sources that follow one another mostly lie in one directory, which is synced once. */
static haul_status sync_parents(const struct move *v, struct haul_fault *fault)
{
	struct entry_facts last = { 0 }, facts;
	haul_status st = sync_parent(v, v->places.root_fd, fault);

	if (haul_ok(st))
		st = beneath_stat_handle(v->places.root_fd, &last);
	for (size_t i = 0; haul_ok(st) && i < v->places.count; i++) {
		int fd = v->places.sources[i].dir_fd;

		if (!v->places.sources[i].name)
			continue; /* the mover has synced what it emptied */
		st = beneath_stat_handle(fd, &facts);
		if (haul_ok(st) && !entry_is_same(&facts, &last))
			st = sync_parent(v, fd, fault);
		last = facts;
	}
	return st;
}

static void finish(struct move *v, const struct mover *m, haul_status st, struct haul_fault *fault)
{
	if (m->moved && !m->dry_run) {
		haul_status synced = sync_parents(v, fault);

		v->report->is_durable = haul_ok(synced);
		if (haul_failed(synced))
			tell(v, EXIT_CLASS_ENTRIES, synced, NULL, fault->text, NULL);
	}
	if (haul_failed(st) && st.code != HAUL_CANCELLED.code)
		tell(v, EXIT_CLASS_BUG, st, NULL, haul_status_text(st), NULL);
	v->report->entries_renamed = m->moved;
	v->report->entries_total = m->moved + m->failed;
	v->report->files_failed = m->failed_files;
}

/* No source may be replaced by another before it is its turn. */
static haul_status prepare(const struct move *v, struct mover *m)
{
	struct entry_facts root = { 0 };
	haul_status st = beneath_stat_handle(v->places.root_fd, &root);

	m->absent_device = root.device;
	for (size_t i = 0; haul_ok(st) && i < v->places.count; i++)
		st = mover_protect(m, &v->places.sources[i].facts);
	return st;
}

/* Directories that were made for nothing go again, unless copying is still to fill them. */
static void unmake(struct move *v, const struct mover *m)
{
	bool goes_on = false;

	for (size_t i = 0; i < v->req->source_count; i++)
		goes_on = goes_on || v->must_copy[i];
	if (!m->moved && (!goes_on || m->rule == MOVE_NUMBER)) /* numbers are not for copying */
		move_places_unmake(&v->places);
}

static void rename_all(struct move *v)
{
	struct mover m = { .calls = &mover_system_calls,
			   .rule = v->req->rule,
			   .dry_run = v->req->dry_run,
			   .stop = stop_signals_flag(),
			   .ctx = v,
			   .on_moved = v->obs->on_moved ? on_moved : NULL,
			   .on_problem = on_problem };
	struct haul_fault fault = { 0 };
	haul_status st = tell_landings(v);

	if (haul_ok(st))
		st = prepare(v, &m);
	/* Nothing can be renamed into what is not there; without it a dry run knows what would happen all the same. */
	if (haul_ok(st) && !m.dry_run)
		st = move_places_make_root(&v->places, &fault);
	if (haul_failed(st)) {
		int code = exit_class_of(st);

		tell(v, code == EXIT_CLASS_BUG ? EXIT_CLASS_ENTRIES : code, st, NULL,
		     fault.text[0] ? fault.text : haul_status_text(st), NULL);
		mover_close(&m);
		return;
	}
	for (size_t i = 0; haul_ok(st) && i < v->places.count; i++)
		st = move_source(v, &m, i);
	finish(v, &m, st, &fault);
	unmake(v, &m);
	mover_close(&m);
}

/* Nothing is moved that is, or holds, a share of this home. */
static bool guard_shares(struct move *v)
{
	const struct move_places *p = &v->places;
	struct share_list list;
	struct haul_fault fault;
	haul_status st;

	if (!v->req->home)
		return true;
	st = shares_load(v->req->home, &list, &fault);
	if (haul_failed(st)) {
		tell(v, EXIT_CLASS_NOT_ALLOWED, st, NULL, fault.text, NULL);
		return false;
	}
	for (size_t i = 0; haul_ok(st) && i < p->count; i++) {
		const struct move_source *s = &p->sources[i];

		st = share_guard_check(&list, s->dir_fd, s->name, !s->name, s->spec->text, &fault);
		if (haul_failed(st))
			tell(v, EXIT_CLASS_GUARD, st, s->spec->text, fault.text, NULL);
	}
	shares_free(&list);
	return haul_ok(st);
}

static void run(struct move *v)
{
	struct haul_fault fault;
	haul_status st = move_places_open(&v->places, v->req, on_missing, v, &fault);
	int code = exit_class_of(st);

	if (haul_ok(st)) {
		if (guard_shares(v))
			rename_all(v);
		move_places_close(&v->places);
	} else if (!v->reasons || st.code != HAUL_NOT_FOUND.code) {
		tell(v, code == EXIT_CLASS_BUG ? EXIT_CLASS_ENTRIES : code, st, NULL,
		     fault.text[0] ? fault.text : haul_status_text(st), NULL);
	} else if (v->req->source_count > 1) { /* each was told; none was there */
		v->reasons = 1u << EXIT_CLASS_NO_SOURCE;
	}
}

void move_run(const struct move_request *req, const struct move_observer *obs, bool *ret_must_copy,
	      struct transfer_report *ret_report)
{
	struct move v = { .req = req, .obs = obs, .report = ret_report, .must_copy = ret_must_copy };
	uint64_t began_ns = uv_hrtime();

	stop_signals_begin();
	run(&v);
	ret_report->signal_number = stop_signals_number();
	stop_signals_end();
	ret_report->is_dry_run = req->dry_run;
	ret_report->elapsed_s = (double)(uv_hrtime() - began_ns) / 1e9;
	report_fill_exit(ret_report, v.reasons);
}
