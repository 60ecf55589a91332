/*
 * The numbers: 4 MiB at depth 4 to 16 were equally fast on a virtual disk; four lanes feed more than two cores can
 * encrypt; a spindle reads 8 MiB in the time of four seeks. Cannot fail.
 */
#include "agent/policy.h"

#include "engine/base/entry.h"
#include "engine/pool.h"

#include <stdio.h>

enum {
	MIB = 1024 * 1024,
	LANES_CHOSEN_MAX = 4,
	BLOCK_BYTES = 4 * MIB,
	LONG_BLOCK_BYTES = 8 * MIB,
	BLOCKS_PER_LANE = 8,
	SESSION_BYTES = LANES_CHOSEN_MAX * BLOCKS_PER_LANE * BLOCK_BYTES, /* one lane of a spindle has them all */
	SPINDLE_RUN_BYTES = 256 * MIB,
};

static bool is_spindle(const struct policy_input *in)
{
	return in->source.kind == DEVICE_ROTATIONAL || in->destination.kind == DEVICE_ROTATIONAL;
}

static bool has_network(const struct policy_input *in)
{
	return in->source.kind == DEVICE_NETWORK || in->destination.kind == DEVICE_NETWORK;
}

static unsigned cores_of_the_smaller(const struct policy_input *in)
{
	unsigned a = in->source.cores, b = in->destination.cores;
	unsigned cores = !a || (b && b < a) ? b : a;

	return cores ? cores : 1;
}

static void choose_lanes(const struct policy_input *in, struct policy *p)
{
	unsigned cores = cores_of_the_smaller(in);

	if (in->lanes) {
		p->lanes = in->lanes;
		p->lanes_why = "asked for";
	} else if (is_spindle(in)) {
		p->lanes = 1;
		p->lanes_why = "one spindle";
	} else {
		p->lanes = cores < LANES_CHOSEN_MAX ? cores : LANES_CHOSEN_MAX;
		p->lanes_why = "cores of the smaller machine, at most 4";
		p->lanes_may_grow = true;
	}
}

static void choose_block(const struct policy_input *in, struct policy *p)
{
	if (in->block_bytes) {
		p->block_bytes = in->block_bytes;
		p->block_why = "asked for";
	} else if (is_spindle(in)) {
		p->block_bytes = LONG_BLOCK_BYTES;
		p->block_why = "few seeks";
	} else if (has_network(in)) {
		p->block_bytes = LONG_BLOCK_BYTES;
		p->block_why = "few round trips of the network file system";
	} else {
		p->block_bytes = BLOCK_BYTES;
		p->block_why = "default";
	}
}

static bool fits(unsigned lanes, uint32_t block_bytes, uint64_t budget_bytes)
{
	return block_cost(block_bytes) * POLICY_BLOCKS_LEAST * lanes <= budget_bytes;
}

void policy_fit(unsigned *lanes, uint32_t *block_bytes, uint64_t budget_bytes)
{
	while (*block_bytes > HAUL_LEAF_BYTES && !fits(*lanes, *block_bytes, budget_bytes))
		*block_bytes /= 2;
	while (*lanes > 1 && !fits(*lanes, *block_bytes, budget_bytes))
		--*lanes;
}

/* Shorter blocks rather than fewer lanes, but for blocks that were asked for. */
static void fit_more_lanes(const struct policy_input *in, struct policy *p)
{
	p->more_lanes = in->more_lanes;
	while (!in->block_bytes && p->block_bytes > HAUL_LEAF_BYTES &&
	       !fits(p->lanes + p->more_lanes, p->block_bytes, in->budget_bytes))
		p->block_bytes /= 2;
	while (p->more_lanes && !fits(p->lanes + p->more_lanes, p->block_bytes, in->budget_bytes))
		p->more_lanes--;
}

static void fit(const struct policy_input *in, struct policy *p)
{
	unsigned lanes = p->lanes;
	uint32_t block_bytes = p->block_bytes;

	/* Who asks for long blocks gets them, by fewer lanes. */
	while (in->block_bytes && !in->lanes && p->lanes > 1 && !fits(p->lanes, p->block_bytes, in->budget_bytes))
		p->lanes--;
	policy_fit(&p->lanes, &p->block_bytes, in->budget_bytes);
	if (p->lanes < lanes)
		p->lanes_why = "as many as fit into memory";
	fit_more_lanes(in, p);
	if (p->block_bytes < block_bytes)
		p->block_why = "as long as fits into memory";
	p->block_most = p->block_bytes;
	if (!in->block_bytes && p->block_bytes < LONG_BLOCK_BYTES) {
		lanes = p->lanes + p->more_lanes;
		p->block_most = LONG_BLOCK_BYTES;
		policy_fit(&lanes, &p->block_most, in->budget_bytes);
	}
}

