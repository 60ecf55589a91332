/* Inside of the sending half of a lane, for lane_send.c, lane_send_block.c and lane_copy.c. Lane's thread only. */
#ifndef HAUL_AGENT_LANE_SEND_PARTS_H
#define HAUL_AGENT_LANE_SEND_PARTS_H

#include "agent/lane_parts.h"

enum send_part { PART_HEADER, PART_LEAF, PART_DIGEST, PART_ALL_DIGESTS, PART_PACK };

/* A unit of work from the queue until it has left. */
struct send_block {
	struct list link;
	struct lane *lane;
	struct lane_op op;
	uv_work_t pool;
	struct send_work work;
	struct block *block; /* also of what lies in a hole: memory bounds how much is under way; NULL: handed over */
	bool is_hole;        /* nothing was read, it is zeros */
	struct lane_header header;
	uint8_t header_bytes[LANE_HEADER_BYTES];
	struct lane_report *report; /* posted before the last of it leaves, see send_report(); then NULL */
	struct haul_digest digests[HAUL_BLOCK_LEAVES_MAX];
	bool is_read; /* counted in its file's unread_leaves no more */
	enum send_part part;
	uint32_t leaf;
	uint32_t leaf_at;  /* bytes of it that are hashed */
	const uint8_t *at; /* of the part in work */
	size_t left;
	uint32_t pack_offset; /* in the block: where the item table starts */
	struct trace_span read, digest, send;
};

/* lane_send_block.c */
void send_work_drop(struct send_work *work);
void send_block_free(struct send_block *b);
void send_block_return(struct send_block *b); /* taken: unless it is known to leave, another lane has it next */
/* Taken. The file goes no further: said once, whichever block notices first. */
void send_file_failed(struct send_block *b, haul_status st, int os_errno);
void send_trace(struct send_block *b, struct trace_span *span, enum trace_stage stage); /* a line, if it was worked */
void send_report(struct send_block *b); /* tell the main loop; digests are filled by now */
/* lane_send.c */
struct send_block *send_ready_pop(struct lane *l);        /* the oldest that has been read, given; NULL: none */
void send_hash_leaf(struct send_block *b, uint32_t leaf); /* fills digests[leaf] */

#endif
