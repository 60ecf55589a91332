/*
 * How a job drives its disks: lanes, length of blocks, requests in flight, order. A function of what both ends lie on,
 * of their cores and of what the user asked for; it looks at nothing else, so that both ends find the same and tests
 * can ask it anything.
 *
 *   one spindle at either end   one data lane, long blocks, a short queue, long runs of one kind of file; a source's
 *                               files in the order in which they lie on it; both ends on it: fill, then write
 *   flash                       several lanes, a deep queue
 *   network file system         long blocks
 *   memory                      through the page cache, there is nothing to bypass
 *   unknown                     begins with half the depth and adapts (engine/depth.h)
 */
#ifndef HAUL_AGENT_POLICY_H
#define HAUL_AGENT_POLICY_H

#include "engine/base/device_kind.h"
#include "engine/engine.h"

#include <stddef.h>

enum {
	POLICY_BLOCKS_LEAST = 4, /* of a lane (docs/PROTOCOL.md "Admission") */
	POLICY_TEXT_MAX = 256,
	POLICY_BUDGET_BYTES = 256 * 1024 * 1024, /* of a client, for the blocks of all lanes */
};

struct policy_end {
	enum device_kind kind;
	unsigned cores; /* of the machine; 0: not known */
};

struct policy_input {
	struct policy_end source, destination;
	bool is_same_device;  /* both ends lie on the same disks */
	unsigned lanes;       /* asked for; 0: to be chosen */
	uint32_t block_bytes; /* asked for; 0: to be chosen */
	enum direct_mode direct;
	uint64_t budget_bytes; /* for the blocks of all lanes of this end */
	unsigned more_lanes;   /* that may join later, besides: room is left for their blocks */
};

enum policy_order {
	ORDER_ANNOUNCED, /* as they were announced */
	ORDER_PHYSICAL,  /* as they lie on the disk: first extent, else inode */
};

struct policy {
	unsigned lanes;
	const char *lanes_why; /* static storage */
	bool lanes_may_grow;   /* more of them than cores are no loss: neither a spindle nor the user limits them */
	unsigned more_lanes;   /* of those asked for, as many as memory has room for */
	uint32_t block_bytes;
	const char *block_why;
	uint32_t block_most; /* what to wish for while the other end is not known; at least block_bytes */
	unsigned blocks_per_lane;
	struct engine_depth read, write; /* of one lane, at the source, at the destination; equal: does not adapt */
	enum policy_order order;
	uint64_t
	    run_bytes;  /* of big files, then of small ones, before the other kind has its turn; 0: one block each */
	bool is_phased; /* fill the blocks, then write them, in turns */
	enum direct_mode read_direct, write_direct;
};

/* Never fails: what does not fit into the budget is made smaller, four blocks of 1 MiB for one lane always fit. */
void policy_choose(const struct policy_input *in, struct policy *ret_policy);

/* Smaller blocks, then fewer lanes, until four blocks of each lane fit. Both at least what a job needs. */
void policy_fit(unsigned *lanes, uint32_t *block_bytes, uint64_t budget_bytes);

/* "1 lane (one spindle), blocks of 8 MiB (long runs), 16 a lane". Returns ret_text. */
const char *policy_text(const struct policy *p, char *ret_text, size_t cap);

/* What the source does: "2 to 4 reads of a lane in flight, files as they lie on the disk". Returns ret_text. */
const char *policy_read_text(const struct policy *p, char *ret_text, size_t cap);

/* What the destination does: "8 writes of a lane in flight". Returns ret_text. */
const char *policy_write_text(const struct policy *p, char *ret_text, size_t cap);

#endif
