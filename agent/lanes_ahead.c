/* A few held dials, and for each that is taken whose it is. */
#include "agent/lanes_ahead.h"

#include "agent/lane.h"

#include <stdlib.h>

enum {
	HOLD_MS = 4000
}; /* the peer waits 10 s from accepting to a first message; it is slow or busy if we wait longer */

struct ahead {
	struct lane_dial *dial; /* NULL: none, or over */
	bool is_taken;
	unsigned number;
	void (*on_done)(void *ctx, unsigned number, struct channel_parts *parts);
	void *ctx;
};

struct lanes_ahead {
	struct ahead lanes[LANES_MAX];
	unsigned count;
};

static void on_dialled(void *ctx, struct channel *channel, haul_status why, const struct haul_fault *fault)
{
	struct ahead *h = ctx;
	struct channel_parts *parts = NULL;

	(void)why;
	(void)fault;
	h->dial = NULL;
	if (channel && haul_failed(channel_detach(channel, &parts))) {
		channel_close(channel, NULL, NULL);
		parts = NULL;
	}
	if (h->is_taken)
		h->on_done(h->ctx, h->number, parts);
	else
		channel_parts_free(parts);
}

struct lanes_ahead *lanes_ahead_new(uv_loop_t *loop, const struct lane_dial_config *cfg, unsigned count)
{
	struct lanes_ahead *a = calloc(1, sizeof(*a));
	struct lane_dial_config held = *cfg;
	struct haul_fault fault;

	held.hold_ms = HOLD_MS;
	for (unsigned i = 0; a && i < count && i < LANES_MAX; i++) {
		struct ahead *h = &a->lanes[a->count];

		if (haul_ok(lane_dial_start(loop, &held, on_dialled, h, &h->dial, &fault)))
			a->count++;
	}
	if (a && !a->count) {
		free(a);
		a = NULL;
	}
	return a;
}

bool lanes_ahead_take(struct lanes_ahead *a, const struct msg_lane_hello *lane,
		      void (*on_done)(void *ctx, unsigned number, struct channel_parts *parts), void *ctx)
{
	for (unsigned i = 0; i < a->count; i++) {
		struct ahead *h = &a->lanes[i];

		if (!h->dial || h->is_taken)
			continue;
		h->is_taken = true;
		h->number = lane->lane;
		h->on_done = on_done;
		h->ctx = ctx;
		lane_dial_join(h->dial, lane);
		return true;
	}
	return false;
}

static void cancel(struct ahead *h)
{
	if (h->dial)
		lane_dial_cancel(h->dial, NULL, NULL);
	h->dial = NULL;
}

void lanes_ahead_drop(struct lanes_ahead *a)
{
	for (unsigned i = 0; i < a->count; i++) {
		if (!a->lanes[i].is_taken)
			cancel(&a->lanes[i]);
	}
}

void lanes_ahead_cancel(struct lanes_ahead *a)
{
	for (unsigned i = 0; a && i < a->count; i++)
		cancel(&a->lanes[i]);
}

void lanes_ahead_free(struct lanes_ahead *a)
{
	free(a);
}
