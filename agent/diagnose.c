/*
 * What the peer offers us first, since a wrong name should not cost seconds of measuring; then the stages in turn: this
 * machine, memory to memory, the peer's disk, the whole. One that cannot be measured says why and the next one follows;
 * only a peer that cannot be reached or offers no such share ends it.
 */
#include "agent/diagnose_parts.h"

#include "agent/diagnose_verdict.h"
#include "agent/exit_class.h"
#include "agent/stop_signals.h"
#include "agent/thread_cpu.h"
#include "certs/identity.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

/* ---- rows ---- */

static void tell_row(struct diagnosis *d, enum diagnose_stage stage)
{
	if (d->obs->on_row)
		d->obs->on_row(d->obs->ctx, stage, &d->report->rows[stage]);
}

void diagnose_row_measured(struct diagnosis *d, enum diagnose_stage stage, const struct measured *m, const char *fmt,
			   ...)
{
	struct diagnose_row *row = &d->report->rows[stage];
	va_list args;

	*row = (struct diagnose_row){
		.is_measured = true, .bytes_per_s = measured_rate(m), .seconds = m->seconds, .bytes = m->bytes
	};
	va_start(args, fmt);
	(void)vsnprintf(row->note, sizeof(row->note), fmt, args);
	va_end(args);
	tell_row(d, stage);
}

void diagnose_row_missing(struct diagnosis *d, enum diagnose_stage stage, const char *fmt, ...)
{
	struct diagnose_row *row = &d->report->rows[stage];
	va_list args;

	*row = (struct diagnose_row){ 0 };
	va_start(args, fmt);
	(void)vsnprintf(row->note, sizeof(row->note), fmt, args);
	va_end(args);
	tell_row(d, stage);
}

bool diagnose_is_stopped(struct diagnosis *d)
{
	if (atomic_load(stop_signals_flag())) {
		d->report->signal_number = stop_signals_number();
		d->is_over = true;
	}
	return d->is_over;
}

void diagnose_tell_error(struct diagnosis *d, haul_status st, const char *side, const char *text, const char *remedy)
{
	const struct transfer_problem p = { .code = st.code,
					    .exit_code = exit_class_of(st),
					    .side = side,
					    .text = text,
					    .remedy = remedy && *remedy ? remedy : NULL };

	if (!d->report->exit_code)
		d->report->exit_code = p.exit_code;
	if (d->obs->on_error)
		d->obs->on_error(d->obs->ctx, &p);
}

/* ---- the run ---- */

static void judge(struct diagnosis *d)
{
	const struct diagnose_facts facts = { .rows = d->report->rows,
					      .source = d->has_whole ? &d->whole.source : NULL,
					      .destination = d->has_whole ? &d->whole.destination : NULL,
					      .whole_s = d->whole.seconds,
					      .network_source = d->has_network ? &d->network.source : NULL,
					      .network_destination = d->has_network ? &d->network.destination : NULL,
					      .network_s = d->network.seconds,
					      .has_peer = d->req->peer != NULL,
					      .lanes_fixed = d->req->lanes,
					      .lanes = d->report->lanes,
					      .cores = d->report->cores,
					      .peer_cores = d->report->peer_cores,
					      .round_trip_us = d->report->round_trip_us };

	diagnose_judge(&facts, &d->report->verdict);
}

static void run(struct diagnosis *d)
{
	void (*const with_peer[])(struct diagnosis *) = { diagnose_network, diagnose_peer_disk, diagnose_whole };

	if (!diagnose_open_here(d))
		return;
	if (d->req->peer)
		diagnose_ask_peer(d);
	if (diagnose_is_stopped(d))
		return;
	diagnose_disk_here(d);
	if (diagnose_is_stopped(d) || haul_failed(diagnose_cpu_here(d)))
		return;
	for (size_t i = 0; d->req->peer && i < sizeof(with_peer) / sizeof(with_peer[0]) && !diagnose_is_stopped(d); i++)
		with_peer[i](d);
	if (!d->is_over)
		judge(d);
}

static bool open_trace(struct diagnosis *d)
{
	struct haul_fault fault = { 0 };

	if (!d->req->trace || haul_ok(trace_open(d->req->trace, &d->trace, &fault)))
		return true;
	diagnose_tell_error(d, fault.status, "local", fault.text, NULL);
	d->report->exit_code = EXIT_CLASS_USAGE;
	return false;
}

static void close_trace(struct diagnosis *d)
{
	struct haul_fault fault = { 0 };
	haul_status st = trace_close(d->trace, &fault);
	const struct transfer_problem p = { .code = st.code, .side = "local", .text = fault.text };

	if (haul_failed(st) && d->obs->on_warning)
		d->obs->on_warning(d->obs->ctx, &p);
}

void diagnose_run(const struct home *h, const struct diagnose_request *req, const struct diagnose_observer *obs,
		  struct diagnose_report *ret_report)
{
	struct diagnosis d = { .home = h, .req = req, .obs = obs, .report = ret_report, .dir_fd = -1, .source_fd = -1 };
	uint64_t started_ns = uv_hrtime();

	*ret_report = (struct diagnose_report){ .has_peer = req->peer, .cores = own_cores() };
	stop_signals_begin();
	if (open_trace(&d))
		run(&d);
	close_trace(&d);
	stop_signals_end();
	if (d.dir_fd >= 0)
		(void)close(d.dir_fd);
	if (d.source_fd >= 0)
		(void)close(d.source_fd);
	diagnose_forget_offer(&d);
	identity_free(d.identity);
	free(d.big_path);
	if (ret_report->signal_number)
		ret_report->exit_code = 128 + ret_report->signal_number;
	ret_report->elapsed_s = (double)(uv_hrtime() - started_ns) / 1e9;
}
