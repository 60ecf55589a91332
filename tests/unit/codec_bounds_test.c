/*
 * Every bound of docs/PROTOCOL.md at its last allowed value and one beyond, as seen by the decoder.
 *
 * A sample's golden bytes are taken apart by msgpack-c's own reader, one element is replaced, and the whole is packed
 * again: so the bytes come from neither our encoder nor its checks. The bounds are written out here once more.
 */
#include "peer-protocol/codec.h"

#include "cmocka_first.h"
#include "message_samples.h"

#include <msgpack.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum how {
	NUMBER,
	NEGATIVE, /* minus the value */
	NAME_LEN, /* text of so many bytes without '/' */
	PATH_LEN, /* text of so many bytes with some '/' */
	COUNT,    /* so many copies of the array's first element */
	DIGESTS_LEN,
	TEXT, /* the literal text */
	NIL,
	TRUTH,
};

struct bound {
	const char *sample;
	const char *at; /* places in nested arrays; the type is 0 */
	enum how how;
	uint64_t value;
	bool is_good;
	const char *text;
};

#define GOOD(sample, at, how, value)                                                                                   \
	{                                                                                                              \
		sample, at, how, value, true, NULL                                                                     \
	}
#define BAD(sample, at, how, value)                                                                                    \
	{                                                                                                              \
		sample, at, how, value, false, NULL                                                                    \
	}
#define LIMIT(sample, at, how, value) GOOD(sample, at, how, value), BAD(sample, at, how, (value) + 1)
#define LIMITS(sample, at, how, low, high)                                                                             \
	BAD(sample, at, how, (low)-1), GOOD(sample, at, how, low), LIMIT(sample, at, how, high)
#define GOOD_TEXT(sample, at, literal)                                                                                 \
	{                                                                                                              \
		sample, at, TEXT, sizeof(literal) - 1, true, literal                                                   \
	}
#define BAD_TEXT(sample, at, literal)                                                                                  \
	{                                                                                                              \
		sample, at, TEXT, sizeof(literal) - 1, false, literal                                                  \
	}

#define U32 UINT64_C(0xffffffff)
#define SIZE_LAST UINT64_C(0x7fffffffffffffff)
#define LEAVES (UINT64_C(1) << 43)
#define MIB (UINT64_C(1) << 20)

