/* Golden bytes and bounds of lane headers and pack items (docs/PROTOCOL.md "Lane frames"). */
#include "peer-protocol/lane_frame.h"

#include "cmocka_first.h"
#include "message_samples.h"

#include <string.h>

#define MIB UINT64_C(0x100000)
#define ZEROS "000000000000000000000000000000000000000000000000"

struct lane_sample {
	struct lane_header header;
	const char *hex;
	uint64_t payload;
};

/* 5 leaves, the last one of 10 bytes; a repaired block of zeros; 3 small files; digests; the end. */
static const struct lane_sample samples[] = {
	{ { LANE_BLOCK, 0, 1, 7, 2, 5, 20, 4 * MIB + 10, 0 },
	  "0100010000000002000000000000000700000000000000140000000500000000000000000040000a" ZEROS,
	  4 * MIB + 10 + 80 },
	{ { LANE_BLOCK, LANE_ZERO | LANE_REPAIR, 1, 256, 0, 16, 0, 16 * MIB, 0 },
	  "01050100000000000000000000000100000000000000000000000010000000000000000001000000" ZEROS,
	  0 },
	{ { LANE_PACK, 0, 1, 0, 0, 0, 0, 300, 3 },
	  "0200010000000000000000000000000000000000000000000000000000000003000000000000012c" ZEROS,
	  396 },
	{ { LANE_DIGESTS, 0, 1, 7, 2, 2, 0, MIB + 1, 0 },
	  "03000100000000020000000000000007000000000000000000000002000000000000000000100001" ZEROS,
	  32 },
	{ { LANE_END, 0, 0, 0, 0, 0, 0, 0, 0 },
	  "04000000000000000000000000000000000000000000000000000000000000000000000000000000" ZEROS,
	  0 },
};
enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

static void headers_have_their_golden_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLES; i++) {
		uint8_t bytes[LANE_HEADER_BYTES], again[LANE_HEADER_BYTES];
		char hex[2 * LANE_HEADER_BYTES + 1];
		struct lane_header h;

		lane_header_encode(&samples[i].header, bytes);
		hex_of_bytes(bytes, sizeof(bytes), hex);
		assert_string_equal(hex, samples[i].hex);
		assert_true(is_documented(hex));
		assert_ok(lane_header_decode(bytes, &h));
		lane_header_encode(&h, again);
		assert_memory_equal(bytes, again, sizeof(bytes));
		assert_true(h.entry == samples[i].header.entry && h.first_leaf == samples[i].header.first_leaf);
		assert_true(lane_payload_bytes(&h) == samples[i].payload);
	}
}

static void leaves_are_full_but_the_last(void **state)
{
	(void)state;
	assert_int_equal(lane_leaf_bytes(&samples[0].header, 0), MIB);
	assert_int_equal(lane_leaf_bytes(&samples[0].header, 3), MIB);
	assert_int_equal(lane_leaf_bytes(&samples[0].header, 4), 10);
	assert_int_equal(lane_leaf_bytes(&samples[1].header, 15), MIB);
}

/* One byte of a sample changed. */
static haul_status decode_with(size_t sample, size_t at, uint8_t value)
{
	uint8_t bytes[LANE_HEADER_BYTES];
	struct lane_header h;

	(void)bytes_of_hex(samples[sample].hex, bytes, sizeof(bytes));
	bytes[at] = value;
	return lane_header_decode(bytes, &h);
}

