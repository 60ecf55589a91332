/*
 * Memory for blocks: aligned, bounded for the whole process, handed out in shares.
 *
 * The budget is one atomic number per process; a share (one lane's blocks) is reserved from it whole or not at all, so
 * a lane that runs never waits for another one's memory. A share belongs to one thread; blocks come back to the share
 * they came from on that thread.
 */
#ifndef HAUL_ENGINE_POOL_H
#define HAUL_ENGINE_POOL_H

#include "engine/base/fault.h"
#include "engine/base/list.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCK_ALIGN_BYTES = 2 * 1024 * 1024 /* huge page; any O_DIRECT rule is met too */ };

/* One per process (or per test). Any thread. */
struct block_budget {
	uint64_t limit_bytes;
	_Atomic uint64_t used_bytes;
};

struct block_share;

struct block {
	struct list link;          /* owner's use while taken */
	uint8_t *data;             /* aligned to BLOCK_ALIGN_BYTES (or to the page for small blocks) */
	size_t cap;                /* bytes at data */
	struct block_share *share; /* where it returns to */
};

struct block_share {
	struct block_budget *budget;
	struct block *blocks; /* owned array */
	uint8_t *memory;      /* owned mapping */
	size_t memory_bytes;
	struct list free;
	unsigned count, taken;
};

void block_budget_open(struct block_budget *b, uint64_t limit_bytes);

/* The memory one block really takes of the budget: room for `block_bytes` of data plus a leaf's tail padding. */
uint64_t block_cost(size_t block_bytes);

/*
 * Reserve `count` blocks of `block_bytes` (power of two, 64 KiB .. 16 MiB). Each has at least block_bytes + 64 KiB of
 * room, for a pack's items and for padding the last write of a file.
 * HAUL_BUSY: the budget does not have it now. HAUL_NO_MEMORY: the system does not.
 */
HAUL_MUST_USE haul_status block_share_open(struct block_share *s, struct block_budget *b, unsigned count,
					   size_t block_bytes);
void block_share_close(struct block_share *s); /* every block must be back: asserted */

/*
 * Bytes that no file system finds compressible, no two leaves of them the same, into all blocks; none may be taken.
 * They say nothing of what this memory held before. The same seed gives the same bytes. Owner's thread.
 */
void block_share_fill(struct block_share *s, uint64_t seed);

/* A free block, taken by the caller until block_put(); NULL when all are in use. Owner's thread. */
struct block *block_take(struct block_share *s);
void block_put(struct block *block);

#endif
