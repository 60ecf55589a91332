/*
 * The receiving half of a lane, without any I/O: it says where the next bytes of the stream belong, so that plaintext
 * lands in the block it will be written from, and what to do when something is whole.
 *
 *   HEADER --BLOCK--> WAIT_BLOCK --given--> LEAF --bytes--> DIGEST --(more leaves)--> LEAF
 *     |                                                       +--last--> HEADER
 *     +--PACK--> WAIT_BLOCK --given--> PACK --bytes--> HEADER
 *     +--DIGESTS--> DIGEST_LIST --bytes--> HEADER
 *     +--END--> ENDED                       any fault --> FAILED
 *
 * What must be granted is asked from the owner of the grants through `is_granted` (a lane's own table). A block of an
 * older attempt is read and dropped: the update says LANE_DO_NOTHING for it and the bytes go to a scratch area.
 * Thread: the lane's.
 */
#ifndef HAUL_PROTOCOL_LANE_SESSION_H
#define HAUL_PROTOCOL_LANE_SESSION_H

#include "engine/base/fault.h"
#include "peer-protocol/lane_frame.h"

#include <stddef.h>

enum grant_answer {
	GRANT_LIVE,
	GRANT_OLD,  /* an attempt that has been given up: drop what comes */
	GRANT_NONE, /* never granted: protocol error */
};

struct lane_session_config {
	uint32_t block_bytes; /* longest BLOCK or PACK payload that may come (pack: items and contents together) */
	/*
	 * Whether these leaves of the entry may come now. For PACK items leaf_count is 1, first_leaf 0 and bytes the
	 * file's size. `bytes` must be what the granted size says for that range.
	 */
	enum grant_answer (*is_granted)(void *ctx, enum lane_frame_type type, uint64_t entry, uint32_t attempt,
					uint64_t first_leaf, uint32_t leaf_count, uint64_t bytes);
	void *ctx;
};

enum lane_state {
	LANE_STATE_HEADER,
	LANE_STATE_WAIT_BLOCK,
	LANE_STATE_LEAF,
	LANE_STATE_DIGEST,
	LANE_STATE_PACK,
	LANE_STATE_DIGEST_LIST,
	LANE_STATE_DROP,
	LANE_STATE_ENDED,
	LANE_STATE_FAILED,
};

/* Embedded in the lane; fields are for the session alone. */
struct lane_session {
	struct lane_session_config cfg;
	enum lane_state state;
	struct lane_header header; /* of the frame being received */
	uint8_t header_bytes[LANE_HEADER_BYTES];
	size_t have;   /* bytes of the current part that have arrived */
	uint32_t leaf; /* of the current BLOCK */
	uint64_t drop_left;
	uint8_t *block; /* held from lane_session_give() to the update that names it */
	size_t block_cap;
	struct haul_digest digests[HAUL_BLOCK_LEAVES_MAX];
	struct lane_pack_item items[LANE_PACK_ITEMS_MAX];
	uint8_t scratch[16384];
};

enum lane_action {
	LANE_DO_NOTHING,
	LANE_NEED_BLOCK,    /* give memory for header.bytes (BLOCK) or items and contents (PACK), then go on */
	LANE_LEAF_ARRIVED,  /* one leaf of a BLOCK and its digest: check it now, while it is in cache */
	LANE_BLOCK_ARRIVED, /* the last leaf's check is included in this: leaf fields are set too */
	LANE_ZERO_ARRIVED,  /* leaves of zeros: no memory involved */
	LANE_PACK_ARRIVED,
	LANE_DIGESTS_ARRIVED,
	LANE_HAS_ENDED,
};

struct lane_update {
	enum lane_action action;
	const struct lane_header *header; /* of the frame concerned; valid until the next step */
	uint32_t leaf;                    /* LEAF_ARRIVED, BLOCK_ARRIVED: which, from 0 */
	const uint8_t *leaf_data;
	uint32_t leaf_bytes;
	const struct haul_digest *digests;  /* BLOCK: those so far; DIGESTS: all */
	const struct lane_pack_item *items; /* PACK */
	const uint8_t *contents;            /* PACK: first file's first byte */
};

void lane_session_open(struct lane_session *s, const struct lane_session_config *cfg);

/*
 * Where the next bytes of the stream go. ret_len is 0 while a block is needed, after END and after a failure.
 * The memory is the session's or the block's; write at most ret_len bytes, then call lane_session_received().
 */
void lane_session_want(struct lane_session *s, uint8_t **ret_at, size_t *ret_len);

/* `n` bytes have been put where lane_session_want() said. At most one action comes of it. */
HAUL_MUST_USE haul_status lane_session_received(struct lane_session *s, size_t n, struct lane_update *ret_update,
						struct haul_fault *fault);

/* Answer to LANE_NEED_BLOCK. `block` is held until LANE_BLOCK_ARRIVED or LANE_PACK_ARRIVED names its frame. */
void lane_session_give(struct lane_session *s, uint8_t *block, size_t cap);

/* The stream ended: HAUL_OK after END, HAUL_LOST otherwise. */
HAUL_MUST_USE haul_status lane_session_eof(struct lane_session *s, struct haul_fault *fault);

/* "lane: leaf 3 of block 12 of entry 7". Returns ret_text. */
const char *lane_session_describe(const struct lane_session *s, char *ret_text, size_t cap);

#endif
