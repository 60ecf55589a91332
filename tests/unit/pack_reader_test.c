/* Every form of msgpack at its edges; lengths are believed only as far as bytes are there; memory is paid for. */
#include "peer-protocol/pack_reader.h"

#include "cmocka_first.h"
#include "message_samples.h"
#include "peer-protocol/layout_walk.h"

#include <string.h>

struct form {
	const char *hex;
	bool is_good;
	int64_t value;
};

static const struct form integers[] = {
	{ "00", true, 0 },
	{ "7f", true, 127 },
	{ "cc80", true, 128 },
	{ "cc01", true, 1 }, /* longer than needed is fine */
	{ "cd0100", true, 256 },
	{ "ce80000000", true, 2147483648 },
	{ "cf7fffffffffffffff", true, INT64_MAX },
	{ "cf8000000000000000", false, 0 },
	{ "ff", true, -1 },
	{ "e0", true, -32 },
	{ "d080", true, -128 },
	{ "d07f", true, 127 },
	{ "d18000", true, -32768 },
	{ "d280000000", true, INT32_MIN },
	{ "d38000000000000000", true, INT64_MIN },
	{ "d37fffffffffffffff", true, INT64_MAX },
	{ "c0", false, 0 },
	{ "ca3f800000", false, 0 },
	{ "a131", false, 0 },
	{ "cc", false, 0 },
	{ "cf00000000000000", false, 0 },
	{ "", false, 0 },
};

static struct pack_reader reader_of(const char *hex, uint8_t *room, size_t cap)
{
	return (struct pack_reader){ .at = room, .left = bytes_of_hex(hex, room, cap) };
}

static void integers_of_every_width(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++) {
		const struct form *f = &integers[i];
		uint8_t room[16];
		struct pack_reader r = reader_of(f->hex, room, sizeof(room)), again = r;
		uint64_t natural = 99;
		int64_t value = 99;
		haul_status st = pack_get_int(&r, &value);

		assert_int_equal(haul_ok(st), f->is_good);
		assert_true(!f->is_good || (value == f->value && r.left == 0));
		st = pack_get_uint(&again, &natural);
		if (f->is_good)
			assert_true(f->value < 0 ? haul_failed(st) : natural == (uint64_t)f->value);
	}
}

static void lengths_are_believed_as_far_as_bytes_go(void **state)
{
	static const char *const strings[] = { "a26162", "d9026162", "da00026162", "db000000026162" };
	static const char *const binaries[] = { "c4026162", "c500026162", "c6000000026162" };
	static const char *const wrong[] = {
		"a361", "d9ff61", "db0000000361", "dbffffffff61", "c0", "d9", "da00", "92"
	};
	uint8_t room[16];
	const char *at;
	size_t len;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct pack_reader r = reader_of(strings[i], room, sizeof(room)), again = r;

		assert_ok(pack_get_str(&r, &at, &len));
		assert_int_equal(len, 2);
		assert_memory_equal(at, "ab", 2);
		assert_code(pack_get_bin(&again, &at, &len), HAUL_BAD_FRAME);
	}
	for (size_t i = 0; i < 3; i++) {
		struct pack_reader r = reader_of(binaries[i], room, sizeof(room)), again = r;

		assert_ok(pack_get_bin(&r, &at, &len));
		assert_memory_equal(at, "ab", 2);
		assert_code(pack_get_str(&again, &at, &len), HAUL_BAD_FRAME);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct pack_reader r = reader_of(wrong[i], room, sizeof(room)), again = r;

		assert_code(pack_get_str(&r, &at, &len), HAUL_BAD_FRAME);
		assert_code(pack_skip(&again, i == 7 ? 1 : 8), i == 4 ? HAUL_OK : HAUL_BAD_FRAME);
	}
}

static void an_array_has_at_most_as_many_elements_as_bytes(void **state)
{
	static const char *const good[] = { "930102c0", "dc00030102c0", "dd000000030102c0" };
	static const char *const wrong[] = { "940102c0", "dc00040102c0", "ddffffffff0102", "dc00", "80", "c4" };
	uint8_t room[16];
	size_t count;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct pack_reader r = reader_of(good[i], room, sizeof(room));

		assert_ok(pack_get_array(&r, &count));
		assert_int_equal(count, 3);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct pack_reader r = reader_of(wrong[i], room, sizeof(room));

		assert_code(pack_get_array(&r, &count), HAUL_BAD_FRAME);
	}
}