static const struct bound bounds[] = {
	GOOD("HELLO", "1", NUMBER, 2),
	BAD("HELLO", "1", NUMBER, 0),
	BAD("HELLO", "1", NUMBER, 3),
	BAD("HELLO", "1", NEGATIVE, 1),
	LIMIT("HELLO", "2", NUMBER, 65535),
	LIMITS("HELLO", "3", NUMBER, 1, 65535),
	BAD("HELLO", "4", NUMBER, 0),
	GOOD("HELLO", "4", NUMBER, UINT64_MAX),
	LIMITS("HELLO", "5", NUMBER, 1, 64),
	GOOD("HELLO", "6", NUMBER, 1),
	BAD("HELLO", "6", NUMBER, 0),
	BAD("HELLO", "6", NUMBER, 3 * MIB),
	BAD("HELLO", "6", NUMBER, 32 * MIB),
	GOOD("HELLO", "7", NUMBER, MIB << 10),
	BAD("HELLO", "7", NUMBER, MIB << 11),
	BAD("HELLO", "7", NUMBER, MIB / 2),
	LIMITS("HELLO", "8", NUMBER, 1, 65535),
	LIMITS("HELLO", "9", NUMBER, 1, 65535),
	LIMIT("HELLO", "10", NAME_LEN, 64),
	GOOD("HELLO", "10", NAME_LEN, 0),
	LIMIT("HELLO", "11", NAME_LEN, 64),
	LIMITS("HELLO", "12.0.0", NAME_LEN, 1, 32),
	BAD("HELLO", "12.0.1", NUMBER, 1),
	BAD("HELLO", "12", COUNT, 2),
	BAD_TEXT("HELLO", "10", "a\0b"),

	LIMITS("LOOKUP", "1", NAME_LEN, 1, 64),
	LIMITS("LOOKUP", "2", COUNT, 1, 256),
	LIMIT("LOOKUP", "2.0", PATH_LEN, 65535),
	BAD("LOOKUP", "2.0", NAME_LEN, 256),
	BAD_TEXT("LOOKUP", "2.0", "/a"),
	BAD_TEXT("LOOKUP", "2.0", "a/"),
	BAD_TEXT("LOOKUP", "2.0", "a//b"),
	BAD_TEXT("LOOKUP", "2.0", "a/../b"),
	BAD_TEXT("LOOKUP", "2.0", "."),
	BAD_TEXT("LOOKUP", "2.0", "a\0b"),
	BAD_TEXT("LOOKUP", "2.0", "/"),
	BAD_TEXT("LOOKUP", "2.0", "a/.haul/b"),
	BAD_TEXT("LOOKUP", "2.0", ".HAUL-x"),
	GOOD_TEXT("LOOKUP", "2.0", ".haulage"),
	GOOD_TEXT("LOOKUP", "2.0", "a/b/..c"),

	GOOD("FOUND", "3.1.0", NUMBER, 1),
	BAD("FOUND", "3.0.0", NUMBER, 0),
	BAD("FOUND minimal", "3.0.0", NUMBER, 1),
	GOOD("FOUND minimal", "3.0.0", NUMBER, 4),
	BAD("FOUND minimal", "3.0.0", NUMBER, 5),
	LIMITS("FOUND", "3.1.1", NUMBER, 1, 7),
	LIMIT("FOUND", "3.0.2", NUMBER, 7),
	GOOD("FOUND", "3.0.2", NUMBER, 0),
	BAD("FOUND", "3.1.2", NUMBER, 1),
	LIMIT("FOUND", "3.1.3", NUMBER, SIZE_LAST),
	LIMIT("FOUND", "3.1.4", NUMBER, SIZE_LAST),
	GOOD("FOUND", "3.1.4", NEGATIVE, SIZE_LAST),
	LIMIT("FOUND", "3.1.5", NUMBER, 999999999),
	LIMITS("FOUND", "3", COUNT, 1, 256),
	GOOD("FOUND", "1", NUMBER, UINT64_MAX),

	LIMIT("LIST", "1", NAME_LEN, 64),
	BAD("LIST", "1", NAME_LEN, 0),
	LIMIT("LIST", "2", PATH_LEN, 65535),
	GOOD("LIST", "2", NAME_LEN, 0),
	LIMIT("LIST", "3", NAME_LEN, 255),
	GOOD("LIST", "3", NAME_LEN, 0),
	BAD_TEXT("LIST", "3", "a/b"),
	BAD("LIST", "4", NUMBER, 1),
	GOOD("LIST", "4", TRUTH, 1),
	BAD("LIST minimal", "4", TRUTH, 1),

	LIMIT("LISTING shares", "1", COUNT, 256),
	LIMITS("LISTING shares", "1.0.0", NAME_LEN, 1, 64),
	BAD("LISTING shares", "3", NUMBER, 0),
	BAD("LISTING shares", "3", TRUTH, 0),
	BAD("LISTING minimal", "3", TRUTH, 0),
	BAD("LISTING", "2", COUNT, 2),
	BAD("LISTING", "2", COUNT, 0),
	LIMIT("LISTING", "2.1.0", NAME_LEN, 255),
	BAD("LISTING", "2.1.0", NAME_LEN, 0),
	BAD_TEXT("LISTING", "2.1.0", "A"),
	GOOD_TEXT("LISTING", "2.1.0", "A "),
	LIMITS("LISTING", "2.0.1", NUMBER, 1, 7),
	LIMIT("LISTING", "2.0.2", NUMBER, 07777),
	LIMIT("LISTING", "2.0.3", NUMBER, SIZE_LAST),
	LIMIT("LISTING", "2.0.5", NUMBER, 999999999),
	BAD_TEXT("LISTING", "2.1.0", ".."),
	LIMITS("LISTING partials", "4.0.0", NAME_LEN, 32, 32),
	LIMIT("LISTING partials", "4.0.1", PATH_LEN, 4096),
	GOOD("LISTING partials", "4.0.1", NAME_LEN, 0),
	LIMIT("LISTING partials", "4.0.2", NUMBER, SIZE_LAST),
	LIMIT("LISTING partials", "4.0.3", NUMBER, 400000000),
	GOOD("LISTING partials", "4.0.4", NEGATIVE, 5),
	BAD("LISTING partials", "4.0.5", NUMBER, 1),
	BAD("LISTING partials", "4", COUNT, 2),

	BAD("JOB", "1", DIGESTS_LEN, 15),
	GOOD("JOB", "1", DIGESTS_LEN, 16),
	BAD("JOB", "1", DIGESTS_LEN, 17),
	GOOD("JOB", "1", NIL, 0),
	LIMITS("JOB", "2", NUMBER, 1, 2),
	BAD("JOB", "3", NUMBER, 0),
	BAD("JOB", "3", NUMBER, 1),
	BAD("JOB", "3", NUMBER, 3),
	LIMIT("JOB", "4", NUMBER, 63),
	LIMITS("JOB", "5", NAME_LEN, 1, 64),
	BAD("JOB", "6", NAME_LEN, 1),
	LIMIT("JOB minimal", "6", PATH_LEN, 65535),
	LIMITS("JOB", "7", COUNT, 1, 256),
	LIMIT("JOB", "7.0.0", PATH_LEN, 65535),
	LIMIT("JOB", "7.0.1", NAME_LEN, 255),
	BAD_TEXT("JOB", "7.0.1", "a/b"),
	LIMITS("JOB minimal", "8", NUMBER, 1, 16),
	LIMITS("JOB", "8", NUMBER, 1, 4), /* with 12 to join later */
	GOOD("JOB", "9", NUMBER, MIB),
	GOOD("JOB", "9", NUMBER, 16 * MIB),
	BAD("JOB", "9", NUMBER, 3 * MIB),
	BAD("JOB", "9", NUMBER, 32 * MIB),
	BAD("JOB", "9", NUMBER, MIB / 2),
	LIMIT("JOB", "10", NUMBER, UINT64_C(86400000000000)),
	LIMIT("JOB", "11", NUMBER, 5),
	LIMIT("JOB", "12", NUMBER, 5),
	BAD("JOB", "13", DIGESTS_LEN, 15),
	BAD("JOB", "13", DIGESTS_LEN, 17),
	GOOD("JOB", "13", NIL, 0),
	LIMIT("JOB", "14", NUMBER, 3),
	LIMIT("JOB", "15", NUMBER, 12), /* with the 4 to begin with */
	LIMIT("JOB minimal", "15", NUMBER, 15),
	BAD("JOB minimal", "3", NUMBER, 2),
	BAD("JOB minimal", "2", NUMBER, 3), /* a probe without bytes */
	BAD("JOB minimal", "16", NUMBER, MIB),
	BAD("JOB minimal", "4", NUMBER, 64),
	BAD("JOB probe", "2", NUMBER, 1),
	BAD("JOB probe", "2", NUMBER, 4),
	LIMIT("JOB probe", "4", NUMBER, 255),
	BAD("JOB probe", "6", PATH_LEN, 3),
	LIMITS("JOB probe", "16", NUMBER, MIB, UINT64_C(1) << 35),
	BAD("JOB probe", "16", NUMBER, 0),

	BAD("ACCEPT", "1", DIGESTS_LEN, 31),
	GOOD("ACCEPT", "1", DIGESTS_LEN, 32),
	BAD("ACCEPT", "1", DIGESTS_LEN, 33),
	LIMIT("ACCEPT", "5", NUMBER, 5),
	BAD("ACCEPT", "6", DIGESTS_LEN, 17),
	LIMITS("ACCEPT", "2", NUMBER, 1, 4), /* with 12 to join later */
	LIMIT("ACCEPT", "7", NUMBER, 12),
	BAD("ACCEPT", "3", NUMBER, MIB / 2),
	BAD("ACCEPT", "3", NUMBER, 32 * MIB),
	LIMITS("BUSY", "1", NUMBER, 1, U32),

	LIMITS("ERROR", "1", NUMBER, 1, 65535),
	LIMIT("ERROR", "2", NAME_LEN, 300),
	LIMIT("ERROR", "3", NAME_LEN, 65535),
	LIMIT("ERROR", "4", NAME_LEN, 64),
	LIMIT("ERROR", "5", NAME_LEN, 64),
	LIMIT("ERROR", "10", COUNT, 256),
	LIMITS("ERROR", "10.0", NAME_LEN, 1, 64),

	BAD("LANE_HELLO", "1", DIGESTS_LEN, 31),
	BAD("LANE_HELLO", "1", DIGESTS_LEN, 33),
	LIMIT("LANE_HELLO", "2", NUMBER, 15),
	LIMIT("LANE_HELLO", "3", NUMBER, U32),
	LIMIT("LANE_OK", "1", NUMBER, 15),
	LIMIT("LANE_OK", "2", NUMBER, U32),
	GOOD("CREDIT", "1", NUMBER, UINT64_MAX),
	BAD("CREDIT", "1", NEGATIVE, 1),

	LIMITS("OWNERS", "1", COUNT, 1, 1024),
	LIMIT("OWNERS", "1.0.0", NUMBER, 65535),
	LIMIT("OWNERS", "1.0.2", NUMBER, U32),
	LIMIT("OWNERS", "1.0.3", NAME_LEN, 256),

	LIMITS("MANIFEST", "1", COUNT, 1, 4096),
	BAD("MANIFEST", "1.1.0", NUMBER, 0),
	BAD("MANIFEST", "1.1.0", NUMBER, 3),
	LIMIT("MANIFEST", "1.1.1", NUMBER, UINT64_MAX - 1),
	LIMIT("MANIFEST", "1.1.2", NUMBER, UINT64_MAX - 1),
	GOOD("MANIFEST", "1.1.2", NIL, 0),
	LIMITS("MANIFEST", "1.1.3", NAME_LEN, 1, 255),
	BAD("MANIFEST", "1.1.3", NAME_LEN, 0),
	BAD_TEXT("MANIFEST", "1.1.3", "a/b"),
	BAD_TEXT("MANIFEST", "1.1.3", ".Haul"),
	BAD("MANIFEST", "1.1.4", NUMBER, 0),
	BAD("MANIFEST", "1.1.4", NUMBER, 2),
	BAD("MANIFEST", "1.1.4", NUMBER, 8),
	LIMIT("MANIFEST", "1.1.5", NUMBER, SIZE_LAST),
	BAD("MANIFEST", "1.0.5", NUMBER, 1),
	LIMIT("MANIFEST", "1.1.7", NUMBER, 999999999),
	LIMIT("MANIFEST", "1.1.8", NUMBER, 07777),
	LIMIT("MANIFEST", "1.1.9", NUMBER, 65535),
	LIMIT("MANIFEST", "1.1.10", NUMBER, 65535),
	LIMIT("MANIFEST", "1.1.11", NUMBER, UINT64_MAX - 1),
	BAD("MANIFEST", "1.0.11", NUMBER, 0),
	BAD("MANIFEST", "1.1.12", NUMBER, 1),
	BAD("MANIFEST", "1.1.13", NIL, 0),
	GOOD("MANIFEST", "1.1.13", COUNT, 0),
	BAD("MANIFEST", "1.1.13", COUNT, 2), /* of one name */
	BAD_TEXT("MANIFEST", "1.1.13.0.0", "user"),
	BAD_TEXT("MANIFEST", "1.1.13.0.0", "security.selinux"),
	LIMIT("MANIFEST", "1.1.13.0.1", NAME_LEN, 65536),
	LIMIT("MANIFEST", "1.1.14", NUMBER, U32),
	BAD("MANIFEST", "1.0.14", NUMBER, 4),
	LIMIT("MANIFEST", "1.1.15", NUMBER, 1000000),
	BAD("MANIFEST", "1.1.16", DIGESTS_LEN, 15),
	BAD("MANIFEST", "1.1.16", DIGESTS_LEN, 17),
	BAD("MANIFEST", "1.1.17", DIGESTS_LEN, 15),
	BAD("MANIFEST", "1.1.17", DIGESTS_LEN, 17),
	LIMITS("MANIFEST", "1.2.18", NAME_LEN, 1, 4095),
	BAD("MANIFEST", "1.1.18", NAME_LEN, 1),
	BAD_TEXT("MANIFEST", "1.2.18", "a\0"),
	LIMIT("MANIFEST", "1.1.19", COUNT, 4),
	LIMITS("MANIFEST", "1.1.19.0.0", NUMBER, 1, 65535),
	LIMITS("MANIFEST", "1.1.19.0.1", NAME_LEN, 1, 64),
	BAD("MANIFEST", "1.3.3", NUMBER, 1),
	BAD("MANIFEST", "1.3.4", NUMBER, 1),
	BAD("MANIFEST", "1.4.4", NUMBER, 0),
	LIMIT("MANIFEST", "1.4.4", NUMBER, 65535),

	LIMITS("WANT", "1", COUNT, 1, 4096),
	LIMIT("WANT", "1.0.0", NUMBER, UINT64_MAX - 1),
	LIMIT("WANT", "1.0.1", NUMBER, 1000000),
	BAD("WANT", "1.0.2", NUMBER, 2),
	BAD("WANT", "1.0.2", NUMBER, 4),
	GOOD("WANT", "1.0.2", NUMBER, 3),
	BAD("WANT", "1.0.2", NUMBER, 5),
	BAD("WANT", "1.1.3", COUNT, 2),
	BAD("WANT", "1.1.3", COUNT, 0),
	LIMIT("WANT", "1.1.3.2.0", NUMBER, LEAVES - 1),
	BAD("WANT", "1.1.3.1.0", NUMBER, 0),
	LIMITS("WANT", "1.1.3.2.1", NUMBER, 1, LEAVES - 700),
	LIMIT("WANT", "1.1.3.1.1", NUMBER, 699),
	LIMITS("WANT", "1.2.4", PATH_LEN, 1, 65535),
	BAD("WANT", "1.0.4", NAME_LEN, 1),
	BAD("WANT", "1.2.5", DIGESTS_LEN, 17),

	LIMIT("BASIS", "1", NUMBER, UINT64_MAX - 1),
	LIMIT("BASIS", "2", NUMBER, LEAVES - 2),
	BAD("BASIS", "3", DIGESTS_LEN, 0),
	BAD("BASIS", "3", DIGESTS_LEN, 15),
	GOOD("BASIS", "3", DIGESTS_LEN, 16),
	BAD("BASIS", "3", DIGESTS_LEN, 17),
	GOOD("HAVE", "3", DIGESTS_LEN, 65536),
	BAD("HAVE", "3", DIGESTS_LEN, 65552),

	LIMITS("ACK", "1", COUNT, 1, 4096),
	LIMIT("ACK", "1.0.0", NUMBER, UINT64_MAX - 1),
	LIMIT("ACK", "1.0.1", NUMBER, 1000000),
	LIMITS("ACK", "1.0.2", NUMBER, 1, 3),
	LIMIT("ACK", "1.0.3", NUMBER, LEAVES - 1),
	LIMITS("ACK", "1.0.4", NUMBER, 1, LEAVES),
	LIMITS("FAILED", "1", COUNT, 1, 4096),
	LIMIT("FAILED", "1.0.0", NUMBER, UINT64_MAX - 1),
	LIMIT("FAILED", "1.0.1", NUMBER, 1000000),
	LIMITS("FAILED", "1.0.2", NUMBER, 1, 65535),

	LIMITS("RESULT", "1", COUNT, 1, 4096),
	LIMIT("RESULT", "1.0.0", NUMBER, UINT64_MAX - 1),
	BAD("RESULT", "1.0.0", NIL, 0),
	BAD("RESULT", "1.2.0", NUMBER, 0),
	BAD("RESULT", "1.2.8", NAME_LEN, 0),
	BAD("RESULT", "1.0.4", NUMBER, 64),
	LIMIT("RESULT", "1.1.1", NUMBER, 1000000),
	LIMIT("RESULT", "1.1.2", NUMBER, 2),
	LIMIT("RESULT", "1.1.3", NUMBER, 65535),
	LIMIT("RESULT", "1.1.5", NUMBER, U32),
	LIMIT("RESULT", "1.1.6", NUMBER, SIZE_LAST),
	BAD("RESULT", "1.1.7", DIGESTS_LEN, 15),
	BAD("RESULT", "1.1.7", DIGESTS_LEN, 17),
	LIMIT("RESULT", "1.1.8", NAME_LEN, 65535),
	BAD("JOB_END", "7", DIGESTS_LEN, 15),
	BAD("JOB_END", "7", DIGESTS_LEN, 17),
	BAD("JOB_END", "8", NUMBER, 1),
	LIMIT("JOB_END", "9", NUMBER, UINT64_C(1) << 43),
	LIMIT("JOB_END", "17", NUMBER, UINT64_C(1) << 43),
	LIMIT("JOB_END", "24", NUMBER, UINT64_C(1) << 43),
	GOOD("JOB_END", "25", NUMBER, UINT64_MAX),
	GOOD("JOB_END", "26", NUMBER, UINT64_MAX),
	BAD("JOB_END", "26", NEGATIVE, 1),
	LIMITS("CANCEL", "1", NUMBER, 1, 65535),
	LIMITS("NOTE", "1", NAME_LEN, 1, 300),
	LIMIT("ALIVE", "1", NUMBER, 65535),
	LIMIT("LANE_LOST", "1", NUMBER, 15),
	LIMIT("LANE_LOST", "2", NUMBER, U32 - 1),
};

