/* What the control session adds to the table of moves: greeting, answers that fit, credit, ends, errors, fragments. */
#include "control_pair.h"

#include "cmocka_first.h"
#include "peer-protocol/codec.h"

#include <stdlib.h>
#include <string.h>

static const enum control_role CLIENT = CONTROL_CLIENT, SERVER = CONTROL_SERVER;

#define T(literal)                                                                                                     \
	{                                                                                                              \
		(literal), sizeof(literal) - 1                                                                         \
	}

static haul_status say(struct control_pair *p, enum control_role role, enum message_type type)
{
	struct message m = plain_message(type);

	return control_pair_say(p, role, &m, NULL);
}

/* The ERROR that a failed step left for the peer. */
static void check_told(const struct control_update *out, haul_status code)
{
	struct message_decoder *d = message_decoder_new();
	struct message m;
	size_t used;

	assert_true(out->send_len > 0);
	assert_ok(message_decode(d, out->send, out->send_len, &used, &m));
	assert_int_equal(used, out->send_len);
	assert_int_equal(m.type, MSG_ERROR);
	assert_int_equal(m.error.code, code.code);
	message_decoder_free(d);
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

static void a_manifest_needs_credit_for_records_and_bytes(void **state)
{
	struct message m = plain_message(MSG_MANIFEST), credit = { .type = MSG_CREDIT, .credit = { 0, 1000 } };
	struct control_update out;
	uint64_t records, bytes;
	struct control_pair p;

	(void)state;
	control_pair_open(&p);
	control_pair_run_job(&p, JOB_PUSH, 0);
	assert_code(control_pair_send(&p, CLIENT, &m, &out), HAUL_OVER_CREDIT);
	assert_int_equal(out.send_len, 0);
	assert_int_equal(control_state(p.sides[CLIENT]), CONTROL_RUNNING);
	assert_ok(control_pair_say(&p, SERVER, &credit, NULL));
	assert_code(control_pair_send(&p, CLIENT, &m, &out), HAUL_OVER_CREDIT);
	credit.credit = (struct msg_credit){ 1, 0 };
	assert_ok(control_pair_say(&p, SERVER, &credit, NULL));
	assert_ok(control_pair_say(&p, CLIENT, &m, NULL));
	control_credit(p.sides[SERVER], &records, &bytes);
	assert_int_equal(records, 0);
	assert_true(bytes < 1000 && bytes > 900);
	/* The other side's sum is the same, and a peer that goes beyond it is found out. */
	assert_code(control_pair_hear(&p, SERVER, &m, &out), HAUL_OVER_CREDIT);
	check_told(&out, HAUL_OVER_CREDIT);
	control_pair_close(&p);
}

static void bytes_of_credit_are_counted_to_the_last(void **state)
{
	struct message m = plain_message(MSG_MANIFEST), credit = { .type = MSG_CREDIT, .credit = { 1, 0 } };
	struct message_buffer b = { 0 };
	struct control_update out;
	struct control_pair p;

	(void)state;
	assert_ok(message_encode(&b, &m));
	for (size_t lack = 0; lack < 2; lack++) {
		control_pair_open(&p);
		control_pair_run_job(&p, JOB_PULL, 0);
		credit.credit.bytes = b.len - lack;
		assert_ok(control_pair_say(&p, CLIENT, &credit, NULL));
		assert_code(control_pair_send(&p, SERVER, &m, &out), lack ? HAUL_OVER_CREDIT : HAUL_OK);
		control_pair_close(&p);
	}
	message_buffer_close(&b);
}

static void credit_that_overflows_is_refused(void **state)
{
	struct message credit = { .type = MSG_CREDIT, .credit = { UINT64_MAX, 0 } };
	struct control_update out;
	struct control_pair p;

	(void)state;
	control_pair_open(&p);
	control_pair_run_job(&p, JOB_PUSH, 0);
	assert_ok(control_pair_hear(&p, CLIENT, &credit, &out));
	credit.credit.records = 1;
	assert_code(control_pair_hear(&p, CLIENT, &credit, &out), HAUL_OVERFLOW);
	control_pair_close(&p);
}

static void only_announced_entries_may_be_spoken_of(void **state)
{
	static const enum message_type types[] = { MSG_WANT,   MSG_BASIS,  MSG_HAVE,    MSG_ACK,
						   MSG_RESULT, MSG_FAILED, MSG_PUT_OFF, MSG_CHANGED };

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		enum control_role judge = i > 4 /* the sender's words */ ? SERVER : CLIENT;
		struct message m = plain_message(types[i]);
		struct control_update out;
		struct control_pair p;

		control_pair_open(&p);
		control_pair_run_job(&p, JOB_PUSH, 9);
		assert_code(control_pair_hear(&p, judge, &m, &out), HAUL_NOT_ANNOUNCED);
		check_told(&out, HAUL_NOT_ANNOUNCED);
		control_pair_close(&p);

		control_pair_open(&p);
		control_pair_run_job(&p, JOB_PUSH, 9);
		assert_ok(say(&p, CLIENT, MSG_MANIFEST));
		assert_ok(control_pair_hear(&p, judge, &m, &out));
		control_pair_close(&p);
	}
}

