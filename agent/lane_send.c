/*
 * The sending half of a lane.
 *
 * send_fill() takes work while a block is free: a range of a big file becomes one direct read, a pack of small files is
 * read by the thread pool, a hole keeps its block unread. What has been read joins `ready` in order of completion, and
 * send_pump() encrypts it leaf by leaf, in pieces that are hashed first and then in cache, and after each its digest,
 * until the socket is behind. Nothing waits for anything but a disk or the socket.
 *
 * A file that cannot be read, or is not what was announced, is reported; its other blocks are dropped where they are.
 * The block whose read is the last of the file is sent only after the file was found unchanged, so the receiver can
 * never complete a mixture of two states.
 */
#include "agent/lane_send_parts.h"

#include "agent/lane_intake.h"
#include "engine/hash_tree.h"
#include "engine/small_file.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct send_block *send_block_new(struct lane *l, const struct send_work *work, enum lane_report_type type)
{
	struct send_block *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->lane = l;
	b->work = *work;
	list_init(&b->link);
	b->report = lane_report_new(l, type);
	if (b->report)
		return b;
	free(b);
	return NULL;
}

/* Same inode is given by the descriptor; size and both times tell whether somebody wrote to it. */
static bool is_unchanged(const struct send_file *f)
{
	const struct entry_facts *was = &f->file.facts;
	struct stat now;

	if (f->is_made_up)
		return true;
	return fstat(f->file.fd, &now) == 0 && (uint64_t)now.st_size == was->size &&
	       now.st_mtim.tv_sec == was->mtime.sec && (uint32_t)now.st_mtim.tv_nsec == was->mtime.nsec &&
	       now.st_ctim.tv_sec == was->ctime.sec && (uint32_t)now.st_ctim.tv_nsec == was->ctime.nsec;
}

static void ready_push(struct send_block *b)
{
	list_push_back(&b->lane->ready, &b->link);
	b->lane->ready_count++;
}

struct send_block *send_ready_pop(struct lane *l)
{
	struct list *item = list_pop_front(&l->ready);

	l->ready_count -= item != NULL;
	return item ? list_item(item, struct send_block, link) : NULL;
}

static void block_is_read(struct send_block *b)
{
	struct send_file *f = b->work.file;
	uint64_t count = b->header.leaf_count;

	b->is_read = true;
	if (atomic_fetch_sub(&f->unread_leaves, count) == count && !is_unchanged(f)) {
		send_file_failed(b, HAUL_CHANGED, 0);
		return;
	}
	ready_push(b);
}

static void on_read_done(struct lane_op *op, const struct engine_done *done)
{
	struct send_block *b = list_item(op, struct send_block, op);

	b->report->mode = 1 + (unsigned)atomic_load(&b->work.file->file.reason);
	trace_work(b->lane->track, &b->read, b->read.start_ns);
	send_trace(b, &b->read, TRACE_READ);
	if (b->lane->phase == LANE_STOPPING)
		send_block_return(b);
	else if (atomic_load(&b->work.file->has_failed))
		send_block_free(b);
	else if (haul_failed(done->status))
		send_file_failed(b, done->status, done->os_errno);
	else if (done->bytes != b->header.bytes)
		send_file_failed(b, HAUL_CHANGED, 0);
	else
		block_is_read(b);
}

static bool lies_in_hole(const struct send_file *f, uint64_t offset, uint64_t bytes)
{
	off_t data;

	if (!f->is_sparse)
		return false;
	data = lseek(f->file.fd, (off_t)offset, SEEK_DATA);
	return data < 0 ? errno == ENXIO : (uint64_t)data >= offset + bytes;
}

static void fill_header(struct send_block *b)
{
	struct send_file *f = b->work.file;
	uint64_t offset = b->work.first_leaf * HAUL_LEAF_BYTES;
	uint64_t full = (uint64_t)b->work.leaf_count * HAUL_LEAF_BYTES;

	b->header = (struct lane_header){
		.type = f->is_digests_only ? LANE_DIGESTS : LANE_BLOCK,
		.flags = f->is_repair ? LANE_REPAIR : 0,
		.algorithm = DIGEST_XXH3_128,
		.entry = f->entry,
		.attempt = f->attempt,
		.first_leaf = b->work.first_leaf,
		.leaf_count = b->work.leaf_count,
		.bytes = f->size - offset < full ? f->size - offset : full,
	};
	b->report->entry = f->entry;
	b->report->attempt = f->attempt;
	b->report->first_leaf = b->header.first_leaf;
	b->report->leaf_count = b->header.leaf_count;
}

