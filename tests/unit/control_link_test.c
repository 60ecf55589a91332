/* Two control links over a listener and a channel: greeting, refusal, broken rules, and a flood at the door. */
#include "tests/unit/link_town.h"

#include "tests/unit/cmocka_first.h"

#include <stdio.h>
#include <string.h>

enum { FLOOD = 200 };

static void they_greet_ask_and_part(void **state)
{
	(void)state;
	t.client.finishes = true;
	town_connect();
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
	town_connect();
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
	town_connect();
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
	.on_writable = town_nothing,
	.on_end = town_channel_end,
};

static void on_rude_ready(void *ctx, struct channel *ch, const uint8_t device_id[32])
{
	(void)device_id;
	channel_set_callbacks(ch, &rude_callbacks, ctx);
}

static void a_broken_rule_ends_the_link(void **state)
{
	static const struct channel_callbacks first = { on_rude_ready, town_nothing, town_nothing, town_channel_end };
	struct sockaddr_storage address = town_address();
	struct channel_connect_config cfg = { .address = &address, .timeout_ms = 5000 };

	(void)state;
	cfg.tls = t.edit.tls;
	assert_true(haul_ok(channel_connect(&t.loop, &cfg, &first, &t.client, &t.client.channel, NULL)));
	run_until(&t.loop, &t.server.is_closed);
	run_until(&t.loop, &t.client.is_closed);
	assert_true(haul_failed(t.server.why));
	assert_int_equal(t.server.messages, 0);
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
	struct sockaddr_storage address = town_address();

	(void)state;
	for (size_t i = 0; i < FLOOD; i++) {
		assert_int_equal(uv_tcp_init(&t.loop, &silent[i]), 0);
		assert_int_equal(
		    uv_tcp_connect(&requests[i], &silent[i], (const struct sockaddr *)&address, on_silent_connected),
		    0);
		if (i == FLOOD / 2)
			town_connect();
		uv_run(&t.loop, UV_RUN_NOWAIT);
	}
	run_until(&t.loop, &t.client.has_message);
	assert_int_equal(t.client.last, MSG_HELLO);
	for (size_t i = 0; i < FLOOD; i++)
		uv_close((uv_handle_t *)&silent[i], NULL);
	control_link_close(t.client.link, town_side_closed, &t.client);
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
	static const struct channel_callbacks mute = { on_mute_ready, on_mute_readable, town_nothing,
						       town_channel_end };
	struct sockaddr_storage address = town_address();
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
	struct sockaddr_storage address = town_address();
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
		cmocka_unit_test_setup_teardown(a_mute_peer_has_to_go, town_open_impatient, town_close),
		cmocka_unit_test_setup_teardown(a_silent_stranger_has_to_go, town_open_impatient, town_close),
		cmocka_unit_test_setup_teardown(silent_strangers_do_not_keep_a_peer_out, town_open, town_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
