/* What the control session adds to the table of moves: greeting, answers that fit, errors, fragments. */
#include "control_session_fixture.h"

#include <stdlib.h>
#include <string.h>

static const enum control_role CLIENT = CONTROL_CLIENT, SERVER = CONTROL_SERVER;

#define T(literal)                                                                                                     \
	{                                                                                                              \
		(literal), sizeof(literal) - 1                                                                         \
	}

static void a_hello_that_does_not_fit_is_refused_and_answered(void **state)
{
	static const struct capability critical = { T("later"), true };
	struct msg_hello wrong[7];
	struct message m = hello_message();

	(void)state;
	for (size_t i = 0; i < 7; i++)
		wrong[i] = m.hello;
	wrong[0].version_min = wrong[0].version_max = 2;
	wrong[1].tree_version = 2;
	wrong[2].digest_algorithms = 4;
	wrong[3].digest_bytes = 32;
	wrong[4].block_min = wrong[4].block_max = 32 << 20;
	wrong[5].block_min = wrong[5].block_max = 1 << 19;
	wrong[6].capabilities = &critical;
	wrong[6].capability_count = 1;
	for (size_t i = 0; i < 7; i++) {
		haul_status expected = i == 6 ? HAUL_CRITICAL_CAPABILITY : HAUL_NO_COMMON_VERSION;
		struct control_update out;
		struct control_pair p;

		control_pair_open(&p);
		m.hello = wrong[i];
		assert_code(control_pair_hear(&p, CLIENT, &m, &out), expected);
		check_told(&out, expected);
		assert_null(control_peer_hello(p.sides[CLIENT]));
		assert_int_equal(control_state(p.sides[CLIENT]), CONTROL_FAILED);
		control_pair_close(&p);
	}
}

static void a_hello_is_kept_and_clamped(void **state)
{
	static const struct capability unknown[] = { { T("zeros"), false }, { T("later"), false } };
	struct message m = hello_message();
	const struct message *heard;
	const struct msg_hello *h;
	struct control_pair p;

	(void)state;
	m.hello.version_max = 9;
	m.hello.block_min = 1 << 12;
	m.hello.block_max = 1 << 30;
	m.hello.lanes_max = 100;
	m.hello.software = (struct text)T("haul 9.9");
	m.hello.your_name = (struct text)T("edit1");
	m.hello.capabilities = unknown;
	m.hello.capability_count = 2;
	control_pair_open(&p);
	assert_ok(control_pair_say(&p, SERVER, &m, &heard));
	assert_int_equal(heard->hello.block_max, 16 << 20);
	m = hello_message();
	assert_ok(control_pair_say(&p, CLIENT, &m, NULL));
	h = control_peer_hello(p.sides[CLIENT]);
	assert_true(h->block_min == 1 << 20 && h->block_max == 16 << 20 && h->lanes_max == LANES_MAX);
	assert_memory_equal(h->software.at, "haul 9.9", h->software.len);
	assert_memory_equal(h->your_name.at, "edit1", h->your_name.len);
	assert_memory_equal(h->capabilities[1].name.at, "later", 5);
	control_pair_close(&p);
}

static void an_error_is_delivered_then_ends_the_session(void **state)
{
	struct control_event eof = { .type = CONTROL_EV_EOF };
	struct message m = plain_message(MSG_ERROR);
	const struct message *heard;
	struct control_update out;
	struct control_pair p;

	(void)state;
	control_pair_open(&p); /* a server may refuse before it greets */
	assert_ok(control_pair_say(&p, SERVER, &m, &heard));
	assert_int_equal(heard->error.code, HAUL_CODE_NO_SPACE);
	assert_int_equal(control_state(p.sides[CLIENT]), CONTROL_FAILED);
	assert_int_equal(control_state(p.sides[SERVER]), CONTROL_FAILED);
	assert_code(control_step(p.sides[CLIENT], &eof, &out, &p.fault), HAUL_NO_SPACE);
	assert_code(control_step(p.sides[SERVER], &eof, &out, &p.fault), HAUL_NO_SPACE);
	control_pair_close(&p);

	control_pair_open(&p); /* a number of a later version is no success */
	m.error.code = 60000;
	assert_ok(control_pair_say(&p, SERVER, &m, NULL));
	assert_code(control_step(p.sides[CLIENT], &eof, &out, NULL), HAUL_BUG);
	control_pair_close(&p);
}