static const char *sample_hex(const char *name)
{
	for (size_t i = 0; i < message_sample_count; i++) {
		if (strcmp(message_samples[i].name, name) == 0)
			return message_samples[i].hex;
	}
	fail_msg("no sample %s", name);
	return NULL;
}

static msgpack_object *element_at(msgpack_object *o, const char *at)
{
	while (*at) {
		char *end;
		unsigned long i = strtoul(at, &end, 10);

		assert_int_equal(o->type, MSGPACK_OBJECT_ARRAY);
		assert_true(i < o->via.array.size);
		o = &o->via.array.ptr[i];
		at = *end == '.' ? end + 1 : end;
	}
	return o;
}

static void set_text(msgpack_object *o, const char *text, size_t len)
{
	if (o->type == MSGPACK_OBJECT_STR) {
		o->via.str.ptr = text;
		o->via.str.size = (uint32_t)len;
	} else {
		o->type = MSGPACK_OBJECT_BIN;
		o->via.bin.ptr = text;
		o->via.bin.size = (uint32_t)len;
	}
}

static void set_number(msgpack_object *o, const struct bound *b)
{
	o->type = b->how == NUMBER ? MSGPACK_OBJECT_POSITIVE_INTEGER : MSGPACK_OBJECT_NEGATIVE_INTEGER;
	if (b->how == NUMBER)
		o->via.u64 = b->value;
	else
		o->via.i64 = -(int64_t)b->value;
}

