/*
 * The end of what a sending lane has in work: it has left, its file has failed, or the lane is over and somebody else
 * has to send it.
 */
#include "agent/lane_send_parts.h"

#include <stdlib.h>
#include <string.h>

/* One line for each stage the block has been through. */
void send_trace(struct send_block *b, struct trace_span *span, enum trace_stage stage)
{
	bool is_pack = b->work.pack != NULL;

	if (!b->lane->track || !span->start_ns)
		return;
	span->stage = stage;
	span->entry = is_pack ? b->work.pack->items[0].entry : b->header.entry;
	span->first_leaf = b->header.first_leaf;
	span->leaves = is_pack ? b->work.pack->count : b->header.leaf_count;
	span->bytes = b->header.bytes;
	trace_put(b->lane->track, span);
}

void send_block_free(struct send_block *b)
{
	if (b->block)
		block_put(b->block);
	if (b->work.file)
		send_file_drop(b->work.file);
	send_pack_free(b->work.pack);
	lane_report_free(b->report);
	free(b);
}

void send_work_drop(struct send_work *work)
{
	if (work->file)
		send_file_drop(work->file);
	send_pack_free(work->pack);
}

/* The file goes no further: said once, whichever block notices first. */
void send_file_failed(struct send_block *b, haul_status st, int os_errno)
{
	struct send_file *f = b->work.file;
	struct lane_report *r = b->report;

	if (!atomic_exchange(&f->has_failed, true)) {
		r->type = LANE_FILE_FAILED;
		r->entry = f->entry;
		r->attempt = f->attempt;
		r->status = st;
		r->os_errno = os_errno;
		b->report = NULL;
		lane_report_post(r);
	}
	send_block_free(b);
}

/* What was read counts as unread again, so that whoever reads it next, and last, looks whether the file is unchanged.
 */
static void return_leaves(struct send_block *b)
{
	if (b->is_read)
		atomic_fetch_add(&b->work.file->unread_leaves, b->work.leaf_count);
	b->is_read = false;
	if (haul_failed(block_queue_return(b->lane->job->queue, &b->work))) {
		send_file_failed(b, HAUL_NO_MEMORY, 0);
		return;
	}
	b->work.file = NULL;
	send_block_free(b);
}

void send_block_return(struct send_block *b)
{
	bool is_known = !b->report; /* the main loop has heard that it leaves, and sees to it */

	if (is_known || b->lane->sink || (b->work.file && atomic_load(&b->work.file->has_failed))) {
		send_block_free(b);
		return;
	}
	if (b->work.file) {
		return_leaves(b);
		return;
	}
	if (haul_ok(block_queue_return(b->lane->job->queue, &b->work)))
		b->work.pack = NULL;
	send_block_free(b);
}

/*
 * The main loop hears of a block before the receiver can have it whole, so that no RESULT is ever ahead of the root it
 * speaks of.
 */
void send_report(struct send_block *b)
{
	struct lane_report *r = b->report;

	b->report = NULL;
	r->is_digests = b->header.type == LANE_DIGESTS;
	r->is_again = b->work.file && b->work.file->is_again;
	if (!r->is_digests)
		*(b->header.flags & LANE_ZERO ? &r->hole_bytes : &r->bytes) = b->header.bytes;
	if (b->header.type != LANE_PACK)
		memcpy(r->digests, b->digests, b->header.leaf_count * sizeof(r->digests[0]));
	lane_report_post(r);
}
