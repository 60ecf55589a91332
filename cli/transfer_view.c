/* One function per event; each either prints a line or hands it to events.c. */
#include "cli/transfer_view.h"

#include "cli/changes.h"
#include "cli/events.h"
#include "cli/filter_options.h"
#include "cli/summary.h"

#include "engine/base/escape.h"

#include <string.h>

enum { CHECK_AGAIN_SOURCES = 1 };

void transfer_view_landing(struct console *c, const struct transfer_landing *l, const char *environment)
{
	char from[HAUL_ESCAPED_MAX / 2], to[HAUL_ESCAPED_MAX / 2];

	console_note(c, "%s -> %s (%s%s)%s%s", haul_escape(l->source, strlen(l->source), from, sizeof(from)),
		     haul_escape(l->destination, strlen(l->destination), to, sizeof(to)),
		     l->is_contents ? "contents, " : "",
		     l->is_hidden ? "not visible"
		     : l->is_new  ? "new"
				  : "exists",
		     *environment ? "; from the environment: " : "", environment);
}

void transfer_view_made(struct console *c, const struct transfer_landing *l, bool dry_run)
{
	char name[HAUL_ESCAPED_MAX / 2];

	if (l->made_parents && *l->made_parents)
		console_note(c, dry_run ? "would make %s" : "makes %s",
			     haul_escape(l->made_parents, strlen(l->made_parents), name, sizeof(name)));
}

static void landing_line(struct transfer_view *v, const struct transfer_landing *l, const char *environment)
{
	char from[HAUL_ESCAPED_MAX / 2], to[HAUL_ESCAPED_MAX / 2];

	if (v->request->verb != TRANSFER_VERIFY) {
		transfer_view_landing(v->console, l, environment);
		return;
	}
	console_note(v->console, "comparing %s with %s%s%s",
		     haul_escape(l->source, strlen(l->source), from, sizeof(from)),
		     haul_escape(l->destination, strlen(l->destination), to, sizeof(to)),
		     *environment ? "; from the environment: " : "", environment);
}

static void landing_notes(struct transfer_view *v, const struct transfer_landing *l)
{
	char name[HAUL_ESCAPED_MAX / 2];

	if (v->request->verb != TRANSFER_VERIFY)
		transfer_view_made(v->console, l, v->request->dry_run);
	if (l->is_link)
		console_note(v->console,
			     "%s is a link and lands as a link. For what it points to: a slash at its end, or -L",
			     haul_escape(l->source, strlen(l->source), name, sizeof(name)));
}

static void prepare_check_again(struct transfer_view *v, const struct transfer_landing *landings, size_t count)
{
	char from[HAUL_ESCAPED_MAX / 3], to[HAUL_ESCAPED_MAX / 3];

	if (count != CHECK_AGAIN_SOURCES || v->request->verb == TRANSFER_VERIFY || v->request->is_move)
		return;
	(void)snprintf(v->check_again, sizeof(v->check_again), "haul verify %s%s %s",
		       *landings->source == '-' ? "-- " : "", shell_word(landings->source, from, sizeof(from)),
		       shell_word(landings->destination, to, sizeof(to)));
}

static void on_landing(void *ctx, const struct transfer_landing *landings, size_t count)
{
	struct transfer_view *v = ctx;

	v->has_landed = true;
	event_start(v->console, v->verb_name, v->environment, landings, count);
	for (size_t i = 0; i < count; i++)
		landing_line(v, &landings[i], i ? "" : v->environment);
	for (size_t i = 0; i < count; i++)
		landing_notes(v, &landings[i]);
	prepare_check_again(v, landings, count);
}

static void on_note(void *ctx, const char *text)
{
	console_note(((struct transfer_view *)ctx)->console, "%s", text);
}

static void on_explain(void *ctx, const char *text)
{
	console_line(((struct transfer_view *)ctx)->console, "%s", text);
}

static void on_progress(void *ctx, const struct transfer_progress *p)
{
	struct transfer_view *v = ctx;
	char text[PROGRESS_TEXT_MAX];
	double interval_s = v->console->is_terminal ? 0.2 : 1.0;

	if (progress_is_due(&v->progress.last_event_s, p->elapsed_s, 1.0))
		event_progress(v->console, p);
	if (v->shows_progress && progress_is_due(&v->progress.last_shown_s, p->elapsed_s, interval_s))
		console_progress(v->console, progress_text(&v->progress, p, console_columns(v->console), text));
}

