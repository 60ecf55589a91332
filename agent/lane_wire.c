/*
 * The connections of a lane. One at a time, but for the moment when a successor takes over: the client dials it when
 * the record limit comes near, both send and receive on it as soon as it has joined, the old one drains, says END and
 * closes.
 */
#include "agent/lane_parts.h"

#include "agent/lane_dial.h"
#include "agent/lane_growth.h"

#include <stdlib.h>
#include <string.h>

/* Of one lane at once: the one in use, its successor, and old ones whose end is on its way. Each has its buffers. */
enum { WIRES_MAX = 4 };

static void wire_is_closed(void *ctx)
{
	struct wire *w = ctx;
	struct lane *l = w->lane;

	list_remove(&w->link);
	if (l->wire == w)
		l->wire = NULL;
	free(w);
	lane_maybe_end(l);
}

static void wire_drop(struct wire *w)
{
	struct channel *ch = w->channel;

	recv_wire_closed(w);
	w->channel = NULL;
	if (ch) {
		channel_close(ch, wire_is_closed, w);
	} else if (w->dial) {
		lane_dial_cancel(w->dial, wire_is_closed, w);
		w->dial = NULL;
	}
}

void wire_drop_all(struct lane *l)
{
	list_each (pos, &l->wires)
		wire_drop(list_item(pos, struct wire, link));
}

void wire_finish(struct wire *w)
{
	if (w->is_finished || !w->channel)
		return;
	w->is_finished = true;
	channel_finish(w->channel);
}

static void on_readable(void *ctx, struct channel *ch)
{
	struct wire *w = ctx;

	(void)ch;
	if (!w->channel)
		return;
	if (w->lane->job->role == LANE_SENDS) {
		lane_beat_heard(w);
		return;
	}
	recv_pump(w);
	if (w->channel)
		wire_check_records(w);
}

static void on_writable(void *ctx, struct channel *ch)
{
	struct wire *w = ctx;
	struct lane *l = w->lane;

	(void)ch;
	if (l->job->role != LANE_SENDS || !w->channel)
		return;
	send_pump(l);
	lane_maybe_end(l);
}

/* The peer may close only after END, whichever of us said it. */
static void on_end(void *ctx, struct channel *ch, haul_status why, const struct haul_fault *fault)
{
	struct wire *w = ctx;
	struct lane *l = w->lane;
	struct haul_fault early = { 0 };

	(void)ch;
	if (haul_ok(why) && !w->has_ended)
		why = haul_fault_set(&early, HAUL_LOST, "the peer closed a lane too early");
	if (haul_failed(why)) {
		lane_fail(l, why, early.status.code ? &early : fault);
		return;
	}
	wire_drop(w);
}

static const struct channel_callbacks wire_callbacks = {
	.on_readable = on_readable,
	.on_writable = on_writable,
	.on_end = on_end,
};

static struct wire *wire_new(struct lane *l, uint32_t epoch)
{
	const struct lane_session_config rx = { .block_bytes = l->job->block_bytes, .is_granted = recv_is_granted };
	struct wire *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->lane = l;
	w->epoch = epoch;
	lane_session_open(&w->rx, &rx);
	w->rx.cfg.ctx = w;
	list_push_back(&l->wires, &w->link);
	return w;
}

static void wire_joined(struct wire *w)
{
	struct lane *l = w->lane;
	struct lane_report *r;

	w->is_joined = true;
	lane_beat_start(l);
	if (!l->wire || l->wire->epoch < w->epoch)
		l->wire = w;
	if (l->phase == LANE_JOINING) {
		r = lane_report_new(l, LANE_JOINED);
		if (!r) {
			lane_fail(l, HAUL_NO_MEMORY, NULL);
			return;
		}
		(void)haul_fault_set(&r->fault, HAUL_OK, "%s", engine_backend_text(l->engine));
		lane_run(l);
		lane_report_post(r);
	}
	channel_resume(w->channel);
	if (l->job->role == LANE_SENDS) {
		l->is_far = channel_round_trip(w->channel).least_ns >= LONG_ROUND_TRIP_NS;
		send_fill(l);
		send_pump(l);
	}
	lane_finish_if_asked(l);
}

static void on_dialled(void *ctx, struct channel *channel, haul_status why, const struct haul_fault *fault)
{
	struct wire *w = ctx;
	struct lane *l = w->lane;

	w->dial = NULL;
	if (!channel) {
		wire_is_closed(w);
		lane_fail(l, why, fault);
		return;
	}
	w->channel = channel;
	channel_set_callbacks(channel, &wire_callbacks, w);
	wire_joined(w);
}

haul_status wire_connect(struct lane *l, uint32_t epoch, struct haul_fault *fault)
{
	struct lane_dial_config cfg = { .tls = l->job->tls,
					.address = &l->job->address,
					.device_id = l->job->peer_id,
					.lane = { .lane = l->number, .epoch = epoch },
					.timeout_ms = l->job->connect_timeout_ms };
	struct wire *w = wire_new(l, epoch);
	haul_status st;

	if (!w)
		return HAUL_NO_MEMORY;
	l->epoch = epoch;
	memcpy(cfg.lane.session_id, l->job->session_id, sizeof(cfg.lane.session_id));
	st = lane_dial_start(&l->loop, &cfg, on_dialled, w, &w->dial, fault);
	if (haul_failed(st)) {
		list_remove(&w->link);
		free(w);
	}
	return st;
}

static unsigned wire_count(const struct lane *l)
{
	unsigned count = 0;

	list_each (pos, &l->wires)
		count++;
	return count;
}

static uint32_t next_epoch(struct lane *l)
{
	uint32_t epoch = 0;

	list_each (pos, &l->wires) {
		if (list_item(pos, struct wire, link)->epoch >= epoch)
			epoch = list_item(pos, struct wire, link)->epoch + 1;
	}
	return epoch;
}

haul_status wire_attach(struct lane *l, struct channel_parts *parts)
{
	struct wire *w = wire_count(l) < WIRES_MAX ? wire_new(l, next_epoch(l)) : NULL;
	haul_status st;

	if (!w) {
		channel_parts_free(parts);
		return wire_count(l) < WIRES_MAX ? HAUL_NO_MEMORY : HAUL_BAD_MOVE;
	}
	st = channel_attach(&l->loop, parts, &wire_callbacks, w, &w->channel);
	if (haul_ok(st))
		st = channel_grow(w->channel);
	if (haul_failed(st)) {
		if (w->channel) {
			wire_drop(w);
		} else {
			channel_parts_free(parts);
			list_remove(&w->link);
			free(w);
		}
		return st;
	}
	wire_joined(w);
	return HAUL_OK;
}

void wire_check_records(struct wire *w)
{
	struct lane *l = w->lane;
	struct haul_fault fault = { 0 };
	uint64_t in, out;
	haul_status st;

	/* One succession at a time: what an old connection still holds in its buffers is not left behind by several. */
	if (!l->job->is_client || l->wire != w || l->phase != LANE_RUNNING || wire_count(l) != 1)
		return;
	in = channel_records_in(w->channel);
	out = channel_records_out(w->channel);
	if ((in > out ? in : out) < l->job->records_max)
		return;
	st = wire_connect(l, w->epoch + 1, &fault);
	if (haul_failed(st))
		lane_fail(l, st, &fault);
}
