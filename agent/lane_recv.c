/*
 * The receiving half of a lane.
 *
 * recv_pump() lets plaintext land where the session says: a header, or a leaf directly in the block it will be written
 * from. Each leaf is hashed when it is whole, while it is in cache, and compared with the digest that follows it; a
 * wrong one is reported and asked for again, alone. A whole block becomes one direct write, a pack is turned into small
 * files by the thread pool, digests are compared with what is read of the file that is there.
 *
 * When no block is free the wire is paused: TCP holds the sender back. A block that comes back goes first to a compare
 * that waits for memory, then to the wires.
 */
#include "agent/lane_parts.h"

#include "engine/hash_tree.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct recv_block {
	struct list link;
	struct lane *lane;
	struct lane_op op;
	uv_work_t pool;
	struct block *block; /* NULL: zeros, or still waiting for memory */
	struct lane_header header;
	struct held_grant *held;   /* counted in its in_work; NULL for a pack */
	struct held_grant **items; /* pack: per item, NULL for one that is not wanted any more; owned */
	const uint8_t *contents;   /* pack */
	struct lane_report *report;
	unsigned writes_left;
};

static void held_done(struct lane *l, struct held_grant *h)
{
	struct lane_report *r;

	assert(h->in_work > 0);
	h->in_work--;
	if (h->in_work)
		return;
	if (h->is_dropped) {
		free(h);
		return;
	}
	if (!h->is_released)
		return;
	r = lane_report_new(l, LANE_RELEASED);
	if (!r) {
		lane_fail(l, HAUL_NO_MEMORY, NULL);
		return;
	}
	r->grant = h->grant;
	free(h);
	lane_report_post(r);
}

static void recv_block_free(struct recv_block *b)
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
static void recv_block_report(struct recv_block *b)
{
	struct lane *l = b->lane;
	struct lane_report *r = b->report;

	lane_report_post(r);
	for (unsigned i = 0; b->items && i < r->item_count; i++) {
		if (b->items[i])
			held_done(l, b->items[i]);
	}
	free(b->items);
	b->items = NULL;
	b->report = NULL;
	recv_block_free(b);
	recv_block_freed(l);
}

static struct recv_block *recv_block_new(struct lane *l, const struct lane_header *header)
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
	b->report->entry = header->entry;
	b->report->attempt = header->attempt;
	b->report->first_leaf = header->first_leaf;
	b->report->leaf_count = header->leaf_count;
	b->report->bytes = header->bytes;
	return b;
}

/* ---- grants ---- */

haul_status recv_add_grants(struct lane *l, struct grant *const *grants, size_t count)
{
	for (size_t i = 0; i < count && !lane_is_over(l); i++) {
		struct held_grant *h = calloc(1, sizeof(*h));
		haul_status st;

		if (!h)
			return HAUL_NO_MEMORY;
		h->grant = grants[i];
		st = index_map_put(&l->grants, grants[i]->entry, h);
		if (haul_failed(st)) {
			free(h);
			return st;
		}
		if (grants[i]->entry >= l->granted_end)
			l->granted_end = grants[i]->entry + 1;
	}
	return HAUL_OK;
}

void recv_release(struct lane *l, struct grant *g)
{
	struct held_grant *h;

	if (lane_is_over(l))
		return; /* dropped already; what follows from that is on its way to the main loop */
	h = index_map_remove(&l->grants, g->entry);
	assert(h && h->grant == g);
	h->is_released = true;
	h->in_work++;
	held_done(l, h);
}

static struct held_grant *held_get(struct lane *l, uint64_t entry, uint32_t attempt)
{
	struct held_grant *h = index_map_get(&l->grants, entry);

	return h && h->grant->attempt == attempt ? h : NULL;
}

static bool mode_takes(enum grant_mode mode, enum lane_frame_type type)
{
	switch (type) {
	case LANE_BLOCK:
		return mode == GRANT_WRITE || mode == GRANT_BYTES;
	case LANE_PACK:
		return mode == GRANT_SMALL;
	case LANE_DIGESTS:
		return mode == GRANT_DIGESTS;
	case LANE_END:
		break;
	}
	return false;
}