static void bytes_that_are_no_message_are_answered(void **state)
{
	static const uint8_t noise[] = "GET / HTTP/1.1\r\n";
	struct control_event ev = { .type = CONTROL_EV_RECEIVED, .data = noise, .len = sizeof(noise) };
	struct message hello = hello_message();
	struct control_update out;
	struct control_pair p;

	(void)state;
	control_pair_open(&p);
	assert_ok(control_pair_send(&p, SERVER, &hello, &out));
	assert_code(control_step(p.sides[SERVER], &ev, &out, &p.fault), HAUL_OVERFLOW);
	check_told(&out, HAUL_OVERFLOW);
	/* A client that has not been greeted must not speak: its refusal stays unsaid. */
	assert_code(control_step(p.sides[CLIENT], &ev, &out, NULL), HAUL_OVERFLOW);
	assert_int_equal(out.send_len, 0);
	control_pair_close(&p);
}

static void fragments_are_left_with_the_caller_until_whole(void **state)
{
	struct message hello = hello_message();
	struct control_update out;
	struct control_event ev = { .type = CONTROL_EV_RECEIVED };
	struct control_pair p;
	uint8_t two[512];
	size_t len;

	(void)state;
	control_pair_open(&p);
	assert_ok(control_pair_send(&p, SERVER, &hello, &out));
	len = out.send_len;
	memcpy(two, out.send, len);
	two[len] = 0; /* the next frame's first byte */
	for (size_t n = 0; n < len; n++) {
		uint8_t *exact = malloc(n ? n : 1);

		memcpy(exact, two, n);
		ev.data = exact;
		ev.len = n;
		assert_ok(control_step(p.sides[CLIENT], &ev, &out, &p.fault));
		assert_true(out.consumed == 0 && !out.message);
		free(exact);
	}
	ev.data = two;
	ev.len = len + 1;
	assert_ok(control_step(p.sides[CLIENT], &ev, &out, &p.fault));
	assert_int_equal(out.consumed, len);
	assert_non_null(out.message);
	control_pair_close(&p);
}

static void an_answer_must_fit_its_question(void **state)
{
	static const struct text two_paths[] = { T("a"), T("b") };
	struct message lookup = { .type = MSG_LOOKUP, .lookup = { T("inbox"), two_paths, 2 } };
	struct message accept = plain_message(MSG_ACCEPT);
	struct control_update out;
	struct control_pair p;

	(void)state;
	control_pair_open(&p);
	control_pair_greet(&p);
	assert_ok(control_pair_say(&p, CLIENT, &lookup, NULL));
	assert_code(say(&p, SERVER, MSG_FOUND), HAUL_BAD_VALUE);
	control_pair_close(&p);

	control_pair_open(&p);
	control_pair_greet(&p);
	assert_ok(say(&p, CLIENT, MSG_JOB));
	accept.accept.lanes = 3;
	assert_code(control_pair_hear(&p, CLIENT, &accept, &out), HAUL_BAD_VALUE);
	check_told(&out, HAUL_BAD_VALUE);
	control_pair_close(&p);

	control_pair_open(&p);
	control_pair_greet(&p);
	assert_ok(say(&p, CLIENT, MSG_JOB));
	accept.accept.lanes = 2;
	accept.accept.more_lanes = 1;
	assert_code(control_pair_hear(&p, CLIENT, &accept, &out), HAUL_BAD_VALUE);
	control_pair_close(&p);
}

static haul_status listing_after(const struct message *list, const struct message *listing)
{
	struct control_update out;
	struct control_pair p;
	haul_status st;

	control_pair_open(&p);
	control_pair_greet(&p);
	assert_ok(control_pair_send(&p, CLIENT, list, &out));
	st = control_pair_hear(&p, CLIENT, listing, &out);
	control_pair_close(&p);
	return st;
}

static void a_listing_goes_on_behind_the_last_name(void **state)
{
	static const struct listing_entry entry = { .name = T("m"), .kind = ENTRY_FILE };
	static const struct listing_share share = { .name = T("inbox") };
	static const struct listing_partial partial = { .id = T("11112222333344445555666677778888") };
	struct message partials = { .type = MSG_LISTING, .listing = { .partials = &partial, .partial_count = 1 } };
	struct message shares = { .type = MSG_LISTING, .listing = { .shares = &share, .share_count = 1 } };
	struct message entries = { .type = MSG_LISTING, .listing = { .entries = &entry, .entry_count = 1 } };
	struct message list = { .type = MSG_LIST };

	(void)state;
	assert_ok(listing_after(&list, &shares));
	assert_code(listing_after(&list, &entries), HAUL_BAD_VALUE);
	list.list.share = (struct text)T("inbox");
	assert_ok(listing_after(&list, &entries));
	assert_code(listing_after(&list, &shares), HAUL_BAD_VALUE);
	list.list.after = (struct text)T("l");
	assert_ok(listing_after(&list, &entries));
	list.list.after = (struct text)T("m");
	assert_code(listing_after(&list, &entries), HAUL_BAD_VALUE);
	list.list.after = (struct text)T("0fff");
	assert_code(listing_after(&list, &partials), HAUL_BAD_VALUE);
	list.list.wants_partials = true;
	assert_ok(listing_after(&list, &partials));
	assert_code(listing_after(&list, &entries), HAUL_BAD_VALUE);
	assert_code(listing_after(&list, &shares), HAUL_BAD_VALUE);
	list.list.after = partial.id;
	assert_code(listing_after(&list, &partials), HAUL_BAD_VALUE);
}

