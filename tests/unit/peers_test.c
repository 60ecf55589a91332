/* Known devices: added (twice), found, allowed, removed; refusals name the cure; addresses. */
#include "agent/peer_address.h"
#include "agent/peers.h"
#include "agent/shares.h"
#include "certs/device_id.h"
#include "certs/rights.h"
#include "tests/unit/temp_directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct temp_directory temp;
static struct home home;
static char id_text[3][DEVICE_ID_TEXT_MAX];

static int set_up(void **state)
{
	char name[] = "inbox";
	struct share s = {
		.name = name, .path = temp.path, .own_uid = UINT64_MAX, .own_gid = UINT64_MAX, .umask = UINT32_MAX
	};

	(void)state;
	temp_directory_open(&temp);
	for (size_t i = 0; i < 3; i++) {
		uint8_t id[DEVICE_ID_BYTES];

		memset(id, (int)i + 1, sizeof(id));
		device_id_text(id, id_text[i]);
	}
	return haul_failed(home_open(&home, temp_path(&temp, "home"), NULL)) ||
	       haul_failed(shares_add(&home, &s, NULL));
}

static int tear_down(void **state)
{
	(void)state;
	home_close(&home);
	temp_directory_close(&temp);
	return 0;
}

static struct peer_list load(void)
{
	struct haul_fault fault = { .text = "" };
	struct peer_list l;

	if (haul_failed(peers_load(&home, &l, &fault)))
		fail_msg("%s", fault.text);
	return l;
}

static void assert_added(unsigned id, const char *name, const char *address, const struct peer_allow *allow)
{
	struct haul_fault fault = { .text = "" };

	if (haul_failed(peers_add(&home, id_text[id], name, &address, address ? 1 : 0, allow, allow ? 1 : 0, &fault)))
		fail_msg("%s", fault.text);
}

static void test_add_twice_and_find(void **state)
{
	const struct peer_allow allow = { .share = "inbox", .rights = RIGHTS_WRITER },
				less = { .share = "inbox", .rights = RIGHT_CREATE };
	struct peer_list l;
	const struct peer *p;
	uint8_t id[32];

	(void)state;
	assert_added(0, "nas", "10.0.0.2", &allow);
	assert_added(1, "edit1", NULL, NULL);
	assert_added(0, "nas", "10.0.0.2", &allow);
	assert_added(0, "nas", "nas.lan:5000", &less);
	l = load();
	assert_int_equal(l.count, 2);
	assert_string_equal(l.peers[0].name, "edit1");
	assert_int_equal(l.peers[0].address_count, 0);
	p = peers_find(&l, "nas:inbox", 3);
	assert_non_null(p);
	assert_int_equal(p->address_count, 2);
	assert_string_equal(p->addresses[0], "10.0.0.2");
	assert_string_equal(p->addresses[1], "nas.lan:5000");
	assert_int_equal(p->right_count, 1);
	assert_true(peer_rights_on(p, "inbox", 5) == RIGHT_CREATE);
	assert_true(peer_rights_on(p, "inbo", 4) == 0);
	assert_string_equal(p->device_id_text, id_text[0]);
	assert_true(p->added_at > 1600000000);
	memset(id, 1, sizeof(id));
	assert_ptr_equal(peers_find_id(&l, id), p);
	memset(id, 9, sizeof(id));
	assert_null(peers_find_id(&l, id));
	assert_null(peers_find(&l, "na", 2));
	peers_free(&l);
}

static void assert_refused(const char *device, const char *name, const char *address, const struct peer_allow *allow,
			   haul_status expected)
{
	struct haul_fault fault = { .text = "" };
	haul_status st = peers_add(&home, device, name, &address, address ? 1 : 0, allow, allow ? 1 : 0, &fault);
	struct peer_list l = load();

	if (st.code != expected.code)
		fail_msg("%s: %s", name, fault.text);
	assert_true(*fault.text);
	assert_int_equal(l.count, 1);
	assert_int_equal(l.peers[0].address_count, 0);
	assert_int_equal(l.peers[0].right_count, 0);
	peers_free(&l);
}

