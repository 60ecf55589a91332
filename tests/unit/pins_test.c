#include "certs/pins.h"
#include "certs/rights.h"
#include "engine/base/record_file.h"
#include "tests/unit/cmocka_first.h"
#include "tests/unit/temp_dir.h"

#include <string.h>
#include <sys/stat.h>

static const uint8_t *id_of(uint8_t number)
{
	static uint8_t ids[8][DEVICE_ID_BYTES];

	memset(ids[number % 8], number, DEVICE_ID_BYTES);
	return ids[number % 8];
}

static struct pins two_peers(void)
{
	struct pins pins = { .items = NULL };

	assert_ok(pins_add(&pins, id_of(1), "nas", "typed", 1700000000, NULL));
	assert_ok(pins_add(&pins, id_of(2), "edit1", "typed", 1700000001, NULL));
	assert_ok(pins_add_address(&pins, "nas", "192.168.1.20:42850", NULL));
	assert_ok(pins_add_address(&pins, "nas", "[fe80::1%eth0]:42850", NULL));
	assert_ok(pins_allow(&pins, "edit1", "inbox", RIGHTS_WRITER, NULL));
	assert_ok(pins_allow(&pins, "edit1", "projects", RIGHT_LIST | RIGHT_DELETE, NULL));
	return pins;
}

static void a_saved_list_comes_back(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct pins pins = two_peers();
	struct pins again;
	const struct pin *nas, *edit1;

	(void)state;
	assert_ok(pins_save(&pins, t.fd, NULL));
	pins_close(&pins);
	assert_ok(pins_load(t.fd, &again, NULL));
	assert_int_equal(again.count, 2);
	edit1 = &again.items[0]; /* ordered by name */
	nas = &again.items[1];
	assert_ptr_equal(pins_find_name(&again, "nas", 3), nas);
	assert_ptr_equal(pins_find_id(&again, id_of(2)), edit1);
	assert_null(pins_find_id(&again, id_of(3)));
	assert_null(pins_find_name(&again, "na", 2));
	assert_int_equal(nas->added_at, 1700000000);
	assert_string_equal(nas->method, "typed");
	assert_int_equal(nas->address_count, 2);
	assert_string_equal(nas->addresses[1], "[fe80::1%eth0]:42850");
	assert_true(pin_rights_on(edit1, "inbox", 5) == RIGHTS_WRITER);
	assert_true(pin_rights_on(edit1, "projects", 8) == (RIGHT_LIST | RIGHT_DELETE));
	assert_true(pin_rights_on(edit1, "inbo", 4) == 0);
	assert_true(pin_rights_on(nas, "inbox", 5) == 0);
	pins_close(&again);
	temp_dir_close(&t);
}

static void names_and_ids_belong_to_one_device(void **state)
{
	struct pins pins = two_peers();
	struct haul_fault fault;

	(void)state;
	assert_ok(pins_add(&pins, id_of(1), "nas", "typed", 5, NULL)); /* the same once more */
	assert_int_equal(pins.count, 2);
	assert_code(pins_add(&pins, id_of(3), "nas", "typed", 5, &fault), HAUL_EXISTS);
	assert_non_null(strstr(fault.text, "haul peer remove nas"));
	assert_code(pins_add(&pins, id_of(1), "other", "typed", 5, &fault), HAUL_EXISTS);
	assert_non_null(strstr(fault.text, "known as nas"));
	assert_code(pins_rename(&pins, "nas", "edit1", NULL), HAUL_EXISTS);
	assert_ok(pins_rename(&pins, "nas", "archive", NULL));
	assert_string_equal(pins.items[0].name, "archive");
	assert_ok(pins_rename(&pins, "archive", "zoo", NULL));
	assert_string_equal(pins.items[1].name, "zoo");
	assert_int_equal(pins.items[1].address_count, 2);
	assert_code(pins_remove(&pins, "nas", &fault), HAUL_NOT_KNOWN);
	assert_string_equal(fault.text, "no peer \"nas\"");
	assert_ok(pins_remove(&pins, "edit1", NULL));
	assert_int_equal(pins.count, 1);
	pins_close(&pins);
}

