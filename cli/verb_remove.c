/* remove: places, the question on a terminal, what is seen of it. The guards are the agent's (agent/removal.h). */
#include "cli/run.h"

#include "cli/events.h"
#include "cli/progress.h"
#include "cli/sizes.h"

#include "agent/removal.h"
#include "engine/base/escape.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct remove_view {
	struct console *console;
	const char *first; /* the first place, for the question */
	size_t places;
	bool dry_run, shows_progress;
	double last_shown_s;
};

static void on_entry(void *ctx, const char *path, enum entry_kind kind)
{
	struct remove_view *v = ctx;
	char shown[HAUL_ESCAPED_MAX];

	event_deleted(v->console, path, kind);
	haul_escape(path, strlen(path), shown, sizeof(shown));
	if (v->dry_run)
		console_out(v->console, "*deleting   %s%s\n", shown, kind == ENTRY_DIRECTORY ? "/" : "");
	else if (v->console->is_verbose)
		console_note(v->console, "%s", shown);
}

static void on_error(void *ctx, const struct transfer_problem *p)
{
	console_error(((struct remove_view *)ctx)->console, p);
}

static void on_progress(void *ctx, uint64_t gone, uint64_t total, double elapsed_s)
{
	struct remove_view *v = ctx;
	char a[SIZE_TEXT_MAX], b[SIZE_TEXT_MAX], text[160];

	if (!v->shows_progress || !progress_is_due(&v->last_shown_s, elapsed_s, v->console->is_terminal ? 0.2 : 1.0))
		return;
	if (total)
		(void)snprintf(text, sizeof(text), "%3u %%  %s of %s entries removed",
			       gone >= total ? 100 : (unsigned)((double)gone / (double)total * 100),
			       count_text(gone, a), count_text(gone > total ? gone : total, b));
	else
		(void)snprintf(text, sizeof(text), "%s entries removed", count_text(gone, a));
	console_progress(v->console, text);
}

/* "y" or "yes" is a yes; anything else, and the end of the input, is a no. */
static bool may_remove(void *ctx, const struct removal_size *size)
{
	struct remove_view *v = ctx;
	char shown[HAUL_ESCAPED_MAX / 4], entries[SIZE_TEXT_MAX], bytes[SIZE_TEXT_MAX], others[48] = "", answer[16];

	if (v->places > 1)
		(void)snprintf(others, sizeof(others), " and %zu more", v->places - 1);
	(void)fprintf(v->console->err, "Remove %s%s: %s entries, %s? [y/N] ",
		      haul_escape(v->first, strlen(v->first), shown, sizeof(shown)), others,
		      count_text(size->entries, entries), size_text(size->bytes, bytes));
	(void)fflush(v->console->err);
	if (!fgets(answer, sizeof(answer), stdin))
		return false;
	answer[strcspn(answer, "\n")] = '\0';
	return !strcmp(answer, "y") || !strcmp(answer, "Y") || !strcmp(answer, "yes");
}

static void sum_up(struct remove_view *v, const struct transfer_report *r)
{
	uint64_t entries = r->is_dry_run ? r->entries_total : r->entries_deleted;
	uint64_t files = r->is_dry_run ? r->files_total : r->files_deleted;
	char all[SIZE_TEXT_MAX], regular[SIZE_TEXT_MAX], others[SIZE_TEXT_MAX], took[SIZE_TEXT_MAX];

	if (!entries && r->exit_code && !r->signal_number)
		return;
	console_note(v->console, "%s entr%s %s in %s: %s file%s, %s other%s.%s%s", count_text(entries, all),
		     entries == 1 ? "y" : "ies", r->is_dry_run ? "would be removed, counted" : "removed",
		     duration_text(r->elapsed_s, took), count_text(files, regular), files == 1 ? "" : "s",
		     count_text(entries - files, others), entries - files == 1 ? "" : "s",
		     r->entries_total > entries && !r->is_dry_run ? " Not everything is gone." : "",
		     r->signal_number ? " Stopped by a signal." : "");
}

static int run_places(const struct home *h, const struct invocation *inv, const struct place_spec *places,
		      struct console *c)
{
	const char *word = invocation_value(inv, OPT_PROGRESS);
	bool asks = isatty(STDIN_FILENO) && c->is_terminal;
	struct remove_view v = { .console = c,
				 .first = places[0].text,
				 .places = inv->operand_count,
				 .dry_run = invocation_has(inv, OPT_DRY_RUN) };
	struct removal_request req = { .places = places,
				       .count = inv->operand_count,
				       .is_agreed = invocation_has(inv, OPT_YES),
				       .dry_run = v.dry_run };
	struct removal_observer obs = {
		.ctx = &v, .on_error = on_error, .on_progress = on_progress, .may_remove = asks ? may_remove : NULL
	};
	struct transfer_report report = { 0 };

	v.shows_progress = word && !strcmp(word, "always");
	if (!word || !strcmp(word, "auto"))
		v.shows_progress = c->is_terminal && !c->is_quiet;
	req.want_entries = v.dry_run || c->is_verbose || c->is_json;
	req.want_totals = v.shows_progress;
	obs.on_entry = on_entry;
	event_start(c, inv->verb->name, NULL, NULL, 0);
	removal_run(h, &req, &obs, &report);
	console_progress(c, "");
	sum_up(&v, &report);
	event_done(c, &report);
	return report.exit_code;
}

int run_remove(const struct invocation *inv, struct console *c)
{
	static const struct run_elsewhere elsewhere = { "remove is local", "Run haul remove on that machine" };
	struct place_spec *places = calloc(inv->operand_count, sizeof(*places));
	struct problem problem;
	struct home home = { 0 };
	bool has_home = false;
	int code;

	if (!places) {
		(void)problem_no_memory(&problem);
		return run_refuse(c, &problem);
	}
	if (haul_failed(run_local_places(inv, &elsewhere, places, &problem)) ||
	    haul_failed(run_home_if_any(inv, &home, &has_home, &problem)))
		code = run_refuse(c, &problem);
	else
		code = run_places(has_home ? &home : NULL, inv, places, c);
	home_close(&home);
	for (size_t i = 0; i < inv->operand_count; i++)
		place_spec_close(&places[i]);
	free(places);
	return code;
}
