/* Two control links over a listener and a channel: greeting, refusal, broken rules, lanes, and a flood at the door. */
#include "tests/unit/net_fixture.h"

#include "agent/control_link.h"
#include "agent/lane_dial.h"
#include "agent/lanes_ahead.h"
#include "agent/listener.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { FLOOD = 200 };

/* What a side does when a message of this type comes. */
struct side {
	struct control_link *link;
	struct channel *channel; /* client: until the link has it */
	enum message_type last;
	unsigned messages;
	bool has_message, is_over, is_closed, is_detached;
	haul_status why;
	char text[HAUL_FAULT_TEXT_MAX];
	char peer_says[64];
	bool refuses, finishes;
	uint8_t device[32];
};

struct town {
	uv_loop_t loop;
	struct device nas, edit;
	struct listener *listener;
	bool is_listener_closed;
	struct side server, client;
	struct channel_parts *parts;
	struct channel *lane_server, *lane_client;
	bool is_lane_done, is_lane_read;
	haul_status lane_why;
	size_t lane_got;
};

static struct town t;

static void on_closed(void *ctx)
{
	((struct side *)ctx)->is_closed = true;
}

static void on_link_end(void *ctx, struct control_link *l, haul_status why, const struct haul_fault *fault)
{
	struct side *s = ctx;

	assert_false(s->is_over);
	s->is_over = true;
	s->why = why;
	(void)snprintf(s->text, sizeof(s->text), "%s", fault->text);
	control_link_close(l, on_closed, s);
}

static void on_link_writable(void *ctx, struct control_link *l)
{
	(void)ctx;
	(void)l;
}

static void on_client_message(void *ctx, struct control_link *l, const struct message *m)
{
	struct side *s = ctx;

	s->last = m->type;
	s->messages++;
	s->has_message = true;
	if (m->type == MSG_HELLO)
		(void)snprintf(s->peer_says, sizeof(s->peer_says), "%.*s", (int)m->hello.your_name.len,
			       m->hello.your_name.at);
	if (m->type == MSG_HELLO && s->finishes) {
		struct message lookup = { .type = MSG_LIST };

		assert_true(haul_ok(control_link_send(l, &lookup, NULL)));
	}
	if (m->type == MSG_LISTING)
		control_link_finish(l);
}

static void on_lane_detached(void *ctx, struct channel_parts *parts)
{
	(void)ctx;
	t.parts = parts;
	t.server.is_detached = true;
}

static void on_server_message(void *ctx, struct control_link *l, const struct message *m)
{
	struct side *s = ctx;

	listener_authenticated(t.listener, control_link_channel(l));
	s->last = m->type;
	s->messages++;
	s->has_message = true;
	if (s->refuses) {
		struct msg_error e = { .code = HAUL_CODE_NO_SHARE, .text = { "no such share", 13 } };

		control_link_refuse(l, &e);
	} else if (m->type == MSG_LIST) {
		struct message listing = { .type = MSG_LISTING };

		assert_true(haul_ok(control_link_send(l, &listing, NULL)));
	} else if (m->type == MSG_LANE_HELLO) {
		struct msg_lane_ok ok = { .lane = m->lane_hello.lane, .epoch = m->lane_hello.epoch };

		assert_true(haul_ok(control_link_detach(l, &ok, on_lane_detached, NULL)));
	}
}

static const struct control_link_callbacks server_callbacks = { on_server_message, on_link_writable, on_link_end };
static const struct control_link_callbacks client_callbacks = { on_client_message, on_link_writable, on_link_end };

static void on_server_channel(void *ctx, struct channel *ch, const uint8_t device_id[32])
{
	struct msg_hello hello;

	(void)ctx;
	memcpy(t.server.device, device_id, 32);
	hello_fill(&hello, "edit1");
	assert_true(
	    haul_ok(control_link_open(ch, CONTROL_SERVER, &hello, &server_callbacks, &t.server, &t.server.link, NULL)));
}

static void on_client_ready(void *ctx, struct channel *ch, const uint8_t device_id[32])
{
	struct msg_hello hello;

	(void)ctx;
	(void)device_id;
	hello_fill(&hello, NULL);
	assert_true(
	    haul_ok(control_link_open(ch, CONTROL_CLIENT, &hello, &client_callbacks, &t.client, &t.client.link, NULL)));
}

