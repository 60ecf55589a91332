/* A stream of lane frames, fed in pieces of 1, 7 and as many bytes as are asked for: the same actions come out. */
#include "peer-protocol/lane_session.h"

#include "cmocka_first.h"

#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, BLOCK_BYTES = 4 * MIB, STREAM_CAP = 6 * MIB, LOG_CAP = 64 };

struct fixture {
	struct lane_session session;
	uint8_t *stream; /* what the other side wrote */
	size_t len;
	uint8_t *block;
	char log[LOG_CAP]; /* a letter per action */
	size_t log_len;
	struct haul_fault fault;
};

/* Entry 1 is granted in attempt 1, entry 2 in attempt 0, nothing else. Entry 1 has 1 MiB and 10 bytes. */
static enum grant_answer answer(void *ctx, enum lane_frame_type type, uint64_t entry, uint32_t attempt,
				uint64_t first_leaf, uint32_t leaf_count, uint64_t bytes)
{
	(void)ctx;
	(void)type;
	if (entry == 1 && attempt == 0)
		return GRANT_OLD;
	if (entry == 1 && attempt == 1 && first_leaf + leaf_count <= 2 && bytes <= MIB + 10)
		return GRANT_LIVE;
	return entry == 2 && attempt == 0 ? GRANT_LIVE : GRANT_NONE;
}

static void open_fixture(struct fixture *f)
{
	struct lane_session_config cfg = { .block_bytes = BLOCK_BYTES, .is_granted = answer };

	f->len = f->log_len = 0;
	f->stream = malloc(STREAM_CAP);
	f->block = malloc(BLOCK_BYTES);
	assert_true(f->stream && f->block);
	lane_session_open(&f->session, &cfg);
}

static void close_fixture(struct fixture *f)
{
	free(f->stream);
	free(f->block);
}

static void put(struct fixture *f, const void *data, size_t len)
{
	assert_true(f->len + len <= STREAM_CAP);
	memcpy(f->stream + f->len, data, len);
	f->len += len;
}

static void put_header(struct fixture *f, struct lane_header h)
{
	uint8_t bytes[LANE_HEADER_BYTES];

	lane_header_encode(&h, bytes);
	put(f, bytes, sizeof(bytes));
}

static void put_run(struct fixture *f, uint8_t byte, size_t n)
{
	assert_true(f->len + n <= STREAM_CAP);
	memset(f->stream + f->len, byte, n);
	f->len += n;
}

static struct lane_header block_header(uint32_t attempt, uint8_t flags)
{
	return (struct lane_header){ .type = LANE_BLOCK,
				     .flags = flags,
				     .algorithm = 1,
				     .entry = 1,
				     .attempt = attempt,
				     .leaf_count = 2,
				     .bytes = MIB + 10 };
}

/* Bytes 'a', digest 'A'; then 10 bytes 'b', digest 'B'. */
static void put_block(struct fixture *f, uint32_t attempt)
{
	put_header(f, block_header(attempt, 0));
	put_run(f, 'a', MIB);
	put_run(f, 'A', HAUL_DIGEST_BYTES);
	put_run(f, 'b', 10);
	put_run(f, 'B', HAUL_DIGEST_BYTES);
}

static void put_item(struct fixture *f, uint64_t entry, uint32_t attempt, uint32_t bytes)
{
	struct lane_pack_item item = { .entry = entry, .attempt = attempt, .bytes = bytes };
	uint8_t at[LANE_PACK_ITEM_BYTES];

	lane_pack_item_encode(&item, at);
	put(f, at, sizeof(at));
}

static void on_leaf(const struct lane_update *u)
{
	assert_int_equal(u->leaf_bytes, u->leaf ? 10 : MIB);
	assert_int_equal(u->leaf_data[0], u->leaf ? 'b' : 'a');
	assert_int_equal(u->leaf_data[u->leaf_bytes - 1], u->leaf ? 'b' : 'a');
	assert_int_equal(u->digests[u->leaf].bytes[15], u->leaf ? 'B' : 'A');
	assert_int_equal(u->digests[0].bytes[0], 'A');
}

static void on_pack(const struct lane_update *u)
{
	assert_int_equal(u->header->count, 3);
	assert_true(u->items[0].entry == 2 && u->items[0].is_live && u->items[0].bytes == 3);
	assert_true(u->items[1].entry == 1 && !u->items[1].is_live);
	assert_true(u->items[2].bytes == 0 && u->items[2].is_live);
	assert_memory_equal(u->contents, "xxxyyyyy", 8);
}