static void start_block(struct send_block *b)
{
	struct lane *l = b->lane;
	uint64_t offset = b->work.first_leaf * HAUL_LEAF_BYTES;
	haul_status st;

	fill_header(b);
	if (b->work.file->is_made_up) {
		block_is_read(b);
		return;
	}
	if (b->header.bytes == 0 || lies_in_hole(b->work.file, offset, b->header.bytes)) {
		if (b->header.type == LANE_BLOCK && b->header.bytes)
			b->header.flags |= LANE_ZERO;
		b->is_hole = true;
		block_is_read(b);
		return;
	}
	b->op.done = on_read_done;
	b->read.start_ns = trace_now(l->track);
	st = engine_read(l->engine, &b->work.file->file, b->block->data, (size_t)b->header.bytes, offset, &b->op);
	if (haul_failed(st)) {
		send_file_failed(b, st, 0);
		return;
	}
	l->in_work++;
}

/* ---- packs: read by the thread pool, one after another into one block ---- */

static void read_item(struct send_block *b, unsigned i, uint8_t **at)
{
	const struct send_pack_item *item = &b->work.pack->items[i];
	struct lane_pack_entry *result = &b->report->items[i];
	struct entry_facts facts;
	const struct source_place place = { item->root_fd, item->path, item->links };
	size_t len = 0;

	result->entry = item->entry;
	result->attempt = item->attempt;
	result->status = small_file_read(&place, &item->facts, *at, (size_t)item->facts.size, &len, &facts);
	if (haul_failed(result->status))
		return;
	result->bytes = len;
	leaf_digest(*at, len, &result->digest);
	*at += len;
}

/* The table goes directly before the contents, however many items made it. */
static void put_items(struct send_block *b)
{
	struct send_pack *p = b->work.pack;
	uint32_t good = 0;
	uint8_t *to;

	for (unsigned i = 0; i < p->count; i++)
		good += haul_ok(b->report->items[i].status);
	b->header.count = good;
	b->pack_offset = (p->count - good) * LANE_PACK_ITEM_BYTES;
	to = b->block->data + b->pack_offset;
	for (unsigned i = 0; i < p->count; i++) {
		const struct lane_pack_entry *e = &b->report->items[i];
		struct lane_pack_item item = {
			.entry = e->entry, .attempt = e->attempt, .bytes = (uint32_t)e->bytes, .digest = e->digest
		};

		if (haul_failed(e->status))
			continue;
		lane_pack_item_encode(&item, to);
		to += LANE_PACK_ITEM_BYTES;
	}
}

static void pack_in_pool(uv_work_t *work)
{
	struct send_block *b = work->data;
	uint64_t since_ns = trace_now(b->lane->track);
	uint8_t *contents = b->block->data + (size_t)b->work.pack->count * LANE_PACK_ITEM_BYTES, *at = contents;

	for (unsigned i = 0; i < b->work.pack->count; i++)
		read_item(b, i, &at);
	b->header =
	    (struct lane_header){ .type = LANE_PACK, .algorithm = DIGEST_XXH3_128, .bytes = (uint64_t)(at - contents) };
	put_items(b);
	trace_work(b->lane->track, &b->read, since_ns);
}

static void on_pack_done(uv_work_t *work, int status)
{
	struct send_block *b = work->data;
	struct lane *l = b->lane;

	(void)status;
	l->in_work--;
	l->moved++;
	send_trace(b, &b->read, TRACE_POOL_READ);
	if (l->phase == LANE_STOPPING)
		send_block_return(b);
	else if (b->header.count == 0) {
		send_report(b);
		send_block_free(b);
	} else
		ready_push(b);
	if (l->phase == LANE_STOPPING) {
		lane_maybe_end(l);
		return;
	}
	send_fill(l);
	send_pump(l);
	lane_maybe_end(l);
}

static void start_pack(struct send_block *b)
{
	unsigned count = b->work.pack->count;
	struct lane *l = b->lane;

	b->report->items = calloc(count, sizeof(*b->report->items));
	b->report->item_count = count;
	b->pool.data = b;
	if (!b->report->items || uv_queue_work(&l->loop, &b->pool, pack_in_pool, on_pack_done)) {
		send_block_free(b);
		lane_fail(l, HAUL_NO_MEMORY, NULL);
		return;
	}
	l->in_work++;
}

