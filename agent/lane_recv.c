/*
 * The receiving half of a lane.
 *
 * recv_pump() lets plaintext land where the session says: a header, or a leaf directly in the block it will be written
 * from. Each leaf is hashed as it arrives, while it is in cache, and compared with the digest that follows it; a
 * wrong one is reported and asked for again, alone. A whole block becomes one direct write, a pack is turned into small
 * files by the thread pool, digests are compared with what is read of the file that is there.
 *
 * When no block is free the wire is paused: TCP holds the sender back. A block that comes back goes first to a compare
 * that waits for memory, then to the wires.
 */
#include "agent/lane_recv_parts.h"

#include <stdlib.h>

void recv_block_free(struct recv_block *b)
{
	struct lane *l = b->lane;

	if (b->held)
		held_done(l, b->held);
	for (unsigned i = 0; b->items && i < b->report->item_count; i++) {
		if (b->items[i])
			held_done(l, b->items[i]);
	}
	free(b->items);
	lane_report_free(b->report);
	if (b->block)
		block_put(b->block);
	free(b);
}

/* The report goes to the main loop; the block is free again. The grants are let go first, so that RELEASED comes after.
 */
void recv_block_report(struct recv_block *b)
{
	struct lane *l = b->lane;
	struct lane_report *r = b->report;
	unsigned count = r->item_count; /* the report is gone once it is posted */

	lane_report_post(r);
	for (unsigned i = 0; b->items && i < count; i++) {
		if (b->items[i])
			held_done(l, b->items[i]);
	}
	free(b->items);
	b->items = NULL;
	b->report = NULL;
	recv_block_free(b);
	recv_block_freed(l);
}

struct recv_block *recv_block_new(struct lane *l, const struct lane_header *header)
{
	struct recv_block *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	*b = (struct recv_block){ .lane = l, .header = *header };
	list_init(&b->link);
	b->report = lane_report_new(l, LANE_WRITTEN);
	if (!b->report) {
		free(b);
		return NULL;
	}
	b->report->job = lane_sink(l);
	b->report->entry = header->entry;
	b->report->attempt = header->attempt;
	b->report->first_leaf = header->first_leaf;
	b->report->leaf_count = header->leaf_count;
	*(header->flags & LANE_ZERO ? &b->report->hole_bytes : &b->report->bytes) = header->bytes;
	return b;
}
void recv_trace(struct recv_block *b, struct trace_span *span, enum trace_stage stage)
{
	bool is_pack = b->header.type == LANE_PACK;

	if (!b->lane->recv_track || !span->start_ns)
		return;
	span->stage = stage;
	span->entry = is_pack && b->report->items ? b->report->items[0].entry : b->header.entry;
	span->first_leaf = b->header.first_leaf;
	span->leaves = is_pack ? b->header.count : b->header.leaf_count;
	span->bytes = b->header.bytes;
	trace_put(b->lane->recv_track, span);
}

static void on_pool_done(uv_work_t *work, int status)
{
	struct recv_block *b = work->data;
	struct lane *l = b->lane;

	recv_trace(b, &b->disk, b->header.type == LANE_PACK ? TRACE_POOL_WRITE : TRACE_READ);
	(void)status;
	l->in_work--;
	l->moved++;
	recv_block_report(b);
	lane_maybe_end(l);
}

void recv_start_pool(struct recv_block *b, void (*run)(uv_work_t *))
{
	struct lane *l = b->lane;

	b->pool.data = b;
	if (uv_queue_work(&l->loop, &b->pool, run, on_pool_done)) {
		recv_block_free(b);
		lane_fail(l, HAUL_NO_MEMORY, NULL);
		return;
	}
	l->in_work++;
}

void wire_starve(struct wire *w)
{
	w->is_starved = true;
	channel_pause(w->channel);
}

/* False: no memory now, the wire waits. */
static bool begin_block(struct wire *w, const struct lane_header *header)
{
	struct lane *l = w->lane;
	struct block *block = list_is_empty(&l->hungry) ? block_take(&l->share) : NULL;

	if (!block) {
		wire_starve(w);
		return false;
	}
	w->filling = recv_block_new(l, header);
	if (!w->filling) {
		block_put(block);
		lane_fail(l, HAUL_NO_MEMORY, NULL);
		return false;
	}
	w->filling->block = block;
	lane_session_give(&w->rx, block->data, block->cap);
	return true;
}

static struct recv_block *take_filling(struct wire *w)
{
	struct recv_block *b = w->filling;

	w->filling = NULL;
	return b;
}