static void a_lane_joins_under_its_own_number(void **state)
{
	struct message hello = hello_message(), ok = plain_message(MSG_LANE_OK);
	struct message ask = { .type = MSG_LANE_HELLO, .lane_hello = { .session_id = { 7 }, .lane = 3, .epoch = 1 } };
	const struct message *heard;
	struct control_update out;
	struct control_pair p;

	(void)state;
	control_pair_open(&p);
	assert_ok(control_pair_say(&p, SERVER, &hello, NULL));
	assert_ok(control_pair_say(&p, CLIENT, &ask, &heard));
	assert_int_equal(heard->lane_hello.session_id[0], 7);
	assert_code(control_pair_hear(&p, CLIENT, &ok, &out), HAUL_BAD_VALUE);
	control_pair_close(&p);

	control_pair_open(&p);
	assert_ok(control_pair_say(&p, SERVER, &hello, NULL));
	assert_ok(control_pair_say(&p, CLIENT, &ask, NULL));
	ok.lane_ok = (struct msg_lane_ok){ .lane = 3, .epoch = 1 };
	assert_ok(control_pair_say(&p, SERVER, &ok, NULL));
	assert_int_equal(control_state(p.sides[CLIENT]), CONTROL_CLOSED);
	assert_int_equal(control_state(p.sides[SERVER]), CONTROL_CLOSED);
	control_pair_close(&p);
}

static void a_message_too_long_leaves_the_session_alone(void **state)
{
	static char detail[60000];
	struct entry_result results[8];
	struct message m = { .type = MSG_RESULT, .result = { results, 8 } };
	struct control_update out;
	struct control_pair p;

	(void)state;
	memset(detail, 'd', sizeof(detail));
	for (size_t i = 0; i < 8; i++)
		results[i] = (struct entry_result){ .detail = { detail, sizeof(detail) } };
	control_pair_open(&p);
	control_pair_run_job(&p, JOB_PUSH, 9);
	assert_code(control_pair_send(&p, SERVER, &m, &out), HAUL_OVERFLOW);
	assert_int_equal(out.send_len, 0);
	assert_int_equal(control_state(p.sides[SERVER]), CONTROL_RUNNING);
	assert_ok(say(&p, CLIENT, MSG_MANIFEST));
	control_pair_close(&p);
}

static void the_peer_is_waited_for_as_long_as_its_state_allows(void **state)
{
	struct message hello = hello_message(), job = job_message(JOB_PUSH), busy = plain_message(MSG_BUSY);
	struct control_event nothing = { .type = CONTROL_EV_RECEIVED };
	struct control_update out;
	struct control_pair p;

	(void)state;
	control_pair_open(&p);
	assert_ok(control_step(p.sides[CLIENT], &nothing, &out, NULL));
	assert_int_equal(out.wait_ms, 10000);
	assert_ok(control_pair_send(&p, SERVER, &hello, &out));
	assert_int_equal(out.wait_ms, 10000);
	assert_ok(control_pair_hear(&p, CLIENT, &hello, &out));
	assert_int_equal(out.wait_ms, 0); /* it is our turn */
	assert_ok(control_pair_say(&p, CLIENT, &hello, NULL));
	assert_ok(control_pair_send(&p, CLIENT, &job, &out));
	assert_ok(control_pair_hear(&p, CLIENT, &busy, &out));
	assert_int_equal(out.wait_ms, 0);
	control_pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_that_does_not_fit_is_refused_and_answered),
		cmocka_unit_test(a_hello_is_kept_and_clamped),
		cmocka_unit_test(an_error_is_delivered_then_ends_the_session),
		cmocka_unit_test(bytes_that_are_no_message_are_answered),
		cmocka_unit_test(fragments_are_left_with_the_caller_until_whole),
		cmocka_unit_test(an_answer_must_fit_its_question),
		cmocka_unit_test(a_listing_goes_on_behind_the_last_name),
		cmocka_unit_test(a_lane_joins_under_its_own_number),
		cmocka_unit_test(a_message_too_long_leaves_the_session_alone),
		cmocka_unit_test(the_peer_is_waited_for_as_long_as_its_state_allows),
	};

	return cmocka_run_group_tests_name("control_session", tests, NULL, NULL);
}
