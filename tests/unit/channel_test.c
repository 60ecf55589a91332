/*
 * Two channels over 127.0.0.1 with real keys: every byte arrives once and in order whatever the sizes, in both
 * directions, with pauses, across a change of thread; and every way a connection can end is told for what it is.
 */
#include "tests/unit/net_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

enum { STREAM_BYTES = 64 * 1024 * 1024, CHUNK_MAX = 300 * 1000 };

/* One end: writes a stream of its own and checks the other's. Byte i of a stream is a function of i and its seed. */
struct end {
	struct channel *ch;
	uv_loop_t *loop;
	uint64_t to_write, written, to_read, got;
	uint32_t write_seed, read_seed;
	unsigned random;
	bool pauses, finishes;
	bool is_ready, is_over, is_closed, is_detached;
	uint64_t detach_at; /* bytes read; 0: never */
	struct channel_parts *parts;
	haul_status why;
	char text[HAUL_FAULT_TEXT_MAX];
	uv_timer_t pause;
	unsigned pauses_done, writable_calls;
	uint8_t id[32];
};

static unsigned next_random(struct end *e)
{
	e->random = e->random * 1103515245u + 12345u;
	return e->random >> 8;
}

static uint8_t byte_at(uint64_t i, uint32_t seed)
{
	return (uint8_t)((i * 2654435761u + seed) >> 16 ^ i);
}

static void finish_when_done(struct end *e)
{
	if (e->finishes && e->written == e->to_write && e->got == e->to_read)
		channel_finish(e->ch);
}

static void write_some(struct end *e)
{
	static uint8_t chunk[CHUNK_MAX];

	while (e->written < e->to_write) {
		size_t len = 1 + next_random(e) % CHUNK_MAX, taken;

		if (len > e->to_write - e->written)
			len = (size_t)(e->to_write - e->written);
		for (size_t i = 0; i < len; i++)
			chunk[i] = byte_at(e->written + i, e->write_seed);
		taken = channel_write(e->ch, chunk, len);
		e->written += taken;
		if (taken < len)
			return;
	}
	channel_flush(e->ch);
	finish_when_done(e);
}

static void on_ready(void *ctx, struct channel *ch, const uint8_t id[32])
{
	struct end *e = ctx;

	assert_false(e->is_ready);
	e->is_ready = true;
	e->ch = ch;
	memcpy(e->id, id, sizeof(e->id));
	if (e->to_write || e->finishes) {
		assert_true(haul_ok(channel_grow(ch)));
		write_some(e);
	}
}

static void on_pause_over(uv_timer_t *timer)
{
	struct end *e = timer->data;

	channel_resume(e->ch);
}

static void read_some(struct end *e)
{
	static uint8_t chunk[CHUNK_MAX];
	size_t got;

	while ((got = channel_read(e->ch, chunk, 1 + next_random(e) % CHUNK_MAX))) {
		for (size_t i = 0; i < got; i++) {
			if (chunk[i] != byte_at(e->got + i, e->read_seed))
				fail_msg("byte %llu differs", (unsigned long long)(e->got + i));
		}
		e->got += got;
		if (e->pauses && e->got / (4 * 1024 * 1024) > e->pauses_done) {
			e->pauses_done++;
			channel_pause(e->ch);
			uv_timer_start(&e->pause, on_pause_over, 3, 0);
			return;
		}
	}
	finish_when_done(e);
}

static void on_readable(void *ctx, struct channel *ch)
{
	struct end *e = ctx;

	assert_ptr_equal(ch, e->ch);
	if (e->detach_at && e->got >= e->detach_at && !e->is_detached) {
		e->is_detached = true;
		assert_true(haul_ok(channel_detach(ch, &e->parts)));
		return;
	}
	read_some(e);
}

static void on_writable(void *ctx, struct channel *ch)
{
	struct end *e = ctx;

	(void)ch;
	e->writable_calls++;
	write_some(e);
}

static void on_closed(void *ctx)
{
	struct end *e = ctx;

	e->is_closed = true;
	if (e->pauses) /* the peer's end may come in a pause */
		uv_timer_stop(&e->pause);
}

static void on_end(void *ctx, struct channel *ch, haul_status why, const struct haul_fault *fault)
{
	struct end *e = ctx;

	assert_false(e->is_over);
	e->is_over = true;
	e->why = why;
	(void)snprintf(e->text, sizeof(e->text), "%s", fault->text);
	channel_close(ch, on_closed, e);
}

