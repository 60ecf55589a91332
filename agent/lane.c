/*
 * The life of a lane: its thread and loop, its end. What the main loop tells it comes as mails (lane_mail.c).
 *
 * Happy path: lane_start() reserves memory and starts the thread; a mail brings the wire or has it connected, which
 * moves the lane to RUNNING; mails bring work; lane_finish() lets it drain; when nothing is in flight and every wire is
 * closed the handles are closed, the loop returns, and LANE_ENDED is the last thing posted. A fault anywhere
 * (lane_fail) stops the lane; blocks in flight are waited for, because the kernel writes to their memory.
 */
#include "agent/lane_parts.h"

#include "agent/loop_open.h"

#include <assert.h>
#include <stdlib.h>

#define ROUND_TRIP_LOOK_NS UINT64_C(100000000)

static const unsigned phase_moves[] = {
	[LANE_JOINING] = 1u << LANE_RUNNING | 1u << LANE_STOPPING,
	[LANE_RUNNING] = 1u << LANE_FINISHING | 1u << LANE_STOPPING,
	[LANE_FINISHING] = 1u << LANE_STOPPING | 1u << LANE_OVER,
	[LANE_STOPPING] = 1u << LANE_OVER,
	[LANE_OVER] = 0,
};

static void lane_move(struct lane *l, enum lane_phase to)
{
	assert(phase_moves[l->phase] & 1u << to);
	l->phase = to;
}

struct lane_report *lane_report_new(struct lane *l, enum lane_report_type type)
{
	struct lane_report *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->lane = l;
	r->job = l->job;
	r->type = type;
	return r;
}

void lane_report_free(struct lane_report *r)
{
	if (!r)
		return;
	free(r->grants);
	free(r->items);
	free(r);
}

static void deliver_report(struct mail *m, void *ctx)
{
	struct lane_report *r = list_item(m, struct lane_report, mail);

	(void)ctx;
	r->job->on_report(r->job->owner, r);
}

void lane_report_post(struct lane_report *r)
{
	r->mail.deliver = deliver_report;
	mail_post(r->job->main, &r->mail);
}

void lane_fail(struct lane *l, haul_status st, const struct haul_fault *fault)
{
	if (lane_is_over(l))
		return;
	l->ended->status = st;
	if (fault)
		l->ended->fault = *fault;
	lane_move(l, LANE_STOPPING);
	send_drop(l);
	recv_drop(l);
	wire_drop_all(l);
	lane_maybe_end(l);
}

bool lane_is_over(const struct lane *l)
{
	return l->phase == LANE_STOPPING || l->phase == LANE_OVER;
}

void lane_run(struct lane *l)
{
	lane_move(l, LANE_RUNNING);
	thread_cpu_now(&l->cpu_at_start);
}

/* All but the inbox: the main loop may post until it has heard of the end (lane_free). */
static void close_handles(struct lane *l)
{
	if (l->engine)
		uv_close((uv_handle_t *)&l->engine_poll, NULL);
	uv_close((uv_handle_t *)&l->rate_timer, NULL);
	uv_close((uv_handle_t *)&l->beat, NULL);
	uv_close((uv_handle_t *)&l->prepare, NULL);
}

static void lane_over(struct lane *l)
{
	lane_move(l, LANE_OVER);
	close_handles(l);
	lane_account_end(l);
	lane_trace_end(l);
	l->ended->epoch = l->epoch;
	if (l->sink) {
		l->sink_ended->status = l->ended->status;
		l->sink_ended->fault = l->ended->fault;
		l->sink_ended->times = l->sink_meter.times;
		lane_report_post(l->sink_ended);
	}
	lane_report_post(l->ended);
}

void lane_maybe_end(struct lane *l)
{
	bool is_idle = l->in_work == 0 && send_is_idle(l) && recv_is_idle(l);

	/* END first, whichever end says it: a wire that closes without it looks cut to the peer. */
	if (l->phase == LANE_FINISHING && is_idle) {
		list_each (pos, &l->wires) {
			struct wire *w = list_item(pos, struct wire, link);

			if (w->has_ended)
				wire_finish(w);
		}
	}
	if ((l->phase != LANE_FINISHING && l->phase != LANE_STOPPING) || !is_idle || !list_is_empty(&l->wires))
		return;
	lane_over(l);
}

static bool is_busy(const struct lane *l)
{
	bool is_held_up = l->is_waiting_for_rate || (l->job->role == LANE_RECEIVES && l->in_work);

	list_each (pos, &l->wires)
		is_held_up |= list_item(pos, struct wire, link)->is_starved;
	return is_held_up;
}

