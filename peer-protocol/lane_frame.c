/* The fixed layouts of lane headers and pack items. Offsets: docs/PROTOCOL.md "Lane frames". */
#include "peer-protocol/lane_frame.h"

#include "engine/base/bytes.h"

#include <assert.h>

enum { LANE_RESERVED_BYTES = 24, ALGORITHM_XXH3_128 = 1 };

#define LANE_LEAVES_LAST ((uint64_t)1 << 43) /* no file has a leaf beyond */

/* A run of leaves: all are full but the last one, and only an empty file has an empty leaf. */
static bool leaves_are_sound(const struct lane_header *h)
{
	uint64_t full = (uint64_t)h->leaf_count * HAUL_LEAF_BYTES;

	if (h->leaf_count < 1 || h->leaf_count > HAUL_BLOCK_LEAVES_MAX || h->count)
		return false;
	if (h->first_leaf > LANE_LEAVES_LAST - h->leaf_count)
		return false;
	if (h->bytes == 0)
		return h->leaf_count == 1 && h->first_leaf == 0;
	return h->bytes <= full && h->bytes > full - HAUL_LEAF_BYTES;
}

static bool header_is_sound(const struct lane_header *h)
{
	bool names_leaves = h->entry || h->attempt || h->leaf_count || h->first_leaf;

	switch (h->type) {
	case LANE_BLOCK:
		return h->algorithm == ALGORITHM_XXH3_128 && !(h->flags & ~(LANE_ZERO | LANE_REPAIR)) &&
		       leaves_are_sound(h);
	case LANE_DIGESTS:
		return h->algorithm == ALGORITHM_XXH3_128 && !h->flags && leaves_are_sound(h);
	case LANE_PACK:
		return h->algorithm == ALGORITHM_XXH3_128 && !(h->flags & ~LANE_REPAIR) && !names_leaves &&
		       h->count >= 1 && h->count <= LANE_PACK_ITEMS_MAX &&
		       h->bytes <= (uint64_t)h->count * LANE_PACK_FILE_MAX;
	case LANE_END:
		return !h->algorithm && !h->flags && !names_leaves && !h->count && !h->bytes;
	}
	return false;
}

void lane_header_encode(const struct lane_header *h, uint8_t ret_bytes[LANE_HEADER_BYTES])
{
	static const uint8_t zeros[LANE_RESERVED_BYTES];
	struct bytes b = bytes_of(ret_bytes, LANE_HEADER_BYTES);

	assert(header_is_sound(h));
	bytes_put_uint(&b, h->type, 1);
	bytes_put_uint(&b, h->flags, 1);
	bytes_put_uint(&b, h->algorithm, 1);
	bytes_put_uint(&b, 0, 1);
	bytes_put_uint(&b, h->attempt, 4);
	bytes_put_uint(&b, h->entry, 8);
	bytes_put_uint(&b, h->first_leaf, 8);
	bytes_put_uint(&b, h->leaf_count, 4);
	bytes_put_uint(&b, h->count, 4);
	bytes_put_uint(&b, h->bytes, 8);
	bytes_put(&b, zeros, sizeof(zeros));
	assert(haul_ok(bytes_end(&b)));
}

haul_status lane_header_decode(const uint8_t bytes[LANE_HEADER_BYTES], struct lane_header *ret_header)
{
	uint8_t copy[LANE_HEADER_BYTES];
	struct bytes b = bytes_of(copy, sizeof(copy));
	struct lane_header h;
	uint64_t reserved;

	memcpy(copy, bytes, sizeof(copy));
	h.type = (enum lane_frame_type)bytes_get_uint(&b, 1);
	h.flags = (uint8_t)bytes_get_uint(&b, 1);
	h.algorithm = (uint8_t)bytes_get_uint(&b, 1);
	reserved = bytes_get_uint(&b, 1);
	h.attempt = (uint32_t)bytes_get_uint(&b, 4);
	h.entry = bytes_get_uint(&b, 8);
	h.first_leaf = bytes_get_uint(&b, 8);
	h.leaf_count = (uint32_t)bytes_get_uint(&b, 4);
	h.count = (uint32_t)bytes_get_uint(&b, 4);
	h.bytes = bytes_get_uint(&b, 8);
	for (unsigned i = 0; i < LANE_RESERVED_BYTES; i++)
		reserved |= bytes_get_uint(&b, 1);
	if (reserved || !header_is_sound(&h))
		return HAUL_BAD_FRAME;
	*ret_header = h;
	return HAUL_OK;
}

void lane_pack_item_encode(const struct lane_pack_item *item, uint8_t ret_bytes[LANE_PACK_ITEM_BYTES])
{
	struct bytes b = bytes_of(ret_bytes, LANE_PACK_ITEM_BYTES);

	assert(item->bytes <= LANE_PACK_FILE_MAX);
	bytes_put_uint(&b, item->entry, 8);
	bytes_put_uint(&b, item->attempt, 4);
	bytes_put_uint(&b, item->bytes, 4);
	bytes_put(&b, item->digest.bytes, sizeof(item->digest.bytes));
	assert(haul_ok(bytes_end(&b)));
}

static void pack_item_decode(const uint8_t *at, struct lane_pack_item *ret_item)
{
	uint8_t copy[LANE_PACK_ITEM_BYTES];
	struct bytes b = bytes_of(copy, sizeof(copy));

	memcpy(copy, at, sizeof(copy));
	ret_item->entry = bytes_get_uint(&b, 8);
	ret_item->attempt = (uint32_t)bytes_get_uint(&b, 4);
	ret_item->bytes = (uint32_t)bytes_get_uint(&b, 4);
	bytes_get(&b, ret_item->digest.bytes, sizeof(ret_item->digest.bytes));
	ret_item->is_live = false;
}

haul_status lane_pack_items_decode(const uint8_t *table, uint32_t count, uint64_t content_bytes,
				   struct lane_pack_item *ret_items)
{
	uint64_t sum = 0; /* at most count * LANE_PACK_FILE_MAX: no overflow */

	for (uint32_t i = 0; i < count; i++) {
		pack_item_decode(table + (size_t)i * LANE_PACK_ITEM_BYTES, &ret_items[i]);
		if (ret_items[i].bytes > LANE_PACK_FILE_MAX)
			return HAUL_BAD_FRAME;
		sum += ret_items[i].bytes;
	}
	return sum == content_bytes ? HAUL_OK : HAUL_BAD_FRAME;
}

uint64_t lane_payload_bytes(const struct lane_header *h)
{
	switch (h->type) {
	case LANE_BLOCK:
		return h->flags & LANE_ZERO ? 0 : h->bytes + (uint64_t)h->leaf_count * HAUL_DIGEST_BYTES;
	case LANE_PACK:
		return (uint64_t)h->count * LANE_PACK_ITEM_BYTES + h->bytes;
	case LANE_DIGESTS:
		return (uint64_t)h->leaf_count * HAUL_DIGEST_BYTES;
	case LANE_END:
		break;
	}
	return 0;
}

uint32_t lane_leaf_bytes(const struct lane_header *h, uint32_t i)
{
	uint64_t start = (uint64_t)i * HAUL_LEAF_BYTES;
	uint64_t left = h->bytes > start ? h->bytes - start : 0;

	return left < HAUL_LEAF_BYTES ? (uint32_t)left : HAUL_LEAF_BYTES;
}
