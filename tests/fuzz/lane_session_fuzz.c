/*
 * A lane's stream. Headers, item tables and digests are the input's bytes; contents are only said to have arrived, so
 * that a few bytes of input stand for megabytes. The session must stay within the memory it was given.
 */
#include "peer-protocol/lane_session.h"

#include <stdlib.h>
#include <string.h>

enum { FUZZ_BLOCK_BYTES = 2 << 20, FUZZ_STEPS_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static enum grant_answer answer(void *ctx, enum lane_frame_type type, uint64_t entry, uint32_t attempt,
				uint64_t first_leaf, uint32_t leaf_count, uint64_t bytes)
{
	(void)ctx;
	(void)first_leaf;
	require(type != LANE_END && leaf_count >= 1 && leaf_count <= HAUL_BLOCK_LEAVES_MAX);
	require(bytes <= (uint64_t)leaf_count * HAUL_LEAF_BYTES);
	if (attempt & 1)
		return GRANT_OLD;
	return entry < 1000 ? GRANT_LIVE : GRANT_NONE;
}

static void check_update(const struct lane_update *u, const uint8_t *block)
{
	const uint8_t *end = block + FUZZ_BLOCK_BYTES;

	if (u->action == LANE_LEAF_ARRIVED || u->action == LANE_BLOCK_ARRIVED)
		require(u->leaf_data >= block && u->leaf_data + u->leaf_bytes <= end &&
			u->leaf < u->header->leaf_count);
	if (u->action == LANE_PACK_ARRIVED)
		require(u->contents >= block && u->contents + u->header->bytes <= end);
}

/* Bytes that arrive now: real ones where they mean something, else as many as one byte of input says. */
static size_t arrive(struct lane_session *s, const uint8_t **data, size_t *size, uint8_t *at, size_t want)
{
	bool is_content = s->state == LANE_STATE_LEAF || s->state == LANE_STATE_DROP ||
			  (s->state == LANE_STATE_PACK && s->have >= s->header.count * (size_t)LANE_PACK_ITEM_BYTES);
	size_t n = want;

	if (is_content) {
		size_t part = (size_t) * *data * 4099;

		*data += 1;
		*size -= 1;
		return part && part < want ? part : want;
	}
	n = n < *size ? n : *size;
	memcpy(at, *data, n);
	*data += n;
	*size -= n;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct lane_session s;
	static uint8_t block[FUZZ_BLOCK_BYTES];
	struct lane_session_config cfg = { .block_bytes = FUZZ_BLOCK_BYTES, .is_granted = answer };
	struct haul_fault fault;
	char text[64];

	lane_session_open(&s, &cfg);
	for (unsigned step = 0; size && step < FUZZ_STEPS_MAX; step++) {
		struct lane_update u;
		size_t want;
		uint8_t *at;

		lane_session_want(&s, &at, &want);
		if (!want)
			break;
		if (haul_failed(lane_session_received(&s, arrive(&s, &data, &size, at, want), &u, &fault))) {
			require(s.state == LANE_STATE_FAILED);
			break;
		}
		check_update(&u, block);
		if (u.action == LANE_NEED_BLOCK)
			lane_session_give(&s, block, sizeof(block));
	}
	require(haul_ok(lane_session_eof(&s, &fault)) == (s.state == LANE_STATE_ENDED));
	(void)lane_session_describe(&s, text, sizeof(text));
	return 0;
}
