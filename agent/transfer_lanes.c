/*
 * How many lanes a transfer has: what cores and disks ask for, what the round trip asks for at once, and what is added
 * while the network is the limit (agent/lane_growth.h). The client opens the lanes, so it is this side that decides,
 * whichever way the data goes.
 */
#include "agent/transfer_parts.h"

#include <string.h>

enum { GROWTH_STEP_MS = 100 };

static struct lane_set *lanes_of(struct transfer *t)
{
	return t->sender ? sender_lanes(t->sender) : receiver_lanes(t->receiver);
}

static void look_round_trip(struct transfer *t)
{
	if (!t->round_trip_ns)
		t->round_trip_ns = channel_round_trip(control_link_channel(t->link)).least_ns;
}

/* As many as a job that knows nothing of the disks begins with; what it does not want is dropped. */
void transfer_lanes_ahead(struct transfer *t)
{
	const struct lane_dial_config cfg = { .tls = t->tls,
					      .address = &t->address,
					      .device_id = t->device_id,
					      .timeout_ms = t->req->connect_timeout_ms };

	look_round_trip(t);
	if (t->round_trip_ns < LONG_ROUND_TRIP_NS)
		return;
	t->ahead = lanes_ahead_new(&t->loop, &cfg,
				   t->req->lanes ? t->req->lanes : lane_growth_first(t->round_trip_ns, LANES_MAX));
}

unsigned transfer_more_lanes(struct transfer *t, unsigned lanes)
{
	if (t->is_local)
		return 0;
	look_round_trip(t);
	if (t->round_trip_ns < LONG_ROUND_TRIP_NS || lanes >= LANES_MAX)
		return 0;
	return LANES_MAX - lanes;
}

static void explain_round_trip(struct transfer *t, const struct lane_set *s)
{
	double ms = (double)t->round_trip_ns / 1e6;

	if (s->most == s->count)
		transfer_explain(t, "round trip %.1f ms: no more lanes than those", ms);
	else
		transfer_explain(t,
				 "round trip %.1f ms: a lane carries about %.0f Mbit/s, more join while that is the "
				 "limit, %u at most",
				 ms, LANE_WINDOW_BYTES * 8e3 / (double)t->round_trip_ns, s->most);
}

/* One more; false: our memory or threads are used up, and no more are tried. */
static bool add_lane(struct transfer *t)
{
	struct haul_fault fault = { 0 };

	if (haul_ok(lane_set_add(lanes_of(t), &fault)))
		return true;
	transfer_explain(t, "no more lanes: %s", fault.text);
	lane_growth_stop(&t->growth);
	return false;
}

/* Receiving, the control connection knows: what acknowledges our messages waits in the same queue as the data. */
static uint64_t round_trip_now(struct transfer *t)
{
	if (t->sender)
		return lane_set_round_trip_ns(sender_lanes(t->sender));
	return t->link ? channel_round_trip(control_link_channel(t->link)).now_ns : 0;
}

static uint64_t left(const struct transfer *t)
{
	const struct job_totals *all = transfer_totals(t);
	uint64_t done = all->bytes_skipped + all->bytes_sent + all->bytes_holes;

	if (!all->scan_is_complete)
		return UINT64_MAX;
	return done < all->bytes ? all->bytes - done : 0;
}

static void on_growth(uv_timer_t *timer)
{
	struct transfer *t = timer->data;
	const struct lane_set *s = t->job_runs ? lanes_of(t) : NULL;
	struct lane_growth_update update;
	struct lane_growth_sample sample;

	if (!s || s->is_stopping || t->growth.state == GROWTH_DONE) {
		(void)uv_timer_stop(timer);
		return;
	}
	sample = (struct lane_growth_sample){ .now_ns = uv_hrtime(),
					      .bytes = lane_set_moved(s),
					      .peer_wait_ns = lane_set_peer_wait_ns(s),
					      .round_trip_ns = round_trip_now(t),
					      .running = s->joined,
					      .joining = lane_set_joining(s),
					      .left = left(t) };
	lane_growth_step(&t->growth, &sample, &update);
	if (update.text[0])
		transfer_explain(t, "%s", update.text);
	while (update.add && add_lane(t))
		update.add--;
}

