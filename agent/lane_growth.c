/*
 * The numbers. Steady: an interval brought at most a tenth more than the one before. An interval is three round trips,
 * since slow start doubles with each; a new lane needs ten of them for its window. Lanes help when the rate grew by a
 * quarter of their part at least, so noise of a few per cent does not add lanes for ever.
 */
#include "agent/lane_growth.h"

#include <assert.h>
#include <stdio.h>

enum {
	INTERVAL_MS = 250,
	INTERVAL_ROUND_TRIPS = 3,
	INTERVAL_MAX_MS = 4000, /* for a slow line, that more than single blocks be counted */
	SETTLE_MS = 500,
	SETTLE_ROUND_TRIPS = 10,
	QUEUE_PART = 16,
	SETTLE_TRIES = 4, /* intervals in which the rate may go on growing */
	LATE_ROUND_TRIPS = 25,
};

#define MS UINT64_C(1000000)
#define QUEUE_LEAST_NS UINT64_C(500000)
#define INTERVAL_BYTES (UINT64_C(8) * 1024 * 1024)
#define FIRST_RATE 312.5e6 /* bytes/s: 2.5 Gb/s */

static const double steady = 1.1, waiting_share = 0.5, fair_part = 0.25, full_window = 0.4;

#define TO(state) (1u << GROWTH_##state)

static const unsigned growth_moves[] = {
	[GROWTH_WATCHING] = TO(JOINING) | TO(DONE),
	[GROWTH_JOINING] = TO(SETTLING) | TO(DONE),
	[GROWTH_SETTLING] = TO(WATCHING) | TO(DONE),
	[GROWTH_DONE] = TO(DONE),
};

static void growth_move(struct lane_growth *g, enum lane_growth_state to)
{
	assert(growth_moves[g->state] & 1u << to);
	g->state = to;
	g->begin_ns = 0;
	g->rate = 0;
	g->tries = 0;
}

static uint64_t longer(uint64_t least_ms, unsigned round_trips, uint64_t round_trip_ns)
{
	uint64_t least = least_ms * MS, trips = round_trips * round_trip_ns;

	return least > trips ? least : trips;
}

void lane_growth_open(struct lane_growth *g, const struct lane_growth_config *cfg)
{
	*g = (struct lane_growth){ .cfg = *cfg };
	if (cfg->round_trip_ns < LONG_ROUND_TRIP_NS)
		g->state = GROWTH_DONE;
}

void lane_growth_stop(struct lane_growth *g)
{
	growth_move(g, GROWTH_DONE);
}

unsigned lane_growth_first(uint64_t round_trip_ns, unsigned most)
{
	double windows = FIRST_RATE * (double)round_trip_ns / 1e9 / LANE_WINDOW_BYTES;

	if (round_trip_ns < LONG_ROUND_TRIP_NS || windows <= 1)
		return 1;
	return windows < most ? (unsigned)windows + 1 : most;
}

static double mbit(double rate)
{
	return rate * 8 / 1e6;
}

/* The interval that is being measured is over: its rate, and the share of the lanes' time that was waiting. */
static bool interval_over(struct lane_growth *g, const struct lane_growth_sample *s, double *ret_rate,
			  double *ret_waiting)
{
	uint64_t ns = s->now_ns - g->begin_ns, bytes = s->bytes - g->begin_bytes;

	if (!g->begin_ns) {
		g->begin_ns = s->now_ns;
		g->begin_bytes = s->bytes;
		g->begin_wait_ns = s->peer_wait_ns;
		return false;
	}
	if (ns < longer(INTERVAL_MS, INTERVAL_ROUND_TRIPS, g->cfg.round_trip_ns) ||
	    (bytes < INTERVAL_BYTES && ns < INTERVAL_MAX_MS * MS))
		return false;
	*ret_rate = (double)bytes * 1e9 / (double)ns;
	*ret_waiting = (double)(s->peer_wait_ns - g->begin_wait_ns) / ((double)ns * s->running);
	g->begin_ns = s->now_ns;
	g->begin_bytes = s->bytes;
	g->begin_wait_ns = s->peer_wait_ns;
	return true;
}

/* Packets wait in a queue before the narrow part of the way: it is busy, and more lanes would only wait too. */
static bool is_line_full(const struct lane_growth *g, const struct lane_growth_sample *s)
{
	return s->round_trip_ns > g->cfg.round_trip_ns + g->cfg.round_trip_ns / QUEUE_PART + QUEUE_LEAST_NS;
}

/*
 * A lane needs four round trips to join and ten for its window. Where the job is over before it has made up for that,
 * it would only hold up the end, with a block that the others had sent sooner.
 */