static void impossible_headers_are_refused(void **state)
{
	static const struct {
		size_t sample, at;
		uint8_t value;
	} cases[] = {
		{ 0, 0, 0 },     { 0, 0, 5 },  { 0, 1, 2 },  { 0, 1, 8 },     { 0, 1, 16 },  { 0, 2, 0 },
		{ 0, 2, 2 },     { 0, 3, 1 },  { 0, 27, 0 }, { 0, 27, 4 },    { 0, 27, 6 },  { 0, 27, 17 },
		{ 0, 31, 1 },    { 0, 16, 1 }, { 0, 32, 1 }, { 0, 37, 0x50 }, { 1, 27, 17 }, { 1, 39, 1 },
		{ 2, 4, 1 },     { 2, 15, 1 }, { 2, 23, 1 }, { 2, 27, 1 },    { 2, 31, 0 },  { 2, 30, 5 },
		{ 2, 37, 0x0d }, { 2, 1, 1 },  { 3, 1, 1 },  { 3, 27, 1 },    { 3, 27, 3 },  { 4, 1, 1 },
		{ 4, 2, 1 },     { 4, 4, 1 },  { 4, 8, 1 },  { 4, 24, 1 },    { 4, 31, 1 },  { 4, 39, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		haul_status st = decode_with(cases[i].sample, cases[i].at, cases[i].value);

		if (st.code != HAUL_CODE_BAD_FRAME)
			fail_msg("sample %zu, byte %zu = %u: %s", cases[i].sample, cases[i].at, cases[i].value,
				 haul_status_text(st));
	}
	for (size_t sample = 0; sample < SAMPLES; sample++) {
		for (size_t at = 40; at < LANE_HEADER_BYTES; at++)
			assert_code(decode_with(sample, at, 1), HAUL_BAD_FRAME);
	}
	assert_ok(decode_with(0, 1, LANE_REPAIR));
	assert_ok(decode_with(2, 30, 4 - 1)); /* 771 items */
}

static haul_status decode_block(uint64_t first_leaf, uint32_t leaf_count, uint64_t file_bytes)
{
	uint8_t bytes[LANE_HEADER_BYTES];
	struct lane_header h;

	(void)bytes_of_hex(samples[0].hex, bytes, sizeof(bytes));
	for (int i = 0; i < 8; i++) {
		bytes[16 + i] = (uint8_t)(first_leaf >> (56 - 8 * i));
		bytes[32 + i] = (uint8_t)(file_bytes >> (56 - 8 * i));
	}
	bytes[27] = (uint8_t)leaf_count;
	return lane_header_decode(bytes, &h);
}

static void a_run_of_leaves_fits_its_bytes(void **state)
{
	const uint64_t last = UINT64_C(1) << 43;

	(void)state;
	assert_ok(decode_block(0, 1, 0)); /* an empty file has one empty leaf */
	assert_code(decode_block(1, 1, 0), HAUL_BAD_FRAME);
	assert_code(decode_block(0, 2, MIB), HAUL_BAD_FRAME);
	assert_ok(decode_block(0, 2, MIB + 1));
	assert_ok(decode_block(0, 2, 2 * MIB));
	assert_code(decode_block(0, 2, 2 * MIB + 1), HAUL_BAD_FRAME);
	assert_ok(decode_block(last - 1, 1, 5));
	assert_code(decode_block(last, 1, 5), HAUL_BAD_FRAME);
	assert_code(decode_block(UINT64_MAX, 1, 5), HAUL_BAD_FRAME);
}

static void pack_items_have_their_golden_bytes(void **state)
{
	static const char hex[] = "000000000000010000000002000001f4"
				  "aa0000000000000000000000000000bb"
				  "00000000000001010000000000000000"
				  "00000000000000000000000000000000";
	const struct lane_pack_item item = {
		.entry = 256, .attempt = 2, .bytes = 500, .digest = { { 0xaa, [15] = 0xbb } }
	};
	uint8_t table[64], own[LANE_PACK_ITEM_BYTES];
	struct lane_pack_item items[2];
	char own_hex[2 * LANE_PACK_ITEM_BYTES + 1];

	(void)state;
	(void)bytes_of_hex(hex, table, sizeof(table));
	lane_pack_item_encode(&item, own);
	assert_memory_equal(own, table, sizeof(own));
	hex_of_bytes(own, sizeof(own), own_hex);
	assert_true(is_documented(own_hex));
	assert_ok(lane_pack_items_decode(table, 2, 500, items));
	assert_true(items[0].entry == 256 && items[0].attempt == 2 && items[0].bytes == 500);
	assert_true(items[0].digest.bytes[15] == 0xbb && items[1].entry == 257 && items[1].bytes == 0);
	assert_code(lane_pack_items_decode(table, 2, 499, items), HAUL_BAD_FRAME);
	assert_code(lane_pack_items_decode(table, 2, 501, items), HAUL_BAD_FRAME);
	table[12] = 0, table[13] = 4, table[14] = 0, table[15] = 0;
	assert_ok(lane_pack_items_decode(table, 2, LANE_PACK_FILE_MAX, items));
	table[15] = 1;
	assert_code(lane_pack_items_decode(table, 2, LANE_PACK_FILE_MAX + 1, items), HAUL_BAD_FRAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_have_their_golden_bytes),    cmocka_unit_test(leaves_are_full_but_the_last),
		cmocka_unit_test(impossible_headers_are_refused),     cmocka_unit_test(a_run_of_leaves_fits_its_bytes),
		cmocka_unit_test(pack_items_have_their_golden_bytes),
	};

	return cmocka_run_group_tests_name("lane_frame", tests, NULL, NULL);
}
