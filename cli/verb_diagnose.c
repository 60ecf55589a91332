/* haul diagnose: places, diagnose_run(), a table line as each stage is known, then the narrowest part. */
#include "cli/run.h"

#include "cli/copy_request.h"
#include "cli/events.h"
#include "cli/sizes.h"
#include "cli/summary.h"

#include "agent/diagnose.h"
#include "engine/base/escape.h"

#include <string.h>

static const struct {
	const char *word, *text;
} stages[DIAGNOSE_STAGES] = {
	[DIAGNOSE_READ] = { "disk-read", "disk here, reading" },
	[DIAGNOSE_WRITE] = { "disk-write", "disk here, writing" },
	[DIAGNOSE_DIGEST] = { "digest", "digests" },
	[DIAGNOSE_TLS_128] = { "tls-aes-128-gcm", "TLS, AES-128-GCM" },
	[DIAGNOSE_TLS_256] = { "tls-aes-256-gcm", "TLS, AES-256-GCM" },
	[DIAGNOSE_TO_PEER] = { "network-to-peer", "network, to the peer" },
	[DIAGNOSE_FROM_PEER] = { "network-from-peer", "network, from it" },
	[DIAGNOSE_PEER_WRITE] = { "peer-disk-write", "to its disk" },
	[DIAGNOSE_PEER_READ] = { "peer-disk-read", "from its disk" },
	[DIAGNOSE_WHOLE] = { "whole", "the whole, disk to disk" },
};

static void on_row(void *ctx, enum diagnose_stage stage, const struct diagnose_row *row)
{
	struct console *c = ctx;
	char rate[SIZE_TEXT_MAX];
	struct json j;

	if (!c->is_json) {
		console_out(c, "  %-24s %12s  %s\n", stages[stage].text,
			    row->is_measured ? rate_text(row->bytes_per_s, rate) : "-", row->note);
		(void)fflush(c->out);
		return;
	}
	json_open(&j, c->out, "stage");
	json_text(&j, "stage", stages[stage].word);
	json_bool(&j, "measured", row->is_measured);
	json_real(&j, "bytes_per_s", row->bytes_per_s);
	json_real(&j, "seconds", row->seconds);
	json_uint(&j, "bytes", row->bytes);
	json_text(&j, "note", row->note);
	json_close(&j);
}

static void on_error(void *ctx, const struct transfer_problem *p)
{
	console_error(ctx, p);
}

static void on_warning(void *ctx, const struct transfer_problem *p)
{
	console_warning(ctx, p);
}

static const char *narrowest_word(const struct diagnose_verdict *v)
{
	return v->is_lanes ? "lanes" : summary_limit_word(v->limit);
}

static void print_verdict(struct console *c, const struct diagnose_report *r)
{
	const struct diagnose_verdict *v = &r->verdict;
	const char *name = v->is_lanes ? "number of lanes" : summary_limit(v->limit);
	char rate[SIZE_TEXT_MAX];

	if (v->cpu_bytes_per_s > 0)
		console_out(c, "Digests and TLS together, %u core%s: %s.\n", v->cpu_cores,
			    v->cpu_cores == 1 ? "" : "s at once", rate_text(v->cpu_bytes_per_s, rate));
	if (!name) {
		console_out(c, "Narrowest: could not be told.\n");
		return;
	}
	if (v->is_measured)
		console_out(c, "Narrowest: %s. In the whole, the others waited for it %.0f %% of the time.\n", name,
			    100 * v->share);
	else
		console_out(c, "Narrowest: %s (%s), by the slowest part alone.\n", name,
			    rate_text(v->bytes_per_s, rate));
	console_out(c, "What would help: %s.\n", v->help);
}

