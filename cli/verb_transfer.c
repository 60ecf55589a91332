/* copy and verify, and move between machines: home, places, transfer_run(), and what is seen of it. */
#include "cli/run.h"

#include "cli/events.h"
#include "cli/copy_request.h"
#include "cli/filter_options.h"
#include "cli/transfer_view.h"

#include "engine/base/escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool shows_progress(const struct invocation *inv, const struct console *c)
{
	const char *word = invocation_value(inv, OPT_PROGRESS);
	const char *term = getenv("TERM");

	if (word && !strcmp(word, "always"))
		return true;
	if (c->is_quiet || (word && !strcmp(word, "never")))
		return false;
	return c->is_terminal && term && strcmp(term, "dumb");
}

static haul_status open_failed_to(const struct invocation *inv, struct output_file *ret_file, struct problem *problem)
{
	const char *path = invocation_value(inv, OPT_FAILED_TO);
	struct haul_fault fault = { 0 };

	*ret_file = (struct output_file){ 0 };
	if (!path || haul_ok(output_file_open(ret_file, "--failed-to", path, OUTPUT_NUL_LIST, &fault)))
		return HAUL_OK;
	(void)problem_usage(problem, NULL, "%s", fault.text);
	problem->code = fault.status.code;
	invocation_blame(inv, problem);
	return fault.status;
}

/* The list is part of what was asked for: a list that could not be written is no success. An empty one is a result,
 * unless nothing was touched: then the list of an earlier run stays. */
static void close_failed_to(struct output_file *f, struct console *c, struct transfer_report *r)
{
	struct problem p = { .code = HAUL_CODE_IO, .exit_code = EXIT_CLASS_BUG };
	int err = 0;

	if (!f->file)
		return;
	if (r->exit_code != EXIT_CLASS_USAGE && r->exit_code != EXIT_CLASS_NO_SOURCE &&
	    haul_failed(output_file_begin(f)))
		err = errno;
	if (!err)
		err = output_file_close(f);
	else
		(void)output_file_close(f);
	if (!err)
		return;
	(void)snprintf(p.text, sizeof(p.text), "the list of --failed-to could not be written: %s", strerror(err));
	console_problem(c, &p);
	if (!r->exit_code)
		r->exit_code = EXIT_CLASS_BUG;
	if (r->reason_count < TRANSFER_REASONS_MAX)
		r->reasons[r->reason_count++] = EXIT_CLASS_BUG;
}

static int run_in(const struct home *h, const struct invocation *inv, const struct copy_request *req, struct console *c)
{
	char environment[HAUL_FAULT_TEXT_MAX];
	struct transfer_view view = { .console = c, .verb_name = inv->verb->name, .request = &req->transfer };
	struct transfer_report report = { 0 };
	struct transfer_observer observer;
	struct output_file failed_to;
	struct problem problem;

	if (haul_failed(open_failed_to(inv, &failed_to, &problem)))
		return run_refuse(c, &problem);
	if (failed_to.file)
		view.failed_to = &failed_to;
	view.environment = invocation_environment(inv, environment, sizeof(environment));
	view.itemize = invocation_has(inv, OPT_ITEMIZE);
	view.strict = invocation_has(inv, OPT_STRICT);
	view.shows_progress = shows_progress(inv, c);
	observer = transfer_view_observer(&view);
	transfer_run(h, &req->transfer, &observer, &report);
	close_failed_to(&failed_to, c, &report);
	return transfer_view_end(&view, &report);
}

static int explain_filter(const struct invocation *inv, const struct choice_spec *choice, struct console *c)
{
	char text[HAUL_ESCAPED_MAX];
	struct problem problem;

	if (haul_failed(filter_options_explain(choice, invocation_value(inv, OPT_EXPLAIN_FILTER), text, sizeof(text),
					       &problem)))
		return run_refuse(c, &problem);
	console_out(c, "%s\n", text);
	return run_finish(c);
}

int run_transfer(const struct invocation *inv, struct console *c)
{
	struct problem problem;
	struct copy_request req;
	struct home home;
	int code;

	if (haul_failed(copy_request_open(&req, inv, &problem)))
		return run_refuse(c, &problem);
	if (invocation_has(inv, OPT_EXPLAIN_FILTER)) {
		code = explain_filter(inv, &req.choice, c);
		copy_request_close(&req);
		return code;
	}
	if (haul_failed(run_home(inv, &home, &problem))) {
		code = run_refuse(c, &problem);
	} else {
		code = run_in(&home, inv, &req, c);
		home_close(&home);
	}
	copy_request_close(&req);
	return code;
}