static bool range_fits(const struct grant *g, uint64_t first_leaf, uint32_t leaf_count, uint64_t bytes)
{
	uint64_t offset, full;

	if (first_leaf < g->first_leaf || first_leaf >= g->end_leaf || leaf_count > g->end_leaf - first_leaf)
		return false;
	offset = first_leaf * HAUL_LEAF_BYTES;
	full = (uint64_t)leaf_count * HAUL_LEAF_BYTES;
	return bytes == (g->size - offset < full ? g->size - offset : full);
}

enum grant_answer recv_is_granted(void *ctx, enum lane_frame_type type, uint64_t entry, uint32_t attempt,
				  uint64_t first_leaf, uint32_t leaf_count, uint64_t bytes)
{
	struct lane *l = ((struct wire *)ctx)->lane;
	struct held_grant *h = held_get(l, entry, attempt);

	if (!h)
		return entry < l->granted_end ? GRANT_OLD : GRANT_NONE;
	if (!mode_takes(h->grant->mode, type) || !range_fits(h->grant, first_leaf, leaf_count, bytes))
		return GRANT_NONE;
	return GRANT_LIVE;
}

/* ---- blocks of big files ---- */

static void check_leaf(struct recv_block *b, const struct lane_update *up)
{
	struct haul_digest digest;

	leaf_digest(up->leaf_data, up->leaf_bytes, &digest);
	b->report->digests[up->leaf] = up->digests[up->leaf];
	if (!digest_equal(&digest, &up->digests[up->leaf]))
		b->report->bad_leaves |= 1u << up->leaf;
}

static void on_write_done(struct lane_op *op, const struct engine_done *done)
{
	struct recv_block *b = list_item(op, struct recv_block, op);

	if (haul_failed(done->status) && b->report->type != LANE_FILE_FAILED) {
		b->report->type = LANE_FILE_FAILED;
		b->report->status = done->status;
		b->report->os_errno = done->os_errno;
	}
	if (--b->writes_left == 0)
		recv_block_report(b);
}

/* One request per run of good leaves; a run the engine has no room for counts as bad and is asked for again. */
static void write_runs(struct recv_block *b)
{
	struct lane *l = b->lane;
	uint32_t count = b->header.leaf_count, *bad = &b->report->bad_leaves;

	b->writes_left = 1;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t first = i;
		uint64_t len = 0;

		for (; i < count && !(*bad & 1u << i); i++)
			len += lane_leaf_bytes(&b->header, i);
		if (!len)
			continue;
		if (haul_failed(engine_write(l->engine, b->held->grant->file,
					     b->block->data + (size_t)first * HAUL_LEAF_BYTES, (size_t)len,
					     (b->header.first_leaf + first) * HAUL_LEAF_BYTES, &b->op))) {
			*bad |= ((1u << (i - first)) - 1) << first;
			continue;
		}
		b->writes_left++;
		l->in_work++;
	}
	if (--b->writes_left == 0)
		recv_block_report(b);
}

/* ---- comparing bytes: for the first differing offset of a leaf that is known to differ ---- */

static void compare_in_pool(uv_work_t *work)
{
	struct recv_block *b = work->data;
	uint64_t offset = b->header.first_leaf * HAUL_LEAF_BYTES, i;
	size_t len = (size_t)b->header.bytes;
	uint8_t *own = malloc(len ? len : 1);
	ssize_t got;

	if (!own) {
		b->report->status = HAUL_NO_MEMORY;
		return;
	}
	got = pread(b->held->grant->file->fd, own, len, (off_t)offset);
	b->report->status = got < 0 ? haul_status_from_errno(errno) : HAUL_OK;
	for (i = 0; got > 0 && i < (uint64_t)got; i++) {
		if (own[i] != (b->block ? b->block->data[i] : 0))
			break;
	}
	b->report->offset = offset + i;
	b->report->bad_leaves = i < b->header.bytes || b->held->grant->file->facts.size != b->held->grant->size;
	free(own);
}

static void on_pool_done(uv_work_t *work, int status)
{
	struct recv_block *b = work->data;
	struct lane *l = b->lane;

	(void)status;
	l->in_work--;
	recv_block_report(b);
	lane_maybe_end(l);
}

static void start_pool(struct recv_block *b, void (*run)(uv_work_t *))
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

static void compare_bytes(struct recv_block *b)
{
	int fd = b->held->grant->file->fd;

	/* The file may be open for direct reads; a leaf read for comparing is small and unaligned in memory. */
	b->report->type = LANE_DIFFERS;
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_DIRECT);
	atomic_store(&b->held->grant->file->is_direct, false);
	start_pool(b, compare_in_pool);
}