static bool may_take(const struct lane *l)
{
	const struct lane_intake in = {
		.taken = l->share.taken, .ready = l->ready_count, .sent = l->may_take, .is_far = l->is_far
	};

	return l->sink || lane_intake_allows(&in); /* a copying lane's blocks are the disk's, not the line's */
}

/* One unit of work into one free block; false: neither is there, or the lane has failed. */
static bool take_one(struct lane *l)
{
	struct block *block = may_take(l) ? block_take(&l->share) : NULL;
	struct send_work work;
	struct send_block *b;

	if (!block)
		return false;
	if (!block_queue_take(l->job->queue, &work)) {
		block_put(block);
		return false;
	}
	b = send_block_new(l, &work, work.pack ? LANE_SENT_PACK : LANE_SENT);
	if (!b) {
		block_put(block);
		send_work_drop(&work);
		lane_fail(l, HAUL_NO_MEMORY, NULL);
		return false;
	}
	b->block = block;
	l->moved++;
	if (work.pack)
		start_pack(b);
	else
		start_block(b);
	return true;
}

/* In phases: filling goes on until no block is left, then all of them have to be back. */
static bool may_fill(struct lane *l)
{
	if (l->share.taken == 0)
		l->is_filling = true;
	else if (l->share.taken == l->share.count)
		l->is_filling = false;
	return l->is_filling || !l->job->is_phased;
}

void send_fill(struct lane *l)
{
	/* A lane that copies lets its receiving half have memory first. */
	while (l->phase == LANE_RUNNING && (l->wire || l->sink) && list_is_empty(&l->hungry) && may_fill(l) &&
	       engine_has_room(l->engine, false) && take_one(l))
		;
}

/* ---- encrypting ---- */

static void part_set(struct send_block *b, enum send_part part, const void *at, size_t len)
{
	b->part = part;
	b->at = at;
	b->left = len;
}

void send_hash_leaf(struct send_block *b, uint32_t leaf)
{
	uint32_t bytes = lane_leaf_bytes(&b->header, leaf);
	struct haul_digest *digest = &b->digests[leaf];

	if (!b->is_hole)
		lane_digest(b->lane, &b->digest, b->block->data + (size_t)leaf * HAUL_LEAF_BYTES, bytes, digest);
	else if (bytes)
		leaf_digest_zeros(bytes, digest);
	else
		leaf_digest(NULL, 0, digest);
}

/* The next piece of the leaf is hashed, and in the core's cache when it is encrypted. */
static void part_piece(struct send_block *b)
{
	const uint8_t *at = b->block->data + (size_t)b->leaf * HAUL_LEAF_BYTES + b->leaf_at;
	uint32_t all = lane_leaf_bytes(&b->header, b->leaf);
	uint32_t len = all - b->leaf_at < LEAF_PIECE_BYTES ? all - b->leaf_at : LEAF_PIECE_BYTES;

	lane_digest_add(b->lane, &b->digest, &b->lane->leaf, at, len);
	b->leaf_at += len;
	if (b->leaf_at == all) {
		leaf_stream_end(&b->lane->leaf, &b->digests[b->leaf]);
		if (b->leaf + 1 == b->header.leaf_count)
			send_report(b);
	}
	part_set(b, PART_LEAF, at, len);
}

static void part_leaf(struct send_block *b, uint32_t leaf)
{
	b->leaf = leaf;
	b->leaf_at = 0;
	leaf_stream_begin(&b->lane->leaf);
	part_piece(b);
}

static bool leaf_has_more(const struct send_block *b)
{
	return b->leaf_at < lane_leaf_bytes(&b->header, b->leaf);
}

static void part_first(struct send_block *b)
{
	lane_header_encode(&b->header, b->header_bytes);
	part_set(b, PART_HEADER, b->header_bytes, LANE_HEADER_BYTES);
	if (b->header.type == LANE_DIGESTS || b->header.flags & LANE_ZERO) {
		for (uint32_t i = 0; i < b->header.leaf_count; i++)
			send_hash_leaf(b, i);
	}
	if (b->header.type != LANE_BLOCK || b->header.flags & LANE_ZERO)
		send_report(b);
}

