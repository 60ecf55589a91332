/*
 * The receiving half of a lane. The caller asks where bytes go, puts them there and says how many; what is whole comes
 * out as one action. Every header is decoded (lane_frame.c) and its grant is asked for before its payload gets a place.
 */
#include "peer-protocol/lane_session.h"

#include "engine/base/bytes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

void lane_session_open(struct lane_session *s, const struct lane_session_config *cfg)
{
	assert(cfg->is_granted && cfg->block_bytes);
	s->cfg = *cfg;
	s->state = LANE_STATE_HEADER;
	s->have = 0;
	s->leaf = 0;
	s->drop_left = 0;
	s->block = NULL;
	s->block_cap = 0;
	s->header = (struct lane_header){ .type = LANE_END };
}

static size_t pack_table_bytes(const struct lane_session *s)
{
	return (size_t)s->header.count * LANE_PACK_ITEM_BYTES;
}

/* The item table is taken by itself, so that it is checked before any content comes. */
static size_t pack_part_bytes(const struct lane_session *s)
{
	return s->have < pack_table_bytes(s) ? pack_table_bytes(s) : (size_t)lane_payload_bytes(&s->header);
}

void lane_session_want(struct lane_session *s, uint8_t **ret_at, size_t *ret_len)
{
	uint8_t *at = NULL;
	size_t len = 0;

	switch (s->state) {
	case LANE_STATE_HEADER:
		at = s->header_bytes;
		len = LANE_HEADER_BYTES;
		break;
	case LANE_STATE_LEAF:
		at = s->block + (size_t)s->leaf * HAUL_LEAF_BYTES;
		len = lane_leaf_bytes(&s->header, s->leaf);
		break;
	case LANE_STATE_DIGEST:
		at = s->digests[s->leaf].bytes;
		len = HAUL_DIGEST_BYTES;
		break;
	case LANE_STATE_PACK:
		at = s->block;
		len = pack_part_bytes(s);
		break;
	case LANE_STATE_DIGEST_LIST:
		at = s->digests[0].bytes;
		len = (size_t)lane_payload_bytes(&s->header);
		break;
	case LANE_STATE_DROP:
		*ret_at = s->scratch;
		*ret_len = s->drop_left < sizeof(s->scratch) ? (size_t)s->drop_left : sizeof(s->scratch);
		return;
	case LANE_STATE_WAIT_BLOCK:
	case LANE_STATE_ENDED:
	case LANE_STATE_FAILED:
		break;
	}
	*ret_at = at ? at + s->have : NULL;
	*ret_len = len - (at ? s->have : 0);
}

static void next_part(struct lane_session *s, enum lane_state state)
{
	s->state = state;
	s->have = 0;
}

/* Where a BLOCK goes on: at the next leaf, or at once at its digest when the leaf has no bytes. */
static void next_leaf(struct lane_session *s)
{
	next_part(s, lane_leaf_bytes(&s->header, s->leaf) ? LANE_STATE_LEAF : LANE_STATE_DIGEST);
}

static haul_status not_granted(uint64_t entry, uint32_t attempt, struct haul_fault *fault)
{
	return haul_fault_set(fault, HAUL_NOT_ANNOUNCED,
			      "lane data for entry %" PRIu64 " attempt %" PRIu32 " that was not asked for", entry,
			      attempt);
}

/* What to do with a BLOCK or DIGESTS frame whose grant is live. */
static haul_status on_granted(struct lane_session *s, struct lane_update *out, struct haul_fault *fault)
{
	if (s->header.flags & LANE_ZERO) {
		out->action = LANE_ZERO_ARRIVED;
		return HAUL_OK;
	}
	/* DIGESTS too: what they stand for is read into a block, to be compared. */
	if (s->header.bytes > s->cfg.block_bytes)
		return haul_fault_set(fault, HAUL_BAD_FRAME,
				      "lane block of %" PRIu64 " bytes where %" PRIu32 " were agreed", s->header.bytes,
				      s->cfg.block_bytes);
	if (s->header.type == LANE_DIGESTS) {
		next_part(s, LANE_STATE_DIGEST_LIST);
		return HAUL_OK;
	}
	s->leaf = 0;
	s->state = LANE_STATE_WAIT_BLOCK;
	out->action = LANE_NEED_BLOCK;
	return HAUL_OK;
}

