/* Places, guards, and the two runs of the tree remover. Nothing is deleted before every place has passed every guard.
 */
#include "agent/removal.h"

#include "agent/exit_class.h"
#include "agent/local_place.h"
#include "agent/report_exit.h"
#include "agent/share_guard.h"
#include "agent/stop_signals.h"
#include "engine/base/escape.h"
#include "engine/tree_remover.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

/* More than cores: most of the time a deletion waits for the file system's journal, not for the processor. */
enum { THREADS = 16, SHOWN_MAX = 384, COUNTED_MAX = 1000000 /* who is refused wants to know how many */ };

struct removal {
	const struct removal_request *req;
	const struct removal_observer *obs;
	struct transfer_report *report;
	unsigned reasons;           /* bit n: exit class n */
	struct local_place *places; /* owned; those that are there */
	struct tree_target *targets;
	size_t count;
	bool is_blind;     /* a place could not be looked at, which may well be there */
	uint64_t expected; /* entries, 0: unknown */
	uint64_t began_ns;
};

static double seconds_of(const struct removal *r)
{
	return (double)(uv_hrtime() - r->began_ns) / 1e9;
}

static void tell(struct removal *r, int exit_code, enum haul_code code, const char *path, const char *text,
		 const char *remedy)
{
	const struct transfer_problem p = {
		.code = code, .exit_code = exit_code, .side = "local", .path = path, .text = text, .remedy = remedy
	};

	r->reasons |= 1u << exit_code;
	if (r->obs->on_error)
		r->obs->on_error(r->obs->ctx, &p);
}

static bool is_refused(const struct removal *r)
{
	return r->is_blind ||
	       r->reasons & (1u << EXIT_CLASS_USAGE | 1u << EXIT_CLASS_GUARD | 1u << EXIT_CLASS_NOT_ALLOWED);
}

static void guard(struct removal *r, const char *path, const char *why, const char *remedy)
{
	char shown[SHOWN_MAX], text[HAUL_FAULT_TEXT_MAX + SHOWN_MAX];

	(void)snprintf(text, sizeof(text), "%s %s: nothing was removed",
		       haul_escape(path, strlen(path), shown, sizeof(shown)), why);
	tell(r, EXIT_CLASS_GUARD, HAUL_CODE_GUARD, path, text, remedy);
}

/* Whether it may be said that nothing is there, for this user: any other failure is no answer. */
static bool is_missing(haul_status st)
{
	return st.code == HAUL_NOT_FOUND.code || st.code == HAUL_NOT_DIRECTORY.code || st.code == HAUL_DENIED.code ||
	       st.code == HAUL_LINK_IN_PATH.code || st.code == HAUL_LINK_LOOP.code ||
	       st.code == HAUL_NAME_TOO_LONG.code;
}

static void cannot_look(struct removal *r, const char *path, const struct haul_fault *fault)
{
	char text[HAUL_FAULT_TEXT_MAX + SHOWN_MAX];

	(void)snprintf(text, sizeof(text), "%s: nothing was removed", fault->text);
	r->is_blind = true;
	tell(r, exit_class_of(fault->status), fault->status.code, path, text, NULL);
}

static void open_places(struct removal *r)
{
	for (size_t i = 0; i < r->req->count; i++) {
		const char *path = r->req->places[i].path;
		struct haul_fault fault;
		haul_status st = local_place_open(&r->places[r->count], r->req->places[i].text, &fault);
		const struct local_place *p = &r->places[r->count];

		if (st.code == HAUL_USAGE.code)
			tell(r, EXIT_CLASS_USAGE, st.code, path, fault.text, NULL);
		else if (haul_failed(st) && !is_missing(st))
			cannot_look(r, path, &fault);
		else if (haul_failed(st))
			tell(r, EXIT_CLASS_NO_SOURCE, st.code, path, fault.text, NULL);
		else if (p->is_root)
			guard(r, path, "is everything", NULL);
		else if (p->is_mount_point)
			guard(r, path, "is a mount point", "Remove what is in it, or unmount it first");
		if (haul_ok(st))
			r->count++;
	}
}