static void on_nothing(void *ctx, struct channel *ch)
{
	(void)ctx;
	(void)ch;
}

static void on_client_channel_end(void *ctx, struct channel *ch, haul_status why, const struct haul_fault *fault)
{
	struct side *s = ctx;

	s->is_over = true;
	s->why = why;
	(void)snprintf(s->text, sizeof(s->text), "%s", fault->text);
	channel_close(ch, on_closed, s);
}

static const struct channel_callbacks client_channel_callbacks = { on_client_ready, on_nothing, on_nothing,
								   on_client_channel_end };

static void on_listener_closed(void *ctx)
{
	(void)ctx;
	t.is_listener_closed = true;
}

static struct sockaddr_storage listener_address(void)
{
	return loopback((unsigned)atoi(strrchr(listener_address_text(t.listener), ':') + 1));
}

static void town_open_with(uint32_t first_message_ms)
{
	struct listener_config cfg = { .on_channel = on_server_channel, .first_message_ms = first_message_ms };

	memset(&t, 0, sizeof(t));
	assert_int_equal(uv_loop_init(&t.loop), 0);
	device_open(&t.nas);
	device_open(&t.edit);
	device_meet(&t.nas, &t.edit);
	device_meet(&t.edit, &t.nas);
	cfg.tls = t.nas.tls;
	cfg.address = loopback(0);
	assert_true(haul_ok(listener_open(&t.loop, &cfg, &t.listener, NULL)));
}

static int town_open(void **state)
{
	(void)state;
	town_open_with(0);
	return 0;
}

static int impatient_town_open(void **state)
{
	(void)state;
	town_open_with(300);
	return 0;
}

static int town_close(void **state)
{
	(void)state;
	listener_close(t.listener, on_listener_closed, NULL);
	run_until(&t.loop, &t.is_listener_closed);
	loop_finish(&t.loop);
	device_close(&t.nas);
	device_close(&t.edit);
	return 0;
}

static void client_connect(void)
{
	struct sockaddr_storage address = listener_address();
	struct channel_connect_config cfg = {
		.tls = t.edit.tls, .address = &address, .expect_id = device_id_of(&t.nas), .timeout_ms = 5000
	};

	assert_true(
	    haul_ok(channel_connect(&t.loop, &cfg, &client_channel_callbacks, &t.client, &t.client.channel, NULL)));
}

static void they_greet_ask_and_part(void **state)
{
	(void)state;
	t.client.finishes = true;
	client_connect();
	run_until(&t.loop, &t.client.is_closed);
	run_until(&t.loop, &t.server.is_closed);
	assert_string_equal(t.client.peer_says, "edit1");
	assert_int_equal(t.client.messages, 2); /* HELLO, LISTING */
	assert_int_equal(t.server.messages, 2); /* HELLO, LIST */
	assert_int_equal(t.server.why.code, HAUL_CODE_OK);
	assert_memory_equal(t.server.device, device_id_of(&t.edit), 32);
}

static void a_refusal_arrives_with_its_reason(void **state)
{
	(void)state;
	t.server.refuses = true;
	client_connect();
	run_until(&t.loop, &t.client.is_closed);
	run_until(&t.loop, &t.server.is_closed);
	assert_int_equal(t.client.last, MSG_ERROR);
	assert_int_equal(t.client.why.code, HAUL_CODE_NO_SHARE);
	assert_int_equal(t.server.why.code, HAUL_CODE_NO_SHARE);
}

static void an_unknown_device_gets_no_link(void **state)
{
	(void)state;
	t.nas.knows_count = 0;
	client_connect();
	run_until(&t.loop, &t.client.is_closed);
	assert_int_equal(t.client.why.code, HAUL_CODE_NOT_KNOWN);
	assert_int_equal(t.server.messages, 0);
	assert_null(t.server.link);
}

/* A channel whose owner speaks no protocol: HELLO is answered with a frame too long. */
static void on_rude_readable(void *ctx, struct channel *ch)
{
	struct side *s = ctx;
	uint8_t buf[4096];

	while (channel_read(ch, buf, sizeof(buf)))
		;
	if (s->has_message)
		return;
	s->has_message = true;
	assert_int_equal(channel_write(ch, "\xff\xff\xff\xff....", 8), 8);
	channel_flush(ch);
}

