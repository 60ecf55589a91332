/* From a place to a link between two homes on this machine, and every line that says why it did not come to one. */
#include "tests/unit/net_fixture.h"

#include "agent/backoff.h"
#include "agent/dial.h"
#include "agent/listener.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct house {
	char dir[64];
	struct home home;
	struct home_identity identity;
};

struct street {
	uv_loop_t loop;
	struct house nas, edit, third;
	struct dial_trust *nas_trust;
	struct listener *listener;
	char address[64];
	bool is_listener_closed;
	bool is_done, is_link_closed;
	struct dial_result result;
	char text[HAUL_FAULT_TEXT_MAX], remedy[HAUL_FAULT_TEXT_MAX];
	haul_status why;
	struct control_link *server_link;
	bool is_server_closed;
	unsigned drops; /* so many connections are closed before anything is said */
};

static struct street s;

static void house_open(struct house *h)
{
	*h = (struct house){ .dir = "/tmp/haul-dial-test-XXXXXX" };
	assert_non_null(mkdtemp(h->dir));
	assert_true(haul_ok(home_open(&h->home, h->dir, NULL)));
	assert_true(haul_ok(home_identity(&h->home, &h->identity, NULL)));
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void house_close(struct house *h)
{
	home_close(&h->home);
	assert_int_equal(nftw(h->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void introduce(struct house *to, const struct house *who, const char *name, const char *address)
{
	struct haul_fault fault;

	if (haul_failed(
		peers_add(&to->home, who->identity.device_id_text, name, &address, address != NULL, NULL, 0, &fault)))
		fail_msg("%s", fault.text);
}

static void on_server_message(void *ctx, struct control_link *l, const struct message *m)
{
	(void)ctx;
	(void)m;
	listener_authenticated(s.listener, control_link_channel(l));
}

static void on_link_writable(void *ctx, struct control_link *l)
{
	(void)ctx;
	(void)l;
}

static void on_flag(void *ctx)
{
	*(bool *)ctx = true;
}

static void on_server_end(void *ctx, struct control_link *l, haul_status why, const struct haul_fault *fault)
{
	(void)ctx;
	(void)why;
	(void)fault;
	control_link_close(l, on_flag, &s.is_server_closed);
}

static const struct control_link_callbacks server_callbacks = { on_server_message, on_link_writable, on_server_end };

static void on_channel(void *ctx, struct channel *ch, const uint8_t device_id[32])
{
	struct msg_hello hello;

	(void)ctx;
	(void)device_id;
	if (s.drops) {
		s.drops--;
		channel_close(ch, NULL, NULL);
		return;
	}
	hello_fill(&hello, "edit1");
	assert_true(
	    haul_ok(control_link_open(ch, CONTROL_SERVER, &hello, &server_callbacks, NULL, &s.server_link, NULL)));
}

/* nas knows edit unless `is_stranger`; edit knows nobody yet. */
static void street_open(bool is_stranger)
{
	struct listener_config cfg = { .on_channel = on_channel };

	memset(&s, 0, sizeof(s));
	assert_int_equal(uv_loop_init(&s.loop), 0);
	house_open(&s.nas);
	house_open(&s.edit);
	house_open(&s.third);
	if (!is_stranger)
		introduce(&s.nas, &s.edit, "edit1", NULL);
	assert_true(haul_ok(dial_trust_new(&s.nas.home, &s.nas_trust, NULL)));
	cfg.tls = s.nas_trust->tls;
	cfg.address = loopback(0);
	assert_true(haul_ok(listener_open(&s.loop, &cfg, &s.listener, NULL)));
	(void)snprintf(s.address, sizeof(s.address), "%s", listener_address_text(s.listener));
}

static void street_close(void)
{
	if (s.result.link) {
		control_link_close(s.result.link, on_flag, &s.is_link_closed);
		run_until(&s.loop, &s.is_link_closed);
		dial_trust_free(s.result.trust);
	}
	if (s.server_link)
		run_until(&s.loop, &s.is_server_closed);
	listener_close(s.listener, on_flag, &s.is_listener_closed);
	run_until(&s.loop, &s.is_listener_closed);
	loop_finish(&s.loop);
	dial_trust_free(s.nas_trust);
	house_close(&s.nas);
	house_close(&s.edit);
	house_close(&s.third);
}

static void on_done(void *ctx, struct dial_result *result, const struct haul_fault *fault, const char *remedy)
{
	(void)ctx;
	assert_false(s.is_done);
	s.is_done = true;
	s.result = *result;
	s.why = fault->status;
	(void)snprintf(s.text, sizeof(s.text), "%s", fault->text);
	(void)snprintf(s.remedy, sizeof(s.remedy), "%s", remedy ? remedy : "");
	assert_int_equal(result->link == NULL, haul_failed(fault->status));
}

static void dial(const char *text, uint32_t timeout_ms)
{
	struct dial_config cfg = { .home = &s.edit.home, .timeout_ms = timeout_ms };
	struct place_spec place;
	struct dial *d;

	assert_true(haul_ok(place_spec_parse(text, &place, NULL)));
	cfg.place = &place;
	assert_true(haul_ok(dial_start(&s.loop, &cfg, on_done, NULL, &d, NULL)));
	run_until(&s.loop, &s.is_done);
	place_spec_close(&place);
}

static void a_peer_is_reached_by_name(void **state)
{
	(void)state;
	street_open(false);
	introduce(&s.edit, &s.nas, "nas", s.address);
	dial("nas:inbox", 5000);
	assert_string_equal(s.text, "");
	assert_non_null(s.result.link);
	assert_string_equal(s.result.peer_name, "nas");
	assert_memory_equal(s.result.device_id, s.nas.identity.device_id, 32);
	assert_int_equal(control_state(control_link_session(s.result.link)), CONTROL_ASKING);
	street_close();
}

static void a_peer_is_reached_by_address(void **state)
{
	char place[128];

	(void)state;
	street_open(false);
	introduce(&s.edit, &s.nas, "nas", NULL);
	(void)snprintf(place, sizeof(place), "haul://%s/inbox", s.address);
	dial(place, 5000);
	assert_string_equal(s.text, "");
	assert_string_equal(s.result.peer_name, "nas");
	street_close();
}

static void a_dead_address_does_not_hide_the_next(void **state)
{
	(void)state;
	street_open(false);
	introduce(&s.edit, &s.nas, "nas", "127.0.0.1:1");
	introduce(&s.edit, &s.nas, "nas", s.address);
	dial("nas:inbox", 5000);
	assert_string_equal(s.text, "");
	street_close();
}

static void a_connection_that_is_lost_at_once_is_made_again(void **state)
{
	(void)state;
	street_open(false);
	introduce(&s.edit, &s.nas, "nas", s.address);
	s.drops = 2;
	dial("nas:inbox", 5000);
	assert_string_equal(s.text, "");
	assert_int_equal(s.drops, 0);
	street_close();
}

static void one_that_is_always_lost_is_told(void **state)
{
	(void)state;
	street_open(false);
	introduce(&s.edit, &s.nas, "nas", s.address);
	s.drops = 100;
	dial("nas:inbox", 60000); /* the tries are over long before, however slow the machine */
	assert_int_equal(s.why.code, HAUL_CODE_LOST);
	assert_int_equal(s.drops, 100 - 1 - BACKOFF_TRIES);
	street_close();
}

static void one_that_is_always_lost_ends_in_time(void **state)
{
	(void)state;
	street_open(false);
	introduce(&s.edit, &s.nas, "nas", s.address);
	s.drops = 100;
	dial("nas:inbox", 500); /* 0.1 + 0.2 s pass, the next wait would be too long; a busy machine gets less far */
	assert_true(s.why.code == HAUL_CODE_LOST || s.why.code == HAUL_CODE_TIMED_OUT);
	assert_in_range(s.drops, 100 - 3, 100);
	street_close();
}

static void a_misspelt_peer(void **state)
{
	(void)state;
	street_open(false);
	dial("nass:inbox", 1000);
	assert_string_equal(s.text, "no peer \"nass\" (none is known yet)");
	street_close();
	street_open(false);
	introduce(&s.edit, &s.nas, "nas", s.address);
	introduce(&s.edit, &s.third, "box", NULL);
	dial("nass:inbox", 1000);
	assert_string_equal(s.text, "no peer \"nass\" (known: box, nas)");
	assert_int_equal(s.why.code, HAUL_CODE_NOT_KNOWN);
	street_close();
}

static void a_peer_without_address(void **state)
{
	char want[256];

	(void)state;
	street_open(false);
	introduce(&s.edit, &s.nas, "nas", NULL);
	dial("nas:inbox", 1000);
	assert_string_equal(s.text, "no address of nas is known");
	(void)snprintf(want, sizeof(want), "Run: haul peer add %s --name nas --address HOST",
		       s.nas.identity.device_id_text);
	assert_string_equal(s.remedy, want);
	assert_int_equal(s.why.code, HAUL_CODE_NO_ROUTE);
	street_close();
}

static void a_peer_that_does_not_know_us(void **state)
{
	char want[512], machine[64];

	(void)state;
	street_open(true);
	introduce(&s.edit, &s.nas, "nas", s.address);
	dial("nas:inbox/day1", 5000);
	assert_string_equal(s.text, "nas does not know this device");
	home_machine_name(machine, sizeof(machine));
	(void)snprintf(want, sizeof(want), "On nas run: haul peer add %s --name %s --allow inbox=writer",
		       s.edit.identity.device_id_text, machine);
	assert_string_equal(s.remedy, want);
	assert_int_equal(s.why.code, HAUL_CODE_NOT_KNOWN);
	street_close();
}

static void another_device_at_the_address(void **state)
{
	char want[128];

	(void)state;
	street_open(false);
	introduce(&s.edit, &s.third, "box", s.address);
	introduce(&s.edit, &s.nas, "nas", NULL); /* a peer, but not the one meant */
	dial("box:inbox", 5000);
	(void)snprintf(want, sizeof(want), "127.0.0.1 answers as another device than box; nothing was sent");
	assert_string_equal(s.text, want);
	assert_int_equal(s.why.code, HAUL_CODE_WRONG_DEVICE);
	street_close();
}

static void no_peer_at_the_address(void **state)
{
	char place[128];

	(void)state;
	street_open(false);
	(void)snprintf(place, sizeof(place), "haul://%s/inbox", s.address);
	dial(place, 5000);
	assert_string_equal(s.text, "the device at 127.0.0.1 is no peer of this one; nothing was sent");
	assert_int_equal(s.why.code, HAUL_CODE_NOT_KNOWN);
	street_close();
}

static void nothing_listens(void **state)
{
	(void)state;
	street_open(false);
	introduce(&s.edit, &s.nas, "nas", "127.0.0.1:1");
	dial("nas:inbox", 5000);
	assert_string_equal(s.text, "127.0.0.1:1 refused the connection: hauld is not running there");
	assert_int_equal(s.why.code, HAUL_CODE_REFUSED);
	street_close();
}

static void on_silent_connection(uv_stream_t *server, int err)
{
	(void)server;
	(void)err;
}

static void nobody_answers(void **state)
{
	struct sockaddr_storage address = loopback(0);
	char text[64], want[128];
	int len = sizeof(address);
	uv_tcp_t silent;
	unsigned port;

	(void)state;
	street_open(false);
	uv_tcp_init(&s.loop, &silent);
	uv_tcp_bind(&silent, (const struct sockaddr *)&address, 0);
	assert_int_equal(uv_listen((uv_stream_t *)&silent, 4, on_silent_connection), 0);
	uv_tcp_getsockname(&silent, (struct sockaddr *)&address, &len);
	port = ntohs(((struct sockaddr_in *)&address)->sin_port);
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", port);
	introduce(&s.edit, &s.nas, "nas", text);
	dial("nas:inbox", 500);
	(void)snprintf(want, sizeof(want), "no answer in 0.5 s: machine off, other address, or a firewall drops TCP %u",
		       port);
	assert_string_equal(s.text, want);
	assert_int_equal(s.why.code, HAUL_CODE_TIMED_OUT);
	uv_close((uv_handle_t *)&silent, NULL);
	street_close();
}

static void a_name_without_address(void **state)
{
	(void)state;
	street_open(false);
	/* a label of 64 is too long for any name server: it is not asked */
	dial("haul://a123456789b123456789c123456789d123456789e123456789f123456789g123/inbox", 8000);
	assert_int_equal(s.why.code, HAUL_CODE_NO_ROUTE);
	assert_non_null(strstr(s.text, "g123 cannot be found"));
	street_close();
}

static void a_dial_can_be_given_up(void **state)
{
	struct dial_config cfg = { .home = &s.edit.home, .timeout_ms = 5000 };
	struct place_spec place;
	struct dial *d;

	(void)state;
	street_open(false);
	introduce(&s.edit, &s.nas, "nas", s.address);
	assert_true(haul_ok(place_spec_parse("nas:inbox", &place, NULL)));
	cfg.place = &place;
	assert_true(haul_ok(dial_start(&s.loop, &cfg, on_done, NULL, &d, NULL)));
	uv_run(&s.loop, UV_RUN_NOWAIT);
	dial_cancel(d);
	run_until(&s.loop, &s.is_done);
	assert_int_equal(s.why.code, HAUL_CODE_CANCELLED);
	place_spec_close(&place);
	street_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_is_reached_by_name),
		cmocka_unit_test(a_peer_is_reached_by_address),
		cmocka_unit_test(a_dead_address_does_not_hide_the_next),
		cmocka_unit_test(a_connection_that_is_lost_at_once_is_made_again),
		cmocka_unit_test(one_that_is_always_lost_is_told),
		cmocka_unit_test(one_that_is_always_lost_ends_in_time),
		cmocka_unit_test(a_misspelt_peer),
		cmocka_unit_test(a_peer_without_address),
		cmocka_unit_test(a_peer_that_does_not_know_us),
		cmocka_unit_test(another_device_at_the_address),
		cmocka_unit_test(no_peer_at_the_address),
		cmocka_unit_test(nothing_listens),
		cmocka_unit_test(nobody_answers),
		cmocka_unit_test(a_name_without_address),
		cmocka_unit_test(a_dial_can_be_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
