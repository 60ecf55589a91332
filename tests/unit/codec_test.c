/* Golden bytes, round trips, cut and lengthened frames. The bounds of single fields are in codec_bounds_test.c. */
#include "peer-protocol/codec.h"

#include "cmocka_first.h"
#include "message_samples.h"

#include <msgpack.h>

#include <stdlib.h>
#include <string.h>

enum { FRAME_CAP = 4096 };

static void check_hex(const struct message_buffer *b, const char *expected)
{
	char hex[2 * FRAME_CAP + 1];

	assert_true(b->len <= FRAME_CAP);
	hex_of_bytes(b->data, b->len, hex);
	assert_string_equal(hex, expected);
}

static void every_type_encodes_to_its_golden_bytes(void **state)
{
	bool seen[MSG_TYPE_LAST + 1] = { false };

	(void)state;
	for (size_t i = 0; i < message_sample_count; i++) {
		struct message_buffer b = { 0 };

		assert_ok(message_encode(&b, message_samples[i].message));
		check_hex(&b, message_samples[i].hex);
		seen[message_samples[i].message->type] = true;
		message_buffer_close(&b);
	}
	for (int type = 1; type <= MSG_TYPE_LAST; type++)
		assert_true(seen[type]);
}

static void golden_bytes_decode_and_encode_to_themselves(void **state)
{
	struct message_decoder *d = message_decoder_new();

	(void)state;
	for (size_t i = 0; i < message_sample_count; i++) {
		uint8_t frame[FRAME_CAP];
		size_t len = bytes_of_hex(message_samples[i].hex, frame, sizeof(frame)), used;
		struct message_buffer b = { 0 };
		struct message m;

		assert_ok(message_decode(d, frame, len, &used, &m));
		assert_int_equal(used, len);
		assert_int_equal(m.type, message_samples[i].message->type);
		assert_ok(message_encode(&b, &m));
		check_hex(&b, message_samples[i].hex);
		message_buffer_close(&b);
	}
	message_decoder_free(d);
}

static void decoded_fields_are_those_of_the_sample(void **state)
{
	struct message_decoder *d = message_decoder_new();
	uint8_t frame[FRAME_CAP];
	const struct manifest_entry *e;
	struct message m;
	size_t used, len = 0;

	(void)state;
	for (size_t i = 0; i < message_sample_count; i++) {
		if (!len && message_samples[i].message->type == MSG_MANIFEST)
			len = bytes_of_hex(message_samples[i].hex, frame, sizeof(frame));
	}
	assert_ok(message_decode(d, frame, len, &used, &m));
	assert_int_equal(m.manifest.record_count, 5);
	e = &m.manifest.records[1].entry;
	assert_true(e->index == 1 && e->parent == 0 && e->kind == ENTRY_FILE && e->size == 1048577);
	assert_int_equal(e->mtime.sec, -5);
	assert_true(e->mtime.nsec == 7 && e->mode == 04755 && e->owner == 0 && e->group == 1 && e->link_to == 0);
	assert_true(e->attribute_count == 1 && e->flags == 7 && e->attempt == 2 && e->extra_count == 1);
	assert_true(e->source_id[0] == 0xaa && e->source_id[15] == 0xbb && e->root.bytes[15] == 0xdd);
	assert_memory_equal(e->name.at, "f\xff", 2);
	assert_memory_equal(e->extra[0].bytes.at, "\x01\x02", 2);
	assert_true(e->attributes[0].name_len == 6 && e->attributes[0].value_len == 2);
	assert_memory_equal(e->attributes[0].name, "user.k", 6);
	assert_memory_equal(e->attributes[0].value, "v\0", 2);
	e = &m.manifest.records[0].entry;
	assert_true(e->parent == HAUL_NO_INDEX && e->owner == UINT32_MAX && e->link_to == HAUL_NO_INDEX);
	assert_true(m.manifest.records[4].dir_end.directory == HAUL_NO_INDEX);
	assert_int_equal(m.manifest.records[4].dir_end.error, HAUL_CODE_DENIED);
	message_decoder_free(d);
}

