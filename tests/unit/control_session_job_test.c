/* What the control session adds to the table of moves in a job: credit, what was announced, results, ends. */
#include "control_session_fixture.h"

#include <stdlib.h>
#include <string.h>

static const enum control_role CLIENT = CONTROL_CLIENT, SERVER = CONTROL_SERVER;

#define T(literal)                                                                                                     \
	{                                                                                                              \
		(literal), sizeof(literal) - 1                                                                         \
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests_name("control_session_job", tests, NULL, NULL);
}
