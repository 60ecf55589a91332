/*
 * Blocks of big files: each leaf is checked when its digest has come, the good ones are written with as few
 * requests as they allow, the wrong ones are reported. Pages of zeros of a file with holes are left out.
 */
#include "agent/lane_recv_parts.h"

#include "engine/hash_tree.h"
#include "engine/hole.h"

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

/* The next leaves that are to be written, from write_at on: *ret_len bytes, 0 when there are none. */
static void good_run(struct recv_block *b, size_t *ret_len)
{
	uint32_t skip = b->report->bad_leaves | b->report->again_leaves, count = b->header.leaf_count;
	uint32_t i = (uint32_t)(b->write_at / HAUL_LEAF_BYTES);

	for (; i < count && skip & 1u << i; i++)
		b->write_at = (size_t)(i + 1) * HAUL_LEAF_BYTES;
	for (; i < count && !(skip & 1u << i); i++)
		;
	*ret_len = i * (size_t)HAUL_LEAF_BYTES < b->header.bytes ? i * (size_t)HAUL_LEAF_BYTES : b->header.bytes;
	*ret_len = *ret_len > b->write_at ? *ret_len - b->write_at : 0;
}

/* As good_run(); of a file with holes what comes before the next page of zeros. */
static void next_run(struct recv_block *b, size_t *ret_len)
{
	const uint8_t *data = b->block->data;
	size_t zeros;

	do {
		good_run(b, ret_len);
		zeros = b->held->grant->has_holes ? hole_run(data + b->write_at, *ret_len) : 0;
		b->write_at += zeros;
	} while (zeros);
	if (b->held->grant->has_holes)
		*ret_len = hole_free_run(data + b->write_at, *ret_len);
}

/*
 * One request for each run; of a file with holes, which may have a thousand runs in a block, one at a time. A run the
 * engine has no room for counts as bad and is asked for again.
 */
static void write_more(struct recv_block *b)
{
	struct lane *l = b->lane;
	size_t len;

	for (next_run(b, &len); len; next_run(b, &len)) {
		size_t at = b->write_at;

		b->write_at += len;
		if (haul_failed(engine_write(l->engine, b->held->grant->file, b->block->data + at, len,
					     b->header.first_leaf * HAUL_LEAF_BYTES + at, &b->op))) {
			give_up_run(b, (uint32_t)(at / HAUL_LEAF_BYTES),
				    (uint32_t)((at + len + HAUL_LEAF_BYTES - 1) / HAUL_LEAF_BYTES));
			continue;
		}
		b->writes_left++;
		l->in_work++;
		if (b->held->grant->has_holes)
			return;
	}
}

static void on_write_done(struct lane_op *op, const struct engine_done *done)
{
	struct recv_block *b = list_item(op, struct recv_block, op);

	b->report->mode = 1 + (unsigned)atomic_load(&b->held->grant->file->reason);
	if (haul_failed(done->status) && b->report->type != LANE_FILE_FAILED) {
		b->report->type = LANE_FILE_FAILED;
		b->report->status = done->status;
		b->report->os_errno = done->os_errno;
	}
	if (b->held->grant->has_holes && b->report->type != LANE_FILE_FAILED)
		write_more(b);
	if (--b->writes_left)
		return;
	trace_work(b->lane->recv_track, &b->disk, b->disk.start_ns);
	recv_trace(b, &b->disk, TRACE_WRITE);
	recv_block_report(b);
}

/* Leaves of zeros have no block: a new partial reads as zeros there already. */
void recv_write_good(struct recv_block *b)
{
	b->op.done = on_write_done;
	claim_leaves(b);
	b->disk.start_ns = trace_now(b->lane->recv_track);
	b->writes_left = 1;
	if (b->block)
		write_more(b);
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
		recv_write_good(b);
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