static bool is_late(const struct lane_growth *g, const struct lane_growth_sample *s)
{
	return s->left != UINT64_MAX &&
	       (double)s->left * 1e9 < g->base * LATE_ROUND_TRIPS * (double)g->cfg.round_trip_ns;
}

/* As many again when each carries its whole window; else half as many, since something else may be the limit. */
static void add(struct lane_growth *g, const struct lane_growth_sample *s, double waiting,
		struct lane_growth_update *out)
{
	double in_flight = g->base * (double)g->cfg.round_trip_ns / 1e9 / s->running;
	unsigned room = g->cfg.most - s->running;

	out->add = in_flight >= full_window * LANE_WINDOW_BYTES ? s->running : (s->running + 1) / 2;
	if (out->add > room)
		out->add = room;
	g->base_lanes = s->running;
	(void)snprintf(out->text, sizeof(out->text),
		       "%u lanes carry %.0f Mbit/s and wait for the network %.0f %% of their time: %u more join",
		       s->running, mbit(g->base), waiting * 100, out->add);
	growth_move(g, GROWTH_JOINING);
}

/*
 * No reason to stop looking: all lanes open their windows at the same time, and the queue that they make then is gone
 * after its losses, with the line half empty for seconds (10 lanes at 2.5 Gb/s and 100 ms: 0.9 Gb/s).
 */
static void tell_full(struct lane_growth *g, const struct lane_growth_sample *s, struct lane_growth_update *out)
{
	if (g->full_lanes == s->running)
		return;
	g->full_lanes = s->running;
	(void)snprintf(out->text, sizeof(out->text),
		       "%u lanes carry %.0f Mbit/s; the line is full: a round trip takes %.1f ms of late", s->running,
		       mbit(g->base), (double)s->round_trip_ns / 1e6);
}

static void watch(struct lane_growth *g, const struct lane_growth_sample *s, struct lane_growth_update *out)
{
	double rate, waiting, before = g->rate;

	if (!interval_over(g, s, &rate, &waiting))
		return;
	g->rate = waiting >= waiting_share ? rate : 0;
	if (g->rate <= 0 || before <= 0 || rate > before * steady)
		return;
	g->base = rate > before ? rate : before;
	if (is_line_full(g, s))
		tell_full(g, s, out);
	else if (!is_late(g, s))
		add(g, s, waiting, out);
}

/* At its end: go on, or leave it at that. */
static void settle(struct lane_growth *g, const struct lane_growth_sample *s, struct lane_growth_update *out)
{
	double rate, waiting, before = g->rate, wanted;

	if (s->now_ns < g->settled_ns || !interval_over(g, s, &rate, &waiting))
		return;
	g->rate = rate;
	if (before > 0 && rate > before * steady && ++g->tries < SETTLE_TRIES)
		return; /* still growing */
	if (before <= 0 && g->tries++ == 0)
		return; /* two intervals at least */
	rate = rate > before ? rate : before;
	wanted = g->base * (1 + fair_part * (double)(s->running - g->base_lanes) / g->base_lanes);
	if (rate < wanted || s->running <= g->base_lanes) {
		(void)snprintf(out->text, sizeof(out->text),
			       "%u lanes carry %.0f Mbit/s, %u carried %.0f: more would not help", s->running,
			       mbit(rate), g->base_lanes, mbit(g->base));
		growth_move(g, GROWTH_DONE);
		return;
	}
	(void)snprintf(out->text, sizeof(out->text), "%u lanes carry %.0f Mbit/s", s->running, mbit(rate));
	growth_move(g, s->running < g->cfg.most ? GROWTH_WATCHING : GROWTH_DONE);
	g->rate = rate; /* steady already: the next interval decides */
}

void lane_growth_step(struct lane_growth *g, const struct lane_growth_sample *s, struct lane_growth_update *out)
{
	out->add = 0;
	out->text[0] = '\0';
	if (s->running == 0)
		return;
	switch (g->state) {
	case GROWTH_WATCHING:
		if (s->joining) {
			g->begin_ns = 0; /* those of the beginning are still on their way */
			g->rate = 0;
		} else if (s->running >= g->cfg.most) {
			growth_move(g, GROWTH_DONE);
		} else {
			watch(g, s, out);
		}
		return;
	case GROWTH_JOINING:
		if (s->joining)
			return;
		growth_move(g, GROWTH_SETTLING);
		g->settled_ns = s->now_ns + longer(SETTLE_MS, SETTLE_ROUND_TRIPS, g->cfg.round_trip_ns);
		return;
	case GROWTH_SETTLING:
		settle(g, s, out);
		return;
	case GROWTH_DONE:
		return;
	}
}
