/*
 * Headers on a lane connection, after LANE_OK: 64 bytes, big-endian, then the payload.
 *
 *   BLOCK    header, then per leaf its bytes and its 16-byte digest (the digest follows, so that the sender hashes and
 *            encrypts leaf by leaf while it is in cache); with LANE_ZERO no payload: the leaves are zeros
 *   PACK     header, then `count` items of 32 bytes, then the contents of those small files in the same order
 *   DIGESTS  header, then one digest per leaf and no bytes
 *   END      header alone: the writer sends nothing more on this connection (retiring, or nothing left)
 */
#ifndef HAUL_PROTOCOL_LANE_FRAME_H
#define HAUL_PROTOCOL_LANE_FRAME_H

#include "engine/base/entry.h"
#include "engine/base/status.h"

enum {
	LANE_HEADER_BYTES = 64,
	LANE_PACK_ITEM_BYTES = 32,
	LANE_PACK_ITEMS_MAX = 1024,
	LANE_PACK_FILE_MAX = 256 * 1024, /* a file larger than this travels in blocks */
};

enum lane_frame_type { LANE_BLOCK = 1, LANE_PACK = 2, LANE_DIGESTS = 3, LANE_END = 4 };

enum lane_frame_flags {
	LANE_ZERO = 1 << 0,       /* every leaf is zeros, nothing follows the header */
	LANE_SAME = 1 << 1,       /* reserved: equal to the receiver's basis */
	LANE_REPAIR = 1 << 2,     /* sent again after a wrong digest */
	LANE_COMPRESSED = 1 << 3, /* reserved */
};

struct lane_header {
	enum lane_frame_type type;
	uint8_t flags;     /* unknown bits are an error */
	uint8_t algorithm; /* enum digest_algorithm */
	uint64_t entry;    /* BLOCK, DIGESTS */
	uint32_t attempt;
	uint32_t leaf_count; /* BLOCK, DIGESTS: 1 .. HAUL_BLOCK_LEAVES_MAX */
	uint64_t first_leaf;
	uint64_t bytes; /* file bytes the leaves stand for: all leaves but the file's last are full; PACK: contents */
	uint32_t count; /* PACK: items */
};

struct lane_pack_item {
	uint64_t entry;
	uint32_t attempt;
	uint32_t bytes;
	struct haul_digest digest; /* the file's root: it has one leaf */
	bool is_live;              /* not on the wire; the lane session says whether its grant is live, else drop it */
};

/* `h` is ours: an impossible header is asserted. */
void lane_header_encode(const struct lane_header *h, uint8_t ret_bytes[LANE_HEADER_BYTES]);

/* HAUL_BAD_FRAME: unknown type or flag, reserved bytes not zero, counts and bytes that do not fit each other. */
HAUL_MUST_USE haul_status lane_header_decode(const uint8_t bytes[LANE_HEADER_BYTES], struct lane_header *ret_header);

void lane_pack_item_encode(const struct lane_pack_item *item, uint8_t ret_bytes[LANE_PACK_ITEM_BYTES]);

/* Decode and check a whole item table: sizes within LANE_PACK_FILE_MAX, their sum equal to `content_bytes`. */
HAUL_MUST_USE haul_status lane_pack_items_decode(const uint8_t *table, uint32_t count, uint64_t content_bytes,
						 struct lane_pack_item *ret_items);

/* Bytes that follow a header on the wire. */
uint64_t lane_payload_bytes(const struct lane_header *h);

/* File bytes of leaf `i` (0 .. leaf_count-1) of a BLOCK or DIGESTS frame. */
uint32_t lane_leaf_bytes(const struct lane_header *h, uint32_t i);

#endif
