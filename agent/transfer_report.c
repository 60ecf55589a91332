/* Figures while it runs, and the report at the end. */
#include "agent/transfer_parts.h"

#include "agent/exit_class.h"
#include "agent/limit.h"
#include "agent/report_exit.h"
#include "agent/thread_cpu.h"
#include "engine/hash_tree.h"

#include <stdio.h>

const struct job_totals *transfer_totals(const struct transfer *t)
{
	static const struct job_totals none;

	if (t->sender)
		return sender_totals(t->sender);
	return t->receiver ? receiver_totals(t->receiver) : &none;
}

static double seconds_since(uint64_t then_ns, uint64_t now_ns)
{
	return (double)(now_ns - then_ns) / 1e9;
}

static uint64_t more(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Done never falls and never passes the total; what is under way counts by what has crossed. */
static uint64_t bytes_done(const struct transfer *t, const struct job_totals *now, uint64_t total)
{
	uint64_t crossing = job_bytes_crossed(now) - now->bytes_again;
	uint64_t done = now->bytes_done;

	if (crossing > done && t->req->verb == TRANSFER_COPY)
		done = crossing;
	return more(done < total ? done : total, t->progress.bytes_done);
}

/* Of a job that has begun again: what an attempt has not seen yet was there before. */
static void fill_progress(struct transfer *t, const struct job_totals *now, uint64_t now_ns)
{
	bool is_behind = t->again.count && !now->scan_is_complete;
	const struct transfer_progress *was = &t->progress;
	uint64_t total = is_behind ? more(now->bytes, was->bytes_total) : now->bytes;

	t->progress =
	    (struct transfer_progress){ .files_done = more(now->files_proven + now->files_unchanged + now->files_failed,
							   was->files_done),
					.files_total = is_behind ? more(now->files, was->files_total) : now->files,
					.bytes_done = bytes_done(t, now, total),
					.bytes_total = total,
					.bytes_sent = now->bytes_sent + t->again.bytes_sent,
					.totals_final = now->scan_is_complete || (is_behind && was->totals_final),
					.elapsed_s = seconds_since(t->started_ns, now_ns),
					.rate_bytes_per_s = t->rate };
}

void transfer_tick(struct transfer *t)
{
	const struct job_totals *all = transfer_totals(t);
	uint64_t now = uv_hrtime(), moved = job_headway(all);
	double now_rate;

	if (!t->job_runs)
		return;
	if (moved != t->last_bytes)
		t->moved_ns = now;
	now_rate =
	    (double)(all->bytes_sent + t->again.bytes_sent - t->progress.bytes_sent) / seconds_since(t->last_ns, now);
	t->rate = t->rate > 0 ? 0.75 * t->rate + 0.25 * now_rate : now_rate;
	t->last_bytes = moved;
	t->last_ns = now;
	fill_progress(t, all, now);
	if (t->obs->on_progress)
		t->obs->on_progress(t->obs->ctx, &t->progress);
}

/* What was read at the source: sent, or compared where it lies. */
static uint64_t bytes_moved(const struct job_totals *all)
{
	uint64_t leaves = all->leaves_moved * HAUL_LEAF_BYTES;

	return leaves > all->bytes_sent ? leaves : all->bytes_sent;
}

static void explain_end(struct transfer *t, const char *end, const struct lane_times *times)
{
	char text[256];

	if (lane_times_text(times, text, sizeof(text)))
		transfer_explain(t, "%s lanes: %s", end, text);
}

static void fill_limit(struct transfer *t, const struct job_totals *all)
{
	const struct limit_facts facts = { .source = t->is_push ? &all->own : &all->peer,
					   .destination = t->is_push ? &all->peer : &all->own,
					   .elapsed_s = t->report->elapsed_s,
					   .bytes = bytes_moved(all) };

	t->report->limited_by = limit_of(&facts);
	explain_end(t, "source", facts.source);
	explain_end(t, "destination", facts.destination);
}

static void warn(struct transfer *t, uint64_t count, const char *what)
{
	char text[160];
	const struct transfer_problem p = {
		.code = HAUL_CODE_UNSUPPORTED, .exit_code = EXIT_CLASS_ENTRIES, .side = "source", .text = text
	};

	if (!count || !t->obs->on_warning)
		return;
	(void)snprintf(text, sizeof(text), "%llu %s%s left out: only files, directories and links are copied",
		       (unsigned long long)count, what, count == 1 ? "" : "s");
	t->obs->on_warning(t->obs->ctx, &p);
}

/* Files that this attempt finds unchanged because one before it has sent them. */
static uint64_t sent_before(const struct transfer *t, const struct job_totals *all)
{
	uint64_t before = all->files_sent - transfer_totals(t)->files_sent;

	return before < all->files_unchanged ? before : all->files_unchanged;
}

void transfer_fill_report(struct transfer *t)
{
	struct job_totals sum;
	const struct job_totals *all = &sum;
	struct transfer_report *r = t->report;

	transfer_sum(t, &sum);

	r->elapsed_s = seconds_since(t->started_ns, uv_hrtime());
	r->files_total = all->files;
	if (!t->req->dry_run)
		r->files_sent = all->files_sent;
	r->files_cloned = all->files_cloned;
	r->bytes_basis = all->bytes_reused;
	r->bytes_reused = all->bytes_cloned + all->bytes_reused;
	r->files_skipped = all->files_proven + all->files_unchanged - r->files_sent - r->files_cloned;
	r->files_failed =
	    t->req->verb == TRANSFER_VERIFY ? t->files_told : all->files_failed; /* different is not failed */
	r->entries_total = all->entries;
	r->bytes_total = all->bytes;
	r->bytes_sent = all->bytes_sent;
	r->files_sent_again = all->files_again;
	/* What is sent anew goes on with what had come before it changed: of no earlier run. */
	r->bytes_resumed = all->bytes_resumed > all->bytes_again ? all->bytes_resumed - all->bytes_again : 0;
	r->files_verified_transfer = all->files_proven + sent_before(t, all);
	r->files_unread = all->files_unchanged - sent_before(t, all);
	r->has_root = all->has_root;
	r->job_root = all->root;
	if (!t->is_local && t->req->is_move) {
		r->files_deleted = all->moved.files;
		r->entries_deleted = all->moved.entries;
		r->files_kept += all->moved.kept_files;
	}
	transfer_report_choice(t);
	transfer_lanes_report(t);
	fill_limit(t, all);
	r->cpu_s = (double)process_cpu_ms() / 1e3;
	r->peer_cpu_s = t->is_local ? 0 : (double)all->peer_cpu_ms / 1e3; /* one process: counted already */
	warn(t, r->specials[0], "fifo");
	warn(t, r->specials[1], "socket");
	warn(t, r->specials[2], "device");
	transfer_tell_lost(t);
	report_fill_exit(r, t->reasons);
}