static void test_refusals_change_nothing(void **state)
{
	const struct peer_allow allow = { .share = "outbox", .rights = RIGHTS_READER };
	struct home_identity own;

	(void)state;
	assert_added(0, "nas", NULL, NULL);
	assert_true(haul_ok(home_identity(&home, &own, NULL)));
	assert_refused(own.device_id_text, "self", NULL, NULL, HAUL_BAD_VALUE);
	assert_refused("7H2K", "edit1", NULL, NULL, HAUL_BAD_VALUE);
	assert_refused(id_text[1], "Edit 1", NULL, NULL, HAUL_BAD_VALUE);
	assert_refused(id_text[1], "edit1", "10.0.0.2:99999", NULL, HAUL_BAD_VALUE);
	assert_refused(id_text[1], "edit1", NULL, &allow, HAUL_NO_SHARE);
	assert_refused(id_text[1], "nas", "10.0.0.3", NULL, HAUL_EXISTS);
	assert_refused(id_text[0], "nas2", "10.0.0.3", NULL, HAUL_EXISTS);
}

static void test_allow_speaks_of_this_machine(void **state)
{
	const struct peer_allow allow = { .share = "outbox", .rights = RIGHTS_READER };
	struct haul_fault fault = { .text = "" };

	(void)state;
	assert_int_equal(peers_add(&home, id_text[0], "nas", NULL, 0, &allow, 1, &fault).code, HAUL_CODE_NO_SHARE);
	assert_string_equal(fault.text,
			    "--allow grants rights on shares of THIS machine, which has no share \"outbox\"");
}

static void test_allow_sets_and_takes_away(void **state)
{
	const struct peer_allow full = { .share = "inbox", .rights = RIGHTS_FULL },
				none = { .share = "inbox", .rights = 0 }, gone = { .share = "outbox", .rights = 0 },
				unknown = { .share = "outbox", .rights = RIGHT_READ };
	struct haul_fault fault = { .text = "" };
	struct peer_list l;

	(void)state;
	assert_added(0, "nas", NULL, NULL);
	assert_true(haul_ok(peers_allow(&home, "nas", &full, &fault)));
	l = load();
	assert_true(peer_rights_on(&l.peers[0], "inbox", 5) == RIGHTS_FULL);
	peers_free(&l);
	assert_true(haul_ok(peers_allow(&home, "nas", &none, &fault)));
	assert_true(haul_ok(peers_allow(&home, "nas", &gone, &fault)));
	l = load();
	assert_int_equal(l.peers[0].right_count, 0);
	peers_free(&l);
	assert_int_equal(peers_allow(&home, "nas", &unknown, &fault).code, HAUL_CODE_NO_SHARE);
	assert_int_equal(peers_allow(&home, "nass", &full, &fault).code, HAUL_CODE_NOT_KNOWN);
	assert_string_equal(fault.text, "no peer \"nass\" (known: nas)");
}

static void test_a_quota_stays_with_its_rights(void **state)
{
	const struct quota_limit daily = { .bytes = UINT64_C(5000000000000), .since_s = 1700000000, .every_s = 86400 };
	struct peer_allow allow = { .share = "inbox", .rights = RIGHTS_WRITER, .has_quota = true, .quota = daily };
	struct peer_list l;
	struct quota_limit q;

	(void)state;
	assert_added(0, "nas", NULL, &allow);
	allow.has_quota = false;
	allow.rights = RIGHTS_DROPBOX;
	assert_true(haul_ok(peers_allow(&home, "nas", &allow, NULL)));
	l = load();
	q = peer_quota_on(&l.peers[0], "inbox", 5);
	assert_memory_equal(&q.bytes, &daily.bytes, sizeof(q.bytes));
	assert_true(q.since_s == daily.since_s && q.every_s == daily.every_s);
	assert_int_equal(peer_quota_on(&l.peers[0], "outbox", 6).bytes, 0);
	peers_free(&l);
	allow.rights = 0;
	assert_true(haul_ok(peers_allow(&home, "nas", &allow, NULL)));
	allow.rights = RIGHTS_WRITER;
	assert_true(haul_ok(peers_allow(&home, "nas", &allow, NULL)));
	l = load();
	assert_int_equal(peer_quota_on(&l.peers[0], "inbox", 5).bytes, 0); /* it went with them */
	peers_free(&l);
}