static haul_status on_leaves(struct lane_session *s, struct lane_update *out, struct haul_fault *fault)
{
	const struct lane_header *h = &s->header;

	switch (s->cfg.is_granted(s->cfg.ctx, h->type, h->entry, h->attempt, h->first_leaf, h->leaf_count, h->bytes)) {
	case GRANT_LIVE:
		return on_granted(s, out, fault);
	case GRANT_OLD:
		s->drop_left = lane_payload_bytes(h);
		if (s->drop_left)
			s->state = LANE_STATE_DROP;
		return HAUL_OK;
	case GRANT_NONE:
		break;
	}
	return not_granted(h->entry, h->attempt, fault);
}

static haul_status on_header(struct lane_session *s, struct lane_update *out, struct haul_fault *fault)
{
	haul_status st = lane_header_decode(s->header_bytes, &s->header);

	if (haul_failed(st))
		return haul_fault_set(fault, st, "malformed lane header");
	next_part(s, LANE_STATE_HEADER);
	out->header = &s->header;
	switch (s->header.type) {
	case LANE_BLOCK:
	case LANE_DIGESTS:
		return on_leaves(s, out, fault);
	case LANE_PACK:
		if (lane_payload_bytes(&s->header) > s->cfg.block_bytes)
			return haul_fault_set(fault, HAUL_BAD_FRAME, "lane pack longer than a block");
		s->state = LANE_STATE_WAIT_BLOCK;
		out->action = LANE_NEED_BLOCK;
		return HAUL_OK;
	case LANE_END:
		s->state = LANE_STATE_ENDED;
		out->action = LANE_HAS_ENDED;
		return HAUL_OK;
	}
	return haul_bug("lane frame type %d", (int)s->header.type);
}

void lane_session_give(struct lane_session *s, uint8_t *block, size_t cap)
{
	uint64_t need = s->header.type == LANE_PACK ? lane_payload_bytes(&s->header) : s->header.bytes;

	assert(s->state == LANE_STATE_WAIT_BLOCK && block && cap >= need);
	s->block = block;
	s->block_cap = cap;
	if (s->header.type == LANE_PACK)
		next_part(s, LANE_STATE_PACK);
	else
		next_leaf(s);
}

static void release_block(struct lane_session *s)
{
	s->block = NULL;
	s->block_cap = 0;
}

/* A leaf and its digest are there. */
static void on_leaf(struct lane_session *s, struct lane_update *out)
{
	out->leaf = s->leaf;
	out->leaf_data = s->block + (size_t)s->leaf * HAUL_LEAF_BYTES;
	out->leaf_bytes = lane_leaf_bytes(&s->header, s->leaf);
	out->digests = s->digests;
	if (++s->leaf < s->header.leaf_count) {
		out->action = LANE_LEAF_ARRIVED;
		next_leaf(s);
		return;
	}
	out->action = LANE_BLOCK_ARRIVED;
	release_block(s);
	next_part(s, LANE_STATE_HEADER);
}

/* The item table of a PACK is whole: is each of them wanted? */
static haul_status on_pack_table(struct lane_session *s, struct haul_fault *fault)
{
	haul_status st = lane_pack_items_decode(s->block, s->header.count, s->header.bytes, s->items);

	if (haul_failed(st))
		return haul_fault_set(fault, st, "malformed item table of a lane pack");
	for (uint32_t i = 0; i < s->header.count; i++) {
		struct lane_pack_item *item = &s->items[i];
		enum grant_answer answer =
		    s->cfg.is_granted(s->cfg.ctx, LANE_PACK, item->entry, item->attempt, 0, 1, item->bytes);

		if (answer == GRANT_NONE)
			return not_granted(item->entry, item->attempt, fault);
		item->is_live = answer == GRANT_LIVE;
	}
	return HAUL_OK;
}