static const struct channel_callbacks callbacks = {
	.on_ready = on_ready,
	.on_readable = on_readable,
	.on_writable = on_writable,
	.on_end = on_end,
};

struct pair {
	uv_loop_t loop;
	struct device nas, edit, stranger;
	struct door door;
	struct end server, client;
};

static void pair_open(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	assert_int_equal(uv_loop_init(&p->loop), 0);
	device_open(&p->nas);
	device_open(&p->edit);
	device_open(&p->stranger);
	device_meet(&p->nas, &p->edit);
	device_meet(&p->edit, &p->nas);
	device_meet(&p->stranger, &p->nas);
	p->server = (struct end){ .loop = &p->loop, .random = 7, .write_seed = 1, .read_seed = 2 };
	p->client = (struct end){ .loop = &p->loop, .random = 9, .write_seed = 2, .read_seed = 1 };
	door_open(&p->door, &p->loop, &p->nas, &callbacks, &p->server);
}

static void pair_close(struct pair *p)
{
	door_close(&p->door);
	loop_finish(&p->loop);
	device_close(&p->nas);
	device_close(&p->edit);
	device_close(&p->stranger);
}

static void pair_connect(struct pair *p, struct device *who, const uint8_t *expect_id)
{
	struct sockaddr_storage address = loopback(p->door.port);
	struct channel_connect_config cfg = {
		.tls = who->tls, .address = &address, .expect_id = expect_id, .timeout_ms = 10000
	};

	assert_true(haul_ok(channel_connect(&p->loop, &cfg, &callbacks, &p->client, &p->client.ch, NULL)));
}

static void pair_run(struct pair *p)
{
	run_until(&p->loop, &p->client.is_closed);
	run_until(&p->loop, &p->server.is_closed);
}

static void streams_both_ways_arrive(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p);
	p.server.to_write = p.client.to_read = STREAM_BYTES;
	p.client.to_write = p.server.to_read = STREAM_BYTES / 2;
	p.server.finishes = p.client.finishes = true;
	pair_connect(&p, &p.edit, device_id_of(&p.nas));
	pair_run(&p);
	assert_int_equal(p.client.why.code, HAUL_CODE_OK);
	assert_int_equal(p.server.why.code, HAUL_CODE_OK);
	assert_int_equal(p.client.got, STREAM_BYTES);
	assert_int_equal(p.server.got, STREAM_BYTES / 2);
	assert_memory_equal(p.client.id, device_id_of(&p.nas), 32);
	assert_memory_equal(p.server.id, device_id_of(&p.edit), 32);
	pair_close(&p);
}

static void a_paused_reader_loses_nothing(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p);
	uv_timer_init(&p.loop, &p.client.pause);
	p.client.pause.data = &p.client;
	p.client.pauses = true;
	p.server.to_write = p.client.to_read = STREAM_BYTES;
	p.server.finishes = p.client.finishes = true;
	pair_connect(&p, &p.edit, NULL);
	pair_run(&p);
	assert_int_equal(p.client.got, STREAM_BYTES);
	assert_int_equal(p.client.pauses_done, STREAM_BYTES / (4 * 1024 * 1024));
	assert_true(p.server.writable_calls > 0);
	assert_int_equal(p.client.why.code, HAUL_CODE_OK);
	uv_close((uv_handle_t *)&p.client.pause, NULL);
	pair_close(&p);
}

static void on_cut(uv_timer_t *timer)
{
	struct end *e = timer->data;

	e->is_over = true;
	channel_close(e->ch, on_closed, e);
}

static void a_cut_is_no_end(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p);
	pair_connect(&p, &p.edit, device_id_of(&p.nas));
	run_until(&p.loop, &p.server.is_ready);
	uv_timer_init(&p.loop, &p.server.pause);
	p.server.pause.data = &p.server;
	uv_timer_start(&p.server.pause, on_cut, 1, 0);
	pair_run(&p);
	assert_int_equal(p.client.why.code, HAUL_CODE_LOST);
	assert_non_null(strstr(p.client.text, "127.0.0.1:"));
	uv_close((uv_handle_t *)&p.server.pause, NULL);
	pair_close(&p);
}

static void close_notify_is_an_end(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p);
	p.server.finishes = true;
	pair_connect(&p, &p.edit, device_id_of(&p.nas));
	pair_run(&p);
	assert_int_equal(p.client.why.code, HAUL_CODE_OK);
	assert_int_equal(p.server.why.code, HAUL_CODE_OK); /* the client answered with its own */
	pair_close(&p);
}