static bool part_after_header(struct send_block *b)
{
	switch (b->header.type) {
	case LANE_BLOCK:
		if (b->header.flags & LANE_ZERO)
			return false;
		part_leaf(b, 0);
		return true;
	case LANE_DIGESTS:
		part_set(b, PART_ALL_DIGESTS, b->digests, b->header.leaf_count * sizeof(b->digests[0]));
		return true;
	case LANE_PACK:
		part_set(b, PART_PACK, b->block->data + b->pack_offset,
			 (size_t)b->header.count * LANE_PACK_ITEM_BYTES + (size_t)b->header.bytes);
		return true;
	case LANE_END:
		break;
	}
	return false;
}

/* Move to the next part; false: the block is done. */
static bool part_next(struct send_block *b)
{
	switch (b->part) {
	case PART_HEADER:
		return part_after_header(b);
	case PART_LEAF:
		if (leaf_has_more(b)) {
			part_piece(b);
			return true;
		}
		part_set(b, PART_DIGEST, &b->digests[b->leaf], sizeof(b->digests[0]));
		return true;
	case PART_DIGEST:
		if (b->leaf + 1 == b->header.leaf_count)
			return false;
		part_leaf(b, b->leaf + 1);
		return true;
	case PART_ALL_DIGESTS:
	case PART_PACK:
		return false;
	}
	return false;
}

/* Encrypt the current block as far as socket and rate allow; true: it is done. */
static bool send_block_some(struct lane *l, struct send_block *b)
{
	do {
		while (b->left) {
			size_t len = b->left, taken;
			uint64_t since_ns = trace_now(l->track);

			if (!lane_rate_allows(l, &len))
				return false;
			taken = channel_write(l->sending_on->channel, b->at, len);
			trace_work(l->track, &b->send, since_ns);
			b->at += taken;
			b->left -= taken;
			l->moved += taken;
			if (l->rate_paid)
				l->rate_paid -= taken;
			if (taken < len)
				return false;
		}
	} while (part_next(b));
	return true;
}

/* END on a wire, when the lane drains or a successor has taken over; false: the socket is behind, on_writable comes. */
static bool send_end(struct wire *w)
{
	const struct lane_header end = { .type = LANE_END };
	uint8_t bytes[LANE_HEADER_BYTES];

	lane_header_encode(&end, bytes);
	w->end_sent += channel_write(w->channel, bytes + w->end_sent, sizeof(bytes) - w->end_sent);
	w->has_ended = w->end_sent == sizeof(bytes);
	return w->has_ended;
}

static bool next_block(struct lane *l)
{
	list_each (pos, &l->wires) {
		struct wire *w = list_item(pos, struct wire, link);

		if (w->channel && w->epoch < l->wire->epoch && send_end(w))
			wire_finish(w);
	}
	if (l->job->is_phased && l->in_work)
		return false; /* the disk reads: what is sent now would be written between */
	l->sending = send_ready_pop(l);
	if (!l->sending)
		return false;
	l->sending_on = l->wire;
	if (l->sending->work.file && atomic_load(&l->sending->work.file->has_failed)) {
		send_block_free(l->sending);
		l->sending = NULL;
		return true;
	}
	part_first(l->sending);
	return true;
}

void send_pump(struct lane *l)
{
	if (l->sink) {
		copy_pump(l);
		return;
	}
	/* A wire is dropped only when the lane fails, and then nothing is being sent. */
	while (l->wire && l->wire->channel && (l->phase == LANE_RUNNING || l->phase == LANE_FINISHING)) {
		if (!l->sending) {
			if (!next_block(l))
				break;
			send_fill(l);
			continue;
		}
		if (!send_block_some(l, l->sending)) {
			channel_flush(l->sending_on->channel);
			break;
		}
		send_trace(l->sending, &l->sending->digest, TRACE_DIGEST);
		send_trace(l->sending, &l->sending->send, TRACE_SEND);
		send_block_free(l->sending);
		l->sending = NULL;
		l->may_take += l->may_take < l->share.count;
		wire_check_records(l->wire);
		send_fill(l);
	}
	if (!l->wire || !l->wire->channel)
		return;
	if (l->phase == LANE_FINISHING && send_is_idle(l) && l->in_work == 0)
		(void)send_end(l->wire);
	channel_flush(l->wire->channel);
}

bool send_is_idle(const struct lane *l)
{
	return list_is_empty(&l->ready) && !l->sending;
}

/* What has not begun to leave goes back; of what has, the main loop knows. */
void send_drop(struct lane *l)
{
	struct send_block *b;

	if (l->sending)
		send_block_return(l->sending);
	l->sending = NULL;
	while ((b = send_ready_pop(l)))
		send_block_return(b);
}