static void an_entry_has_one_result_and_surplus_has_none(void **state)
{
	static const struct entry_result surplus = {
		.entry = HAUL_NO_INDEX, .outcome = OUTCOME_FAILED, .changes = CHANGE_SURPLUS, .detail = T("old")
	};
	struct message m = { .type = MSG_RESULT, .result = { &surplus, 1 } };
	struct control_pair p;
	char text[100];

	(void)state;
	control_pair_open(&p);
	control_pair_run_job(&p, JOB_PUSH, 9);
	assert_ok(control_pair_say(&p, SERVER, &m, NULL));
	assert_ok(say(&p, CLIENT, MSG_MANIFEST));
	assert_string_equal(control_describe(p.sides[SERVER], text, sizeof(text)),
			    "control running, 1 of 1 entries without result");
	assert_ok(say(&p, SERVER, MSG_RESULT));
	assert_code(say(&p, SERVER, MSG_RESULT), HAUL_NOT_ANNOUNCED);
	control_pair_close(&p);
}

static void run_to_both_ends(struct control_pair *p, bool roots_agree)
{
	struct message end = plain_message(MSG_JOB_END);

	control_pair_run_job(p, JOB_PUSH, 9);
	assert_ok(say(p, CLIENT, MSG_MANIFEST));
	assert_ok(say(p, CLIENT, MSG_MANIFEST_END));
	assert_ok(say(p, SERVER, MSG_RESULT));
	assert_ok(control_pair_say(p, SERVER, &end, NULL));
	end.job_end.root.bytes[15] = !roots_agree;
	assert_ok(control_pair_say(p, CLIENT, &end, NULL));
}

static void done_is_only_for_roots_that_agree(void **state)
{
	struct message done = { .type = MSG_DONE };
	struct control_update out;
	struct control_pair p;

	(void)state;
	control_pair_open(&p);
	run_to_both_ends(&p, false);
	assert_code(control_pair_hear(&p, CLIENT, &done, &out), HAUL_ROOT_MISMATCH);
	check_told(&out, HAUL_ROOT_MISMATCH);
	assert_code(control_pair_send(&p, SERVER, &done, &out), HAUL_ROOT_MISMATCH);
	control_pair_close(&p);

	control_pair_open(&p);
	run_to_both_ends(&p, true);
	assert_ok(say(&p, SERVER, MSG_DONE));
	assert_ok(say(&p, CLIENT, MSG_DONE));
	assert_int_equal(control_state(p.sides[CLIENT]), CONTROL_CLOSED);
	control_pair_close(&p);
}

static void a_cancelled_job_may_end_early_and_only_once(void **state)
{
	struct message end = plain_message(MSG_JOB_END);
	struct control_update out;
	struct control_pair p;

	(void)state;
	control_pair_open(&p);
	control_pair_run_job(&p, JOB_PUSH, 9);
	assert_ok(say(&p, CLIENT, MSG_MANIFEST));
	assert_ok(say(&p, CLIENT, MSG_CANCEL));
	assert_ok(control_pair_say(&p, SERVER, &end, NULL));
	end.job_end.root.bytes[0] = 1;
	assert_ok(control_pair_say(&p, CLIENT, &end, NULL));
	assert_ok(say(&p, CLIENT, MSG_DONE));
	assert_ok(say(&p, SERVER, MSG_DONE));
	assert_int_equal(control_state(p.sides[SERVER]), CONTROL_CLOSED);
	control_pair_close(&p);

	control_pair_open(&p);
	control_pair_run_job(&p, JOB_PULL, 9);
	assert_ok(say(&p, CLIENT, MSG_CANCEL));
	end = plain_message(MSG_CANCEL);
	assert_code(control_pair_hear(&p, SERVER, &end, &out), HAUL_BAD_MOVE);
	control_pair_close(&p);
}

/* A server tells as much as was asked for and is bounded, so that it cannot fill a client's screen or log. */
static void notes_are_asked_for_and_counted(void **state)
{
	struct message note = plain_message(MSG_NOTE), job = job_message(JOB_PUSH), accept = plain_message(MSG_ACCEPT);
	struct control_update out;
	struct control_pair p;

	(void)state;
	control_pair_open(&p);
	control_pair_run_job(&p, JOB_PUSH, 9);
	for (unsigned i = 0; i < MESSAGE_NOTES_MAX; i++)
		assert_ok(control_pair_say(&p, SERVER, &note, NULL));
	assert_code(control_pair_hear(&p, CLIENT, &note, &out), HAUL_BAD_VALUE);
	control_pair_close(&p);

	job.job.flags = 0;
	control_pair_open(&p);
	assert_ok(say(&p, SERVER, MSG_HELLO));
	assert_ok(say(&p, CLIENT, MSG_HELLO));
	assert_ok(control_pair_say(&p, CLIENT, &job, NULL));
	assert_ok(control_pair_say(&p, SERVER, &accept, NULL));
	assert_code(control_pair_hear(&p, CLIENT, &note, &out), HAUL_BAD_VALUE);
	control_pair_close(&p);
}

