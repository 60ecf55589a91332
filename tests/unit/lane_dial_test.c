/* Lanes over a listener and a channel: handed over, refused, given up, and connected before there is a job. */
#include "agent/lane_dial.h"

#include "agent/backoff.h"
#include "agent/lanes_ahead.h"
#include "tests/unit/cmocka_first.h"
#include "tests/unit/link_town.h"

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

static const struct channel_callbacks lane_callbacks = { NULL, on_lane_readable, town_nothing, on_lane_end };

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
	struct sockaddr_storage address = town_address();
	struct lane_dial_config cfg = { .address = &address, .lane = { .lane = 3, .epoch = 1 }, .timeout_ms = 5000 };
	struct lane_dial *d;

	cfg.tls = t.edit.tls;
	cfg.device_id = device_id_of(&t.nas);
	assert_true(haul_ok(lane_dial_start(&t.loop, &cfg, on_lane_dialled, NULL, &d, NULL)));
	return d;
}

static struct lane_dial_config ahead_config(const struct sockaddr_storage *address)
{
	return (struct lane_dial_config){
		.tls = t.edit.tls, .address = address, .device_id = device_id_of(&t.nas), .timeout_ms = 5000
	};
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

static void assert_refused(uint32_t with, uint32_t told)
{
	t.server.refuses = true;
	t.server.refuse_code = with;
	(void)dial_lane();
	run_until(&t.loop, &t.is_lane_done);
	assert_null(t.lane_client);
	assert_int_equal(t.lane_why.code, told);
	run_until(&t.loop, &t.server.is_closed);
}

static void a_lane_that_is_refused_says_so(void **state)
{
	(void)state;
	assert_refused(HAUL_CODE_NO_SHARE, HAUL_CODE_NO_SHARE);
}

/* As an agent does that has too many newcomers. */
static void a_lane_that_is_lost_on_its_way_in_is_dialled_again(void **state)
{
	(void)state;
	t.server.drops = 2;
	(void)dial_lane();
	run_until(&t.loop, &t.is_lane_done);
	assert_int_equal(t.lane_why.code, HAUL_CODE_OK);
	assert_int_equal(t.server.drops, 0);
	run_until(&t.loop, &t.server.is_detached);
	channel_close(t.lane_client, NULL, NULL);
	channel_parts_free(t.parts);
}

static void waits_double_and_end_in_time(void **state)
{
	struct backoff b = { 0 };
	uint64_t ms;

	(void)state;
	for (unsigned i = 0; i < BACKOFF_TRIES; i++) {
		uint64_t wait = (uint64_t)BACKOFF_FIRST_MS << i;

		assert_false(backoff_next(&b, wait, &ms)); /* it would be over by then */
		assert_true(backoff_next(&b, wait + 1, &ms));
		assert_int_equal(ms, wait);
	}
	assert_false(backoff_next(&b, 1000000, &ms));
}

static void patience_has_longer_waits_and_one_at_the_end(void **state)
{
	const uint64_t waits[] = { 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000 };
	struct backoff b = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		assert_int_equal(backoff_patiently(&b, 300000), waits[i]);
	assert_int_equal(backoff_patiently(&b, 1234), 1234);
	assert_int_equal(backoff_patiently(&b, 0), 0);
}

static void a_lane_that_is_always_lost_says_so(void **state)
{
	struct sockaddr_storage address = town_address();
	struct lane_dial_config cfg = ahead_config(&address);
	struct lane_dial *d;

	(void)state;
	t.server.drops = 100;
	cfg.timeout_ms = 60000; /* the tries are over long before, however slow the machine */
	assert_true(haul_ok(lane_dial_start(&t.loop, &cfg, on_lane_dialled, NULL, &d, NULL)));
	run_until(&t.loop, &t.is_lane_done);
	assert_int_equal(t.lane_why.code, HAUL_CODE_LOST);
	assert_int_equal(t.server.drops, 100 - 1 - BACKOFF_TRIES);
}

static void a_lane_that_is_always_lost_ends_in_time(void **state)
{
	struct sockaddr_storage address = town_address();
	struct lane_dial_config cfg = ahead_config(&address);
	struct lane_dial *d;

	(void)state;
	t.server.drops = 100;
	cfg.timeout_ms = 500; /* 0.1 + 0.2 s pass, the next wait would be too long; a busy machine gets less far */
	assert_true(haul_ok(lane_dial_start(&t.loop, &cfg, on_lane_dialled, NULL, &d, NULL)));
	run_until(&t.loop, &t.is_lane_done);
	assert_true(t.lane_why.code == HAUL_CODE_LOST || t.lane_why.code == HAUL_CODE_TIMED_OUT);
	assert_in_range(t.server.drops, 100 - 3, 100);
}

static void a_lane_that_waits_for_its_next_try_can_be_given_up(void **state)
{
	struct side s = { .is_closed = false };
	struct lane_dial *d;

	(void)state;
	t.server.drops = 100;
	d = dial_lane();
	run_for(250);
	lane_dial_cancel(d, town_side_closed, &s);
	run_until(&t.loop, &s.is_closed);
	assert_false(t.is_lane_done);
	assert_in_range(t.server.drops, 100 - 3, 100 - 1);
}

/* The job was given up there while the lane was on its way: the same as a lost connection, and worth another try. */
static void a_lane_of_a_job_that_is_gone_is_lost(void **state)
{
	(void)state;
	assert_refused(HAUL_CODE_NOT_ANNOUNCED, HAUL_CODE_LOST);
}

static void a_lane_can_be_given_up(void **state)
{
	struct side s = { .is_closed = false };

	(void)state;
	lane_dial_cancel(dial_lane(), town_side_closed, &s);
	run_until(&t.loop, &s.is_closed);
	assert_false(t.is_lane_done);
}

/* Lanes that are connected before there is a job */

static void on_ahead_joined(void *ctx, unsigned number, struct channel_parts *parts)
{
	struct channel_parts **ret_parts = ctx;

	assert_int_equal(number, 3);
	*ret_parts = parts;
	t.is_lane_done = true;
}

static void a_lane_ahead_says_nothing_until_it_is_taken(void **state)
{
	struct sockaddr_storage address = town_address();
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
	struct sockaddr_storage address = town_address();
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
	struct sockaddr_storage address = town_address();
	struct lane_dial_config cfg = ahead_config(&address);
	struct lane_dial *d;

	(void)state;
	cfg.hold_ms = 1000; /* longer than a busy machine takes for a handshake: the server shall have met it */
	assert_true(haul_ok(lane_dial_start(&t.loop, &cfg, on_lane_dialled, NULL, &d, NULL)));
	run_until(&t.loop, &t.is_lane_done);
	assert_null(t.lane_client);
	assert_int_equal(t.lane_why.code, HAUL_CODE_TIMED_OUT);
	assert_false(t.server.is_detached);
	run_until(&t.loop, &t.server.is_closed);
}

static void lanes_ahead_that_are_too_many_are_dropped(void **state)
{
	struct sockaddr_storage address = town_address();
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_lane_is_handed_over_whole, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_lane_that_is_refused_says_so, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_lane_of_a_job_that_is_gone_is_lost, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_lane_can_be_given_up, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_lane_that_is_lost_on_its_way_in_is_dialled_again, town_open,
						town_close),
		cmocka_unit_test(waits_double_and_end_in_time),
		cmocka_unit_test(patience_has_longer_waits_and_one_at_the_end),
		cmocka_unit_test_setup_teardown(a_lane_that_is_always_lost_says_so, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_lane_that_is_always_lost_ends_in_time, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_lane_that_waits_for_its_next_try_can_be_given_up, town_open,
						town_close),
		cmocka_unit_test_setup_teardown(a_lane_ahead_says_nothing_until_it_is_taken, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_lane_ahead_that_is_refused_is_told, town_open, town_close),
		cmocka_unit_test_setup_teardown(a_held_lane_that_nobody_wants_ends, town_open, town_close),
		cmocka_unit_test_setup_teardown(lanes_ahead_that_are_too_many_are_dropped, town_open, town_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