static void on_readable_unread(void *ctx, struct channel *ch)
{
	(void)ctx;
	(void)ch;
}

/* A lane that has read END wants nothing more, and must learn all the same that the peer is done. */
static void an_end_is_told_to_an_owner_who_does_not_read(void **state)
{
	static const struct channel_callbacks unread = { on_ready, on_readable_unread, on_writable, on_end };
	struct pair p;

	(void)state;
	pair_open(&p);
	p.server.finishes = true;
	pair_connect(&p, &p.edit, device_id_of(&p.nas));
	channel_set_callbacks(p.client.ch, &unread, &p.client);
	pair_run(&p);
	assert_int_equal(p.client.why.code, HAUL_CODE_OK);
	pair_close(&p);
}

static void a_stranger_learns_that_it_is_one(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		struct pair p;

		pair_open(&p);
		pair_connect(&p, &p.stranger, device_id_of(&p.nas));
		pair_run(&p);
		assert_int_equal(p.client.why.code, HAUL_CODE_NOT_KNOWN);
		assert_non_null(strstr(p.client.text, "does not know this device"));
		assert_int_equal(p.server.why.code, HAUL_CODE_NOT_KNOWN);
		assert_false(p.server.is_ready);
		pair_close(&p);
	}
}

static void another_device_is_told_apart(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p);
	pair_connect(&p, &p.edit, device_id_of(&p.stranger));
	pair_run(&p);
	assert_int_equal(p.client.why.code, HAUL_CODE_WRONG_DEVICE);
	assert_false(p.client.is_ready);
	assert_false(p.server.is_ready);
	assert_true(haul_failed(p.server.why));
	pair_close(&p);
}

static void a_server_that_is_no_peer_is_refused(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p);
	p.edit.knows_count = 0;
	pair_connect(&p, &p.edit, NULL);
	pair_run(&p);
	assert_int_equal(p.client.why.code, HAUL_CODE_NOT_KNOWN);
	assert_false(p.client.is_ready);
	pair_close(&p);
}

static void nobody_listens(void **state)
{
	struct pair p;
	struct sockaddr_storage address = loopback(1);
	struct channel_connect_config cfg = { .address = &address, .timeout_ms = 2000 };

	(void)state;
	pair_open(&p);
	cfg.tls = p.edit.tls;
	assert_true(haul_ok(channel_connect(&p.loop, &cfg, &callbacks, &p.client, &p.client.ch, NULL)));
	run_until(&p.loop, &p.client.is_closed);
	assert_int_equal(p.client.why.code, HAUL_CODE_REFUSED);
	assert_string_equal(p.client.text, "127.0.0.1:1 refused the connection: hauld is not running there");
	pair_close(&p);
}

static void on_silent_connection(uv_stream_t *server, int err)
{
	(void)server;
	(void)err;
}

static void silence_has_an_end(void **state)
{
	struct channel_connect_config cfg = { .timeout_ms = 200 };
	struct sockaddr_storage address = loopback(0);
	int len = sizeof(address);
	uv_tcp_t silent;
	struct pair p;

	(void)state;
	pair_open(&p);
	uv_tcp_init(&p.loop, &silent);
	uv_tcp_bind(&silent, (const struct sockaddr *)&address, 0);
	assert_int_equal(uv_listen((uv_stream_t *)&silent, 4, on_silent_connection), 0);
	uv_tcp_getsockname(&silent, (struct sockaddr *)&address, &len);
	cfg.tls = p.edit.tls;
	cfg.address = &address;
	assert_true(haul_ok(channel_connect(&p.loop, &cfg, &callbacks, &p.client, &p.client.ch, NULL)));
	run_until(&p.loop, &p.client.is_closed);
	assert_int_equal(p.client.why.code, HAUL_CODE_TIMED_OUT);
	uv_close((uv_handle_t *)&silent, NULL);
	pair_close(&p);
}

struct garbage {
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	unsigned kind;
};

static void on_garbage_connected(uv_connect_t *req, int err)
{
	static char noise[3][40] = { "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\xff\xff\x01\x00\xff\xfb",
				     "\x17\x03\x03\x00\x20" };
	struct garbage *g = req->data;
	uv_buf_t buf = uv_buf_init(noise[g->kind], sizeof(noise[0]));

	assert_int_equal(err, 0);
	uv_write(&g->write, (uv_stream_t *)&g->tcp, &buf, 1, NULL);
}

