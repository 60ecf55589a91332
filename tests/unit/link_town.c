#include "tests/unit/link_town.h"

#include "tests/unit/cmocka_first.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct town t;

void town_side_closed(void *ctx)
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
	control_link_close(l, town_side_closed, s);
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
		struct msg_error e = { .code = s->refuse_code ? s->refuse_code : HAUL_CODE_NO_SHARE,
				       .text = { "no such share", 13 } };

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
	if (t.server.drops) {
		t.server.drops--;
		channel_close(ch, NULL, NULL);
		return;
	}
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

void town_nothing(void *ctx, struct channel *ch)
{
	(void)ctx;
	(void)ch;
}

void town_channel_end(void *ctx, struct channel *ch, haul_status why, const struct haul_fault *fault)
{
	struct side *s = ctx;

	s->is_over = true;
	s->why = why;
	(void)snprintf(s->text, sizeof(s->text), "%s", fault->text);
	channel_close(ch, town_side_closed, s);
}

static const struct channel_callbacks client_channel_callbacks = { on_client_ready, town_nothing, town_nothing,
								   town_channel_end };

static void on_listener_closed(void *ctx)
{
	(void)ctx;
	t.is_listener_closed = true;
}

struct sockaddr_storage town_address(void)
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

int town_open(void **state)
{
	(void)state;
	town_open_with(0);
	return 0;
}

int town_open_impatient(void **state)
{
	(void)state;
	town_open_with(300);
	return 0;
}

int town_close(void **state)
{
	(void)state;
	listener_close(t.listener, on_listener_closed, NULL);
	run_until(&t.loop, &t.is_listener_closed);
	loop_finish(&t.loop);
	device_close(&t.nas);
	device_close(&t.edit);
	return 0;
}

void town_connect(void)
{
	struct sockaddr_storage address = town_address();
	struct channel_connect_config cfg = {
		.tls = t.edit.tls, .address = &address, .expect_id = device_id_of(&t.nas), .timeout_ms = 5000
	};

	assert_true(
	    haul_ok(channel_connect(&t.loop, &cfg, &client_channel_callbacks, &t.client, &t.client.channel, NULL)));
}