static void json_verdict(struct console *c, const struct diagnose_report *r)
{
	const struct diagnose_row *whole = &r->rows[DIAGNOSE_WHOLE];
	struct json j;

	json_open(&j, c->out, "diagnosis");
	json_text(&j, "narrowest", narrowest_word(&r->verdict));
	json_text(&j, "by", r->verdict.is_measured ? "waiting" : "slowest-stage");
	json_real(&j, "share", r->verdict.share);
	json_text(&j, "help", r->verdict.help);
	json_real(&j, "narrowest_bytes_per_s", r->verdict.bytes_per_s);
	json_real(&j, "cpu_bytes_per_s", r->verdict.cpu_bytes_per_s);
	json_text(&j, "peer", r->has_peer ? r->peer_name : NULL);
	json_uint(&j, "lanes", r->lanes);
	json_uint(&j, "cores", r->cores);
	json_uint(&j, "peer_cores", r->peer_cores);
	json_uint(&j, "round_trip_us", r->round_trip_us);
	json_real(&j, "whole_bytes_per_s", whole->is_measured ? whole->bytes_per_s : 0);
	json_close(&j);
}

static void print_end(struct console *c, const struct diagnose_report *r)
{
	if (r->exit_code)
		return;
	if (c->is_json) {
		json_verdict(c, r);
		return;
	}
	if (r->has_peer)
		console_out(c, "%s: %u core%s here, %u there, round trip %.2f ms.\n", r->peer_name, r->cores,
			    r->cores == 1 ? "" : "s", r->peer_cores, (double)r->round_trip_us / 1e3);
	print_verdict(c, r);
}

static void json_done(struct console *c, const struct diagnose_report *r)
{
	struct transfer_report done = { .exit_code = r->exit_code, .elapsed_s = r->elapsed_s, .lanes = r->lanes };

	if (r->exit_code) {
		done.reasons[0] = r->exit_code;
		done.reason_count = 1;
	}
	event_done(c, &done);
}

/* One place that is local, one that is not, each at most once. */
static haul_status take_places(const struct invocation *inv, struct place_spec places[2], size_t *count,
			       struct diagnose_request *req, struct problem *problem)
{
	struct haul_fault fault;

	for (size_t i = 0; i < inv->operand_count; i++) {
		struct place_spec *p = &places[i];

		if (haul_failed(place_spec_parse(inv->operands[i], p, &fault)))
			return problem_from_fault(problem, &fault);
		(*count)++;
		if (p->is_remote && !p->share)
			return problem_usage(problem, "haul list shows the shares of a peer", "%s names no share",
					     inv->operands[i]);
		if (p->is_remote ? req->peer != NULL : req->local != NULL)
			return problem_usage(problem, "haul diagnose [PATH] [PEER:SHARE]",
					     "diagnose takes one place here and one at a peer");
		if (p->is_remote)
			req->peer = p;
		else
			req->local = p;
	}
	return HAUL_OK;
}

static haul_status fill(const struct invocation *inv, struct place_spec places[2], size_t *count,
			struct diagnose_request *req, struct problem *problem)
{
	struct transfer_request t = { 0 };
	haul_status st = copy_request_tuning(inv, &t, problem);

	if (haul_failed(st))
		return st;
	*req = (struct diagnose_request){ .lanes = t.lanes,
					  .block_bytes = t.block_bytes,
					  .bandwidth_bytes_per_s = t.bandwidth_bytes_per_s,
					  .connect_timeout_ms = t.connect_timeout_ms,
					  .direct = t.direct,
					  .backend = t.backend,
					  .trace = t.trace };
	return take_places(inv, places, count, req, problem);
}

static int run_in(const struct home *h, const struct diagnose_request *req, struct console *c)
{
	const struct diagnose_observer obs = {
		.ctx = c, .on_row = on_row, .on_error = on_error, .on_warning = on_warning
	};
	struct diagnose_report report;

	diagnose_run(h, req, &obs, &report);
	print_end(c, &report);
	json_done(c, &report);
	return report.exit_code;
}

int run_diagnose(const struct invocation *inv, struct console *c)
{
	struct place_spec places[2] = { 0 };
	struct diagnose_request req;
	struct problem problem;
	struct home home;
	size_t count = 0;
	int code;

	if (haul_failed(fill(inv, places, &count, &req, &problem)) || haul_failed(run_home(inv, &home, &problem))) {
		code = run_refuse(c, &problem);
	} else {
		code = run_in(&home, &req, c);
		home_close(&home);
	}
	while (count)
		place_spec_close(&places[--count]);
	return code;
}
