/*
 * move: on one file system by renaming (agent/move.h); what cannot be renamed is copied by a transfer that deletes what
 * it has proven, and so is what goes to or comes from another machine (verb_transfer.c). The places, and what is seen
 * of it.
 */
#include "cli/run.h"

#include "cli/copy_request.h"
#include "cli/events.h"
#include "cli/sizes.h"
#include "cli/transfer_view.h"

#include "agent/move.h"
#include "agent/report_exit.h"
#include "engine/base/escape.h"

#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 300 * 1000 };

struct move_view {
	struct console *console;
	const char *environment;
	bool dry_run;
};

static void on_landing(void *ctx, const struct transfer_landing *landings, size_t count)
{
	struct move_view *v = ctx;
	char from[HAUL_ESCAPED_MAX / 2];

	event_start(v->console, "move", v->environment, landings, count);
	for (size_t i = 0; i < count; i++)
		transfer_view_landing(v->console, &landings[i], i ? "" : v->environment);
	for (size_t i = 0; i < count; i++) {
		const struct transfer_landing *l = &landings[i];

		transfer_view_made(v->console, l, v->dry_run);
		if (l->is_link)
			console_note(v->console, "%s is a link and moves as a link",
				     haul_escape(l->source, strlen(l->source), from, sizeof(from)));
	}
}

static void on_moved(void *ctx, const char *from, const char *to, enum entry_kind kind)
{
	struct move_view *v = ctx;
	char a[HAUL_ESCAPED_MAX], b[HAUL_ESCAPED_MAX];

	event_moved(v->console, from, to, kind);
	haul_escape(from, strlen(from), a, sizeof(a));
	haul_escape(to, strlen(to), b, sizeof(b));
	if (v->dry_run)
		console_out(v->console, "%s -> %s\n", a, b);
	else if (v->console->is_verbose)
		console_note(v->console, "%s -> %s", a, b);
}

static void on_error(void *ctx, const struct transfer_problem *p)
{
	console_error(((struct move_view *)ctx)->console, p);
}

static enum move_rule rule_of(const char *word)
{
	if (word && !strcmp(word, "replace"))
		return MOVE_REPLACE;
	return word && !strcmp(word, "number") ? MOVE_NUMBER : MOVE_FAIL;
}

static void sum_up(struct console *c, const struct transfer_report *r)
{
	char count[SIZE_TEXT_MAX], took[SIZE_TEXT_MAX];
	const char *one = r->entries_renamed == 1 ? "y" : "ies";

	if (!r->entries_renamed && r->exit_code)
		return;
	if (r->is_dry_run)
		console_note(c, "%s entr%s would be renamed, nothing was changed.",
			     count_text(r->entries_renamed, count), one);
	else
		console_note(c, "%s entr%s renamed in %s%s.%s", count_text(r->entries_renamed, count), one,
			     duration_text(r->elapsed_s, took), r->is_durable ? ", names durable" : "",
			     r->signal_number ? " Stopped by a signal: the same command goes on." : "");
}

/* Copying has to do it, but with that rule it cannot. */
static void refuse_number(struct move_view *v, const struct place_spec *source, struct transfer_report *r)
{
	char shown[HAUL_ESCAPED_MAX / 8], text[HAUL_FAULT_TEXT_MAX];
	const struct transfer_problem p = { .code = HAUL_CODE_CROSS_DEVICE,
					    .exit_code = EXIT_CLASS_ENTRIES,
					    .side = "local",
					    .path = source->text,
					    .text = text };

	(void)snprintf(text, sizeof(text), "%s stays: --on-conflict=number between file systems is not in this version",
		       haul_escape(source->text, strlen(source->text), shown, sizeof(shown)));
	on_error(v, &p);
	if (!r->exit_code)
		r->exit_code = r->reasons[r->reason_count++] = EXIT_CLASS_ENTRIES;
}