static const struct channel_callbacks rude_callbacks = {
	.on_readable = on_rude_readable,
	.on_writable = on_nothing,
	.on_end = on_client_channel_end,
};

static void on_rude_ready(void *ctx, struct channel *ch, const uint8_t device_id[32])
{
	(void)device_id;
	channel_set_callbacks(ch, &rude_callbacks, ctx);
}

static void a_broken_rule_ends_the_link(void **state)
{
	static const struct channel_callbacks first = { on_rude_ready, on_nothing, on_nothing, on_client_channel_end };
	struct sockaddr_storage address = listener_address();
	struct channel_connect_config cfg = { .address = &address, .timeout_ms = 5000 };

	(void)state;
	cfg.tls = t.edit.tls;
	assert_true(haul_ok(channel_connect(&t.loop, &cfg, &first, &t.client, &t.client.channel, NULL)));
	run_until(&t.loop, &t.server.is_closed);
	run_until(&t.loop, &t.client.is_closed);
	assert_true(haul_failed(t.server.why));
	assert_int_equal(t.server.messages, 0);
}

/* Lanes */

static void on_lane_readable(void *ctx, struct channel *ch)
{
	uint8_t buf[64];
	size_t got;

	(void)ctx;
	while ((got = channel_read(ch, buf, sizeof(buf))))
		t.lane_got += got;
	t.is_lane_read = t.lane_got >= 11;
}

static void on_lane_end(void *ctx, struct channel *ch, haul_status why, const struct haul_fault *fault)
{
	(void)ctx;
	(void)ch;
	(void)why;
	(void)fault;
}

static const struct channel_callbacks lane_callbacks = { NULL, on_lane_readable, on_nothing, on_lane_end };

static void on_lane_dialled(void *ctx, struct channel *channel, haul_status why, const struct haul_fault *fault)
{
	(void)ctx;
	(void)fault;
	t.lane_client = channel;
	t.lane_why = why;
	t.is_lane_done = true;
	if (channel) {
		channel_set_callbacks(channel, &lane_callbacks, NULL);
		channel_resume(channel);
	}
}

static struct lane_dial *dial_lane(void)
{
	struct sockaddr_storage address = listener_address();
	struct lane_dial_config cfg = { .address = &address, .lane = { .lane = 3, .epoch = 1 }, .timeout_ms = 5000 };
	struct lane_dial *d;

	cfg.tls = t.edit.tls;
	cfg.device_id = device_id_of(&t.nas);
	assert_true(haul_ok(lane_dial_start(&t.loop, &cfg, on_lane_dialled, NULL, &d, NULL)));
	return d;
}

/* The lane's first bytes follow LANE_OK at once, so that they can be in the same read. */
static void a_lane_is_handed_over_whole(void **state)
{
	(void)state;
	(void)dial_lane();
	run_until(&t.loop, &t.server.is_detached);
	assert_true(haul_ok(channel_attach(&t.loop, t.parts, &lane_callbacks, NULL, &t.lane_server)));
	assert_int_equal(channel_write(t.lane_server, "lane's data", 11), 11);
	channel_flush(t.lane_server);
	run_until(&t.loop, &t.is_lane_done);
	assert_int_equal(t.lane_why.code, HAUL_CODE_OK);
	run_until(&t.loop, &t.is_lane_read);
	assert_int_equal(t.lane_got, 11);
	channel_close(t.lane_client, NULL, NULL);
	channel_close(t.lane_server, NULL, NULL);
}

static void a_lane_that_is_refused_says_so(void **state)
{
	(void)state;
	t.server.refuses = true;
	(void)dial_lane();
	run_until(&t.loop, &t.is_lane_done);
	assert_null(t.lane_client);
	assert_int_equal(t.lane_why.code, HAUL_CODE_NO_SHARE);
	run_until(&t.loop, &t.server.is_closed);
}

static void a_lane_can_be_given_up(void **state)
{
	struct side s = { .is_closed = false };

	(void)state;
	lane_dial_cancel(dial_lane(), on_closed, &s);
	run_until(&t.loop, &s.is_closed);
	assert_false(t.is_lane_done);
}

/* Lanes that are connected before there is a job */

static struct lane_dial_config ahead_config(const struct sockaddr_storage *address)
{
	return (struct lane_dial_config){
		.tls = t.edit.tls, .address = address, .device_id = device_id_of(&t.nas), .timeout_ms = 5000
	};
}