static haul_status on_pack_bytes(struct lane_session *s, struct lane_update *out, struct haul_fault *fault)
{
	if (s->have == pack_table_bytes(s)) {
		haul_status st = on_pack_table(s, fault);

		if (haul_failed(st))
			return st;
	}
	if (s->have < lane_payload_bytes(&s->header))
		return HAUL_OK;
	out->action = LANE_PACK_ARRIVED;
	out->items = s->items;
	out->contents = s->block + pack_table_bytes(s);
	release_block(s);
	next_part(s, LANE_STATE_HEADER);
	return HAUL_OK;
}

/* The part that lane_session_want() described is whole. */
static haul_status on_part(struct lane_session *s, struct lane_update *out, struct haul_fault *fault)
{
	switch (s->state) {
	case LANE_STATE_HEADER:
		return on_header(s, out, fault);
	case LANE_STATE_LEAF:
		next_part(s, LANE_STATE_DIGEST);
		return HAUL_OK;
	case LANE_STATE_DIGEST:
		on_leaf(s, out);
		return HAUL_OK;
	case LANE_STATE_PACK:
		return on_pack_bytes(s, out, fault);
	case LANE_STATE_DIGEST_LIST:
		out->action = LANE_DIGESTS_ARRIVED;
		out->digests = s->digests;
		next_part(s, LANE_STATE_HEADER);
		return HAUL_OK;
	case LANE_STATE_DROP:
	case LANE_STATE_WAIT_BLOCK:
	case LANE_STATE_ENDED:
	case LANE_STATE_FAILED:
		break;
	}
	return haul_bug("lane part in state %d", (int)s->state);
}

haul_status lane_session_received(struct lane_session *s, size_t n, struct lane_update *ret_update,
				  struct haul_fault *fault)
{
	haul_status st;
	uint8_t *at;
	size_t wanted;

	*ret_update = (struct lane_update){ .action = LANE_DO_NOTHING, .header = &s->header };
	lane_session_want(s, &at, &wanted);
	assert(n <= wanted);
	if (!n)
		return HAUL_OK;
	if (s->state == LANE_STATE_DROP) {
		s->drop_left -= n;
		if (!s->drop_left)
			next_part(s, LANE_STATE_HEADER);
		return HAUL_OK;
	}
	s->have += n;
	if (n < wanted)
		return HAUL_OK;
	st = on_part(s, ret_update, fault);
	if (haul_failed(st))
		s->state = LANE_STATE_FAILED;
	return st;
}

haul_status lane_session_eof(struct lane_session *s, struct haul_fault *fault)
{
	char text[128];

	if (s->state == LANE_STATE_ENDED)
		return HAUL_OK;
	(void)lane_session_describe(s, text, sizeof(text));
	s->state = LANE_STATE_FAILED;
	return haul_fault_set(fault, HAUL_LOST, "connection ended in the midst of %s", text);
}

const char *lane_session_describe(const struct lane_session *s, char *ret_text, size_t cap)
{
	static const char *const names[] = {
		[LANE_STATE_HEADER] = "waits for a frame",
		[LANE_STATE_WAIT_BLOCK] = "waits for memory for a block",
		[LANE_STATE_PACK] = "receives a pack of small files",
		[LANE_STATE_DIGEST_LIST] = "receives digests",
		[LANE_STATE_DROP] = "drops what is no longer wanted",
		[LANE_STATE_ENDED] = "ended",
		[LANE_STATE_FAILED] = "failed",
	};

	if (s->state == LANE_STATE_LEAF || s->state == LANE_STATE_DIGEST)
		(void)snprintf(ret_text, cap, "lane: leaf %" PRIu64 " of entry %" PRIu64 " attempt %" PRIu32,
			       s->header.first_leaf + s->leaf, s->header.entry, s->header.attempt);
	else
		(void)snprintf(ret_text, cap, "lane: %s", names[s->state]);
	return ret_text;
}