/* A decoder that reads too far is found by the address sanitizer, since the bytes are copied to a block of their size.
 */
static haul_status decode_exact(struct message_decoder *d, const uint8_t *bytes, size_t len, size_t *ret_used)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct message m;
	haul_status st;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	st = message_decode(d, copy, len, ret_used, &m);
	free(copy);
	return st;
}

static void a_cut_frame_needs_more_and_a_shortened_one_is_refused(void **state)
{
	struct message_decoder *d = message_decoder_new();

	(void)state;
	for (size_t i = 0; i < message_sample_count; i++) {
		uint8_t frame[FRAME_CAP];
		size_t len = bytes_of_hex(message_samples[i].hex, frame, sizeof(frame)), used = 99;

		for (size_t cut = 0; cut < len; cut++) {
			assert_ok(decode_exact(d, frame, cut, &used));
			assert_int_equal(used, 0);
		}
		for (size_t cut = 4; cut < len; cut++) {
			frame[2] = (uint8_t)((cut - 4) >> 8);
			frame[3] = (uint8_t)(cut - 4);
			assert_code(decode_exact(d, frame, cut, &used), HAUL_BAD_FRAME);
		}
	}
	message_decoder_free(d);
}

/* The frame with `more` behind it inside its length, and `elements` added to the outer array's count. */
static haul_status decode_longer(struct message_decoder *d, const char *hex, unsigned elements, const uint8_t *more,
				 size_t more_len)
{
	uint8_t frame[FRAME_CAP];
	size_t len = bytes_of_hex(hex, frame, sizeof(frame)), used;
	bool is_long = frame[4] == 0xdc; /* array 16 */
	unsigned count = (is_long ? (unsigned)frame[5] << 8 | frame[6] : frame[4] & 15u) + elements;

	if (!is_long) {
		memmove(frame + 7, frame + 5, len - 5);
		len += 2;
	}
	frame[4] = 0xdc;
	frame[5] = (uint8_t)(count >> 8);
	frame[6] = (uint8_t)count;
	memcpy(frame + len, more, more_len);
	len += more_len;
	frame[2] = (uint8_t)((len - 4) >> 8);
	frame[3] = (uint8_t)(len - 4);
	return decode_exact(d, frame, len, &used);
}

static void appended_elements_are_skipped_within_bounds(void **state)
{
	static const uint8_t map_of_things[] = { 0x83, 0xa1, 'a', 0x93, 1, 0xc0, 0xd4, 1, 2,    0xcb, 1, 2, 3,
						 4,    5,    6,   7,    8, 0xc4, 1,    9, 0xc7, 1,    3, 9, 0x90 };
	static const uint8_t deep[] = { 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x01 };
	static const uint8_t claims[] = { 0xdd, 0xff, 0xff, 0xff, 0xff, 1, 2, 3 };
	static const uint8_t never_used[] = { 0xc1 };
	struct message_decoder *d = message_decoder_new();
	uint8_t ones[65];

	(void)state;
	memset(ones, 1, sizeof(ones));
	for (size_t i = 0; i < message_sample_count; i++) {
		const char *hex = message_samples[i].hex;

		assert_ok(decode_longer(d, hex, 0, ones, 0));
		assert_ok(decode_longer(d, hex, 1, map_of_things, sizeof(map_of_things)));
		assert_ok(decode_longer(d, hex, 64, ones, 64));
		assert_ok(decode_longer(d, hex, 1, deep + 1, sizeof(deep) - 1));
		assert_code(decode_longer(d, hex, 1, deep, sizeof(deep)), HAUL_BAD_FRAME);
		assert_code(decode_longer(d, hex, 65, ones, 65), HAUL_BAD_FRAME);
		assert_code(decode_longer(d, hex, 0, ones, 1), HAUL_BAD_FRAME);
		assert_code(decode_longer(d, hex, 1, ones, 0), HAUL_BAD_FRAME);
		assert_code(decode_longer(d, hex, 1, claims, sizeof(claims)), HAUL_BAD_FRAME);
		assert_code(decode_longer(d, hex, 1, never_used, sizeof(never_used)), HAUL_BAD_FRAME);
	}
	message_decoder_free(d);
}