static void names_addresses_and_shares_are_checked(void **state)
{
	static const char *const names[] = {
		"", ".x", "-x", "_x", "a b", "A", "a/b", "a:b", "a\n", "\xc3\xa4", "123456789012345678901234567890123"
	};
	struct pins pins = two_peers();

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_false(pin_is_name(names[i]));
		assert_code(pins_add(&pins, id_of(3), names[i], "typed", 5, NULL), HAUL_BAD_VALUE);
		assert_code(pins_rename(&pins, "nas", names[i], NULL), HAUL_BAD_VALUE);
	}
	assert_true(pin_is_name("12345678901234567890123456789012"));
	assert_true(pin_is_name("a.b-c_d"));
	assert_code(pins_add_address(&pins, "nas", "", NULL), HAUL_BAD_VALUE);
	assert_code(pins_add_address(&pins, "nas", "a b", NULL), HAUL_BAD_VALUE);
	assert_code(pins_add_address(&pins, "nass", "a", NULL), HAUL_NOT_KNOWN);
	assert_code(pins_allow(&pins, "nas", "", RIGHT_LIST, NULL), HAUL_BAD_VALUE);
	assert_code(pins_allow(&pins, "nas", "a/b", RIGHT_LIST, NULL), HAUL_BAD_VALUE);
	assert_code(pins_allow(&pins, "nas", "a", RIGHTS_FULL + 1, NULL), HAUL_BAD_VALUE);
	assert_code(pins_allow(&pins, "nass", "a", RIGHT_LIST, NULL), HAUL_NOT_KNOWN);
	pins_close(&pins);
}

static void rights_are_set_and_taken_away(void **state)
{
	struct pins pins = two_peers();
	const struct pin *edit1 = pins_find_name(&pins, "edit1", 5);

	(void)state;
	assert_ok(pins_allow(&pins, "edit1", "inbox", RIGHT_READ, NULL));
	assert_true(pin_rights_on(edit1, "inbox", 5) == RIGHT_READ);
	assert_ok(pins_allow(&pins, "edit1", "inbox", 0, NULL));
	assert_ok(pins_allow(&pins, "edit1", "never", 0, NULL));
	assert_true(pin_rights_on(edit1, "inbox", 5) == 0);
	assert_int_equal(edit1->right_count, 1);
	assert_true(pin_rights_on(edit1, "projects", 8) == (RIGHT_LIST | RIGHT_DELETE));
	pins_close(&pins);
}

static void lists_are_bounded(void **state)
{
	struct pins pins = two_peers();
	char text[32];

	(void)state;
	for (int i = 2; i < PIN_ADDRESSES_MAX; i++) {
		(void)snprintf(text, sizeof(text), "host%d", i);
		assert_ok(pins_add_address(&pins, "nas", text, NULL));
	}
	assert_code(pins_add_address(&pins, "nas", "more", NULL), HAUL_OVERFLOW);
	assert_ok(pins_add_address(&pins, "nas", "host5", NULL)); /* there already */
	for (int i = 0; i < PIN_RIGHTS_MAX; i++) {
		(void)snprintf(text, sizeof(text), "share%d", i);
		assert_ok(pins_allow(&pins, "nas", text, RIGHT_LIST, NULL));
	}
	assert_code(pins_allow(&pins, "nas", "more", RIGHT_LIST, NULL), HAUL_OVERFLOW);
	pins_close(&pins);
}

