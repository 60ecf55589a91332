/*
 * Lanes that come and go while a job runs: one that joins is granted what the others are, one that is lost lets go of
 * what it held, and the peer is told of it behind the acknowledgements of all that came over it.
 */
#include "agent/receiver_parts.h"

#include <stdlib.h>

enum { ALIVES = 4 }; /* in the time of a dead peer */

/* What has been released is not wanted any more: the lane drops it as old. */
haul_status receiver_on_lane_started(void *owner, struct lane *l)
{
	struct receiver *r = owner;
	struct grant **grants = calloc(r->entries.count + 1, sizeof(*grants));
	struct recv_entry *e;
	size_t count = 0, at = 0;
	haul_status st;

	if (!grants)
		return HAUL_NO_MEMORY;
	while ((e = index_map_next(&r->entries, &at))) {
		if (e->phase == RECV_ARRIVING && e->grant)
			grants[count++] = e->grant;
	}
	st = lane_set_grant_to(&r->lanes, l, grants, count);
	free(grants);
	return st;
}

/* Nothing comes over it any more: what it holds is let go of. */
static void lane_is_gone(struct receiver *r, unsigned number)
{
	struct list released;
	struct recv_entry *e;
	struct list *item;
	size_t at = 0;

	receiver_release_due(r); /* whose grants may go here */
	if (r->state != RECEIVER_RUNNING)
		return;
	list_init(&released);
	while ((e = index_map_next(&r->entries, &at))) {
		if (!e->grant || !(e->grant->holders & 1u << number))
			continue;
		e->grant->holders &= ~(1u << number);
		if (!e->grant->holders && e->phase == RECV_RELEASING) /* else the next lane has it too */
			list_push_back(&released, &e->link);
	}
	while ((item = list_pop_front(&released)))
		receiver_all_released(list_item(item, struct recv_entry, link));
}

void receiver_on_lane_lost(void *owner, const struct lane_loss *loss)
{
	struct receiver *r = owner;

	lane_is_gone(r, loss->number);
	if (r->job->cb.on_lane_lost)
		r->job->cb.on_lane_lost(r->job->ctx, loss);
}

void receiver_on_say_lost(void *owner, unsigned number, uint32_t epoch)
{
	struct receiver *r = owner;

	r->out.lost |= 1u << number;
	r->out.lost_epochs[number] = epoch;
}

void receiver_tell_lost(struct receiver *r)
{
	for (unsigned n = 0; n < LANES_MAX && r->out.lost; n++) {
		const struct message m = { .type = MSG_LANE_LOST, .lane_lost = { n, r->out.lost_epochs[n] } };

		if (!(r->out.lost & 1u << n))
			continue;
		if (!out_say(r, &m))
			return;
		r->out.lost &= ~(1u << n);
	}
}

void receiver_on_lane_vacant(void *owner, unsigned number)
{
	struct receiver *r = owner;

	if (r->state == RECEIVER_RUNNING && r->job->cb.on_lane_vacant)
		r->job->cb.on_lane_vacant(r->job->ctx, number);
}

void receiver_peer_lost_lane(struct receiver *r, const struct msg_lane_lost *m)
{
	struct haul_fault fault = { 0 };
	haul_status st = lane_set_heard_lost(&r->lanes, m->lane, m->epoch, &fault);

	if (haul_failed(st))
		receiver_fail(r, st, &fault);
}

static uint32_t lanes_at_work(struct receiver *r)
{
	uint32_t lanes = 0;

	for (unsigned n = 0; n < LANES_MAX; n++) {
		const struct lane *l = r->lanes.has_joined[n] ? r->lanes.lanes[n] : NULL;
		uint64_t moved = l ? lane_moved(l) : 0;

		if (l && (moved != r->moved_seen[n] || lane_is_busy(l)))
			lanes |= 1u << n;
		r->moved_seen[n] = moved;
	}
	return lanes;
}

/* A disk that stalls is not a lane that is dead, and only this side can tell. */
void receiver_tick(struct receiver *r)
{
	struct message m = { .type = MSG_ALIVE };
	uint64_t now = uv_hrtime(), every_ns = channel_dead_peer_ms() * UINT64_C(1000000) / ALIVES;

	if (r->state == RECEIVER_CLOSING && now - r->closing_ns >= ALIVES * every_ns)
		lane_set_stop(&r->lanes); /* all of it has arrived: only the end of a lane does not come */
	if (r->state != RECEIVER_RUNNING || now - r->alive_ns < every_ns)
		return;
	r->alive_ns = now;
	m.alive.lanes = lanes_at_work(r);
	if (m.alive.lanes)
		(void)out_say(r, &m);
}