static void guard_shares(struct removal *r, const struct home *h)
{
	struct haul_fault fault;
	struct share_list list;

	if (!h)
		return;
	if (haul_failed(shares_load(h, &list, &fault))) {
		tell(r, EXIT_CLASS_NOT_ALLOWED, fault.status.code, NULL, fault.text, NULL);
		return;
	}
	for (size_t i = 0; i < r->count; i++) {
		const struct local_place *p = &r->places[i];

		if (haul_failed(share_guard_check(&list, p->dir_fd, p->name, false, p->text, &fault)))
			tell(r, EXIT_CLASS_GUARD, HAUL_CODE_GUARD, p->text, fault.text, NULL);
	}
	shares_free(&list);
}

static void on_entry(void *ctx, const char *path, enum entry_kind kind)
{
	struct removal *r = ctx;

	r->obs->on_entry(r->obs->ctx, path, kind);
}

static void on_problem(void *ctx, const char *path, enum entry_kind kind, const struct haul_fault *fault)
{
	char shown[SHOWN_MAX], text[HAUL_FAULT_TEXT_MAX + SHOWN_MAX];

	(void)kind;
	(void)snprintf(text, sizeof(text), "%s stays: %s", haul_escape(path, strlen(path), shown, sizeof(shown)),
		       fault->text);
	tell(ctx, EXIT_CLASS_ENTRIES, fault->status.code, path, text, NULL);
}

static void on_tick(void *ctx, const struct tree_totals *so_far)
{
	struct removal *r = ctx;

	if (r->obs->on_progress)
		r->obs->on_progress(r->obs->ctx, so_far->entries, r->expected, seconds_of(r));
}

static haul_status run_trees(struct removal *r, const struct tree_remover_config *cfg, struct tree_totals *ret_totals)
{
	struct haul_fault fault;
	haul_status st = tree_remover_run(cfg, r->targets, r->count, ret_totals, &fault);

	if (haul_failed(st))
		tell(r, EXIT_CLASS_BUG, st.code, NULL, fault.text, NULL);
	return st;
}

/* "1,234,567" */
static const char *with_commas(uint64_t n, char *buf, size_t cap)
{
	size_t used = 0;
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);

	for (size_t i = 0; i < len && used + 2 < cap; i++) {
		if (i && (len - i) % 3 == 0)
			buf[used++] = ',';
		buf[used++] = digits[i];
	}
	buf[used] = '\0';
	return buf;
}

static void over_limit(const struct removal *r, const struct tree_totals *found, char *text, size_t cap)
{
	char first[SHOWN_MAX / 2], others[48] = "", counted[32], limit[32];

	if (r->count > 1)
		(void)snprintf(others, sizeof(others), " and %zu more", r->count - 1);
	(void)snprintf(text, cap, "%s%s: %s%s entries, more than the %s that go without being asked%s",
		       haul_escape(r->places[0].text, strlen(r->places[0].text), first, sizeof(first)), others,
		       found->is_over ? "over " : "",
		       with_commas(found->is_over ? COUNTED_MAX : found->entries, counted, sizeof(counted)),
		       with_commas(REMOVAL_FREE_ENTRIES, limit, sizeof(limit)),
		       r->req->dry_run ? "" : ": nothing was removed");
}

/* Whether somebody agreed: it is little, or --yes was given, or whoever is at the terminal says so. */
static bool is_agreed(struct removal *r, const struct tree_totals *found)
{
	const struct removal_size size = {
		.entries = found->entries, .files = found->files, .bytes = found->bytes, .is_more = found->is_over
	};
	char text[HAUL_FAULT_TEXT_MAX];

	if (r->req->is_agreed || found->entries <= REMOVAL_FREE_ENTRIES)
		return true;
	if (r->obs->may_remove && (r->req->dry_run || r->obs->may_remove(r->obs->ctx, &size)))
		return true;
	over_limit(r, found, text, sizeof(text));
	tell(r, EXIT_CLASS_GUARD, HAUL_CODE_GUARD, r->places[0].text, text,
	     r->req->dry_run ? "With --yes it is done" : "With --yes it is done, with -n shown");
	return false;
}

