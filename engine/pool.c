/*
 * Blocks of one share lie in one private mapping, at a stride that keeps each aligned. It is never written here: a page
 * costs memory only once a block's user touches it.
 *
 * For blocks of 2 MiB and more the data part asks for huge pages and the room behind it for small ones, so that a block
 * never takes more than block_cost(): the gap up to the next multiple of 2 MiB is address space alone. Smaller blocks
 * are packed page by page. Fails: no budget (HAUL_BUSY), no memory.
 */
#include "engine/pool.h"

#include "engine/base/checked.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	BLOCK_ROOM_BYTES = 64 * 1024, /* behind the data: a tail's padding, a pack's items */
	BLOCK_MIN_BYTES = 64 * 1024,
	BLOCK_MAX_BYTES = 16 * 1024 * 1024,
};

void block_budget_open(struct block_budget *b, uint64_t limit_bytes)
{
	b->limit_bytes = limit_bytes;
	atomic_init(&b->used_bytes, 0);
}

uint64_t block_cost(size_t block_bytes)
{
	return (uint64_t)block_bytes + BLOCK_ROOM_BYTES;
}

static haul_status budget_take(struct block_budget *b, uint64_t bytes)
{
	uint64_t used = atomic_load(&b->used_bytes);

	do {
		if (used > b->limit_bytes || bytes > b->limit_bytes - used)
			return HAUL_BUSY;
	} while (!atomic_compare_exchange_weak(&b->used_bytes, &used, used + bytes));
	return HAUL_OK;
}

static size_t block_stride(size_t block_bytes)
{
	if (block_bytes < BLOCK_ALIGN_BYTES)
		return (size_t)block_cost(block_bytes);
	return (size_t)haul_round_up(block_cost(block_bytes), BLOCK_ALIGN_BYTES);
}

/* A mapping of `bytes` (a multiple of 64 KiB) whose start is aligned to BLOCK_ALIGN_BYTES; NULL without memory. */
static uint8_t *map_aligned(size_t bytes)
{
	size_t all = bytes + BLOCK_ALIGN_BYTES;
	uint8_t *base = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t head;

	if (base == MAP_FAILED)
		return NULL;
	head = (size_t)(haul_round_up((uintptr_t)base, BLOCK_ALIGN_BYTES) - (uintptr_t)base);
	if (head)
		(void)munmap(base, head);
	if (all - head > bytes)
		(void)munmap(base + head + bytes, all - head - bytes);
	return base + head;
}

/* Huge pages are a wish: a kernel without them says EINVAL and small pages serve. */
static void advise_pages(uint8_t *data, size_t block_bytes, size_t stride)
{
	if (block_bytes < BLOCK_ALIGN_BYTES)
		return;
	(void)madvise(data, block_bytes, MADV_HUGEPAGE);
	(void)madvise(data + block_bytes, stride - block_bytes, MADV_NOHUGEPAGE);
}

static void share_fill(struct block_share *s, size_t block_bytes, size_t stride)
{
	for (unsigned i = 0; i < s->count; i++) {
		struct block *block = &s->blocks[i];

		block->data = s->memory + (size_t)i * stride;
		block->cap = (size_t)block_cost(block_bytes);
		block->share = s;
		advise_pages(block->data, block_bytes, stride);
		list_init(&block->link);
		list_push_back(&s->free, &block->link);
	}
}

haul_status block_share_open(struct block_share *s, struct block_budget *b, unsigned count, size_t block_bytes)
{
	uint64_t cost = block_cost(block_bytes) * count; /* below 2^57: count is 32 bits, a block below 32 MiB */
	size_t stride = block_stride(block_bytes);
	haul_status st;

	assert(count > 0 && block_bytes >= BLOCK_MIN_BYTES && block_bytes <= BLOCK_MAX_BYTES);
	assert((block_bytes & (block_bytes - 1)) == 0);
	*s = (struct block_share){ .budget = b, .count = count, .memory_bytes = stride * count };
	list_init(&s->free);
	st = budget_take(b, cost);
	if (haul_failed(st))
		return st;
	s->blocks = calloc(count, sizeof(*s->blocks));
	if (!s->blocks)
		goto give_back;
	s->memory = map_aligned(s->memory_bytes);
	if (!s->memory)
		goto free_blocks;
	share_fill(s, block_bytes, stride);
	return HAUL_OK;

free_blocks:
	free(s->blocks);
	s->blocks = NULL;
give_back:
	atomic_fetch_sub(&b->used_bytes, cost);
	return HAUL_NO_MEMORY;
}

void block_share_close(struct block_share *s)
{
	assert(s->taken == 0);
	if (!s->memory)
		return;
	atomic_fetch_sub(&s->budget->used_bytes, (uint64_t)s->blocks[0].cap * s->count);
	(void)munmap(s->memory, s->memory_bytes);
	free(s->blocks);
	*s = (struct block_share){ .budget = s->budget };
	list_init(&s->free);
}

/* xorshift64. */
static void block_fill(struct block *b, uint64_t x)
{
	for (size_t at = 0; at + sizeof(x) <= b->cap; at += sizeof(x)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(b->data + at, &x, sizeof(x));
	}
}

void block_share_fill(struct block_share *s, uint64_t seed)
{
	assert(s->taken == 0);
	for (unsigned i = 0; i < s->count; i++)
		block_fill(&s->blocks[i], (seed * UINT32_MAX + i) * UINT64_C(0x9e3779b97f4a7c15) + 1);
}

struct block *block_take(struct block_share *s)
{
	struct list *link = list_pop_front(&s->free);

	if (!link)
		return NULL;
	s->taken++;
	return list_item(link, struct block, link);
}

/* The block used last is taken first: its pages are touched and perhaps in cache. */
void block_put(struct block *block)
{
	struct block_share *s = block->share;

	assert(s->taken > 0);
	s->taken--;
	list_push_back(s->free.next, &block->link);
}
