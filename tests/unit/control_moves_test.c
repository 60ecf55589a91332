/*
 * The state table of docs/PROTOCOL.md, walked whole: every message in every state, for either role and direction, said
 * and heard. What is allowed may fail for its content, but never as HAUL_BAD_MOVE; all else fails as that.
 */
#include "control_pair.h"

#include "cmocka_first.h"

#include <stdio.h>
#include <string.h>

/*
 * How a state is reached: one letter per message, upper case from the client, lower case from the server; in a job,
 * s and r stand for sender and receiver, followed by the message's letter.
 */
struct walk_state {
	const char *name;
	const char *way;
	const char *client, *server; /* messages allowed, by the letters below; in a job: sender's, receiver's */
	bool is_job;
	enum control_state shown;
};

/* H hello  L lane hello  K lane ok  U lookup  F found  I list  G listing  J job  A accept  B busy  E error
 * C credit  O owners  M manifest  N manifest end  W want  S basis  V have  Q ack  X failed  R result
 * T job end  D done  Z cancel  Y note  P alive  4 choice  5 left  1 look  2 looked  3 moved  6 put off  7 changed
 * l lane lost; m a job that is a move */
static const char letters[MSG_TYPE_LAST + 1] = {
	[MSG_HELLO] = 'H',   [MSG_LOOKUP] = 'U',  [MSG_FOUND] = 'F',  [MSG_LIST] = 'I',      [MSG_LISTING] = 'G',
	[MSG_JOB] = 'J',     [MSG_ACCEPT] = 'A',  [MSG_BUSY] = 'B',   [MSG_ERROR] = 'E',     [MSG_LANE_HELLO] = 'L',
	[MSG_LANE_OK] = 'K', [MSG_CREDIT] = 'C',  [MSG_OWNERS] = 'O', [MSG_MANIFEST] = 'M',  [MSG_MANIFEST_END] = 'N',
	[MSG_WANT] = 'W',    [MSG_BASIS] = 'S',   [MSG_HAVE] = 'V',   [MSG_ACK] = 'Q',       [MSG_FAILED] = 'X',
	[MSG_RESULT] = 'R',  [MSG_JOB_END] = 'T', [MSG_DONE] = 'D',   [MSG_CANCEL] = 'Z',    [MSG_NOTE] = 'Y',
	[MSG_ALIVE] = 'P',   [MSG_LOOK] = '1',    [MSG_LOOKED] = '2', [MSG_MOVED] = '3',     [MSG_PUT_OFF] = '6',
	[MSG_CHANGED] = '7', [MSG_CHOICE] = '4',  [MSG_LEFT] = '5',   [MSG_LANE_LOST] = 'l',
};

