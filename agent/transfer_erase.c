/*
 * The end of a move that had to copy: what the job has proven and made durable goes at the source. Nothing goes unless
 * the whole job came to its good end: both ends computed the same root, and the destination is durable.
 */
#include "agent/transfer_parts.h"

#include "agent/eraser_entry.h"
#include "agent/exit_class.h"
#include "agent/local_place.h"
#include "agent/stop_signals.h"
#include "engine/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

haul_status transfer_erase_open(struct transfer *t, struct haul_fault *fault)
{
	if (!t->req->is_move || t->req->dry_run)
		return HAUL_OK;
	return eraser_new(t->home->state_dir, &t->eraser, fault);
}

/* A file is proven by the root alone: neither size and time nor shared extents will do. */
void transfer_erase_note(struct transfer *t, const struct job_entry *e)
{
	bool is_good = e->kind == ENTRY_FILE ? e->outcome == OUTCOME_PROVEN && e->is_equal && !e->is_cloned
					     : e->outcome != OUTCOME_FAILED;

	struct eraser_entry note = {
		.source = e->source, .source_path = e->source_path, .landing_path = e->path, .is_new = e->is_committed
	};

	if (!e->facts || !is_good)
		return;
	note.facts = *e->facts;
	if (haul_failed(beneath_stat(t->root_fd, e->path, &note.landing)))
		note.landing = (struct entry_facts){ 0 }; /* equal to nothing: it is told at the end */
	eraser_note(t->eraser, &note);
}

static void on_kept(void *ctx, const struct eraser_entry *e, const struct haul_fault *fault)
{
	struct transfer *t = ctx;
	char shown[TRANSFER_SHOWN_MAX], text[TRANSFER_SHOWN_MAX + HAUL_FAULT_TEXT_MAX];
	int code = fault->status.code == HAUL_CHANGED.code ? EXIT_CLASS_CHANGED : EXIT_CLASS_ENTRIES;

	(void)snprintf(text, sizeof(text), "%s stays: %s",
		       transfer_shown(t, true, e->landing_path, shown, sizeof(shown)), fault->text);
	transfer_error(t, code, fault->status, text, NULL);
}

/* Whether the directory behind the place is the one that was scanned as a whole. */
static bool is_scanned(const struct scan_source *scanned, const struct local_place *p)
{
	struct entry_facts facts;

	return haul_ok(beneath_stat_handle(scanned->root_fd, &facts)) && entry_is_same(&facts, &p->facts);
}

/* A directory that was moved itself, not its contents: it goes when it is empty. */
static void erase_top(struct transfer *t, const struct scan_source *scanned, size_t i)
{
	const struct landing_place *src = &t->sources[i];
	struct haul_fault fault = { 0 };
	struct local_place p;
	haul_status opened;

	if (src->kind != ENTRY_DIRECTORY || !t->landing.landed[i].name)
		return;
	opened = local_place_open(&p, src->path, &fault);
	if (haul_failed(opened)) {
		/* Gone, or exchanged for a link; and what was typed as "." or ".." stays, empty. */
		if (opened.code != HAUL_NOT_FOUND.code && opened.code != HAUL_USAGE.code)
			transfer_error(t, EXIT_CLASS_ENTRIES, opened, fault.text, NULL);
		return;
	}
	if (!p.is_root && p.facts.kind == ENTRY_DIRECTORY && is_scanned(scanned, &p)) {
		haul_status st =
		    eraser_remove_directory(p.dir_fd, p.name, t->root_fd, t->landing.landed[i].name, &fault);

		if (haul_ok(st)) {
			t->report->entries_deleted++;
			if (haul_failed(beneath_sync_directory(p.dir_fd, -1)))
				transfer_error(t, EXIT_CLASS_ENTRIES, HAUL_IO,
					       "what was deleted could not be made durable", NULL);
		} else if (!eraser_is_not_empty(st) && st.code != HAUL_NOT_FOUND.code) {
			struct eraser_entry e = { .landing_path = t->landing.landed[i].name };

			on_kept(t, &e, &fault);
		}
	}
	local_place_close(&p);
}

void transfer_erase(struct transfer *t)
{
	const struct eraser_callbacks cb = { t, on_kept };
	struct eraser_totals totals;
	struct haul_fault fault = { 0 };
	haul_status st;

	if (!t->eraser || !t->report->is_durable || stop_signals_number())
		return;
	st = eraser_run(t->eraser, t->scan_sources, t->scan_source_count, t->root_fd, stop_signals_flag(), &cb, &totals,
			&fault);
	t->report->files_deleted = totals.files;
	t->report->files_kept = totals.kept_files;
	t->report->entries_deleted = totals.entries;
	for (size_t i = 0; haul_ok(st) && i < t->scan_source_count; i++)
		erase_top(t, &t->scan_sources[i], t->scan_places[i]);
	if (haul_failed(st) && st.code != HAUL_CANCELLED.code)
		transfer_error(t, EXIT_CLASS_ENTRIES, st, fault.text, NULL);
	t->report->signal_number = stop_signals_number();
}
