/*
 * Comparing with the file that is there: by leaf digests, and, for the first differing offset of a leaf that is known
 * to differ, byte by byte.
 *
 * With a basis the equal leaves are what the new version has of the old one: they are written from the very memory that
 * was digested, so whoever writes to the old version meanwhile cannot make a mixture of the new one. A basis that
 * cannot be read is different, no more: its leaves are fetched.
 */
#include "agent/lane_recv_parts.h"

#include "engine/hash_tree.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void recv_compare_bytes(struct recv_block *b)
{
	int fd = b->held->grant->file->fd;

	/* The file may be open for direct reads; a leaf read for comparing is small and unaligned in memory. */
	b->report->type = LANE_DIFFERS;
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_DIRECT);
	atomic_store(&b->held->grant->file->is_direct, false);
	recv_start_pool(b, compare_in_pool);
}

static struct disk_file *compared_file(const struct recv_block *b)
{
	const struct grant *g = b->held->grant;

	return g->basis ? g->basis : g->file;
}

static uint64_t own_leaf_bytes(const struct recv_block *b, uint32_t leaf)
{
	uint64_t offset = (b->header.first_leaf + leaf) * HAUL_LEAF_BYTES, size = compared_file(b)->facts.size;

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
			lane_digest(b->lane, &b->check, b->block->data + (size_t)i * HAUL_LEAF_BYTES, len, &digest);
			if (digest_equal(&digest, &b->report->digests[i]))
				continue;
		}
		b->report->bad_leaves |= 1u << i;
	}
}

/* All has been compared that can be. */
static void compared(struct recv_block *b)
{
	recv_trace(b, &b->check, TRACE_CHECK);
	if (b->held->grant->basis)
		recv_write_good(b);
	else
		recv_block_report(b);
}

static void compare_failed(struct recv_block *b, haul_status st, int os_errno)
{
	if (b->held->grant->basis) {
		compare_leaves(b, 0);
		compared(b);
		return;
	}
	b->report->type = LANE_FILE_FAILED;
	b->report->status = st;
	b->report->os_errno = os_errno;
	recv_block_report(b);
}

static void on_compare_read(struct lane_op *op, const struct engine_done *done)
{
	struct recv_block *b = list_item(op, struct recv_block, op);

	b->report->mode = 1 + (unsigned)atomic_load(&compared_file(b)->reason);
	trace_work(b->lane->recv_track, &b->disk, b->disk.start_ns);
	recv_trace(b, &b->disk, TRACE_READ);
	if (haul_failed(done->status)) {
		compare_failed(b, done->status, done->os_errno);
		return;
	}
	compare_leaves(b, done->bytes);
	compared(b);
}

void recv_compare_start(struct recv_block *b, struct block *block)
{
	struct lane *l = b->lane;
	uint64_t len = 0;
	haul_status st;

	b->block = block;
	for (uint32_t i = 0; i < b->header.leaf_count; i++)
		len += own_leaf_bytes(b, i);
	if (len == 0) {
		compare_leaves(b, 0);
		compared(b);
		return;
	}
	assert(len <= block->cap);
	b->op.done = on_compare_read;
	b->disk.start_ns = trace_now(l->recv_track);
	st = engine_read(l->engine, compared_file(b), block->data, (size_t)len, b->header.first_leaf * HAUL_LEAF_BYTES,
			 &b->op);
	if (haul_failed(st)) {
		compare_failed(b, st, 0);
		return;
	}
	l->in_work++;
}

bool recv_compare_soon(struct recv_block *b, const struct haul_digest *digests, struct block *block)
{
	struct lane *l = b->lane;

	b->report->type = LANE_COMPARED;
	memcpy(b->report->digests, digests, b->header.leaf_count * sizeof(digests[0]));
	b->held = held_get(l, b->header.entry, b->header.attempt);
	if (!b->held) {
		if (block)
			block_put(block);
		recv_block_free(b);
		return true;
	}
	b->held->in_work++;
	if (!block)
		block = block_take(&l->share);
	if (block)
		recv_compare_start(b, block);
	else
		list_push_back(&l->hungry, &b->link);
	return block != NULL;
}

void recv_digests_arrived(struct wire *w, const struct lane_update *up)
{
	struct recv_block *b = recv_block_new(w->lane, up->header);

	if (!b)
		lane_fail(w->lane, HAUL_NO_MEMORY, NULL);
	else if (!recv_compare_soon(b, up->digests, NULL))
		wire_starve(w);
}