/* The block is whole: what happens to it is what it was granted for. */
static void block_arrived(struct recv_block *b)
{
	b->held = held_get(b->lane, b->header.entry, b->header.attempt);
	if (!b->held) {
		struct lane *l = b->lane;

		recv_block_free(b);
		recv_block_freed(l);
		return;
	}
	b->held->in_work++;
	if (b->held->grant->mode == GRANT_BYTES)
		compare_bytes(b);
	else
		write_runs(b);
}

/* Leaves of zeros: a new partial reads as zeros there already. */
static void zeros_arrived(struct wire *w, const struct lane_header *header)
{
	struct lane *l = w->lane;
	struct recv_block *b = recv_block_new(l, header);

	if (!b) {
		lane_fail(l, HAUL_NO_MEMORY, NULL);
		return;
	}
	for (uint32_t i = 0; i < header->leaf_count; i++)
		leaf_digest_zeros(lane_leaf_bytes(header, i), &b->report->digests[i]);
	b->held = held_get(l, header->entry, header->attempt);
	if (!b->held) {
		recv_block_free(b);
		return;
	}
	b->held->in_work++;
	if (b->held->grant->mode == GRANT_BYTES)
		compare_bytes(b);
	else
		recv_block_report(b);
}

/* ---- comparing digests with the file that is there ---- */

static uint64_t own_leaf_bytes(const struct recv_block *b, uint32_t leaf)
{
	uint64_t offset = (b->header.first_leaf + leaf) * HAUL_LEAF_BYTES, size = b->held->grant->file->facts.size;

	if (offset >= size)
		return 0;
	return size - offset < HAUL_LEAF_BYTES ? size - offset : HAUL_LEAF_BYTES;
}

static void compare_leaves(struct recv_block *b, uint64_t got)
{
	for (uint32_t i = 0; i < b->header.leaf_count; i++) {
		uint64_t len = own_leaf_bytes(b, i);
		struct haul_digest digest;

		if (len == lane_leaf_bytes(&b->header, i) && (uint64_t)i * HAUL_LEAF_BYTES + len <= got) {
			leaf_digest(b->block->data + (size_t)i * HAUL_LEAF_BYTES, len, &digest);
			if (digest_equal(&digest, &b->report->digests[i]))
				continue;
		}
		b->report->bad_leaves |= 1u << i;
	}
}

static void on_compare_read(struct lane_op *op, const struct engine_done *done)
{
	struct recv_block *b = list_item(op, struct recv_block, op);

	if (haul_failed(done->status)) {
		b->report->type = LANE_FILE_FAILED;
		b->report->status = done->status;
		b->report->os_errno = done->os_errno;
	} else {
		compare_leaves(b, done->bytes);
	}
	recv_block_report(b);
}

static void compare_start(struct recv_block *b, struct block *block)
{
	struct lane *l = b->lane;
	uint64_t len = 0;
	haul_status st;

	b->block = block;
	for (uint32_t i = 0; i < b->header.leaf_count; i++)
		len += own_leaf_bytes(b, i);
	if (len == 0) {
		compare_leaves(b, 0);
		recv_block_report(b);
		return;
	}
	assert(len <= block->cap);
	b->op.done = on_compare_read;
	st = engine_read(l->engine, b->held->grant->file, block->data, (size_t)len,
			 b->header.first_leaf * HAUL_LEAF_BYTES, &b->op);
	if (haul_failed(st)) {
		b->report->type = LANE_FILE_FAILED;
		b->report->status = st;
		recv_block_report(b);
		return;
	}
	l->in_work++;
}

static void wire_starve(struct wire *w)
{
	w->is_starved = true;
	channel_pause(w->channel);
}

static void digests_arrived(struct wire *w, const struct lane_update *up)
{
	struct lane *l = w->lane;
	struct recv_block *b = recv_block_new(l, up->header);
	struct block *block;

	if (!b) {
		lane_fail(l, HAUL_NO_MEMORY, NULL);
		return;
	}
	b->report->type = LANE_COMPARED;
	memcpy(b->report->digests, up->digests, up->header->leaf_count * sizeof(up->digests[0]));
	b->held = held_get(l, b->header.entry, b->header.attempt);
	if (!b->held) {
		recv_block_free(b);
		return;
	}
	b->held->in_work++;
	block = block_take(&l->share);
	if (block) {
		compare_start(b, block);
		return;
	}
	list_push_back(&l->hungry, &b->link);
	wire_starve(w);
}