static void on_action(struct fixture *f, const struct lane_update *u)
{
	static const char letters[] = {
		[LANE_DO_NOTHING] = '.',      [LANE_NEED_BLOCK] = 'N',   [LANE_LEAF_ARRIVED] = 'L',
		[LANE_BLOCK_ARRIVED] = 'B',   [LANE_ZERO_ARRIVED] = 'Z', [LANE_PACK_ARRIVED] = 'P',
		[LANE_DIGESTS_ARRIVED] = 'D', [LANE_HAS_ENDED] = 'E'
	};

	if (u->action == LANE_DO_NOTHING)
		return;
	assert_true(f->log_len + 1 < LOG_CAP);
	f->log[f->log_len++] = letters[u->action];
	if (u->action == LANE_NEED_BLOCK)
		lane_session_give(&f->session, f->block, BLOCK_BYTES);
	if (u->action == LANE_LEAF_ARRIVED || u->action == LANE_BLOCK_ARRIVED)
		on_leaf(u);
	if (u->action == LANE_PACK_ARRIVED)
		on_pack(u);
	if (u->action == LANE_DIGESTS_ARRIVED)
		assert_int_equal(u->digests[1].bytes[15], 'D');
}

/* Feed the stream in pieces of at most `piece` bytes; stops at a failure or when nothing is wanted. */
static haul_status run(struct fixture *f, size_t piece)
{
	haul_status st = HAUL_OK;
	size_t at = 0;

	while (haul_ok(st) && at < f->len) {
		struct lane_update u;
		uint8_t *to;
		size_t want;

		lane_session_want(&f->session, &to, &want);
		if (!want)
			break;
		want = want < piece ? want : piece;
		want = want < f->len - at ? want : f->len - at;
		memcpy(to, f->stream + at, want);
		at += want;
		st = lane_session_received(&f->session, want, &u, &f->fault);
		if (haul_ok(st))
			on_action(f, &u);
	}
	f->log[f->log_len] = 0;
	return st;
}

static void put_everything(struct fixture *f)
{
	put_block(f, 1);
	put_block(f, 0);
	put_header(f, block_header(0, LANE_ZERO));
	put_header(f, block_header(1, LANE_ZERO));
	put_header(f, (struct lane_header){ .type = LANE_PACK, .algorithm = 1, .bytes = 8, .count = 3 });
	put_item(f, 2, 0, 3);
	put_item(f, 1, 0, 5);
	put_item(f, 2, 0, 0);
	put(f, "xxxyyyyy", 8);
	put_header(
	    f,
	    (struct lane_header){
		.type = LANE_DIGESTS, .algorithm = 1, .entry = 1, .attempt = 1, .leaf_count = 2, .bytes = MIB + 10 });
	put_run(f, 'D', 2 * HAUL_DIGEST_BYTES);
}

static void the_same_actions_come_of_pieces_of_any_size(void **state)
{
	static const size_t pieces[] = { 1, 7, 4096, SIZE_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		static struct fixture f;

		open_fixture(&f);
		put_everything(&f);
		put_header(&f, (struct lane_header){ .type = LANE_END });
		assert_ok(run(&f, pieces[i]));
		assert_string_equal(f.log, "NLBZNPDE");
		assert_ok(lane_session_eof(&f.session, &f.fault));
		close_fixture(&f);
	}
}

static void an_empty_file_is_one_leaf_of_no_bytes(void **state)
{
	static struct fixture f;
	struct lane_update u;
	uint8_t *to;
	size_t want;

	(void)state;
	open_fixture(&f);
	put_header(&f, (struct lane_header){ .type = LANE_BLOCK, .algorithm = 1, .entry = 2, .leaf_count = 1 });
	assert_ok(run(&f, 64));
	lane_session_want(&f.session, &to, &want);
	assert_int_equal(want, HAUL_DIGEST_BYTES);
	memset(to, 9, want);
	assert_ok(lane_session_received(&f.session, want, &u, NULL));
	assert_int_equal(u.action, LANE_BLOCK_ARRIVED);
	assert_true(u.leaf == 0 && u.leaf_bytes == 0 && u.digests[0].bytes[0] == 9);
	close_fixture(&f);
}