static void a_frame_has_a_length_within_its_bounds(void **state)
{
	static const uint8_t none[] = { 0, 0, 0, 0 }, longest[] = { 0, 4, 0, 0 }, too_long[] = { 0, 4, 0, 1 };
	struct message_decoder *d = message_decoder_new();
	size_t used;

	(void)state;
	assert_code(decode_exact(d, none, 4, &used), HAUL_BAD_FRAME);
	assert_code(decode_exact(d, too_long, 4, &used), HAUL_OVERFLOW);
	assert_ok(decode_exact(d, longest, 4, &used));
	assert_int_equal(used, 0);
	message_decoder_free(d);
}

static void an_unknown_type_or_a_missing_element_is_refused(void **state)
{
	static const uint8_t zero[] = { 0, 0, 0, 2, 0x91, 0 }, next[] = { 0, 0, 0, 2, 0x91, MSG_TYPE_LAST + 1 };
	static const uint8_t empty[] = { 0, 0, 0, 1, 0x90 }, no_array[] = { 0, 0, 0, 1, 23 };
	static const uint8_t lacks_last[] = { 0, 0, 0, 3, 0x92, MSG_CREDIT, 1 };
	struct message_decoder *d = message_decoder_new();
	size_t used;

	(void)state;
	assert_code(decode_exact(d, zero, sizeof(zero), &used), HAUL_BAD_FRAME);
	assert_code(decode_exact(d, next, sizeof(next), &used), HAUL_BAD_FRAME);
	assert_code(decode_exact(d, empty, sizeof(empty), &used), HAUL_BAD_FRAME);
	assert_code(decode_exact(d, no_array, sizeof(no_array), &used), HAUL_BAD_FRAME);
	assert_code(decode_exact(d, lacks_last, sizeof(lacks_last), &used), HAUL_BAD_FRAME);
	assert_string_equal(message_name(MSG_TYPE_LAST + 1), "unknown");
	assert_string_equal(message_name(MSG_LANE_OK), "LANE_OK");
	message_decoder_free(d);
}

static struct manifest_record long_record(char name[HAUL_NAME_MAX])
{
	memset(name, 'n', HAUL_NAME_MAX);
	return (struct manifest_record){
		.type = RECORD_ENTRY,
		.entry = { .index = UINT64_MAX - 1,
			   .parent = 5,
			   .name = { name, HAUL_NAME_MAX },
			   .kind = ENTRY_FILE,
			   .size = MESSAGE_SIZE_MAX,
			   .mtime = { INT64_MIN, 999999999 },
			   .mode = 07777,
			   .owner = 65535,
			   .group = 65535,
			   .link_to = UINT64_MAX - 1,
			   .flags = UINT32_MAX,
			   .source_id = { 1 },
			   .root = { { 1 } } },
	};
}

static void a_record_takes_no_more_than_its_upper_bound(void **state)
{
	char name[HAUL_NAME_MAX];
	struct manifest_record r = long_record(name);
	struct message m = { .type = MSG_MANIFEST, .manifest = { .records = &r, .record_count = 1 } };
	struct message_buffer b = { 0 };

	(void)state;
	assert_ok(message_encode(&b, &m));
	assert_true(manifest_record_bytes_max(&r) >= b.len - 7);
	assert_true(manifest_record_bytes_max(&r) < b.len + 100);
	message_buffer_close(&b);
}

