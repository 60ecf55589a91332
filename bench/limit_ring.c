/*
 * Blocks go free -> reading -> full -> writing -> free. Reads and writes have depths of their own, so that neither
 * takes the other's place: with one common depth a slow half fills all of it, and the other half runs at depth one.
 *
 * LIMIT_PHASED never has both halves at once: it turns when no block is free, and again when none is full. LIMIT_READ
 * frees what was read; LIMIT_WRITE takes blocks for full without reading. Completions are taken in any order.
 */
#include "limit_ring.h"

#include <errno.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 4096, HUGE_PAGE = 2 << 20, BLOCKS_MAX = 256 };

struct block {
	struct block *next; /* in its list */
	void *memory;
	uint64_t offset;
	unsigned length; /* rounded up to ALIGN */
	bool is_write;
};

struct ring_copy {
	struct limit_config config;
	struct io_uring ring;
	struct block blocks[BLOCKS_MAX];
	struct block *free, *full, **full_tail; /* full: oldest first */
	unsigned reading, writing;
	uint64_t next;    /* offset that is read next */
	bool is_emptying; /* LIMIT_PHASED: the writing half */
};

static void submit(struct ring_copy *c, struct block *b, bool is_write)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&c->ring);

	b->is_write = is_write;
	if (is_write) {
		c->writing++;
		io_uring_prep_write(sqe, c->config.target, b->memory, b->length, b->offset);
	} else {
		c->reading++;
		io_uring_prep_read(sqe, c->config.source, b->memory, b->length, b->offset);
	}
	io_uring_sqe_set_data(sqe, b);
}

static void put_free(struct ring_copy *c, struct block *b)
{
	b->next = c->free;
	c->free = b;
}

static void put_full(struct ring_copy *c, struct block *b)
{
	b->next = NULL;
	*c->full_tail = b;
	c->full_tail = &b->next;
}

static struct block *take_full(struct ring_copy *c)
{
	struct block *b = c->full;

	c->full = b->next;
	if (c->full == NULL)
		c->full_tail = &c->full;
	return b;
}

/* A free block with the next piece of the source; NULL when there is no block or no piece. */
static struct block *take_piece(struct ring_copy *c)
{
	struct block *b = c->free;
	uint64_t left = c->config.size - c->next;
	unsigned take = left < c->config.block_bytes ? (unsigned)left : c->config.block_bytes;

	if (b == NULL || take == 0)
		return NULL;
	c->free = b->next;
	b->offset = c->next;
	b->length = (take + ALIGN - 1) / ALIGN * ALIGN;
	c->next += take;
	return b;
}

static void begin_reads(struct ring_copy *c)
{
	struct block *b;

	while (c->reading < c->config.reads_at_once && (b = take_piece(c)) != NULL) {
		if (c->config.mode == LIMIT_WRITE)
			put_full(c, b);
		else
			submit(c, b, false);
	}
}

static void begin_writes(struct ring_copy *c)
{
	while (c->full != NULL && c->writing < c->config.writes_at_once)
		submit(c, take_full(c), true);
}

static void begin(struct ring_copy *c)
{
	if (c->config.mode == LIMIT_PHASED) {
		if (!c->is_emptying && c->reading == 0 && (c->free == NULL || c->next == c->config.size))
			c->is_emptying = true;
		else if (c->is_emptying && c->writing == 0 && c->full == NULL)
			c->is_emptying = false;
		if (c->is_emptying)
			begin_writes(c);
		else
			begin_reads(c);
		return;
	}
	begin_writes(c);
	begin_reads(c);
	begin_writes(c);
}

static void finish_one(struct ring_copy *c, struct io_uring_cqe *cqe)
{
	struct block *b = io_uring_cqe_get_data(cqe);
	uint64_t end = b->offset + b->length;
	unsigned due = end > c->config.size && !b->is_write ? (unsigned)(c->config.size - b->offset) : b->length;

	errno = cqe->res < 0 ? -cqe->res : EIO;
	if (cqe->res < 0 || (unsigned)cqe->res < due)
		limit_fail("%s of %u bytes at %llu gave %d", b->is_write ? "write" : "read", b->length,
			   (unsigned long long)b->offset, cqe->res);
	if (b->is_write)
		c->writing--;
	else
		c->reading--;
	if (b->is_write || c->config.mode == LIMIT_READ)
		put_free(c, b);
	else
		put_full(c, b);
}

static void run(struct ring_copy *c)
{
	struct io_uring_cqe *cqe;

	for (;;) {
		begin(c);
		if (c->reading + c->writing == 0) {
			if (c->full == NULL && c->next == c->config.size)
				return;
			continue; /* LIMIT_PHASED has just turned */
		}
		if (io_uring_submit_and_wait(&c->ring, 1) < 0)
			limit_fail("submit");
		while (io_uring_peek_cqe(&c->ring, &cqe) == 0) {
			finish_one(c, cqe);
			io_uring_cqe_seen(&c->ring, cqe);
		}
	}
}

void limit_ring_run(const struct limit_config *config)
{
	static struct ring_copy c;
	int rc;

	c.config = *config;
	c.full_tail = &c.full;
	rc = io_uring_queue_init(config->blocks * 2, &c.ring, 0);
	if (rc < 0) {
		errno = -rc;
		limit_fail("io_uring");
	}
	for (unsigned i = 0; i < config->blocks; i++) {
		if (posix_memalign(&c.blocks[i].memory, HUGE_PAGE, config->block_bytes) != 0)
			limit_fail("memory");
		if (!config->is_small_pages)
			(void)madvise(c.blocks[i].memory, config->block_bytes, MADV_HUGEPAGE);
		memset(c.blocks[i].memory, (int)(i + 1),
		       config->block_bytes); /* faults in; not zeros for LIMIT_WRITE */
		put_free(&c, &c.blocks[i]);
	}
	run(&c);
	io_uring_queue_exit(&c.ring);
	for (unsigned i = 0; i < config->blocks; i++)
		free(c.blocks[i].memory);
}