/* Replace the element as the bound says. `room` backs what is longer than before. */
static void set_element(msgpack_object *o, const struct bound *b, char *room)
{
	switch (b->how) {
	case NUMBER:
	case NEGATIVE:
		set_number(o, b);
		break;
	case NAME_LEN:
	case PATH_LEN:
	case DIGESTS_LEN:
		for (size_t i = 0; i < b->value; i++)
			room[i] = b->how == PATH_LEN && i % 100 == 50 ? '/' : 'a';
		set_text(o, room, b->value);
		break;
	case COUNT:
		assert_int_equal(o->type, MSGPACK_OBJECT_ARRAY);
		for (size_t i = 0; i < b->value; i++)
			memcpy(room + i * sizeof(*o), o->via.array.ptr, sizeof(*o));
		o->via.array.ptr = (msgpack_object *)(void *)room;
		o->via.array.size = (uint32_t)b->value;
		break;
	case TEXT:
		set_text(o, b->text, b->value);
		break;
	case NIL:
		o->type = MSGPACK_OBJECT_NIL;
		break;
	case TRUTH:
		o->type = MSGPACK_OBJECT_BOOLEAN;
		o->via.boolean = true;
		break;
	}
}

static haul_status decode_changed(const struct bound *b)
{
	static uint8_t frame[8192];
	size_t len = bytes_of_hex(sample_hex(b->sample), frame, sizeof(frame)), at = 4, used;
	struct message_decoder *d = message_decoder_new();
	char *room = malloc(1 << 20);
	msgpack_sbuffer out;
	msgpack_packer pk;
	msgpack_unpacked u;
	struct message m;
	haul_status st;

	assert_true(d && room);
	msgpack_unpacked_init(&u);
	assert_int_equal(msgpack_unpack_next(&u, (const char *)frame, len, &at), MSGPACK_UNPACK_SUCCESS);
	set_element(element_at(&u.data, b->at), b, room);
	msgpack_sbuffer_init(&out);
	msgpack_packer_init(&pk, &out, msgpack_sbuffer_write);
	assert_int_equal(msgpack_pack_str_body(&pk, "\0\0\0\0", 4), 0);
	assert_int_equal(msgpack_pack_object(&pk, u.data), 0);
	for (int i = 0; i < 4; i++)
		out.data[i] = (char)((out.size - 4) >> (24 - 8 * i));
	st = message_decode(d, out.data, out.size, &used, &m);
	msgpack_sbuffer_destroy(&out);
	msgpack_unpacked_destroy(&u);
	message_decoder_free(d);
	free(room);
	return st;
}