static void what_does_not_fit_a_frame_leaves_the_buffer_as_it_was(void **state)
{
	char name[HAUL_NAME_MAX];
	struct manifest_record *records = calloc(MESSAGE_RECORDS_MAX, sizeof(*records));
	struct message m = { .type = MSG_MANIFEST,
			     .manifest = { .records = records, .record_count = MESSAGE_RECORDS_MAX } };
	struct message done = { .type = MSG_DONE };
	struct message_buffer b = { 0 };

	(void)state;
	assert_non_null(records);
	for (size_t i = 0; i < MESSAGE_RECORDS_MAX; i++)
		records[i] = long_record(name);
	assert_ok(message_encode(&b, &done));
	assert_code(message_encode(&b, &m), HAUL_OVERFLOW);
	check_hex(&b, "000000029117");
	records[0].entry.mode = 010000;
	assert_code(message_encode(&b, &m), HAUL_BAD_VALUE);
	check_hex(&b, "000000029117");
	assert_ok(message_encode(&b, &done));
	check_hex(&b, "000000029117000000029117");
	message_buffer_close(&b);
	free(records);
}

/* Most memory for fewest bytes: WANT records without ranges. */
static void memory_stays_within_the_promised_multiple(void **state)
{
	struct want *wants = calloc(MESSAGE_RECORDS_MAX, sizeof(*wants));
	struct message m = { .type = MSG_WANT, .want = { .wants = wants, .want_count = MESSAGE_RECORDS_MAX } };
	struct message_decoder *d = message_decoder_new();
	struct message_buffer b = { 0 };
	size_t used;

	(void)state;
	assert_non_null(wants);
	assert_ok(message_encode(&b, &m));
	assert_ok(message_decode(d, b.data, b.len, &used, &m));
	assert_int_equal(m.want.want_count, MESSAGE_RECORDS_MAX);
	message_buffer_close(&b);
	message_decoder_free(d);
	free(wants);
}

static void every_sample_is_documented(void **state)
{
	(void)state;
	for (size_t i = 0; i < message_sample_count; i++) {
		if (!is_documented(message_samples[i].hex))
			fail_msg("docs/PROTOCOL.md lacks the bytes of %s", message_samples[i].name);
	}
	assert_false(is_documented("00000002911700"));
}

/* Someone else's reader of the format understands what we write. */
static void golden_bytes_are_msgpack(void **state)
{
	(void)state;
	for (size_t i = 0; i < message_sample_count; i++) {
		uint8_t frame[FRAME_CAP];
		size_t len = bytes_of_hex(message_samples[i].hex, frame, sizeof(frame)), at = 4;
		msgpack_unpacked u;

		msgpack_unpacked_init(&u);
		assert_int_equal(msgpack_unpack_next(&u, (const char *)frame, len, &at), MSGPACK_UNPACK_SUCCESS);
		assert_int_equal(at, len);
		assert_int_equal(u.data.type, MSGPACK_OBJECT_ARRAY);
		assert_int_equal(u.data.via.array.ptr[0].via.u64, message_samples[i].message->type);
		msgpack_unpacked_destroy(&u);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_encodes_to_its_golden_bytes),
		cmocka_unit_test(golden_bytes_decode_and_encode_to_themselves),
		cmocka_unit_test(decoded_fields_are_those_of_the_sample),
		cmocka_unit_test(a_cut_frame_needs_more_and_a_shortened_one_is_refused),
		cmocka_unit_test(appended_elements_are_skipped_within_bounds),
		cmocka_unit_test(a_frame_has_a_length_within_its_bounds),
		cmocka_unit_test(an_unknown_type_or_a_missing_element_is_refused),
		cmocka_unit_test(a_record_takes_no_more_than_its_upper_bound),
		cmocka_unit_test(what_does_not_fit_a_frame_leaves_the_buffer_as_it_was),
		cmocka_unit_test(memory_stays_within_the_promised_multiple),
		cmocka_unit_test(every_sample_is_documented),
		cmocka_unit_test(golden_bytes_are_msgpack),
	};

	return cmocka_run_group_tests_name("codec", tests, NULL, NULL);
}