static void on_copy_landing(void *ctx, const struct transfer_landing *landings, size_t count)
{
	struct transfer_view *v = ctx;
	char shown[HAUL_ESCAPED_MAX / 2];

	v->has_landed = true; /* the landing itself was told before the renaming */
	for (size_t i = 0; i < count; i++)
		console_note(v->console, "%s cannot be renamed to there: it is copied, proven, then deleted",
			     haul_escape(landings[i].source, strlen(landings[i].source), shown, sizeof(shown)));
}

static unsigned reason_bits(const struct transfer_report *r)
{
	unsigned bits = 0;

	for (size_t i = 0; i < r->reason_count; i++)
		if (r->reasons[i] < 32)
			bits |= 1u << r->reasons[i];
	return bits;
}

/* One end for both: what was renamed and what was copied. */
static void add_renamed(struct transfer_report *r, const struct transfer_report *renamed)
{
	unsigned bits = reason_bits(r) | reason_bits(renamed);

	r->entries_renamed = renamed->entries_renamed;
	r->entries_total += renamed->entries_total;
	r->files_failed += renamed->files_failed;
	r->elapsed_s += renamed->elapsed_s;
	r->is_durable = r->is_durable && (renamed->is_durable || !renamed->entries_renamed);
	r->reason_count = 0;
	report_fill_exit(r, bits);
}

static int copy_rest(const struct invocation *inv, const struct move_request *req, const struct place_spec *rest,
		     size_t count, struct console *c, const struct transfer_report *renamed)
{
	struct transfer_request t = { .verb = TRANSFER_COPY,
				      .sources = rest,
				      .source_count = count,
				      .destination = req->destination,
				      .as_name = req->as_name,
				      .dry_run = req->dry_run,
				      .checksum = true,
				      .is_move = true,
				      .no_replace = req->rule == MOVE_FAIL || renamed->entries_renamed,
				      .is_several = req->source_count > 1,
				      .proof = TRANSFER_PROOF_TRANSFER,
				      .timeout_ms = TIMEOUT_MS,
				      .want_entries = req->dry_run || c->is_verbose || c->is_json };
	struct transfer_view view = { .console = c, .verb_name = "move", .request = &t, .environment = "" };
	struct transfer_observer observer = transfer_view_observer(&view);
	struct transfer_report report = { 0 };
	struct problem problem;
	struct home home;

	if (haul_failed(copy_request_engine(&t.backend, &problem)) || haul_failed(run_home(inv, &home, &problem)))
		return run_refuse(c, &problem);
	observer.on_landing = on_copy_landing;
	view.shows_progress = c->is_terminal && !c->is_quiet;
	transfer_run(&home, &t, &observer, &report);
	home_close(&home);
	add_renamed(&report, renamed);
	return transfer_view_end(&view, &report);
}

static int run_in(const struct invocation *inv, const struct move_request *req, bool *must_copy,
		  struct place_spec *rest, struct console *c)
{
	char environment[HAUL_FAULT_TEXT_MAX];
	struct move_view v = { .console = c, .dry_run = req->dry_run };
	const struct move_observer obs = { .ctx = &v,
					   .on_landing = on_landing,
					   .on_moved = v.dry_run || c->is_verbose || c->is_json ? on_moved : NULL,
					   .on_error = on_error };
	struct transfer_report report = { 0 };
	size_t count = 0;

	v.environment = invocation_environment(inv, environment, sizeof(environment));
	move_run(req, &obs, must_copy, &report);
	for (size_t i = 0; i < req->source_count; i++) {
		if (must_copy[i] && req->rule == MOVE_NUMBER)
			refuse_number(&v, &req->sources[i], &report);
		else if (must_copy[i])
			rest[count++] = req->sources[i]; /* its texts stay those of `sources` */
	}
	if (!count || report.entries_renamed)
		sum_up(c, &report);
	if (count && !report.signal_number)
		return copy_rest(inv, req, rest, count, c, &report);
	event_done(c, &report);
	return report.exit_code;
}

