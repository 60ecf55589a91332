/*
 * From one half of a lane to the other, for jobs with both ends in this process.
 *
 * What the sending half has read is hashed leaf by leaf, told to the sending end, and handed to the receiving half in
 * the block it was read into: written from there, compared with what is there, or unpacked. Grants, reports and their
 * order are those of a connection: a grant is in the inbox before the work it allows is in the queue, and the sending
 * end hears of a block before the receiving end can have it whole. Nothing is checked on arrival, because nothing has
 * travelled. Memory bounds it: a block is read into again only after it has been written.
 */
#include "agent/lane_recv_parts.h"
#include "agent/lane_send_parts.h"

#include <stdlib.h>
#include <string.h>

void copy_begin(struct lane *l)
{
	struct lane_report *from = lane_report_new(l, LANE_JOINED), *to = lane_report_new(l, LANE_JOINED);

	if (!from || !to) {
		lane_report_free(from);
		lane_report_free(to);
		lane_fail(l, HAUL_NO_MEMORY, NULL);
		return;
	}
	(void)haul_fault_set(&from->fault, HAUL_OK, "%s", engine_backend_text(l->engine));
	to->job = l->sink;
	lane_run(l);
	lane_report_post(to);
	lane_report_post(from);
}

/*
 * Blocks gather where it is slow, so a lane that sleeps with requests in flight waits for the disk that has most of
 * them. The thread's own work is booked on the sending end.
 */
void copy_meter(struct lane *l, const struct lane_turn *turn, unsigned requests)
{
	struct lane_turn from = *turn, to = *turn;
	unsigned writes = l->engine ? engine_pending(l->engine, true) : 0;

	to.waits_for = LANE_WAITS_FOR_WORK;
	if (turn->waits_for == LANE_WAITS_FOR_DISK && 2 * writes > requests) {
		from.waits_for = LANE_WAITS_FOR_PEER;
		to.waits_for = LANE_WAITS_FOR_DISK;
	}
	from.if_over = from.waits_for;
	to.if_over = to.waits_for;
	from.disk = requests > writes ? DISK_BUSY : turn->disk;
	to.disk = writes ? DISK_BUSY : DISK_NO_INPUT;
	lane_meter_turn(&l->meter, &from);
	lane_meter_turn(&l->sink_meter, &to);
}

/* The block becomes the receiving half's; NULL: no memory, the lane has failed. */
static struct recv_block *arrive(struct lane *l, struct send_block *b)
{
	struct recv_block *to = recv_block_new(l, &b->header);

	if (!to) {
		lane_fail(l, HAUL_NO_MEMORY, NULL);
		return NULL;
	}
	if (b->header.type != LANE_DIGESTS && !b->is_hole) {
		to->block = b->block;
		b->block = NULL;
	}
	return to;
}

static void hand_over_block(struct lane *l, struct send_block *b)
{
	struct recv_block *to = arrive(l, b);

	if (!to)
		return;
	memcpy(to->report->digests, b->digests, b->header.leaf_count * sizeof(b->digests[0]));
	recv_block_arrived(to);
}

/* The memory that it was read into serves for what it is compared with. */
static void hand_over_digests(struct lane *l, struct send_block *b)
{
	struct recv_block *to = arrive(l, b);
	struct block *block = b->block;

	if (!to)
		return;
	b->block = NULL;
	(void)recv_compare_soon(to, b->digests, block); /* what waits for memory gets it when a block comes back */
}

static struct lane_pack_item *items_of(const struct lane_report *r, uint32_t good)
{
	struct lane_pack_item *items = calloc(good ? good : 1, sizeof(*items));
	uint32_t n = 0;

	for (unsigned i = 0; items && i < r->item_count; i++) {
		const struct lane_pack_entry *e = &r->items[i];

		if (haul_ok(e->status))
			items[n++] = (struct lane_pack_item){ .entry = e->entry,
							      .attempt = e->attempt,
							      .bytes = (uint32_t)e->bytes,
							      .digest = e->digest };
	}
	return items;
}

static void hand_over_pack(struct lane *l, struct send_block *b)
{
	struct lane_pack_item *items = items_of(b->report, b->header.count);
	struct lane_update up = { .action = LANE_PACK_ARRIVED, .header = &b->header, .items = items };
	struct recv_block *to;

	if (!items) {
		lane_fail(l, HAUL_NO_MEMORY, NULL);
		return;
	}
	up.contents = b->block->data + (size_t)b->work.pack->count * LANE_PACK_ITEM_BYTES;
	send_report(b);
	to = arrive(l, b);
	if (to)
		recv_pack_arrived(to, &up);
	free(items);
}

static void hand_over(struct lane *l, struct send_block *b)
{
	if (b->header.type == LANE_PACK) {
		hand_over_pack(l, b);
		return;
	}
	for (uint32_t i = 0; i < b->header.leaf_count; i++)
		send_hash_leaf(b, i);
	send_report(b);
	if (b->header.type == LANE_DIGESTS)
		hand_over_digests(l, b);
	else
		hand_over_block(l, b);
}

/* Take from the allowed rate what this block will move; false: the timer goes on. */
static bool may_pass(struct lane *l, struct send_block *b)
{
	while (b->left) {
		size_t len = b->left;

		if (!lane_rate_allows(l, &len))
			return false;
		b->left -= len;
		if (l->rate_paid)
			l->rate_paid -= len;
	}
	return true;
}

static bool next_block(struct lane *l)
{
	l->sending = send_ready_pop(l);
	if (!l->sending)
		return false;
	l->sending->left = l->sending->is_hole ? 0 : (size_t)l->sending->header.bytes;
	return true;
}

static bool is_running(const struct lane *l)
{
	return l->phase == LANE_RUNNING || l->phase == LANE_FINISHING;
}

/* In phases, for one disk at both ends: nothing is written while anything is read (send_fill() sees to the rest). */
static bool may_write(const struct lane *l, const struct send_block *b)
{
	return !l->job->is_phased || b->is_hole || b->header.type != LANE_BLOCK || !engine_pending(l->engine, false);
}

/* False: nothing more now. */
static bool copy_one(struct lane *l)
{
	struct send_block *b;

	lane_take_mail(l); /* whatever is ready has its grant in the inbox by now, if not in the lane */
	if (!is_running(l) || (!l->sending && !next_block(l)) || !may_write(l, l->sending) || !may_pass(l, l->sending))
		return false;
	b = l->sending;
	l->sending = NULL;
	if (!b->work.file || !atomic_load(&b->work.file->has_failed))
		hand_over(l, b);
	send_trace(b, &b->digest, TRACE_DIGEST);
	send_block_free(b);
	recv_block_freed(l); /* perhaps */
	return true;
}

void copy_pump(struct lane *l)
{
	if (l->is_copying || !is_running(l))
		return;
	l->is_copying = true; /* mail, and blocks that come back, lead here again */
	recv_block_freed(l);  /* by a read that failed, perhaps */
	while (copy_one(l))
		;
	l->is_copying = false;
}