/* Whether to go on to deleting. */
static bool count_first(struct removal *r)
{
	bool is_dry = r->req->dry_run, may_ask = r->obs->may_remove;
	struct tree_remover_config cfg = { .mode = TREE_COUNT,
					   .threads = THREADS,
					   .stop = stop_signals_flag(),
					   .ctx = r,
					   .on_entry = is_dry && r->req->want_entries ? on_entry : NULL };
	struct tree_totals found;

	if (!is_dry && r->req->is_agreed && !r->req->want_totals)
		return true;
	if (!is_dry && !r->req->is_agreed && !may_ask)
		cfg.entries_max = COUNTED_MAX;
	if (haul_failed(run_trees(r, &cfg, &found)) || found.is_stopped)
		return false;
	r->expected = found.entries;
	r->report->files_total = found.files;
	r->report->bytes_total = found.bytes;
	r->report->entries_total = found.entries;
	return is_agreed(r, &found) && !is_dry;
}

static void remove_all(struct removal *r)
{
	const struct tree_remover_config cfg = { .mode = TREE_REMOVE,
						 .threads = THREADS,
						 .stop = stop_signals_flag(),
						 .ctx = r,
						 .on_entry = r->req->want_entries ? on_entry : NULL,
						 .on_problem = on_problem,
						 .on_tick = on_tick };
	struct tree_totals gone;

	(void)run_trees(r, &cfg, &gone); /* a failure was told */
	r->report->files_deleted = gone.files;
	r->report->entries_deleted = gone.entries;
	r->report->files_failed = gone.left_files;
	if (r->report->files_total < gone.files + gone.left_files)
		r->report->files_total = gone.files + gone.left_files;
	if (r->report->entries_total < gone.entries + gone.left)
		r->report->entries_total = gone.entries + gone.left;
}

static void run_places(struct removal *r, const struct home *h)
{
	open_places(r);
	if (!is_refused(r))
		guard_shares(r, h);
	if (is_refused(r) || !r->count)
		return;
	if (r->reasons & 1u << EXIT_CLASS_NO_SOURCE) /* of several one was missing: docs/CLI.md "Exit codes" */
		r->reasons = 1u << EXIT_CLASS_ENTRIES;
	for (size_t i = 0; i < r->count; i++)
		r->targets[i] = (struct tree_target){ .dir_fd = r->places[i].dir_fd,
						      .name = r->places[i].name,
						      .shown = r->places[i].text };
	if (count_first(r) && !stop_signals_number())
		remove_all(r);
}

void removal_run(const struct home *h, const struct removal_request *req, const struct removal_observer *obs,
		 struct transfer_report *ret_report)
{
	struct removal r = { .req = req, .obs = obs, .report = ret_report, .began_ns = uv_hrtime() };

	assert(req->count > 0);
	r.places = calloc(req->count, sizeof(*r.places));
	r.targets = calloc(req->count, sizeof(*r.targets));
	stop_signals_begin();
	if (r.places && r.targets)
		run_places(&r, h);
	else
		tell(&r, EXIT_CLASS_BUG, HAUL_CODE_NO_MEMORY, NULL, haul_status_text(HAUL_NO_MEMORY), NULL);
	ret_report->signal_number = stop_signals_number();
	stop_signals_end();
	for (size_t i = 0; i < r.count; i++)
		local_place_close(&r.places[i]);
	free(r.places);
	free(r.targets);
	ret_report->is_dry_run = req->dry_run;
	ret_report->elapsed_s = seconds_of(&r);
	report_fill_exit(ret_report, r.reasons);
}