static void test_remove(void **state)
{
	struct haul_fault fault = { .text = "" };
	struct peer_list l;

	(void)state;
	assert_added(0, "nas", NULL, NULL);
	assert_true(haul_ok(peers_remove(&home, "nas", &fault)));
	l = load();
	assert_int_equal(l.count, 0);
	peers_free(&l);
	assert_int_equal(peers_remove(&home, "nas", &fault).code, HAUL_CODE_NOT_KNOWN);
	assert_string_equal(fault.text, "no peer \"nas\" (known: none)");
}

static void test_damaged_list_knows_nobody(void **state)
{
	struct haul_fault fault = { .text = "" };
	struct peer_list l;

	(void)state;
	assert_added(0, "nas", NULL, NULL);
	temp_write(&temp, "home/peers", "haul-peers 1\n");
	assert_int_equal(peers_load(&home, &l, &fault).code, HAUL_CODE_UNREADABLE_PINS);
	assert_int_equal(peers_remove(&home, "nas", &fault).code, HAUL_CODE_UNREADABLE_PINS);
}

static void test_rights(void **state)
{
	struct haul_fault fault = { .text = "" };
	uint64_t rights = 0;
	char text[64];

	(void)state;
	assert_true(haul_ok(peer_rights_parse("reader,create", &rights, &fault)));
	assert_true(rights == (RIGHT_LIST | RIGHT_READ | RIGHT_CREATE));
	assert_string_equal(peer_rights_text(RIGHTS_WRITER, text, sizeof(text)), "writer");
	assert_string_equal(peer_rights_text(0, text, sizeof(text)), "none");
	assert_string_equal(peer_rights_text(RIGHTS_WRITER, text, 4), "wri");
	assert_int_equal(peer_rights_parse("write", &rights, &fault).code, HAUL_CODE_BAD_VALUE);
}

static void assert_address(const char *text, const char *host, unsigned port, const char *kept)
{
	char shown[PEER_ADDRESS_TEXT_MAX];
	struct peer_address a;

	if (haul_failed(peer_address_parse(text, &a, NULL)))
		fail_msg("%s", text);
	assert_string_equal(a.host, host);
	assert_int_equal(a.port, port);
	assert_string_equal(peer_address_text(&a, shown), kept);
}

static void test_addresses(void **state)
{
	static const char *const bad[] = { "",       ":1",    "h:",     "h:0",        "h:65536", "h:1x",
					   "[::1",   "[h]:1", "[::1]:", "[::1]x",     "a b",     "h/x",
					   "user@h", "-h",    "::1]",   "[fe80::1%]", "a:b:c",   "h:000001" };
	struct peer_address a;

	(void)state;
	assert_address("nas", "nas", 42850, "nas");
	assert_address("nas.lan:1", "nas.lan", 1, "nas.lan:1");
	assert_address("10.0.0.2:65535", "10.0.0.2", 65535, "10.0.0.2:65535");
	assert_address("[::1]:5000", "::1", 5000, "[::1]:5000");
	assert_address("[::1]", "::1", 42850, "[::1]");
	assert_address("fe80::1%eth0", "fe80::1%eth0", 42850, "[fe80::1%eth0]");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (haul_ok(peer_address_parse(bad[i], &a, NULL)))
			fail_msg("%s was taken", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_add_twice_and_find, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refusals_change_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_allow_speaks_of_this_machine, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_allow_sets_and_takes_away, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_quota_stays_with_its_rights, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_remove, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged_list_knows_nobody, set_up, tear_down),
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
