/* The small parts of engine/base: status, fault, checked arithmetic, byte cursor, list, CRC-32, names of entries. */
#include "engine/base/bytes.h"
#include "engine/base/checked.h"
#include "engine/base/crc32.h"
#include "engine/base/entry.h"
#include "engine/base/fault.h"
#include "engine/base/list.h"
#include "engine/base/status.h"
#include "tests/unit/cmocka_first.h"

#include <errno.h>
#include <string.h>

static void statuses_keep_number_and_text(void **state)
{
	(void)state;
	assert_ok(HAUL_OK);
	assert_true(haul_ok(HAUL_OK));
	assert_true(haul_failed(HAUL_BUG));
	assert_int_equal(HAUL_CODE_UNREADABLE_PINS, 305);
	assert_code(haul_status_from_number(305), HAUL_UNREADABLE_PINS);
	assert_code(haul_status_from_number(99999), HAUL_BUG);
	assert_string_equal(haul_status_text((haul_status){ .code = (enum haul_code)12345 }), "unknown failure");
}

static void errno_becomes_a_status_and_never_success(void **state)
{
	(void)state;
	assert_code(haul_status_from_errno(ENOSPC), HAUL_NO_SPACE);
	assert_code(haul_status_from_errno(ENOENT), HAUL_NOT_FOUND);
	assert_code(haul_status_from_errno(ELOOP), HAUL_LINK_IN_PATH);
	for (int err = 0; err < 200; err++)
		assert_true(haul_failed(haul_status_from_errno(err)));
}

static void faults_carry_what_and_why(void **state)
{
	struct haul_fault fault = { .status = HAUL_OK };

	(void)state;
	assert_code(haul_fault_errno(&fault, EACCES, "open %s", "a"), HAUL_DENIED);
	assert_string_equal(fault.text, "open a: Permission denied");
	assert_int_equal(fault.os_errno, EACCES);
	assert_code(haul_fault_set(&fault, HAUL_NO_SHARE, "no %d", 7), HAUL_NO_SHARE);
	assert_string_equal(fault.text, "no 7");
	assert_int_equal(fault.os_errno, 0);
	assert_code(haul_fault_errno(NULL, ENOENT, "x"), HAUL_NOT_FOUND);
}

static void faults_cut_what_is_too_long(void **state)
{
	struct haul_fault fault;
	char longer[2 * HAUL_FAULT_TEXT_MAX];

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_code(haul_fault_errno(&fault, EIO, "%s", longer), HAUL_IO);
	assert_int_equal(strlen(fault.text), HAUL_FAULT_TEXT_MAX - 1);
}

static void arithmetic_says_when_it_overflows(void **state)
{
	uint64_t value = 7;

	(void)state;
	assert_ok(haul_add_u64(UINT64_MAX - 1, 1, &value));
	assert_true(value == UINT64_MAX);
	assert_code(haul_add_u64(UINT64_MAX, 1, &value), HAUL_OVERFLOW);
	assert_true(value == UINT64_MAX);
	assert_ok(haul_mul_u64(UINT64_C(1) << 32, UINT32_MAX, &value));
	assert_code(haul_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &value), HAUL_OVERFLOW);
	assert_true(haul_round_up(0, 4096) == 0);
	assert_true(haul_round_up(1, 4096) == 4096);
	assert_true(haul_round_up(4096, 4096) == 4096);
}

static void bytes_come_back_in_network_order(void **state)
{
	uint8_t buf[11];
	uint8_t text[3];
	struct bytes b = bytes_of(buf, sizeof(buf));

	(void)state;
	bytes_put_uint(&b, 0x0102030405060708, 8);
	bytes_put(&b, "abc", 3);
	assert_ok(bytes_end(&b));
	assert_memory_equal(buf, "\1\2\3\4\5\6\7\10abc", 11);
	b = bytes_of(buf, sizeof(buf));
	assert_true(bytes_get_uint(&b, 2) == 0x0102);
	assert_true(bytes_get_uint(&b, 6) == 0x030405060708);
	assert_code(bytes_end(&b), HAUL_BAD_VALUE);
	bytes_get(&b, text, 3);
	assert_memory_equal(text, "abc", 3);
	assert_ok(bytes_end(&b));
}