static void choose_blocks(const struct policy_input *in, struct policy *p)
{
	unsigned blocks = is_spindle(in) ? SESSION_BYTES / (p->block_bytes * p->lanes) : BLOCKS_PER_LANE;

	if (blocks < BLOCKS_PER_LANE)
		blocks = BLOCKS_PER_LANE;
	while (blocks > POLICY_BLOCKS_LEAST &&
	       block_cost(p->block_bytes) * blocks * (p->lanes + p->more_lanes) > in->budget_bytes)
		blocks--;
	p->blocks_per_lane = blocks;
}

static struct engine_depth depth_of(enum device_kind kind, unsigned blocks)
{
	switch (kind) {
	case DEVICE_ROTATIONAL:
		return (struct engine_depth){ 2, 4 < blocks ? 4 : blocks };
	case DEVICE_SSD:
	case DEVICE_NVME:
	case DEVICE_MEMORY: /* nothing seeks or queues */
		return (struct engine_depth){ blocks, blocks };
	case DEVICE_NETWORK:
	case DEVICE_UNKNOWN:
		break;
	}
	return (struct engine_depth){ (blocks + 1) / 2, blocks };
}

static enum direct_mode direct_of(const struct policy_input *in, enum device_kind kind)
{
	return in->direct == DIRECT_AUTO && kind == DEVICE_MEMORY ? DIRECT_NEVER : in->direct;
}

void policy_choose(const struct policy_input *in, struct policy *ret_policy)
{
	struct policy p = { .order = ORDER_ANNOUNCED };

	choose_lanes(in, &p);
	choose_block(in, &p);
	fit(in, &p);
	choose_blocks(in, &p);
	p.read = depth_of(in->source.kind, p.blocks_per_lane);
	p.write = depth_of(in->destination.kind, p.blocks_per_lane);
	if (in->source.kind == DEVICE_ROTATIONAL)
		p.order = ORDER_PHYSICAL;
	if (is_spindle(in))
		p.run_bytes = SPINDLE_RUN_BYTES;
	if (in->source.kind == DEVICE_ROTATIONAL && in->destination.kind == DEVICE_ROTATIONAL && in->is_same_device)
		p.is_phased = true;
	if (p.is_phased)
		p.read = p.write = (struct engine_depth){ p.blocks_per_lane, p.blocks_per_lane };
	p.read_direct = direct_of(in, in->source.kind);
	p.write_direct = direct_of(in, in->destination.kind);
	*ret_policy = p;
}

const char *policy_text(const struct policy *p, char *ret_text, size_t cap)
{
	(void)snprintf(ret_text, cap, "%u lane%s (%s), blocks of %u MiB (%s), %u of each lane", p->lanes,
		       p->lanes == 1 ? "" : "s", p->lanes_why, p->block_bytes / MIB, p->block_why, p->blocks_per_lane);
	return ret_text;
}

static const char *direct_text(enum direct_mode mode)
{
	switch (mode) {
	case DIRECT_AUTO:
		return "big files direct where possible";
	case DIRECT_ALWAYS:
		return "always direct (as asked)";
	case DIRECT_NEVER:
		break;
	}
	return "through the page cache";
}

static const char *depth_text(const struct engine_depth *d, const char *what, char *ret_text, size_t cap)
{
	if (d->first == d->most)
		(void)snprintf(ret_text, cap, "%u %s of a lane in flight", d->most, what);
	else
		(void)snprintf(ret_text, cap, "%u to %u %s of a lane in flight, as it answers", d->first, d->most,
			       what);
	return ret_text;
}

const char *policy_read_text(const struct policy *p, char *ret_text, size_t cap)
{
	char depth[80];

	(void)snprintf(ret_text, cap, "%s, %s%s%s", depth_text(&p->read, "reads", depth, sizeof(depth)),
		       p->order == ORDER_PHYSICAL ? "files as they lie on the disk, whole; " : "files as announced; ",
		       direct_text(p->read_direct), p->is_phased ? "; in turns with writing" : "");
	return ret_text;
}

const char *policy_write_text(const struct policy *p, char *ret_text, size_t cap)
{
	char depth[80];

	(void)snprintf(ret_text, cap, "%s; %s%s", depth_text(&p->write, "writes", depth, sizeof(depth)),
		       direct_text(p->write_direct), p->is_phased ? "; in turns with reading" : "");
	return ret_text;
}
