/* move: on one file system by renaming (agent/move.h); the places, and what is seen of it. */
#include "cli/run.h"

#include "cli/events.h"
#include "cli/sizes.h"

#include "agent/move.h"
#include "engine/base/escape.h"

#include <stdlib.h>
#include <string.h>

struct move_view {
	struct console *console;
	const char *environment;
	bool dry_run;
};

static void on_landing(void *ctx, const struct transfer_landing *landings, size_t count)
{
	struct move_view *v = ctx;
	char from[HAUL_ESCAPED_MAX / 2], to[HAUL_ESCAPED_MAX / 2];

	event_start(v->console, "move", v->environment, landings, count);
	for (size_t i = 0; i < count; i++) {
		const struct transfer_landing *l = &landings[i];

		console_note(v->console, "%s -> %s (%s%s)%s%s",
			     haul_escape(l->source, strlen(l->source), from, sizeof(from)),
			     haul_escape(l->destination, strlen(l->destination), to, sizeof(to)),
			     l->is_contents ? "contents, " : "", l->is_new ? "new" : "exists",
			     i || !*v->environment ? "" : "; from the environment: ", i ? "" : v->environment);
	}
	for (size_t i = 0; i < count; i++) {
		const struct transfer_landing *l = &landings[i];

		if (l->made_parents)
			console_note(v->console, v->dry_run ? "would make %s" : "makes %s",
				     haul_escape(l->made_parents, strlen(l->made_parents), to, sizeof(to)));
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
			     duration_text(r->elapsed_s, took), r->is_durable ? ", durable" : "",
			     r->signal_number ? " Stopped by a signal: the same command goes on." : "");
}

/* What is left where it was because only copying can move it. */
static void refuse_copying(struct move_view *v, const struct move_request *req, const bool *must_copy,
			   struct transfer_report *r)
{
	char shown[HAUL_ESCAPED_MAX / 8], text[HAUL_FAULT_TEXT_MAX];

	for (size_t i = 0; i < req->source_count; i++) {
		const struct transfer_problem p = { .code = HAUL_CODE_CROSS_DEVICE,
						    .exit_code = EXIT_CLASS_ENTRIES,
						    .side = "local",
						    .path = req->sources[i].text,
						    .text = text,
						    .remedy = "haul copy, haul verify, then haul remove" };

		if (!must_copy[i])
			continue;
		(void)snprintf(text, sizeof(text), "%s cannot be renamed to another file system: it stays",
			       haul_escape(p.path, strlen(p.path), shown, sizeof(shown)));
		on_error(v, &p);
		if (!r->exit_code)
			r->exit_code = r->reasons[r->reason_count++] = EXIT_CLASS_ENTRIES;
	}
}

static int run_in(const struct invocation *inv, const struct move_request *req, bool *must_copy, struct console *c)
{
	char environment[HAUL_FAULT_TEXT_MAX];
	struct move_view v = { .console = c, .dry_run = req->dry_run };
	const struct move_observer obs = { .ctx = &v,
					   .on_landing = on_landing,
					   .on_moved = v.dry_run || c->is_verbose || c->is_json ? on_moved : NULL,
					   .on_error = on_error };
	struct transfer_report report = { 0 };

	v.environment = invocation_environment(inv, environment, sizeof(environment));
	move_run(req, &obs, must_copy, &report);
	refuse_copying(&v, req, must_copy, &report);
	sum_up(c, &report);
	event_done(c, &report);
	return report.exit_code;
}

static haul_status parse_places(const struct invocation *inv, struct place_spec *places, struct problem *problem)
{
	char shown[HAUL_ESCAPED_MAX / 8];
	struct haul_fault fault;

	for (size_t i = 0; i < inv->operand_count; i++) {
		const char *text = inv->operands[i];

		if (haul_failed(place_spec_parse(text, &places[i], &fault)))
			return problem_from_fault(problem, &fault);
		if (places[i].is_remote)
			return problem_usage(
			    problem, "haul copy, haul verify, then haul remove",
			    "%s is not on this machine: moving between machines is not in this version",
			    haul_escape(text, strlen(text), shown, sizeof(shown)));
		if (places[i].has_slash && i + 1 < inv->operand_count && invocation_has(inv, OPT_AS))
			return problem_usage(problem, "Write SRC without the slash at its end",
					     "--as names what lands, but %s lands as its contents",
					     haul_escape(text, strlen(text), shown, sizeof(shown)));
	}
	return HAUL_OK;
}

int run_move(const struct invocation *inv, struct console *c)
{
	struct place_spec *places = calloc(inv->operand_count, sizeof(*places));
	bool *must_copy = calloc(inv->operand_count, sizeof(*must_copy));
	struct move_request req = { .sources = places,
				    .source_count = inv->operand_count - 1,
				    .destination = places + inv->operand_count - 1,
				    .as_name = invocation_value(inv, OPT_AS),
				    .rule = rule_of(invocation_value(inv, OPT_ON_CONFLICT)),
				    .dry_run = invocation_has(inv, OPT_DRY_RUN) };
	struct problem problem;
	int code;

	if (!places || !must_copy) {
		(void)problem_no_memory(&problem);
		code = run_refuse(c, &problem);
	} else if (haul_failed(parse_places(inv, places, &problem))) {
		code = run_refuse(c, &problem);
	} else {
		code = run_in(inv, &req, must_copy, c);
	}
	for (size_t i = 0; places && i < inv->operand_count; i++)
		place_spec_close(&places[i]);
	free(places);
	free(must_copy);
	return code;
}