static void on_ahead_joined(void *ctx, unsigned number, struct channel_parts *parts)
{
	struct channel_parts **ret_parts = ctx;

	assert_int_equal(number, 3);
	*ret_parts = parts;
	t.is_lane_done = true;
}

static void on_pause_over(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
	uv_close((uv_handle_t *)timer, NULL);
}

static void run_for(uint64_t ms)
{
	bool is_over = false;
	uv_timer_t timer = { .data = &is_over };

	(void)uv_timer_init(&t.loop, &timer);
	(void)uv_timer_start(&timer, on_pause_over, ms, 0);
	run_until(&t.loop, &is_over);
	(void)uv_run(&t.loop, UV_RUN_NOWAIT); /* the timer lies on our stack */
}

static void a_lane_ahead_says_nothing_until_it_is_taken(void **state)
{
	struct sockaddr_storage address = listener_address();
	struct lane_dial_config cfg = ahead_config(&address);
	const struct msg_lane_hello hello = { .lane = 3 };
	struct channel_parts *parts = NULL;
	struct lanes_ahead *a = lanes_ahead_new(&t.loop, &cfg, 1);

	(void)state;
	assert_non_null(a);
	run_for(100);
	assert_false(t.server.is_detached);
	assert_true(lanes_ahead_take(a, &hello, on_ahead_joined, &parts));
	assert_false(lanes_ahead_take(a, &hello, on_ahead_joined, &parts)); /* there was one */
	run_until(&t.loop, &t.server.is_detached);
	assert_true(haul_ok(channel_attach(&t.loop, t.parts, &lane_callbacks, NULL, &t.lane_server)));
	run_until(&t.loop, &t.is_lane_done);
	assert_non_null(parts);
	assert_true(haul_ok(channel_attach(&t.loop, parts, &lane_callbacks, NULL, &t.lane_client)));
	assert_int_equal(channel_write(t.lane_server, "lane's data", 11), 11);
	channel_flush(t.lane_server);
	run_until(&t.loop, &t.is_lane_read);
	channel_close(t.lane_client, NULL, NULL);
	channel_close(t.lane_server, NULL, NULL);
	lanes_ahead_cancel(a);
	lanes_ahead_free(a);
}

static void a_lane_ahead_that_is_refused_is_told(void **state)
{
	struct sockaddr_storage address = listener_address();
	struct lane_dial_config cfg = ahead_config(&address);
	const struct msg_lane_hello hello = { .lane = 3 };
	struct channel_parts *parts = NULL;
	struct lanes_ahead *a = lanes_ahead_new(&t.loop, &cfg, 1);

	(void)state;
	t.server.refuses = true;
	assert_non_null(a);
	assert_true(lanes_ahead_take(a, &hello, on_ahead_joined, &parts)); /* before it is connected */
	run_until(&t.loop, &t.is_lane_done);
	assert_null(parts);
	run_until(&t.loop, &t.server.is_closed);
	lanes_ahead_free(a);
}

static void a_held_lane_that_nobody_wants_ends(void **state)
{
	struct sockaddr_storage address = listener_address();
	struct lane_dial_config cfg = ahead_config(&address);
	struct lane_dial *d;

	(void)state;
	cfg.hold_ms = 100;
	assert_true(haul_ok(lane_dial_start(&t.loop, &cfg, on_lane_dialled, NULL, &d, NULL)));
	run_until(&t.loop, &t.is_lane_done);
	assert_null(t.lane_client);
	assert_int_equal(t.lane_why.code, HAUL_CODE_TIMED_OUT);
	assert_false(t.server.is_detached);
	run_until(&t.loop, &t.server.is_closed);
}

static void lanes_ahead_that_are_too_many_are_dropped(void **state)
{
	struct sockaddr_storage address = listener_address();
	struct lane_dial_config cfg = ahead_config(&address);
	const struct msg_lane_hello hello = { .lane = 3 };
	struct lanes_ahead *a = lanes_ahead_new(&t.loop, &cfg, 1);

	(void)state;
	assert_non_null(a);
	lanes_ahead_drop(a);
	assert_false(lanes_ahead_take(a, &hello, on_ahead_joined, NULL));
	run_for(50);
	assert_false(t.server.is_detached);
	lanes_ahead_free(a);
}

