/*
 * Signs of life on a lane. Nothing else ever goes from its receiver to its sender, and what TCP has taken says nothing:
 * behind a middlebox, or a proxy, a lane may swallow all that it is given, while the control connection lives on. So
 * the receiver says a byte now and then, and a sender that hears none for long takes the connection for lost. The
 * receiver's disk plays no part in it: a lane's thread never waits for one.
 *
 * ALIVE, on the control connection, names the lanes over which data arrives, and sender_tick() judges by that: it finds
 * a lane that is dead from sender to receiver alone, whose bytes of life go on coming. It asks only lanes over which
 * something is owed; one that is dead from receiver to sender, or idle, is found here. Neither can stand for the other.
 */
#include "agent/lane_parts.h"

enum { BEATS = 4 };

static const uint8_t alive = 0; /* docs/PROTOCOL.md section 8 */

static bool is_in_use(const struct wire *w)
{
	return w->is_joined && w->channel && !w->has_ended && !w->is_finished;
}

static void say_alive(struct lane *l)
{
	list_each (pos, &l->wires) {
		struct wire *w = list_item(pos, struct wire, link);

		if (!is_in_use(w))
			continue;
		(void)channel_write(w->channel, &alive, 1); /* no room: enough is on its way */
		channel_flush(w->channel);
	}
}

static void expect_life(struct lane *l)
{
	struct haul_fault fault = { 0 };

	list_each (pos, &l->wires) {
		struct wire *w = list_item(pos, struct wire, link);

		if (!is_in_use(w) || ++w->silent_beats < BEATS)
			continue;
		lane_fail(l,
			  haul_fault_set(&fault, HAUL_TIMED_OUT, "lane %u to %s was silent for %u s", l->number,
					 channel_address_text(w->channel), channel_dead_peer_ms() / 1000),
			  &fault);
		return;
	}
}

/* A process that was asleep finds one beat due, not many, and so hears first what has come meanwhile. */
static void on_beat(uv_timer_t *timer)
{
	struct lane *l = timer->data;

	if (lane_is_over(l))
		(void)uv_timer_stop(timer);
	else if (l->job->role == LANE_SENDS)
		expect_life(l);
	else
		say_alive(l);
}

void lane_beat_open(struct lane *l)
{
	(void)uv_timer_init(&l->loop, &l->beat);
	l->beat.data = l;
}

void lane_beat_start(struct lane *l)
{
	const unsigned every_ms = channel_dead_peer_ms() / BEATS;

	if (!uv_is_active((const uv_handle_t *)&l->beat))
		(void)uv_timer_start(&l->beat, on_beat, every_ms, every_ms);
}

void lane_beat_heard(struct wire *w)
{
	uint8_t said[64];
	size_t len;

	while (w->channel && (len = channel_read(w->channel, said, sizeof(said))) > 0) {
		struct haul_fault fault = { 0 };

		w->silent_beats = 0;
		for (size_t i = 0; i < len; i++) {
			if (said[i] == alive)
				continue;
			lane_fail(w->lane,
				  haul_fault_set(&fault, HAUL_BAD_FRAME, "the receiver of a lane sent payload"),
				  &fault);
			return;
		}
	}
}