static const struct walk_state states[] = {
	{ "silent", "", "", "HE", false, CONTROL_GREETING },
	{ "greeted", "-H", "HLE", "E", false, CONTROL_GREETING },
	{ "lane asked", "-H+L", "", "KE", false, CONTROL_ANSWERING },
	{ "lane joined", "-H+L-K", "", "", false, CONTROL_CLOSED },
	{ "asking", "-H+H", "UI4JE", "E", false, CONTROL_ASKING },
	{ "asking again", "-H+H+U-F+I-G", "UI4JE", "E", false, CONTROL_ASKING },
	{ "lookup open", "-H+H+U", "E", "FE", false, CONTROL_ANSWERING },
	{ "list open", "-H+H+I", "E", "GE", false, CONTROL_ANSWERING },
	{ "job open", "-H+H+J", "E", "ABE", false, CONTROL_ANSWERING },
	{ "queued", "-H+H+J-B", "E", "ABE", false, CONTROL_ANSWERING },
	{ "running", "-H+H+J-ArC", "OMNX67E", "CWSVQRE", true, CONTROL_RUNNING },
	{ "first announced", "-H+H+J-ArCsM", "OMNX67E", "CWSVQRE", true, CONTROL_RUNNING },
	{ "all announced", "-H+H+J-ArCsMsN", "X567E", "CWSVQRE", true, CONTROL_RUNNING },
	{ "all results", "-H+H+J-ArCsMsNrR", "X567TE", "CWSVQRTE", true, CONTROL_RUNNING },
	{ "sender ended", "-H+H+J-ArCsMsNrRsT", "E", "CWSVQRTE", true, CONTROL_ENDING },
	{ "receiver ended", "-H+H+J-ArCsMsNrRrT", "X567TE", "E", true, CONTROL_ENDING },
	{ "both ended", "-H+H+J-ArCsMsNrRrTsT", "DE", "DE", true, CONTROL_ENDING },
	{ "sender done", "-H+H+J-ArCsMsNrRrTsTsD", "", "DE", true, CONTROL_ENDING },
	{ "receiver done", "-H+H+J-ArCsMsNrRrTsTrD", "DE", "", true, CONTROL_ENDING },
	{ "closed", "-H+H+J-ArCsMsNrRrTsTrDsD", "", "", false, CONTROL_CLOSED },
	{ "move, receiver ended", "-H+H+m-ArCsMsNrRrT", "X567TE", "E", true, CONTROL_ENDING },
	{ "move, both ended", "-H+H+m-ArCsMsNrRrTsT", "D13E", "E", true, CONTROL_ENDING },
	{ "move, looking", "-H+H+m-ArCsMsNrRrTsTs1", "3E", "2E", true, CONTROL_ENDING },
	{ "move, looked", "-H+H+m-ArCsMsNrRrTsTs1r2s3", "D13E", "E", true, CONTROL_ENDING },
	{ "move, sender done", "-H+H+m-ArCsMsNrRrTsTsD", "", "DE", true, CONTROL_ENDING },
	{ "move, closed", "-H+H+m-ArCsMsNrRrTsTsDrD", "", "", false, CONTROL_CLOSED },
	{ "failed", "-H+H+E", "", "", false, CONTROL_FAILED },
};

static struct message message_of(char letter, enum job_direction direction)
{
	struct message job = job_message(direction);

	job.job.flags |= JOB_CHECKSUM | JOB_MOVE;
	if (letter == 'm')
		return job;
	for (int type = 1; type <= MSG_TYPE_LAST; type++) {
		if (letters[type] != letter)
			continue;
		if (type == MSG_CREDIT)
			return (struct message){ .type = MSG_CREDIT, .credit = { .records = 10, .bytes = 4000 } };
		return type == MSG_JOB ? job_message(direction) : plain_message((enum message_type)type);
	}
	fail_msg("no message %c", letter);
	return (struct message){ 0 };
}

static enum control_role speaker_of(char mark, enum job_direction direction)
{
	if (mark == '+' || mark == '-')
		return mark == '+' ? CONTROL_CLIENT : CONTROL_SERVER;
	return (mark == 's') == (direction == JOB_PUSH) ? CONTROL_CLIENT : CONTROL_SERVER;
}

static void go(struct control_pair *p, const struct walk_state *state, enum job_direction direction)
{
	control_pair_open(p);
	for (const char *way = state->way; *way; way += 2) {
		struct message m = message_of(way[1], direction);
		haul_status st = control_pair_say(p, speaker_of(way[0], direction), &m, NULL);

		if (haul_failed(st))
			fail_msg("%s at %s: %s", state->name, way, p->fault.text);
	}
}

static bool is_allowed(const struct walk_state *state, enum control_role speaker, enum job_direction direction,
		       char letter)
{
	bool is_first = speaker == CONTROL_CLIENT;

	if (state->is_job)
		is_first = (speaker == CONTROL_CLIENT) == (direction == JOB_PUSH);
	/* The client may cancel until it has said DONE. */
	if (letter == 'Z' && state->is_job && speaker == CONTROL_CLIENT)
		return *(is_first ? state->client : state->server) != 0;
	/* Both may say that they live until they have said DONE. */
	if (letter == 'P' && state->is_job)
		return *(is_first ? state->client : state->server) != 0;
	/* Both may lose lanes until their JOB_END: a sender may say FAILED so long, a receiver WANT. */
	if (letter == 'l' && state->is_job)
		return strpbrk(is_first ? state->client : state->server, "XW") != NULL;
	/* The server may tell its choices until its JOB_END. */
	if (letter == 'Y' && state->is_job && speaker == CONTROL_SERVER)
		return strpbrk(is_first ? state->client : state->server, "XW") != NULL;
	return strchr(is_first ? state->client : state->server, letter) != NULL;
}