static void keep_failed(struct transfer_view *v, const char *path)
{
	if (v->failed_to && path && haul_ok(output_file_begin(v->failed_to)))
		(void)fwrite(path, 1, strlen(path) + 1, v->failed_to->file);
}

static void compared_entry(struct transfer_view *v, const struct transfer_entry *e)
{
	char line[HAUL_ESCAPED_MAX + 128];

	if (!e->changes)
		return;
	if (changes_is_difference(e))
		keep_failed(v, e->path);
	else if (v->console->is_quiet && !v->request->exact)
		return;
	console_out(v->console, "%s\n", changes_compared(e, line, sizeof(line)));
}

static void copied_entry(struct transfer_view *v, const struct transfer_entry *e)
{
	char letters[CHANGES_TEXT_MAX], path[HAUL_ESCAPED_MAX];
	const char *name = *e->path ? e->path : "./";

	if (!e->changes)
		return;
	haul_escape(name, strlen(name), path, sizeof(path));
	if (v->request->dry_run || v->itemize)
		console_out(v->console, "%s %s\n", changes_itemized(e, v->request->destination->is_remote, letters),
			    path);
	else if (v->console->is_verbose)
		console_note(v->console, "%s", path);
}

static void on_entry(void *ctx, const struct transfer_entry *e)
{
	struct transfer_view *v = ctx;

	event_file(v->console, e);
	if (v->request->verb == TRANSFER_VERIFY)
		compared_entry(v, e);
	else if (e->outcome != OUTCOME_FAILED)
		copied_entry(v, e);
}

static void on_reconnected(void *ctx, unsigned count, double after_s)
{
	event_reconnected(((struct transfer_view *)ctx)->console, count, after_s);
}

static void on_warning(void *ctx, const struct transfer_problem *p)
{
	console_warning(((struct transfer_view *)ctx)->console, p);
}

static void on_error(void *ctx, const struct transfer_problem *p)
{
	struct transfer_view *v = ctx;

	console_error(v->console, p);
	keep_failed(v, p->path);
}

struct transfer_observer transfer_view_observer(struct transfer_view *v)
{
	return (struct transfer_observer){ .ctx = v,
					   .on_landing = on_landing,
					   .on_note = on_note,
					   .on_explain = on_explain,
					   .on_progress = on_progress,
					   .on_entry = on_entry,
					   .on_reconnected = on_reconnected,
					   .on_warning = on_warning,
					   .on_error = on_error };
}

/* --strict: what was only warned about counts as entries that failed. */
static void be_strict(const struct transfer_view *v, struct transfer_report *r)
{
	if (!v->strict || r->exit_code || !v->console->warnings)
		return;
	r->exit_code = EXIT_CLASS_ENTRIES;
	r->reasons[0] = EXIT_CLASS_ENTRIES;
	r->reason_count = 1;
}

static bool is_local(const struct transfer_request *r)
{
	return !r->destination->is_remote && !r->sources[0].is_remote;
}

int transfer_view_end(struct transfer_view *v, struct transfer_report *r)
{
	struct summary_request req = { .verb = v->request->verb,
				       .no_sync = v->request->no_sync,
				       .size_only = v->request->size_only,
				       .only_existing = v->request->existing,
				       .is_sync = v->request->deletion != TRANSFER_DELETE_NONE,
				       .is_move = v->request->is_move,
				       .is_local = is_local(v->request),
				       .check_again = *v->check_again ? v->check_again : NULL };
	char text[SUMMARY_TEXT_MAX], unmatched[SUMMARY_TEXT_MAX / 4] = "";

	if (r->knows_matched)
		req.unmatched =
		    filter_options_unmatched(v->request->choice, r->rules_matched, unmatched, sizeof(unmatched));
	be_strict(v, r);
	console_progress(v->console, "");
	/* What was refused before anything was looked at has said all there is to say. */
	if (v->has_landed && (r->entries_total || r->files_total || !r->exit_code || r->signal_number))
		console_note(v->console, "%s", summary_text(&req, r, text));
	event_done(v->console, r);
	return r->exit_code;
}