/* What the main loop looks at from time to time, without asking. */
static void publish(struct lane *l)
{
	uint64_t now_ns = l->meter.last.now_ns;

	atomic_store_explicit(&l->peer_wait_ns, l->meter.peer_wait_ns, memory_order_relaxed);
	atomic_store_explicit(&l->moved_so_far, l->moved, memory_order_relaxed);
	atomic_store_explicit(&l->is_busy, is_busy(l), memory_order_relaxed);
	if (l->job->role != LANE_SENDS || !l->wire || !l->wire->channel ||
	    now_ns - l->round_trip_seen_ns < ROUND_TRIP_LOOK_NS)
		return;
	l->round_trip_seen_ns = now_ns;
	atomic_store_explicit(&l->round_trip_ns, channel_round_trip(l->wire->channel).now_ns, memory_order_relaxed);
}

/* Once a turn, before the loop sleeps: the account, then what was queued goes to the kernel, whoever queued it. */
static void on_prepare(uv_prepare_t *handle)
{
	struct lane *l = handle->data;

	lane_account_turn(l);
	publish(l);
	if (l->engine)
		engine_submit(l->engine);
}

static void on_engine(uv_poll_t *handle, int status, int events)
{
	struct lane *l = handle->data;
	struct engine_done done[64];
	unsigned n;

	(void)status;
	(void)events;
	while ((n = engine_drain(l->engine, done, sizeof(done) / sizeof(done[0]))) > 0) {
		for (unsigned i = 0; i < n; i++) {
			struct lane_op *op = done[i].tag;

			l->in_work--;
			l->moved++;
			op->done(op, &done[i]);
		}
	}
	if (l->job->role == LANE_SENDS) {
		send_fill(l);
		send_pump(l);
	}
	lane_maybe_end(l);
}

static void on_rate_timer(uv_timer_t *handle)
{
	struct lane *l = handle->data;

	l->is_waiting_for_rate = false;
	if (l->job->role == LANE_SENDS) {
		send_pump(l);
		lane_maybe_end(l);
		return;
	}
	list_each (pos, &l->wires) {
		struct wire *w = list_item(pos, struct wire, link);

		if (w->channel && !w->is_starved)
			channel_resume(w->channel);
	}
}

bool lane_rate_allows(struct lane *l, size_t *len)
{
	uint64_t wait_ns;

	if (!l->job->limit || !l->job->limit->bytes_per_s)
		return true;
	if (l->is_waiting_for_rate)
		return false;
	if (l->rate_paid == 0) {
		wait_ns = rate_limit_reserve(l->job->limit, uv_hrtime(), RATE_LIMIT_CHUNK_BYTES);
		l->rate_paid = RATE_LIMIT_CHUNK_BYTES;
		if (wait_ns >= 1000000) {
			l->is_waiting_for_rate = true;
			(void)uv_timer_start(&l->rate_timer, on_rate_timer, wait_ns / 1000000, 0);
			return false;
		}
	}
	if (*len > l->rate_paid)
		*len = l->rate_paid;
	return true;
}

void lane_finish_if_asked(struct lane *l)
{
	if (!l->is_finish_asked || l->phase != LANE_RUNNING)
		return;
	lane_move(l, LANE_FINISHING);
	if (l->job->role == LANE_SENDS)
		send_pump(l);
	lane_maybe_end(l);
}

/* ---- the thread ---- */

/* The engine belongs to the thread that makes it. Twice the blocks: a split write may need several requests per block.
 */
static haul_status lane_open_engine(struct lane *l, struct haul_fault *fault)
{
	const struct engine_config cfg = { .backend = l->job->backend,
					   .depth = 2 * l->job->blocks_per_lane,
					   .read = l->job->read,
					   .write = l->job->write };
	haul_status st = engine_new(&cfg, &l->engine, fault);

	if (haul_failed(st))
		return st;
	if (uv_poll_init(&l->loop, &l->engine_poll, engine_event_fd(l->engine))) {
		engine_free(l->engine);
		l->engine = NULL;
		return HAUL_NO_MEMORY;
	}
	l->engine_poll.data = l;
	(void)uv_poll_start(&l->engine_poll, UV_READABLE, on_engine);
	return HAUL_OK;
}

static void lane_main(void *arg)
{
	struct lane *l = arg;
	struct haul_fault fault = { 0 };
	haul_status st;

	lane_account_start(l);
	lane_trace_begin(l);
	if (l->job->makes_up)
		block_share_fill(&l->share, l->number);
	st = lane_open_engine(l, &fault);
	if (haul_failed(st))
		lane_fail(l, st, &fault);
	else if (l->sink)
		copy_begin(l);
	(void)uv_run(&l->loop, UV_RUN_DEFAULT);
	engine_free(l->engine);
}