void transfer_lanes_start(struct transfer *t)
{
	const struct lane_set *s = lanes_of(t);
	const struct lane_growth_config cfg = { .most = s->most, .round_trip_ns = t->round_trip_ns };
	unsigned first = lane_growth_first(t->round_trip_ns, s->most);

	memset(t->renewals, 0, sizeof(t->renewals));
	lane_growth_open(&t->growth, &cfg);
	explain_round_trip(t, s);
	if (s->most == s->count)
		return;
	if (first > s->count)
		transfer_explain(t, "%u lanes more for the round trip", first - s->count);
	for (unsigned i = s->count; i < first && add_lane(t); i++)
		;
	(void)uv_timer_start(&t->grow, on_growth, GROWTH_STEP_MS, GROWTH_STEP_MS);
}

/* ---- lost and begun anew ---- */

static const char *reason(const struct haul_fault *fault)
{
	return fault->text[0] ? fault->text : haul_status_text(fault->status);
}

/* One that was added and never came is not missed. */
void transfer_on_lane_lost(void *ctx, const struct lane_loss *loss)
{
	struct transfer *t = ctx;
	struct lane_renewal *n = &t->renewals[loss->number];

	if (!loss->had_joined && !n->lost_ns) {
		if (t->growth.state != GROWTH_DONE)
			lane_growth_stop(&t->growth);
		transfer_explain(t, "a lane did not join, the others go on: %s", reason(loss->fault));
		return;
	}
	if (loss->had_joined) {
		*n = (struct lane_renewal){ .lost_ns = uv_hrtime() };
		transfer_explain(t, "lane %u was lost, %u go on: %s", loss->number, lanes_of(t)->joined,
				 reason(loss->fault));
	}
}

/* For as long as the user is patient, as with the connection of the job; the others do the work meanwhile. */
static uint64_t left_ms(const struct transfer *t, const struct lane_renewal *n, uint64_t now)
{
	uint64_t passed = (now - n->lost_ns) / 1000000;

	return passed < t->req->timeout_ms ? t->req->timeout_ms - passed : 0;
}

static void give_up(struct transfer *t, unsigned number)
{
	transfer_explain(t, "lane %u: none in its place could be had, the others go on", number);
	t->renewals[number] = (struct lane_renewal){ 0 };
}

static void renew(struct transfer *t, unsigned number)
{
	struct lane_renewal *n = &t->renewals[number];
	struct haul_fault fault = { 0 };
	uint64_t now = uv_hrtime();

	if (haul_failed(lane_set_renew(lanes_of(t), number, &fault)))
		transfer_explain(t, "lane %u cannot be begun anew now: %s", number, reason(&fault));
	else
		n->is_trying = true;
	n->next_ns = now + backoff_patiently(&n->backoff, left_ms(t, n, now)) * 1000000;
}

void transfer_on_lane_vacant(void *ctx, unsigned number)
{
	struct transfer *t = ctx;
	struct lane_renewal *n = &t->renewals[number];

	n->is_trying = false;
	if (n->lost_ns && !n->next_ns)
		renew(t, number);
}

static void look_after(struct transfer *t, struct lane_set *s, unsigned number, uint64_t now)
{
	struct lane_renewal *n = &t->renewals[number];

	if (n->is_trying && s->has_joined[number]) {
		transfer_explain(t, "lane %u has another connection after %.1f s", number,
				 (double)(now - n->lost_ns) / 1e9);
		*n = (struct lane_renewal){ 0 };
	} else if (n->lost_ns && n->next_ns && now >= n->next_ns && lane_set_is_vacant(s, number)) {
		if (left_ms(t, n, now))
			renew(t, number);
		else
			give_up(t, number);
	}
}

void transfer_lanes_tick(struct transfer *t)
{
	struct lane_set *s = t->job_runs && !t->is_local ? lanes_of(t) : NULL;
	uint64_t now = uv_hrtime();

	if (!s)
		return;
	for (unsigned n = 0; n < LANES_MAX && !s->is_stopping; n++)
		look_after(t, s, n, now);
	if (t->sender)
		sender_tick(t->sender);
	else
		receiver_tick(t->receiver);
}

void transfer_lanes_report(struct transfer *t)
{
	const struct lane_set *s = t->sender || t->receiver ? lanes_of(t) : NULL;

	if (!s)
		return;
	t->report->lanes = s->joined ? s->joined : s->count;
	transfer_explain(t, "%u lane%s at the end", t->report->lanes, t->report->lanes == 1 ? "" : "s");
}