/* ---- packs ---- */

static void make_small(struct recv_block *b, unsigned i, const uint8_t **at)
{
	struct lane_pack_entry *e = &b->report->items[i];
	const uint8_t *data = *at;
	struct haul_digest digest;
	struct grant *g;

	*at += e->bytes;
	if (!b->items[i])
		return;
	g = b->items[i]->grant;
	leaf_digest(data, (size_t)e->bytes, &digest);
	if (digest_equal(&digest, &e->digest))
		e->status = partial_create_small(g->place, g->path, data, (size_t)e->bytes, &g->meta, &e->partial);
	else
		e->status = HAUL_CORRUPT;
}

static void unpack_in_pool(uv_work_t *work)
{
	struct recv_block *b = work->data;
	const uint8_t *at = b->contents;

	for (unsigned i = 0; i < b->report->item_count; i++)
		make_small(b, i, &at);
}

static void pack_arrived(struct recv_block *b, const struct lane_update *up)
{
	struct lane *l = b->lane;
	uint32_t count = up->header->count;

	b->report->type = LANE_WRITTEN_PACK;
	b->report->items = calloc(count, sizeof(*b->report->items));
	b->items = calloc(count, sizeof(*b->items));
	if (!b->report->items || !b->items) {
		recv_block_free(b);
		lane_fail(l, HAUL_NO_MEMORY, NULL);
		return;
	}
	b->report->item_count = count;
	b->contents = up->contents;
	for (uint32_t i = 0; i < count; i++) {
		struct lane_pack_entry *e = &b->report->items[i];

		e->entry = up->items[i].entry;
		e->attempt = up->items[i].attempt;
		e->bytes = up->items[i].bytes;
		e->digest = up->items[i].digest;
		e->status = HAUL_CANCELLED;
		b->items[i] = held_get(l, e->entry, e->attempt);
		if (b->items[i])
			b->items[i]->in_work++;
	}
	start_pool(b, unpack_in_pool);
}

/* ---- the stream ---- */

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
	w->filling->op.done = on_write_done;
	lane_session_give(&w->rx, block->data, block->cap);
	return true;
}

static struct recv_block *take_filling(struct wire *w)
{
	struct recv_block *b = w->filling;

	w->filling = NULL;
	return b;
}

/* Do what the session says; false: stop reading this wire for now. */
static bool recv_act(struct wire *w, const struct lane_update *up)
{
	switch (up->action) {
	case LANE_DO_NOTHING:
		return true;
	case LANE_NEED_BLOCK:
		return begin_block(w, up->header);
	case LANE_LEAF_ARRIVED:
		check_leaf(w->filling, up);
		return true;
	case LANE_BLOCK_ARRIVED:
		check_leaf(w->filling, up);
		block_arrived(take_filling(w));
		return true;
	case LANE_ZERO_ARRIVED:
		zeros_arrived(w, up->header);
		return true;
	case LANE_PACK_ARRIVED:
		pack_arrived(take_filling(w), up);
		return true;
	case LANE_DIGESTS_ARRIVED:
		digests_arrived(w, up);
		return !w->is_starved;
	case LANE_HAS_ENDED:
		w->has_ended = true;
		wire_finish(w);
		return false;
	}
	return false;
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
	if (!len)
		return false;
	if (!lane_rate_allows(l, &len)) {
		channel_pause(w->channel);
		return false;
	}
	got = channel_read(w->channel, at, len);
	if (!got)
		return false;
	if (l->rate_paid)
		l->rate_paid -= got;
	st = lane_session_received(&w->rx, got, &up, &fault);
	if (haul_failed(st)) {
		lane_fail(l, st, &fault);
		return false;
	}
	return recv_act(w, &up);
}

void recv_pump(struct wire *w)
{
	struct lane *l = w->lane;
	struct list mails;

	/* A grant is posted before the WANT that it answers leaves, so whatever has arrived has its grant in the box by
	 * now. */
	list_init(&mails);
	mailbox_wait(&l->inbox, &mails, false);
	mail_deliver_all(l, &mails);
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
		compare_start(list_item(item, struct recv_block, link), block);
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
