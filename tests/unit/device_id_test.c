#include "certs/device_id.h"
#include "tests/unit/cmocka_first.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

static void fill(uint8_t id[DEVICE_ID_BYTES], unsigned seed)
{
	for (size_t i = 0; i < DEVICE_ID_BYTES; i++) {
		seed = seed * 1103515245 + 12345;
		id[i] = (uint8_t)(seed >> 16);
	}
}

static void check_refused(const char *text, const char *why)
{
	uint8_t id[DEVICE_ID_BYTES] = { 1, 2, 3 };
	uint8_t before[DEVICE_ID_BYTES] = { 1, 2, 3 };
	struct haul_fault fault;

	assert_code(device_id_parse(text, id, &fault), HAUL_BAD_VALUE);
	assert_memory_equal(id, before, sizeof(id));
	if (why)
		assert_non_null(strstr(fault.text, why));
}

static void the_id_is_the_hash_of_the_key(void **state)
{
	static const uint8_t abc[DEVICE_ID_BYTES] = /* FIPS 180-4, "abc" */
	    "\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23"
	    "\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad";
	uint8_t id[DEVICE_ID_BYTES];

	(void)state;
	assert_ok(device_id_of_key((const uint8_t *)"abc", 3, id));
	assert_memory_equal(id, abc, DEVICE_ID_BYTES);
	assert_true(device_id_equal(id, abc));
	id[31] ^= 1;
	assert_false(device_id_equal(id, abc));
}

static void the_text_is_fixed_and_comes_back(void **state)
{
	uint8_t id[DEVICE_ID_BYTES], again[DEVICE_ID_BYTES];
	char text[DEVICE_ID_TEXT_MAX];

	(void)state;
	assert_ok(device_id_of_key((const uint8_t *)"abc", 3, id));
	assert_string_equal(device_id_text(id, text), "XJ4BNP4E-PAHH6UQD-KBIDPF34-LRCEOYAA-GYNDSYLM-XVHFUCDJ-7WD4QACX-WWQR");
	for (unsigned seed = 0; seed < 500; seed++) {
		fill(id, seed);
		assert_int_equal(strlen(device_id_text(id, text)), DEVICE_ID_TEXT_MAX - 1);
		assert_ok(device_id_parse(text, again, NULL));
		assert_memory_equal(again, id, DEVICE_ID_BYTES);
	}
}

static void people_may_write_it_their_way(void **state)
{
	uint8_t id[DEVICE_ID_BYTES], again[DEVICE_ID_BYTES];
	char text[DEVICE_ID_TEXT_MAX];
	char typed[4 * DEVICE_ID_TEXT_MAX];
	size_t n = 0;

	(void)state;
	fill(id, 42);
	(void)device_id_text(id, text);
	for (const char *at = text; *at; at++) {
		if (*at == '-')
			continue;
		typed[n++] = *at == 'O' ? '0' : *at == 'I' ? '1' : *at == 'B' ? '8' : (char)(*at | 0x20);
		if (*at >= '2' && *at <= '7')
			typed[n - 1] = *at;
		if (n % 5 == 0)
			typed[n++] = ' ';
	}
	typed[n] = '\0';
	assert_ok(device_id_parse(typed, again, NULL));
	assert_memory_equal(again, id, DEVICE_ID_BYTES);
}

static void every_wrong_character_is_found_and_its_group_named(void **state)
{
	uint8_t id[DEVICE_ID_BYTES];
	char text[DEVICE_ID_TEXT_MAX];
	char why[32];

	(void)state;
	fill(id, 7);
	(void)device_id_text(id, text);
	for (size_t at = 0; text[at]; at++) {
		char right = text[at];

		if (right == '-')
			continue;
		(void)snprintf(why, sizeof(why), "group %zu of 8", at / 9 + 1);
		for (const char *wrong = alphabet; *wrong; wrong++) {
			text[at] = *wrong;
			if (*wrong != right)
				check_refused(text, why);
		}
		text[at] = '9';
		check_refused(text, why);
		text[at] = right;
	}
}

static void every_swap_of_neighbours_is_found(void **state)
{
	uint8_t id[DEVICE_ID_BYTES];
	char text[DEVICE_ID_TEXT_MAX];

	(void)state;
	for (unsigned seed = 0; seed < 50; seed++) {
		fill(id, seed);
		(void)device_id_text(id, text);
		for (size_t at = 0; text[at + 1]; at++) {
			size_t next = text[at + 1] == '-' ? at + 2 : at + 1;
			char left = text[at], right = text[next];

			if (left == '-' || left == right)
				continue;
			text[at] = right;
			text[next] = left;
			check_refused(text, NULL);
			text[at] = left;
			text[next] = right;
		}
	}
}

static void swapped_groups_and_wrong_lengths_are_found(void **state)
{
	uint8_t id[DEVICE_ID_BYTES];
	char text[2 * DEVICE_ID_TEXT_MAX];
	char group[8];

	(void)state;
	fill(id, 3);
	(void)device_id_text(id, text);
	memcpy(group, text, 8);
	memcpy(text, text + 9, 8);
	memcpy(text + 9, group, 8);
	check_refused(text, "group 1 of 8");
	(void)device_id_text(id, text);
	memmove(text + 12, text + 13, strlen(text + 13) + 1); /* one character of group 2 is missing */
	check_refused(text, "group 2 of 8");
	(void)device_id_text(id, text);
	text[20] = '\0';
	check_refused(text, "not 18");
	check_refused("", "60 characters");
	check_refused("7H2K", "60 characters");
	(void)device_id_text(id, text);
	memcpy(text + strlen(text), "A", 2);
	check_refused(text, "60 characters");
	check_refused("\xc3\xa4", "group 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_id_is_the_hash_of_the_key),
		cmocka_unit_test(the_text_is_fixed_and_comes_back),
		cmocka_unit_test(people_may_write_it_their_way),
		cmocka_unit_test(every_wrong_character_is_found_and_its_group_named),
		cmocka_unit_test(every_swap_of_neighbours_is_found),
		cmocka_unit_test(swapped_groups_and_wrong_lengths_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
