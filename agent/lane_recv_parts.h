/*
 * Inside of the receiving half of a lane: lane_recv.c (the stream), lane_grants.c, lane_write.c (blocks of big files),
 * lane_compare.c (copy -c and verify), lane_unpack.c (small files), lane_copy.c (what comes from the same lane's
 * sending half). Lane's thread only.
 */
#ifndef HAUL_AGENT_LANE_RECV_PARTS_H
#define HAUL_AGENT_LANE_RECV_PARTS_H

#include "agent/lane_parts.h"

/* Something that has arrived, or is arriving, until its report. */
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
	size_t write_at; /* in the block: what comes before is written, or on its way, or need not be */
	struct trace_span receive, check, disk; /* disk: written, read to compare, or in the pool */
};

/* lane_recv.c */
struct recv_block *recv_block_new(struct lane *l, const struct lane_header *header); /* NULL: no memory */
void recv_block_free(struct recv_block *b);
void recv_block_report(struct recv_block *b); /* taken: the report goes to the main loop, the block is free again */
void recv_trace(struct recv_block *b, struct trace_span *span, enum trace_stage stage); /* one line, if it was worked */
void wire_starve(struct wire *w);                                     /* no memory now: the wire waits */
void recv_start_pool(struct recv_block *b, void (*run)(uv_work_t *)); /* taken: run on the pool, then reported */

/* lane_grants.c */
struct held_grant *held_get(struct lane *l, uint64_t entry, uint32_t attempt); /* NULL: not granted now */
void held_done(struct lane *l,
	       struct held_grant *h); /* one less in work; the last one of a released grant reports it */

/* lane_write.c */
void recv_check_leaf(struct wire *w, const struct lane_update *up);
void recv_block_arrived(struct recv_block *b); /* taken */
void recv_zeros_arrived(struct wire *w, const struct lane_header *header);
void recv_write_good(struct recv_block *b); /* taken: those of its leaves that are not bad */

/* lane_compare.c */
void recv_compare_bytes(struct recv_block *b);                      /* taken */
void recv_compare_start(struct recv_block *b, struct block *block); /* both taken */
/* b is taken; block is taken, or NULL: one of the lane's. False: it waits for memory. */
bool recv_compare_soon(struct recv_block *b, const struct haul_digest *digests, struct block *block);
void recv_digests_arrived(struct wire *w, const struct lane_update *up);

/* lane_unpack.c */
void recv_pack_arrived(struct recv_block *b /* taken */, const struct lane_update *up);

#endif