static void garbage_ends_the_connection_alone(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		struct garbage g = { .kind = kind };
		struct sockaddr_storage address;
		struct pair p;

		pair_open(&p);
		address = loopback(p.door.port);
		uv_tcp_init(&p.loop, &g.tcp);
		g.connect.data = &g;
		uv_tcp_connect(&g.connect, &g.tcp, (const struct sockaddr *)&address, on_garbage_connected);
		run_until(&p.loop, &p.server.is_closed);
		assert_true(haul_failed(p.server.why));
		assert_false(p.server.is_ready);
		uv_close((uv_handle_t *)&g.tcp, NULL);
		pair_close(&p);
	}
}

static void *other_thread(void *arg)
{
	struct end *e = arg;

	assert_true(haul_ok(channel_attach(e->loop, e->parts, &callbacks, e, &e->ch)));
	e->parts = NULL;
	run_until(e->loop, &e->is_closed);
	return NULL;
}

static void a_channel_moves_to_another_thread_in_midstream(void **state)
{
	uv_loop_t second;
	pthread_t thread;
	struct pair p;

	(void)state;
	pair_open(&p);
	assert_int_equal(uv_loop_init(&second), 0);
	p.client.to_write = STREAM_BYTES;
	p.client.finishes = true;
	p.server.detach_at = STREAM_BYTES / 3;
	pair_connect(&p, &p.edit, device_id_of(&p.nas));
	run_until(&p.loop, &p.server.is_detached);
	p.server.loop = &second;
	assert_int_equal(pthread_create(&thread, NULL, other_thread, &p.server), 0);
	run_until(&p.loop, &p.client.is_closed);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(p.server.got, STREAM_BYTES);
	assert_int_equal(p.server.why.code, HAUL_CODE_OK);
	assert_int_equal(p.client.why.code, HAUL_CODE_OK);
	loop_finish(&second);
	pair_close(&p);
}

static void what_is_detached_can_be_dropped(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p);
	pair_connect(&p, &p.edit, device_id_of(&p.nas));
	run_until(&p.loop, &p.server.is_ready);
	run_until(&p.loop, &p.client.is_ready);
	assert_true(haul_ok(channel_detach(p.server.ch, &p.server.parts)));
	channel_parts_free(p.server.parts);
	run_until(&p.loop, &p.client.is_closed);
	assert_int_equal(p.client.why.code, HAUL_CODE_LOST);
	pair_close(&p);
}

static void records_are_counted(void **state)
{
	struct pair p;

	(void)state;
	pair_open(&p);
	pair_connect(&p, &p.edit, device_id_of(&p.nas));
	run_until(&p.loop, &p.server.is_ready);
	run_until(&p.loop, &p.client.is_ready);
	assert_int_equal(channel_records_out(p.client.ch), 0);
	p.client.to_write = 5;
	p.client.written = 0;
	write_some(&p.client);
	assert_int_equal(channel_records_out(p.client.ch), 1);
	assert_int_equal(channel_queued(p.client.ch), 0);
	while (p.server.got < 5)
		uv_run(&p.loop, UV_RUN_ONCE);
	assert_int_equal(channel_records_in(p.server.ch), 1);
	channel_close(p.client.ch, on_closed, &p.client);
	run_until(&p.loop, &p.server.is_closed);
	assert_int_equal(p.server.why.code, HAUL_CODE_LOST);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_both_ways_arrive),
		cmocka_unit_test(a_paused_reader_loses_nothing),
		cmocka_unit_test(a_cut_is_no_end),
		cmocka_unit_test(close_notify_is_an_end),
		cmocka_unit_test(an_end_is_told_to_an_owner_who_does_not_read),
		cmocka_unit_test(a_stranger_learns_that_it_is_one),
		cmocka_unit_test(another_device_is_told_apart),
		cmocka_unit_test(a_server_that_is_no_peer_is_refused),
		cmocka_unit_test(nobody_listens),
		cmocka_unit_test(silence_has_an_end),
		cmocka_unit_test(garbage_ends_the_connection_alone),
		cmocka_unit_test(a_channel_moves_to_another_thread_in_midstream),
		cmocka_unit_test(what_is_detached_can_be_dropped),
		cmocka_unit_test(records_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