static void every_bound_holds_and_is_the_last(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		const struct bound *b = &bounds[i];
		haul_status st = decode_changed(b);
		bool is_refused = st.code == HAUL_CODE_BAD_FRAME || st.code == HAUL_CODE_RESERVED_NAME;

		if (b->is_good ? haul_ok(st) : is_refused)
			continue;
		print_error("%s %s, way %d, value %" PRIu64 ": %s\n", b->sample, b->at, (int)b->how, b->value,
			    haul_status_text(st));
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static haul_status encode_only(const struct message *m)
{
	struct message_buffer b = { 0 };
	haul_status st = message_encode(&b, m);

	assert_true(haul_ok(st) || b.len == 0);
	message_buffer_close(&b);
	return st;
}

static void own_values_beyond_a_bound_are_refused_too(void **state)
{
	struct message cancel = { .type = MSG_CANCEL };
	struct message lookup = { .type = MSG_LOOKUP };
	struct text path = { ".haul", 5 };

	(void)state;
	assert_code(encode_only(&cancel), HAUL_BAD_VALUE);
	cancel.cancel.code = 65536;
	assert_code(encode_only(&cancel), HAUL_BAD_VALUE);
	cancel.cancel.code = 65535;
	assert_ok(encode_only(&cancel));
	lookup.lookup = (struct msg_lookup){ .share = { "a", 1 }, .paths = &path, .path_count = 1 };
	assert_code(encode_only(&lookup), HAUL_RESERVED_NAME);
	path.len = 0;
	assert_ok(encode_only(&lookup));
	lookup.lookup.path_count = 0;
	assert_code(encode_only(&lookup), HAUL_BAD_VALUE);
	lookup.type = MSG_TYPE_LAST + 1;
	assert_code(encode_only(&lookup), HAUL_BAD_VALUE);
}

/* Where every element must differ, the largest count is tried by itself. */
static void as_many_capabilities_as_allowed(void **state)
{
	struct capability list[MESSAGE_CAPABILITIES_MAX + 1];
	char names[MESSAGE_CAPABILITIES_MAX + 1];
	struct message m = { .type = MSG_HELLO,
			     .hello = { .version_min = 1,
					.version_max = 1,
					.tree_version = 1,
					.digest_algorithms = 2,
					.digest_bytes = 16,
					.block_min = 1 << 20,
					.block_max = 1 << 20,
					.cores = 1,
					.lanes_max = 1,
					.capabilities = list,
					.capability_count = MESSAGE_CAPABILITIES_MAX } };

	(void)state;
	for (size_t i = 0; i <= MESSAGE_CAPABILITIES_MAX; i++) {
		names[i] = (char)('0' + i);
		list[i] = (struct capability){ .name = { &names[i], 1 } };
	}
	assert_ok(encode_only(&m));
	m.hello.capability_count++;
	assert_code(encode_only(&m), HAUL_BAD_VALUE);
}

static void as_many_ranges_as_allowed(void **state)
{
	struct leaf_range ranges[MESSAGE_RANGES_MAX + 1];
	struct want want = { .kind = WANT_RANGES, .ranges = ranges, .range_count = MESSAGE_RANGES_MAX };
	struct message m = { .type = MSG_WANT, .want = { .wants = &want, .want_count = 1 } };

	(void)state;
	for (size_t i = 0; i <= MESSAGE_RANGES_MAX; i++)
		ranges[i] = (struct leaf_range){ 2 * i, 1 };
	assert_ok(encode_only(&m));
	want.range_count++;
	assert_code(encode_only(&m), HAUL_BAD_VALUE);
}

static void ranges_come_with_their_kinds_alone(void **state)
{
	const struct leaf_range range = { 3, 4 };
	struct want want = { 0 };
	struct message m = { .type = MSG_WANT, .want = { .wants = &want, .want_count = 1 } };

	(void)state;
	for (int kind = WANT_NOTHING; kind <= WANT_DIGEST_RANGES + 1; kind++) {
		bool takes = kind == WANT_RANGES || kind == WANT_DIGEST_RANGES;
		bool is_plain = kind < WANT_RANGES || kind == WANT_DIGESTS;

		want = (struct want){ .kind = (enum want_kind)kind };
		assert_int_equal(haul_ok(encode_only(&m)), is_plain);
		want.ranges = &range;
		want.range_count = 1;
		assert_int_equal(haul_ok(encode_only(&m)), takes);
	}
}

static void a_path_has_at_most_4096_components(void **state)
{
	char path[2 * (HAUL_DEPTH_MAX + 1)];
	struct text text = { path, 2 * HAUL_DEPTH_MAX - 1 };
	struct message m = { .type = MSG_LOOKUP, .lookup = { .share = { "a", 1 }, .paths = &text, .path_count = 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 2 ? '/' : 'a';
	assert_ok(encode_only(&m));
	text.len += 2;
	assert_code(encode_only(&m), HAUL_BAD_VALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bound_holds_and_is_the_last),
		cmocka_unit_test(own_values_beyond_a_bound_are_refused_too),
		cmocka_unit_test(as_many_capabilities_as_allowed),
		cmocka_unit_test(as_many_ranges_as_allowed),
		cmocka_unit_test(ranges_come_with_their_kinds_alone),
		cmocka_unit_test(a_path_has_at_most_4096_components),
	};

	return cmocka_run_group_tests_name("codec_bounds", tests, NULL, NULL);
}