static void no_file_is_an_empty_list_and_a_damaged_one_is_none(void **state)
{
	struct temp_dir t = temp_dir_open();
	struct pins pins = two_peers();
	struct pins untouched = { .count = 77 };
	char text[2000];
	size_t n;

	(void)state;
	assert_ok(pins_load(t.fd, &untouched, NULL));
	assert_int_equal(untouched.count, 0);
	assert_ok(pins_save(&pins, t.fd, NULL));
	pins_close(&pins);
	untouched.count = 77;
	n = temp_dir_get(&t, "peers", text, sizeof(text));
	for (size_t i = 0; i < n; i++) {
		text[i] ^= 4;
		temp_dir_put(&t, "peers", text, n);
		assert_code(pins_load(t.fd, &untouched, NULL), HAUL_UNREADABLE_PINS);
		text[i] ^= 4;
	}
	temp_dir_put(&t, "peers", "", 0);
	assert_code(pins_load(t.fd, &untouched, NULL), HAUL_UNREADABLE_PINS);
	temp_dir_put(&t, "peers", text, n);
	assert_int_equal(fchmodat(t.fd, "peers", 0666, 0), 0);
	assert_code(pins_load(t.fd, &untouched, NULL), HAUL_UNREADABLE_PINS);
	assert_int_equal(untouched.count, 77);
	temp_dir_close(&t);
}

static void check_unreadable(const struct temp_dir *t, const char *const *lines)
{
	struct record_writer *w = record_writer_new("haul-peers 1");
	struct haul_fault fault = { .status = HAUL_OK };
	struct pins pins;
	char *copy, *rest, *word;

	for (; *lines; lines++) {
		record_writer_line(w);
		copy = rest = strdup(*lines);
		while ((word = strsep(&rest, " ")) != NULL)
			record_writer_field(w, word);
		free(copy);
	}
	assert_ok(record_writer_commit(w, t->fd, "peers", NULL));
	record_writer_free(w);
	assert_code(pins_load(t->fd, &pins, &fault), HAUL_UNREADABLE_PINS);
	assert_code(fault.status, HAUL_UNREADABLE_PINS);
}

#define LINES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void well_formed_records_that_make_no_sense_give_no_list(void **state)
{
	struct temp_dir t = temp_dir_open();
	char nas[160], twice[160];
	char id[DEVICE_ID_TEXT_MAX];

	(void)state;
	(void)device_id_text(id_of(1), id);
	(void)snprintf(nas, sizeof(nas), "peer %s nas 5 typed", id);
	(void)snprintf(twice, sizeof(twice), "peer %s other 5 typed", id);
	check_unreadable(&t, LINES("allow inbox list"));   /* of nobody */
	check_unreadable(&t, LINES("peer x nas 5 typed")); /* no id */
	check_unreadable(&t, LINES(nas, nas));
	check_unreadable(&t, LINES(nas, twice));
	check_unreadable(&t, LINES(nas, "allow inbox everything"));
	check_unreadable(&t, LINES(nas, "allow inbox"));
	check_unreadable(&t, LINES(nas, "allow in/box list"));
	check_unreadable(&t, LINES(nas, "allow inbox list now"));
	check_unreadable(&t, LINES(nas, "address"));
	check_unreadable(&t, LINES(nas, "address a b"));
	check_unreadable(&t, LINES(nas, "quota 5"));
	(void)snprintf(nas, sizeof(nas), "peer %s nas soon typed", id);
	check_unreadable(&t, LINES(nas));
	(void)snprintf(nas, sizeof(nas), "peer %s nas -5 typed", id);
	check_unreadable(&t, LINES(nas));
	(void)snprintf(nas, sizeof(nas), "peer %s ../nas 5 typed", id);
	check_unreadable(&t, LINES(nas));
	temp_dir_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_saved_list_comes_back),
		cmocka_unit_test(names_and_ids_belong_to_one_device),
		cmocka_unit_test(names_addresses_and_shares_are_checked),
		cmocka_unit_test(rights_are_set_and_taken_away),
		cmocka_unit_test(lists_are_bounded),
		cmocka_unit_test(no_file_is_an_empty_list_and_a_damaged_one_is_none),
		cmocka_unit_test(well_formed_records_that_make_no_sense_give_no_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