static unsigned check(const struct walk_state *state, enum control_role speaker, enum job_direction direction,
		      enum message_type type, bool is_heard)
{
	enum control_role other = speaker == CONTROL_CLIENT ? CONTROL_SERVER : CONTROL_CLIENT;
	bool expected = is_allowed(state, speaker, direction, letters[type]);
	enum control_role judge = is_heard ? other : speaker;
	struct message m = message_of(letters[type], direction);
	struct control_update out;
	struct control_pair p;
	bool was_moved;
	haul_status st;

	go(&p, state, direction);
	assert_int_equal(control_state(p.sides[judge]), state->shown);
	st = is_heard ? control_pair_hear(&p, judge, &m, &out) : control_pair_send(&p, judge, &m, &out);
	was_moved = st.code != HAUL_CODE_BAD_MOVE;
	if (state->shown == CONTROL_FAILED)
		was_moved = st.code != HAUL_CODE_NO_SPACE;
	if (was_moved != expected)
		print_error("%s, %s %s %s, %s: %s\n", state->name, speaker == CONTROL_CLIENT ? "client" : "server",
			    is_heard ? "heard with" : "says", message_name(type),
			    direction == JOB_PUSH ? "push" : "pull", haul_status_text(st));
	if (!expected)
		assert_int_equal(control_state(p.sides[judge]), CONTROL_FAILED);
	control_pair_close(&p);
	return was_moved != expected;
}

static void every_message_in_every_state(void **unused)
{
	unsigned wrong = 0, walked = 0;

	(void)unused;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		for (unsigned n = 0; n < 8 * MSG_TYPE_LAST; n++) {
			enum job_direction direction = n & 1 ? JOB_PUSH : JOB_PULL;
			enum control_role speaker = n & 2 ? CONTROL_CLIENT : CONTROL_SERVER;

			wrong += check(&states[i], speaker, direction, (enum message_type)(1 + n / 8), n & 4);
			walked++;
		}
	}
	assert_int_equal(wrong, 0);
	assert_int_equal(walked, 8 * MSG_TYPE_LAST * sizeof(states) / sizeof(states[0]));
}

/* Wherever the conversation stands, an end before DONE is a loss, but for a client that only asked. */
static void an_end_before_done_is_a_loss_in_every_state(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		for (unsigned n = 0; n < 8; n++) {
			struct control_event ev = { .type = n & 1 ? CONTROL_EV_EOF : CONTROL_EV_CUT };
			enum control_role role = n & 2 ? CONTROL_CLIENT : CONTROL_SERVER;
			bool is_right = states[i].shown == CONTROL_CLOSED;
			struct control_update out;
			struct control_pair p;
			haul_status st;

			go(&p, &states[i], n & 4 ? JOB_PUSH : JOB_PULL);
			st = control_step(p.sides[role], &ev, &out, &p.fault);
			if (states[i].shown == CONTROL_ASKING && role == CONTROL_SERVER && ev.type == CONTROL_EV_EOF)
				is_right = true;
			if (states[i].shown == CONTROL_FAILED)
				assert_code(st, HAUL_NO_SPACE);
			else
				assert_code(st, is_right ? HAUL_OK : HAUL_LOST);
			assert_int_equal(control_state(p.sides[role]), is_right ? CONTROL_CLOSED : CONTROL_FAILED);
			control_pair_close(&p);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_in_every_state),
		cmocka_unit_test(an_end_before_done_is_a_loss_in_every_state),
	};

	return cmocka_run_group_tests_name("control_moves", tests, NULL, NULL);
}
