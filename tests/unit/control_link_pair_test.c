/* Two control links of one process: they greet, answer, finish and lose one another like two of a network. */
#include "agent/control_link.h"

#include "cmocka_first.h"

#include <stdio.h>

enum { RECORDS = 100, BURST = 1000 };

struct side {
	struct control_link *link;
	unsigned hellos, questions, answers, manifests, writable;
	bool is_over, is_closed, closes_on_question, finishes_on_answer;
	haul_status why;
};

struct fixture {
	uv_loop_t loop;
	struct side client, server;
};

static struct fixture f;

static void on_closed(void *ctx)
{
	((struct side *)ctx)->is_closed = true;
}

static void close_side(struct side *s)
{
	if (s->link)
		control_link_close(s->link, on_closed, s);
	s->link = NULL;
}

static void on_end(void *ctx, struct control_link *l, haul_status why, const struct haul_fault *fault)
{
	struct side *s = ctx;

	(void)l;
	(void)fault;
	assert_false(s->is_over);
	s->is_over = true;
	s->why = why;
	close_side(s);
}

static void on_writable(void *ctx, struct control_link *l)
{
	(void)l;
	((struct side *)ctx)->writable++;
}

static void say(struct control_link *l, enum message_type type)
{
	const struct message m = { .type = type };

	assert_ok(control_link_send(l, &m, NULL));
}

static void accept_job(struct control_link *l)
{
	const struct message accept = { .type = MSG_ACCEPT,
					.accept = { .lanes = 1, .block_bytes = MESSAGE_BLOCK_MIN } };
	const struct message credit = { .type = MSG_CREDIT, .credit = { RECORDS * BURST, UINT32_MAX } };

	assert_ok(control_link_send(l, &accept, NULL));
	assert_ok(control_link_send(l, &credit, NULL));
}

static void on_message(void *ctx, struct control_link *l, const struct message *m)
{
	struct side *s = ctx;

	s->hellos += m->type == MSG_HELLO;
	if (m->type == MSG_LIST) {
		s->questions++;
		if (s->closes_on_question)
			close_side(s);
		else
			say(l, MSG_LISTING);
	} else if (m->type == MSG_LISTING) {
		s->answers++;
		if (s->finishes_on_answer)
			control_link_finish(l);
	}
	s->manifests += m->type == MSG_MANIFEST;
	if (m->type == MSG_JOB)
		accept_job(l);
	if (m->type == MSG_HELLO && s == &f.client)
		say(l, MSG_LIST);
}

static const struct control_link_callbacks callbacks = { on_message, on_writable, on_end };

static int open_pair(void **state)
{
	struct control_pair_end client = { .cb = &callbacks, .ctx = &f.client };
	struct control_pair_end server = { .cb = &callbacks, .ctx = &f.server };

	(void)state;
	f = (struct fixture){ .loop.data = NULL };
	assert_int_equal(uv_loop_init(&f.loop), 0);
	assert_ok(control_link_pair(&f.loop, &client, &server, NULL));
	f.client.link = client.link;
	f.server.link = server.link;
	return 0;
}

static int close_pair(void **state)
{
	(void)state;
	close_side(&f.client);
	close_side(&f.server);
	(void)uv_run(&f.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f.loop), 0);
	return 0;
}

static void run(void)
{
	for (unsigned i = 0; i < 50; i++)
		(void)uv_run(&f.loop, UV_RUN_NOWAIT);
}

static void greets_and_answers(void **state)
{
	(void)state;
	assert_int_equal(f.server.hellos, 0); /* nothing happens from within the calls */
	run();
	assert_int_equal(f.client.hellos, 1);
	assert_int_equal(f.server.hellos, 1);
	assert_int_equal(f.server.questions, 1);
	assert_int_equal(f.client.answers, 1);
	assert_false(f.client.is_over || f.server.is_over);
}

static void finishing_is_seen_by_both(void **state)
{
	(void)state;
	f.client.finishes_on_answer = true;
	run();
	assert_true(f.client.is_over && f.server.is_over);
	assert_ok(f.server.why); /* a client that has asked all it wanted to know */
	assert_true(f.client.is_closed && f.server.is_closed);
}

static void closing_is_a_loss_to_the_other(void **state)
{
	(void)state;
	f.server.closes_on_question = true;
	run();
	assert_true(f.client.is_over);
	assert_int_equal(f.client.why.code, HAUL_CODE_LOST);
	assert_false(f.server.is_over); /* it closed by itself */
}

static void a_broken_rule_ends_both(void **state)
{
	const struct message m = { .type = MSG_DONE };

	(void)state;
	run();
	assert_int_equal(control_link_send(f.client.link, &m, NULL).code, HAUL_CODE_BAD_MOVE);
	for (unsigned i = 0; i < 1000 && !(f.client.is_over && f.server.is_over); i++)
		(void)uv_run(&f.loop, UV_RUN_ONCE);
	assert_int_equal(f.client.why.code, HAUL_CODE_BAD_MOVE);
	assert_true(f.server.is_over);
}

/* 100 records with the longest names, from index `first` on. */
static haul_status send_records(uint64_t first)
{
	static char names[RECORDS][HAUL_NAME_MAX + 1];
	struct manifest_record records[RECORDS] = { 0 };
	struct message m = { .type = MSG_MANIFEST, .manifest = { records, RECORDS } };

	for (unsigned i = 0; i < RECORDS; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%0255llu", (unsigned long long)(first + i));
		records[i] = (struct manifest_record){ .type = RECORD_ENTRY,
						       .entry = { .index = first + i,
								  .parent = HAUL_NO_INDEX,
								  .name = { names[i], HAUL_NAME_MAX },
								  .kind = ENTRY_FILE,
								  .owner = UINT32_MAX,
								  .group = UINT32_MAX,
								  .link_to = HAUL_NO_INDEX } };
	}
	return control_link_send(f.client.link, &m, NULL);
}

/* What is said faster than the loop turns is held back, and the sender hears when there is room. */
static void a_burst_is_bounded(void **state)
{
	const struct message job = { .type = MSG_JOB,
				     .job = { .verb = JOB_COPY,
					      .direction = JOB_PUSH,
					      .share = { "s", 1 },
					      .lanes = 1,
					      .block_bytes = MESSAGE_BLOCK_MIN } };
	haul_status st = HAUL_OK;
	unsigned sent = 0;

	(void)state;
	run();
	assert_ok(control_link_send(f.client.link, &job, NULL));
	run();
	while (sent < BURST && haul_ok(st))
		st = send_records((uint64_t)RECORDS * sent++);
	assert_int_equal(st.code, HAUL_CODE_BUSY);
	assert_int_equal(f.client.writable, 0);
	run();
	assert_int_equal(f.client.writable, 1);
	assert_int_equal(f.server.manifests, sent - 1);
	assert_false(f.client.is_over || f.server.is_over);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(greets_and_answers, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(finishing_is_seen_by_both, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(closing_is_a_loss_to_the_other, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(a_broken_rule_ends_both, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(a_burst_is_bounded, open_pair, close_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