static haul_status lane_open_loop(struct lane *l, struct haul_fault *fault)
{
	if (loop_open(&l->loop))
		return haul_fault_set(fault, HAUL_NO_MEMORY, "cannot make a loop for a lane");
	(void)uv_loop_configure(&l->loop, UV_METRICS_IDLE_TIME);
	if (haul_failed(lane_mail_open(l))) {
		(void)uv_loop_close(&l->loop);
		return haul_fault_set(fault, HAUL_NO_MEMORY, "cannot make a mailbox for a lane");
	}
	(void)uv_timer_init(&l->loop, &l->rate_timer);
	lane_beat_open(l);
	(void)uv_prepare_init(&l->loop, &l->prepare);
	l->rate_timer.data = l->prepare.data = l;
	(void)uv_prepare_start(&l->prepare, on_prepare);
	return HAUL_OK;
}

static void lane_close_loop(struct lane *l)
{
	close_handles(l);
	mailbox_close(&l->inbox, NULL);
	(void)uv_run(&l->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&l->loop);
}

static struct lane *lane_alloc(struct lane_job *job, struct lane_job *sink, unsigned number)
{
	struct lane *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	*l = (struct lane){ .job = job, .sink = sink, .number = number, .owners = sink ? 2 : 1 };
	list_init(&l->wires);
	list_init(&l->ready);
	list_init(&l->hungry);
	l->ended = lane_report_new(l, LANE_ENDED);
	l->sink_ended = sink ? lane_report_new(l, LANE_ENDED) : NULL;
	if (l->sink_ended)
		l->sink_ended->job = sink;
	if (l->ended && !sink == !l->sink_ended)
		return l;
	free(l->ended);
	free(l->sink_ended);
	free(l);
	return NULL;
}

/* `l` is NULL without memory; on failure it is gone. */
static haul_status lane_open(struct lane *l, struct lane **ret_lane, struct haul_fault *fault)
{
	struct lane_job *job;
	haul_status st = HAUL_NO_MEMORY;

	if (!l)
		return haul_fault_set(fault, st, "no memory for a lane");
	job = l->job;
	st = block_share_open(&l->share, job->budget, job->blocks_per_lane, job->block_bytes);
	if (haul_failed(st)) {
		st = haul_fault_set(fault, st, "no memory for %u blocks of %u bytes", job->blocks_per_lane,
				    job->block_bytes);
		goto free_lane;
	}
	st = lane_open_loop(l, fault);
	if (haul_failed(st))
		goto close_memory;
	if (uv_thread_create(&l->thread, lane_main, l)) {
		st = haul_fault_set(fault, HAUL_NO_MEMORY, "cannot start a lane's thread");
		goto close_loop;
	}
	*ret_lane = l;
	return HAUL_OK;

close_loop:
	lane_close_loop(l);
close_memory:
	block_share_close(&l->share);
free_lane:
	free(l->ended);
	free(l->sink_ended);
	free(l);
	return st;
}

haul_status lane_start(struct lane_job *job, unsigned number, uint32_t epoch, struct lane **ret_lane,
		       struct haul_fault *fault)
{
	struct lane *l = lane_alloc(job, NULL, number);

	if (l)
		l->epoch = epoch;
	return lane_open(l, ret_lane, fault);
}

haul_status lane_start_copying(struct lane_job *from, struct lane_job *to, unsigned number, struct lane **ret_lane,
			       struct haul_fault *fault)
{
	return lane_open(lane_alloc(from, to, number), ret_lane, fault);
}

static void deliver_bye(struct mail *m, void *ctx)
{
	struct lane *l = ctx;

	(void)m;
	mailbox_close(&l->inbox, NULL);
}

void lane_free(struct lane *l)
{
	if (!l || ++l->frees_asked < l->owners)
		return;
	l->bye.deliver = deliver_bye;
	mail_post(&l->inbox, &l->bye);
	(void)uv_thread_join(&l->thread);
	(void)uv_loop_close(&l->loop);
	block_share_close(&l->share);
	index_map_close(&l->grants);
	free(l);
}

unsigned lane_number(const struct lane *l)
{
	return l->number;
}

bool lane_is_busy(const struct lane *l)
{
	return atomic_load_explicit(&l->is_busy, memory_order_relaxed);
}

uint64_t lane_peer_wait_ns(const struct lane *l)
{
	return atomic_load_explicit(&l->peer_wait_ns, memory_order_relaxed);
}

uint64_t lane_round_trip_ns(const struct lane *l)
{
	return atomic_load_explicit(&l->round_trip_ns, memory_order_relaxed);
}

uint64_t lane_moved(const struct lane *l)
{
	return atomic_load_explicit(&l->moved_so_far, memory_order_relaxed);
}