static void check_refused(struct fixture *f, haul_status expected)
{
	uint8_t *to;
	size_t want;

	assert_code(run(f, 5000), expected);
	lane_session_want(&f->session, &to, &want);
	assert_int_equal(want, 0);
	assert_code(lane_session_eof(&f->session, NULL), HAUL_LOST);
	close_fixture(f);
}

static void what_was_not_granted_is_refused(void **state)
{
	static struct fixture f;

	(void)state;
	open_fixture(&f);
	put_block(&f, 2);
	check_refused(&f, HAUL_NOT_ANNOUNCED);

	open_fixture(&f);
	put_header(&f, (struct lane_header){ .type = LANE_PACK, .algorithm = 1, .bytes = 3, .count = 1 });
	put_item(&f, 3, 0, 3);
	check_refused(&f, HAUL_NOT_ANNOUNCED);

	open_fixture(&f); /* beyond what is granted of the entry */
	put_header(
	    &f, (struct lane_header){
		    .type = LANE_BLOCK, .algorithm = 1, .entry = 1, .attempt = 1, .leaf_count = 3, .bytes = 3 * MIB });
	check_refused(&f, HAUL_NOT_ANNOUNCED);
}

static void what_exceeds_a_block_is_refused(void **state)
{
	static struct fixture f;

	(void)state;
	open_fixture(&f);
	put_header(&f, (struct lane_header){
			   .type = LANE_BLOCK, .algorithm = 1, .entry = 2, .leaf_count = 5, .bytes = BLOCK_BYTES + 1 });
	check_refused(&f, HAUL_BAD_FRAME);
	open_fixture(&f);
	put_header(&f, (struct lane_header){
			   .type = LANE_PACK, .algorithm = 1, .bytes = BLOCK_BYTES - 32 * 20 + 1, .count = 20 });
	check_refused(&f, HAUL_BAD_FRAME);
	open_fixture(&f); /* what digests stand for is read into a block */
	put_header(&f,
		   (struct lane_header){
		       .type = LANE_DIGESTS, .algorithm = 1, .entry = 2, .leaf_count = 5, .bytes = BLOCK_BYTES + 1 });
	put_run(&f, 0, 5 * 16);
	check_refused(&f, HAUL_BAD_FRAME);
}

static void a_pack_whose_sizes_do_not_add_up_is_refused(void **state)
{
	static struct fixture f;

	(void)state;
	open_fixture(&f);
	put_header(&f, (struct lane_header){ .type = LANE_PACK, .algorithm = 1, .bytes = 8, .count = 1 });
	put_item(&f, 2, 0, 7);
	check_refused(&f, HAUL_BAD_FRAME);
	open_fixture(&f);
	put_run(&f, 0xff, LANE_HEADER_BYTES);
	check_refused(&f, HAUL_BAD_FRAME);
}

static void a_cut_anywhere_is_a_loss(void **state)
{
	static struct fixture f;
	char text[128];
	size_t len;

	(void)state;
	open_fixture(&f);
	put_everything(&f);
	len = f.len;
	assert_string_equal(lane_session_describe(&f.session, text, sizeof(text)), "lane: waits for a frame");
	for (size_t cut = 0; cut < len; cut += cut < MIB + 200 || cut > len - 500 ? 13 : 50021) {
		struct lane_session_config cfg = { .block_bytes = BLOCK_BYTES, .is_granted = answer };

		lane_session_open(&f.session, &cfg);
		f.len = cut;
		f.log_len = 0;
		assert_ok(run(&f, SIZE_MAX));
		if (cut == 13 * 10)
			assert_string_equal(lane_session_describe(&f.session, text, sizeof(text)),
					    "lane: leaf 0 of entry 1 attempt 1");
		assert_code(lane_session_eof(&f.session, &f.fault), HAUL_LOST);
		cut += cut == 13 * 20 ? MIB - 600 : 0; /* within a leaf one place is as good as another */
	}
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_actions_come_of_pieces_of_any_size),
		cmocka_unit_test(an_empty_file_is_one_leaf_of_no_bytes),
		cmocka_unit_test(what_was_not_granted_is_refused),
		cmocka_unit_test(what_exceeds_a_block_is_refused),
		cmocka_unit_test(a_pack_whose_sizes_do_not_add_up_is_refused),
		cmocka_unit_test(a_cut_anywhere_is_a_loss),
	};

	return cmocka_run_group_tests_name("lane_session", tests, NULL, NULL);
}