static void bytes_beyond_the_end_stay_an_error(void **state)
{
	uint8_t buf[4] = { 1, 2, 3, 4 };
	uint8_t text[8] = { 9, 9, 9, 9, 9, 9, 9, 9 };
	struct bytes b = bytes_of(buf, sizeof(buf));

	(void)state;
	bytes_get(&b, text, 5);
	assert_int_equal(text[0], 0);
	assert_true(bytes_get_uint(&b, 1) == 0); /* would fit, but the error sticks */
	bytes_put_uint(&b, 7, 1);
	assert_int_equal(buf[0], 1);
	assert_code(bytes_end(&b), HAUL_TRUNCATED);
}

struct item {
	int number;
	struct list link;
};

static void lists_keep_order_and_splice(void **state)
{
	struct list one, two;
	struct item items[4];
	int expected = 0;

	(void)state;
	list_init(&one);
	list_init(&two);
	for (int i = 0; i < 4; i++) {
		items[i].number = i;
		list_push_back(i < 2 ? &one : &two, &items[i].link);
	}
	list_splice_back(&one, &two);
	assert_true(list_is_empty(&two));
	list_splice_back(&one, &two);
	list_each(at, &one) assert_int_equal(list_item(at, struct item, link)->number, expected++);
	assert_int_equal(expected, 4);
	list_remove(&items[0].link);
	list_remove(&items[0].link); /* an unlinked item may be removed again */
	assert_ptr_equal(list_pop_front(&one), &items[1].link);
	assert_ptr_equal(list_pop_front(&one), &items[2].link);
	assert_ptr_equal(list_pop_front(&one), &items[3].link);
	assert_null(list_pop_front(&one));
}

static void crc_has_the_known_check_value(void **state)
{
	(void)state;
	assert_int_equal(haul_crc32("123456789", 9), 0xCBF43926);
	assert_int_equal(haul_crc32("", 0), 0);
}

static haul_status component(const char *name)
{
	return haul_component_check(name, strlen(name));
}

static void components_are_one_name_and_not_ours(void **state)
{
	char longest[HAUL_NAME_MAX + 2];

	(void)state;
	memset(longest, 'a', sizeof(longest));
	assert_ok(haul_component_check(longest, HAUL_NAME_MAX));
	assert_code(haul_component_check(longest, HAUL_NAME_MAX + 1), HAUL_BAD_VALUE);
	assert_code(component(""), HAUL_BAD_VALUE);
	assert_code(component("."), HAUL_BAD_VALUE);
	assert_code(component(".."), HAUL_BAD_VALUE);
	assert_code(component("a/b"), HAUL_BAD_VALUE);
	assert_code(haul_component_check("a\0b", 3), HAUL_BAD_VALUE);
	assert_ok(component("..."));
	assert_ok(component("\xff\n"));
	assert_code(component(".haul"), HAUL_RESERVED_NAME);
	assert_code(component(".HAUL"), HAUL_RESERVED_NAME);
	assert_code(component(".haul-partial"), HAUL_RESERVED_NAME);
	assert_code(component(".Haul.x"), HAUL_RESERVED_NAME);
	assert_ok(component(".hauler"));
	assert_ok(component("haul"));
	assert_ok(component(".hau"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses_keep_number_and_text),
		cmocka_unit_test(errno_becomes_a_status_and_never_success),
		cmocka_unit_test(faults_carry_what_and_why),
		cmocka_unit_test(faults_cut_what_is_too_long),
		cmocka_unit_test(arithmetic_says_when_it_overflows),
		cmocka_unit_test(bytes_come_back_in_network_order),
		cmocka_unit_test(bytes_beyond_the_end_stay_an_error),
		cmocka_unit_test(lists_keep_order_and_splice),
		cmocka_unit_test(crc_has_the_known_check_value),
		cmocka_unit_test(components_are_one_name_and_not_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