static haul_status run_move_to_both_ends(struct control_pair *p)
{
	struct message job = job_message(JOB_PULL), credit = { .type = MSG_CREDIT, .credit = { 10, 4000 } };
	static const enum message_type senders[] = { MSG_MANIFEST, MSG_MANIFEST_END };
	struct message accept = plain_message(MSG_ACCEPT);
	haul_status st;

	job.job.flags = JOB_CHECKSUM | JOB_MOVE;
	control_pair_greet(p);
	st = control_pair_say(p, CLIENT, &job, NULL);
	if (haul_ok(st))
		st = control_pair_say(p, SERVER, &accept, NULL);
	if (haul_ok(st))
		st = control_pair_say(p, CLIENT, &credit, NULL);
	for (size_t i = 0; haul_ok(st) && i < 2; i++)
		st = say(p, SERVER, senders[i]);
	if (haul_ok(st))
		st = say(p, CLIENT, MSG_RESULT);
	if (haul_ok(st))
		st = say(p, CLIENT, MSG_JOB_END);
	return haul_ok(st) ? say(p, SERVER, MSG_JOB_END) : st;
}

/* Answers fit the question, and no more goes or stays than was announced: one file of 10 bytes. */
static void what_a_move_says_is_bounded_by_what_was_announced(void **state)
{
	static const uint64_t beyond = 1;
	static const uint32_t two[2];
	static const struct moved_kept one_kept = { .code = HAUL_CODE_CHANGED },
				       other_kept = { 1, HAUL_CODE_CHANGED, { 0 } };
	const struct message look_beyond = { .type = MSG_LOOK, .look = { .entries = &beyond, .entry_count = 1 } },
			     look = plain_message(MSG_LOOK), too_many = { .type = MSG_LOOKED, .looked = { two, 2 } },
			     kept = { .type = MSG_MOVED, .moved = { .kept = &one_kept, .kept_count = 1 } },
			     kept_beyond = { .type = MSG_MOVED, .moved = { .kept = &other_kept, .kept_count = 1 } },
			     files = { .type = MSG_MOVED, .moved = { .files = 2, .entries = 2 } },
			     more_files = { .type = MSG_MOVED, .moved = { .files = 1 } },
			     bytes = { .type = MSG_MOVED, .moved = { .files = 1, .entries = 1, .bytes = 11 } };
	const struct message *wrong[] = { &look_beyond, &kept_beyond, &files, &more_files, &bytes };
	struct control_update out;
	struct control_pair p;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		control_pair_open(&p);
		assert_ok(run_move_to_both_ends(&p));
		assert_true(haul_failed(control_pair_hear(&p, CLIENT, wrong[i], &out)));
		control_pair_close(&p);
	}
	control_pair_open(&p);
	assert_ok(run_move_to_both_ends(&p));
	assert_ok(control_pair_say(&p, SERVER, &kept, NULL));
	assert_code(control_pair_hear(&p, CLIENT, &kept, &out), HAUL_BAD_VALUE); /* the same one twice */
	control_pair_close(&p);

	control_pair_open(&p);
	assert_ok(run_move_to_both_ends(&p));
	assert_ok(control_pair_say(&p, SERVER, &look, NULL));
	assert_code(control_pair_hear(&p, SERVER, &too_many, &out), HAUL_BAD_VALUE);
	control_pair_close(&p);
}

/* CANCEL and the other side's last words may cross on the way. */
static void a_cancel_that_crosses_done_does_no_harm(void **state)
{
	struct message cancel = plain_message(MSG_CANCEL), done = { .type = MSG_DONE };
	struct control_update out;
	struct control_pair p;

	(void)state;
	control_pair_open(&p);
	run_to_both_ends(&p, true);
	assert_ok(control_pair_send(&p, SERVER, &done, &out));
	assert_ok(control_pair_say(&p, CLIENT, &cancel, NULL));
	assert_ok(control_pair_hear(&p, CLIENT, &done, &out));
	assert_ok(say(&p, CLIENT, MSG_DONE));
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
		cmocka_unit_test(a_manifest_needs_credit_for_records_and_bytes),
		cmocka_unit_test(bytes_of_credit_are_counted_to_the_last),
		cmocka_unit_test(credit_that_overflows_is_refused),
		cmocka_unit_test(only_announced_entries_may_be_spoken_of),
		cmocka_unit_test(an_entry_has_one_result_and_surplus_has_none),
		cmocka_unit_test(done_is_only_for_roots_that_agree),
		cmocka_unit_test(a_cancelled_job_may_end_early_and_only_once),
		cmocka_unit_test(notes_are_asked_for_and_counted),
		cmocka_unit_test(a_cancel_that_crosses_done_does_no_harm),
		cmocka_unit_test(what_a_move_says_is_bounded_by_what_was_announced),
		cmocka_unit_test(a_message_too_long_leaves_the_session_alone),
		cmocka_unit_test(the_peer_is_waited_for_as_long_as_its_state_allows),
	};

	return cmocka_run_group_tests_name("control_session", tests, NULL, NULL);
}
