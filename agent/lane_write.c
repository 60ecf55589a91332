/*
 * Blocks of big files: each leaf is checked when its digest has come, the good ones are written with as few
 * requests as they allow, the wrong ones are reported.
 */
#include "agent/lane_recv_parts.h"

#include "engine/hash_tree.h"

void recv_check_leaf(struct wire *w, const struct lane_update *up)
{
	struct lane_report *r = w->filling->report;
	struct haul_digest digest;

	if (up->leaf_bytes)
		leaf_stream_end(&w->leaf, &digest);
	else
		leaf_digest(NULL, 0, &digest);
	r->digests[up->leaf] = up->digests[up->leaf];
	if (!digest_equal(&digest, &up->digests[up->leaf]))
		r->bad_leaves |= 1u << up->leaf;
}

void recv_write_done(struct lane_op *op, const struct engine_done *done)
{
	struct recv_block *b = list_item(op, struct recv_block, op);

	b->report->mode = 1 + (unsigned)atomic_load(&b->held->grant->file->reason);
	if (haul_failed(done->status) && b->report->type != LANE_FILE_FAILED) {
		b->report->type = LANE_FILE_FAILED;
		b->report->status = done->status;
		b->report->os_errno = done->os_errno;
	}
	if (--b->writes_left)
		return;
	trace_work(b->lane->recv_track, &b->disk, b->disk.start_ns);
	recv_trace(b, &b->disk, TRACE_WRITE);
	recv_block_report(b);
}

/* Leaves that have arrived before, by whatever way, are left alone. */
static void claim_leaves(struct recv_block *b)
{
	struct leaf_claims *claims = &b->held->grant->claims;

	for (uint32_t i = 0; i < b->header.leaf_count; i++) {
		if (!(b->report->bad_leaves & 1u << i) && !leaf_claims_take(claims, b->header.first_leaf + i))
			b->report->again_leaves |= 1u << i;
	}
}

static void give_up_run(struct recv_block *b, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		leaf_claims_give_back(&b->held->grant->claims, b->header.first_leaf + i);
	b->report->bad_leaves |= ((1u << (end - first)) - 1) << first;
}

/* Leaves of zeros have no block: a new partial reads as zeros there already. Else one request per run of good leaves; a
 * run the engine has no room for counts as bad and is asked for again. */
static void write_runs(struct recv_block *b)
{
	struct lane *l = b->lane;
	uint32_t count = b->header.leaf_count;

	claim_leaves(b);
	b->disk.start_ns = trace_now(l->recv_track);
	b->writes_left = 1;
	for (uint32_t i = 0; i < count && b->block; i++) {
		uint32_t first = i;
		uint64_t len = 0;

		for (; i < count && !((b->report->bad_leaves | b->report->again_leaves) & 1u << i); i++)
			len += lane_leaf_bytes(&b->header, i);
		if (!len)
			continue;
		if (haul_failed(engine_write(l->engine, b->held->grant->file,
					     b->block->data + (size_t)first * HAUL_LEAF_BYTES, (size_t)len,
					     (b->header.first_leaf + first) * HAUL_LEAF_BYTES, &b->op))) {
			give_up_run(b, first, i);
			continue;
		}
		b->writes_left++;
		l->in_work++;
	}
	if (--b->writes_left == 0)
		recv_block_report(b);
}

/* The block is whole: what happens to it is what it was granted for. */
void recv_block_arrived(struct recv_block *b)
{
	recv_trace(b, &b->receive, TRACE_RECEIVE);
	recv_trace(b, &b->check, TRACE_CHECK);
	b->held = held_get(b->lane, b->header.entry, b->header.attempt);
	if (!b->held) {
		struct lane *l = b->lane;

		recv_block_free(b);
		recv_block_freed(l);
		return;
	}
	b->held->in_work++;
	if (b->held->grant->mode == GRANT_BYTES)
		recv_compare_bytes(b);
	else if (b->held->grant->mode == GRANT_DROP)
		recv_block_report(b);
	else
		write_runs(b);
}

void recv_zeros_arrived(struct wire *w, const struct lane_header *header)
{
	struct lane *l = w->lane;
	struct recv_block *b = recv_block_new(l, header);

	if (!b) {
		lane_fail(l, HAUL_NO_MEMORY, NULL);
		return;
	}
	for (uint32_t i = 0; i < header->leaf_count; i++)
		leaf_digest_zeros(lane_leaf_bytes(header, i), &b->report->digests[i]);
	recv_block_arrived(b);
}
