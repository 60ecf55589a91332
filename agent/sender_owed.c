/*
 * What has left over which lane and has not been acknowledged, so that the loss of one costs no more than that.
 *
 * A lane's report that a frame leaves makes it owed, the receiver's ACK of it, or the RESULT of its entry, ends that.
 * When both ends know that a lane is lost, everything that has arrived over it has been acknowledged: the rest goes to
 * the block queue again, by way of the file's name, as a wrong leaf does. What the lane had read and not sent is in the
 * queue already (lane_send_block.c).
 *
 * A lane that owes something and of which neither an ACK nor an ALIVE has spoken for the time of a dead peer is taken
 * for lost: something between may have taken its bytes and answered for the peer.
 */
#include "agent/sender_parts.h"

#include <stdlib.h>

static const uint64_t ns_per_ms = 1000000;

static void begins_to_owe(struct sender *s, unsigned lane)
{
	if (s->owes.count[lane]++ == 0)
		s->owes.heard_ns[lane] = uv_hrtime();
}

static void owes_less(struct sender *s, unsigned lane)
{
	s->owes.count[lane]--;
	s->owes.heard_ns[lane] = uv_hrtime();
}

static void piece_gone(struct sender *s, struct send_owed *o)
{
	owes_less(s, o->lane);
	s->owes.total--;
	list_remove(&o->link);
	free(o);
}

void sender_owes_leaves(struct sender *s, struct send_entry *e, const struct lane_report *r)
{
	struct send_owed *o = s->owes.total < JOB_OWED_MAX ? calloc(1, sizeof(*o)) : NULL;

	if (!o) {
		s->owes.untracked += !e->owes_untracked;
		e->owes_untracked = true;
		return;
	}
	*o = (struct send_owed){ .lane = lane_number(r->lane),
				 .attempt = r->attempt,
				 .first_leaf = r->first_leaf,
				 .leaf_count = r->leaf_count,
				 .is_digests = r->is_digests };
	list_push_back(&e->owed, &o->link);
	s->owes.total++;
	begins_to_owe(s, o->lane);
}

void sender_owes_small(struct sender *s, struct send_entry *e, unsigned lane)
{
	if (e->owes_small)
		owes_less(s, e->small_lane);
	e->owes_small = true;
	e->small_lane = lane;
	begins_to_owe(s, lane);
}

void sender_owes_no_more(struct sender *s, struct send_entry *e)
{
	while (!list_is_empty(&e->owed))
		piece_gone(s, list_item(e->owed.next, struct send_owed, link));
	if (e->owes_small)
		owes_less(s, e->small_lane);
	e->owes_small = false;
	s->owes.untracked -= e->owes_untracked;
	e->owes_untracked = false;
}

/* ---- what the receiver says ---- */

static void one_ack(struct sender *s, struct send_entry *e, const struct ack *a)
{
	uint64_t end = a->first_leaf + a->leaf_count;
	struct list *next;

	if (e->attempt != a->attempt)
		return;
	if (e->owes_small)
		owes_less(s, e->small_lane);
	e->owes_small = false;
	for (struct list *pos = e->owed.next; pos != &e->owed; pos = next) {
		struct send_owed *o = list_item(pos, struct send_owed, link);

		next = pos->next;
		if (o->first_leaf >= a->first_leaf && o->first_leaf + o->leaf_count <= end)
			piece_gone(s, o);
	}
}

void sender_acks(struct sender *s, const struct msg_ack *m)
{
	for (size_t i = 0; i < m->ack_count; i++) {
		struct send_entry *e = index_map_get(&s->window, m->acks[i].entry);

		if (e)
			one_ack(s, e, &m->acks[i]);
	}
}

void sender_alive(struct sender *s, uint32_t lanes)
{
	for (unsigned n = 0; n < LANES_MAX; n++) {
		if (lanes & 1u << n)
			s->owes.heard_ns[n] = uv_hrtime();
	}
}

void sender_tick(struct sender *s)
{
	uint64_t now = uv_hrtime(), dead_ns = channel_dead_peer_ms() * ns_per_ms;

	if (s->state == SENDER_CLOSING && now - s->closing_ns >= dead_ns)
		lane_set_stop(&s->lanes); /* nothing is owed: only the end of a lane does not come */
	for (unsigned n = 0; n < LANES_MAX && s->state == SENDER_RUNNING; n++) {
		if (!s->lanes.lanes[n] || !s->owes.count[n] || now - s->owes.heard_ns[n] < dead_ns)
			continue;
		if (lane_is_busy(s->lanes.lanes[n]))
			s->owes.heard_ns[n] = now; /* it is not its peer that it waits for */
		else
			lane_set_lose(&s->lanes, n, "nothing that was sent over it was acknowledged in time");
	}
}

/* ---- a lane is lost ---- */

/* Given in *ret_ranges; 0: it owes nothing over that lane in this attempt. */
static size_t take_owed(struct sender *s, struct send_entry *e, unsigned lane, struct leaf_range *ranges,
			bool *ret_digests)
{
	struct list *next;
	size_t count = 0;

	for (struct list *pos = e->owed.next; pos != &e->owed; pos = next) {
		struct send_owed *o = list_item(pos, struct send_owed, link);

		next = pos->next;
		if (o->lane != lane)
			continue;
		if (o->attempt == e->attempt) {
			ranges[count++] = (struct leaf_range){ o->first_leaf, o->leaf_count };
			*ret_digests = o->is_digests;
		}
		piece_gone(s, o);
	}
	return count;
}

static haul_status again_big(struct sender *s, struct send_entry *e, unsigned lane)
{
	struct leaf_range *ranges = calloc(s->owes.total + 1, sizeof(*ranges));
	bool is_digests = false;
	haul_status st = HAUL_OK;
	size_t count;

	if (!ranges)
		return HAUL_NO_MEMORY;
	count = take_owed(s, e, lane, ranges, &is_digests);
	if (count && !e->has_failed)
		st = sender_want_again(s, e, ranges, count, is_digests);
	free(ranges);
	return st;
}

static haul_status again_small(struct sender *s, struct send_entry *e, struct send_pack **pack)
{
	e->owes_small = false;
	owes_less(s, e->small_lane);
	return e->has_failed ? HAUL_OK : sender_want_small(s, e, pack);
}

static haul_status again_all(struct sender *s, unsigned lane, struct send_pack **pack)
{
	haul_status st = HAUL_OK;
	struct send_entry *e;
	size_t at = 0;

	while (haul_ok(st) && (e = index_map_next(&s->window, &at))) {
		if (!list_is_empty(&e->owed))
			st = again_big(s, e, lane);
		if (haul_ok(st) && e->owes_small && e->small_lane == lane)
			st = again_small(s, e, pack);
	}
	return st;
}

void sender_lane_vacant(struct sender *s, unsigned lane)
{
	struct send_pack *pack = NULL;
	struct haul_fault fault = { 0 };
	haul_status st;

	if (s->state != SENDER_RUNNING)
		return;
	if (s->owes.untracked) {
		st = haul_fault_set(&fault, HAUL_LOST, "a lane was lost, and more is not acknowledged than is kept");
		sender_fail(s, st, &fault);
		return;
	}
	st = again_all(s, lane, &pack);
	if (haul_ok(st) && pack) {
		block_queue_add_pack(&s->queue, pack);
		pack = NULL;
	}
	send_pack_free(pack);
	if (haul_failed(st)) {
		sender_fail(s, st, NULL);
		return;
	}
	lane_set_wake(&s->lanes);
	sender_serve_more(s);
}