/* A place on another machine: all of it is a transfer. */
static bool is_far(const struct invocation *inv)
{
	bool is_remote = false;

	for (size_t i = 0; i < inv->operand_count; i++) {
		struct place_spec p = { 0 };

		if (haul_ok(place_spec_parse(inv->operands[i], &p, NULL))) {
			is_remote = is_remote || p.is_remote;
			place_spec_close(&p);
		}
	}
	return is_remote;
}

/* What only a transfer to or from another machine heeds. The environment may say it for all verbs. */
static haul_status refuse_far_options(const struct invocation *inv, struct problem *problem)
{
	static const enum option_id far[] = { OPT_RESTART, OPT_BWLIMIT,         OPT_LANES,    OPT_BLOCK,
					      OPT_DIRECT,  OPT_DEVICE,          OPT_TIMEOUT,  OPT_EXPLAIN,
					      OPT_TRACE,   OPT_CONNECT_TIMEOUT, OPT_PROGRESS, OPT_FAILED_TO };

	for (size_t i = 0; i < inv->use_count; i++)
		for (size_t k = 0; k < sizeof(far) / sizeof(*far); k++)
			if (inv->uses[i].def->id == far[k] && !inv->uses[i].is_environment)
				return problem_usage(problem, "Leave it out", "--%s is for moves between machines",
						     inv->uses[i].def->name);
	return HAUL_OK;
}

static haul_status parse_places(const struct invocation *inv, struct place_spec *places, struct problem *problem)
{
	static const struct run_elsewhere elsewhere = { "one side of a move is this machine", NULL };
	char shown[HAUL_ESCAPED_MAX / 8];
	haul_status st = refuse_far_options(inv, problem);

	if (haul_ok(st))
		st = run_local_places(inv, &elsewhere, places, problem);

	if (haul_failed(st))
		return st;
	for (size_t i = 0; invocation_has(inv, OPT_AS) && i + 1 < inv->operand_count; i++)
		if (places[i].has_slash)
			return problem_usage(problem, "Write SRC without the slash at its end",
					     "--as names what lands, but %s lands as its contents",
					     haul_escape(places[i].text, strlen(places[i].text), shown, sizeof(shown)));
	return HAUL_OK;
}

static int run_here(const struct invocation *inv, struct console *c)
{
	struct place_spec *places = calloc(inv->operand_count, sizeof(*places));
	struct place_spec *rest = calloc(inv->operand_count, sizeof(*rest));
	bool *must_copy = calloc(inv->operand_count, sizeof(*must_copy));
	struct move_request req = { .sources = places,
				    .source_count = inv->operand_count - 1,
				    .destination = places + inv->operand_count - 1,
				    .as_name = invocation_value(inv, OPT_AS),
				    .rule = rule_of(invocation_value(inv, OPT_ON_CONFLICT)),
				    .dry_run = invocation_has(inv, OPT_DRY_RUN) };
	struct home home = { 0 };
	struct problem problem;
	bool has_home = false;
	int code;

	if (!places || !rest || !must_copy) {
		(void)problem_no_memory(&problem);
		code = run_refuse(c, &problem);
	} else if (haul_failed(parse_places(inv, places, &problem)) ||
		   haul_failed(run_home_if_any(inv, &home, &has_home, &problem))) {
		code = run_refuse(c, &problem);
	} else {
		req.home = has_home ? &home : NULL;
		code = run_in(inv, &req, must_copy, rest, c);
	}
	home_close(&home);
	for (size_t i = 0; places && i < inv->operand_count; i++)
		place_spec_close(&places[i]);
	free(places);
	free(rest);
	free(must_copy);
	return code;
}

int run_move(const struct invocation *inv, struct console *c)
{
	return is_far(inv) ? run_transfer(inv, c) : run_here(inv, c);
}