/* A flood */

static void on_silent_connected(uv_connect_t *req, int err)
{
	(void)req;
	(void)err;
}

static void silent_strangers_do_not_keep_a_peer_out(void **state)
{
	static uv_tcp_t silent[FLOOD];
	static uv_connect_t requests[FLOOD];
	struct sockaddr_storage address = listener_address();

	(void)state;
	for (size_t i = 0; i < FLOOD; i++) {
		assert_int_equal(uv_tcp_init(&t.loop, &silent[i]), 0);
		assert_int_equal(
		    uv_tcp_connect(&requests[i], &silent[i], (const struct sockaddr *)&address, on_silent_connected),
		    0);
		if (i == FLOOD / 2)
			client_connect();
		uv_run(&t.loop, UV_RUN_NOWAIT);
	}
	run_until(&t.loop, &t.client.has_message);
	assert_int_equal(t.client.last, MSG_HELLO);
	for (size_t i = 0; i < FLOOD; i++)
		uv_close((uv_handle_t *)&silent[i], NULL);
	control_link_close(t.client.link, on_closed, &t.client);
	run_until(&t.loop, &t.server.is_closed);
}

/* Shakes hands, reads HELLO, and never says a word. */
static void on_mute_readable(void *ctx, struct channel *ch)
{
	uint8_t buf[4096];

	(void)ctx;
	while (channel_read(ch, buf, sizeof(buf)))
		;
}

static void on_mute_ready(void *ctx, struct channel *ch, const uint8_t device_id[32])
{
	(void)ctx;
	(void)ch;
	(void)device_id;
}

static void a_mute_peer_has_to_go(void **state)
{
	static const struct channel_callbacks mute = { on_mute_ready, on_mute_readable, on_nothing,
						       on_client_channel_end };
	struct sockaddr_storage address = listener_address();
	struct channel_connect_config cfg = { .address = &address, .timeout_ms = 5000 };

	(void)state;
	cfg.tls = t.edit.tls;
	assert_true(haul_ok(channel_connect(&t.loop, &cfg, &mute, &t.client, &t.client.channel, NULL)));
	run_until(&t.loop, &t.server.is_closed);
	assert_int_equal(t.server.why.code, HAUL_CODE_TIMED_OUT);
	run_until(&t.loop, &t.client.is_closed);
}

static void on_silent_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
	(void)buf;
	if (count < 0)
		*(bool *)stream->data = true;
}

static void on_silent_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
	static char byte;

	(void)handle;
	(void)suggested;
	*ret_buf = uv_buf_init(&byte, 1);
}

static void on_waiting_connected(uv_connect_t *req, int err)
{
	assert_int_equal(err, 0);
	uv_read_start(req->handle, on_silent_alloc, on_silent_read);
}

static void a_silent_stranger_has_to_go(void **state)
{
	struct sockaddr_storage address = listener_address();
	bool is_gone = false;
	uv_connect_t req;
	uv_tcp_t tcp;

	(void)state;
	uv_tcp_init(&t.loop, &tcp);
	tcp.data = &is_gone;
	uv_tcp_connect(&req, &tcp, (const struct sockaddr *)&address, on_waiting_connected);
	run_until(&t.loop, &is_gone);
	uv_close((uv_handle_t *)&tcp, NULL);
	uv_run(&t.loop, UV_RUN_NOWAIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(they_greet_ask_and_part, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_refusal_arrives_with_its_reason, town_open, town_close),
		cmocka_unit_test_setup_teardown(an_unknown_device_gets_no_link, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_broken_rule_ends_the_link, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_lane_is_handed_over_whole, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_lane_that_is_refused_says_so, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_lane_can_be_given_up, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_lane_ahead_says_nothing_until_it_is_taken, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_lane_ahead_that_is_refused_is_told, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_held_lane_that_nobody_wants_ends, town_open, town_close),
		cmocka_unit_test_setup_teardown(lanes_ahead_that_are_too_many_are_dropped, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_mute_peer_has_to_go, impatient_town_open, town_close),
		cmocka_unit_test_setup_teardown(a_silent_stranger_has_to_go, impatient_town_open, town_close),
		cmocka_unit_test_setup_teardown(silent_strangers_do_not_keep_a_peer_out, town_open, town_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