/* Do what the session says; false: no more of this wire until something comes back. */
static bool recv_act(struct wire *w, const struct lane_update *up)
{
	switch (up->action) {
	case LANE_DO_NOTHING:
		return true;
	case LANE_NEED_BLOCK:
		return begin_block(w, up->header);
	case LANE_LEAF_ARRIVED:
		recv_check_leaf(w, up);
		return true;
	case LANE_BLOCK_ARRIVED:
		recv_check_leaf(w, up);
		recv_block_arrived(take_filling(w));
		return true;
	case LANE_ZERO_ARRIVED:
		recv_zeros_arrived(w, up->header);
		return true;
	case LANE_PACK_ARRIVED:
		recv_pack_arrived(take_filling(w), up);
		return true;
	case LANE_DIGESTS_ARRIVED:
		recv_digests_arrived(w, up);
		return !w->is_starved;
	case LANE_HAS_ENDED:
		w->has_ended = true;
		wire_finish(w);
		return true; /* to see that nothing follows */
	}
	return false;
}

/* Nothing may follow END: unread, it would hide the end of the stream for ever. */
static void recv_after_end(struct wire *w)
{
	struct haul_fault fault = { 0 };
	uint8_t byte;

	if (w->has_ended && channel_read(w->channel, &byte, 1))
		lane_fail(w->lane, haul_fault_set(&fault, HAUL_BAD_FRAME, "data after the end of a lane"), &fault);
}

/* As channel_read(); what belongs to a leaf is hashed at once, in pieces that the core's cache holds. */
static size_t recv_read(struct wire *w, uint8_t *at, size_t len)
{
	bool is_leaf = w->rx.state == LANE_STATE_LEAF;
	uint64_t since_ns = trace_now(w->lane->recv_track);
	size_t got;

	if (is_leaf && len > LEAF_PIECE_BYTES)
		len = LEAF_PIECE_BYTES;
	got = channel_read(w->channel, at, len);
	if (w->filling && got)
		trace_work(w->lane->recv_track, &w->filling->receive, since_ns);
	if (!is_leaf || !got)
		return got;
	if (w->rx.have == 0)
		leaf_stream_begin(&w->leaf);
	lane_digest_add(w->lane, &w->filling->check, &w->leaf, at, got);
	return got;
}

static bool recv_some(struct wire *w)
{
	struct lane *l = w->lane;
	struct haul_fault fault = { 0 };
	struct lane_update up = { 0 };
	uint8_t *at;
	size_t len, got;
	haul_status st;

	if (lane_is_over(l) || !w->channel || w->is_starved)
		return false;
	lane_session_want(&w->rx, &at, &len);
	if (!len) {
		recv_after_end(w);
		return false;
	}
	if (!lane_rate_allows(l, &len)) {
		channel_pause(w->channel);
		return false;
	}
	got = recv_read(w, at, len);
	if (!got)
		return false;
	l->moved += got;
	if (l->rate_paid)
		l->rate_paid -= got;
	st = lane_session_received(&w->rx, got, &up, &fault);
	if (haul_failed(st)) {
		lane_fail(l, st, &fault);
		return false;
	}
	l->arrived += up.action != LANE_DO_NOTHING && up.action != LANE_HAS_ENDED;
	return recv_act(w, &up);
}

void recv_pump(struct wire *w)
{
	struct lane *l = w->lane;

	/* A grant is posted before the WANT that it answers leaves, so whatever has arrived has its grant in the box by
	 * now. */
	lane_take_mail(l);
	while (recv_some(w))
		;
	lane_maybe_end(l);
}

void recv_block_freed(struct lane *l)
{
	struct list *item;
	struct block *block;

	if (l->phase == LANE_STOPPING)
		return;
	while (!list_is_empty(&l->hungry)) {
		block = block_take(&l->share);
		if (!block)
			return;
		item = list_pop_front(&l->hungry);
		recv_compare_start(list_item(item, struct recv_block, link), block);
	}
	list_each (pos, &l->wires) {
		struct wire *w = list_item(pos, struct wire, link);
		struct lane_header header;

		if (!w->is_starved || !w->channel)
			continue;
		w->is_starved = false;
		header = w->rx.header;
		if (w->rx.state == LANE_STATE_WAIT_BLOCK && !begin_block(w, &header))
			continue;
		channel_resume(w->channel);
	}
	if (l->sink) {
		send_fill(l);
		send_pump(l);
	}
}

void recv_wire_closed(struct wire *w)
{
	if (w->filling)
		recv_block_free(take_filling(w));
}

bool recv_is_idle(const struct lane *l)
{
	return list_is_empty(&l->hungry);
}

void recv_drop(struct lane *l)
{
	struct held_grant *h;
	struct list *item;

	while ((item = list_pop_front(&l->hungry)))
		recv_block_free(list_item(item, struct recv_block, link));
	/* Not released: RELEASED would tell the main loop that everything granted has arrived. Blocks in flight still
	 * point here. */
	while ((h = index_map_remove_any(&l->grants))) {
		h->is_dropped = true;
		if (!h->in_work)
			free(h);
	}
}