static void anything_can_be_passed_over_but_not_too_deep(void **state)
{
	static const char *const values[] = { "00",
					      "e0",
					      "c0",
					      "c2",
					      "c3",
					      "ca01020304",
					      "cb0102030405060708",
					      "d005",
					      "d30102030405060708",
					      "d40105",
					      "d80100112233445566778899aabbccddeeff",
					      "c70201aabb",
					      "c8000101cc",
					      "c90000000101dd",
					      "8101a161",
					      "de00010102",
					      "df000000010102",
					      "dc00020102",
					      "92920102a0" };
	static const char *const wrong[] = { "c1", "81", "8101", "d401", "c70501aa", "cb01", "df8000000001" };
	uint8_t room[32];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct pack_reader r = reader_of(values[i], room, sizeof(room));

		assert_ok(pack_skip(&r, 2));
		assert_int_equal(r.left, 0);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct pack_reader r = reader_of(wrong[i], room, sizeof(room));

		assert_code(pack_skip(&r, 8), HAUL_BAD_FRAME);
	}
	for (unsigned depth = 0; depth < 4; depth++) {
		struct pack_reader r = reader_of("91919101", room, sizeof(room));

		assert_code(pack_skip(&r, depth), depth < 3 ? HAUL_BAD_FRAME : HAUL_OK);
	}
}

static void the_arena_gives_zeroed_aligned_memory_up_to_its_limit(void **state)
{
	struct arena a;
	void *first, *second;

	(void)state;
	arena_open(&a);
	assert_code(arena_take(&a, 1, 1, &first), HAUL_OVERFLOW);
	for (int round = 0; round < 3; round++) {
		arena_reset(&a, 100000);
		assert_ok(arena_take(&a, 3, 5, &first));
		assert_ok(arena_take(&a, 1, 90000, &second));
		assert_true((uintptr_t)first % 16 == 0 && (uintptr_t)second % 16 == 0);
		for (size_t i = 0; i < 90000; i++)
			assert_int_equal(((uint8_t *)second)[i], 0);
		memset(first, 0xff, 15);
		memset(second, 0xff, 90000);
		assert_code(arena_take(&a, 1, 9985, &first), HAUL_OVERFLOW);
		assert_ok(arena_take(&a, 1, 9984, &first));
		assert_code(arena_take(&a, 1, 1, &first), HAUL_OVERFLOW);
		assert_code(arena_take(&a, SIZE_MAX, 16, &first), HAUL_OVERFLOW);
	}
	arena_close(&a);
}

/* Nine wants claimed, bytes for one there: refused before any memory is asked for (the arena has none to give). */
static void a_claim_without_bytes_takes_no_memory(void **state)
{
	uint8_t room[32];
	struct arena none;
	struct message m = { 0 };
	struct layout_reader r = { .in = reader_of("9210dc0009960000000090c400c0", room, sizeof(room)),
				   .arena = &none };

	(void)state;
	arena_open(&none);
	assert_code(layout_read(&r, &message_layout, &m), HAUL_BAD_FRAME);
	r.in = reader_of("9210dc0001960000000090c400c0", room, sizeof(room));
	assert_code(layout_read(&r, &message_layout, &m), HAUL_OVERFLOW);
	arena_close(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_of_every_width),
		cmocka_unit_test(lengths_are_believed_as_far_as_bytes_go),
		cmocka_unit_test(an_array_has_at_most_as_many_elements_as_bytes),
		cmocka_unit_test(anything_can_be_passed_over_but_not_too_deep),
		cmocka_unit_test(the_arena_gives_zeroed_aligned_memory_up_to_its_limit),
		cmocka_unit_test(a_claim_without_bytes_takes_no_memory),
	};

	return cmocka_run_group_tests_name("pack_reader", tests, NULL, NULL);
}
