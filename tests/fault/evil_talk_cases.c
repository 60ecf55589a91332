/* Before a job: noise, frames, greetings, questions, jobs that may not be, lanes that belong to nobody. */
#include "evil_script.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What comes after all was said, on a connection without a job. */
static int verdict(struct talk *t)
{
	const struct message *m;
	int got = V_CLOSED;

	while ((m = talk_hear(t, VERDICT_MS))) {
		if (m->type == MSG_ERROR) {
			got = (int)m->error.code;
			break;
		}
	}
	if (!m && t->end == TALK_SILENT)
		got = V_SILENT;
	talk_close(t);
	return got;
}

static int noise_instead_of_tls(struct evil *e)
{
	uint8_t noise[4096];
	struct talk t;
	char byte;
	ssize_t n;

	if (!talk_connect_plain(&t, e->port))
		return V_FAULT;
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = content_at(i);
	if (write(t.fd, noise, sizeof(noise)) < 0)
		return V_FAULT;
	while ((n = read(t.fd, &byte, 1)) > 0)
		;
	talk_close(&t);
	return V_CLOSED;
}

static int close_after_tls(struct evil *e)
{
	struct talk t;
	bool done = talk_connect(&t, e->trust, e->port);

	talk_close(&t);
	return done ? V_OK : V_FAULT;
}

/* After the greeting: this payload. */
static int say(struct evil *e, const void *payload, size_t len)
{
	struct talk t;

	if (!evil_greet(e, &t) || !talk_say_raw(&t, payload, len))
		return V_FAULT;
	return verdict(&t);
}

static int length_of(struct evil *e, const uint8_t length[4])
{
	struct talk t;

	if (!evil_greet(e, &t) || !talk_write(&t, length, 4))
		return V_FAULT;
	return verdict(&t);
}

static int length_zero(struct evil *e)
{
	return length_of(e, (const uint8_t[4]){ 0 });
}

static int length_of_four_gigabytes(struct evil *e)
{
	return length_of(e, (const uint8_t[4]){ 255, 255, 255, 255 });
}

static int length_one_too_many(struct evil *e)
{
	return length_of(e, (const uint8_t[4]){ 0, 4, 0, 1 });
}

static int no_msgpack(struct evil *e)
{
	return say(e, "\xc1\xc1\xc1\xc1", 4);
}

static int deep_nesting(struct evil *e)
{
	uint8_t deep[5000];

	memset(deep, 0x91, sizeof(deep));
	return say(e, deep, sizeof(deep));
}

static int unknown_type(struct evil *e)
{
	return say(e, "\x91\x63", 2);
}

static int four_billion_elements(struct evil *e)
{
	return say(e, "\x93\x02\xa1\x61\xdd\xff\xff\xff\xff", 9);
}

static int bytes_left_over(struct evil *e)
{
	return say(e, "\x93\x02\xa1\x61\x91\xc4\x00\x00", 8);
}

static int string_longer_than_frame(struct evil *e)
{
	return say(e, "\x93\x02\xdb\xff\xff\xff\xf0\x61", 8);
}

static int hello_again(struct evil *e)
{
	const struct message m = { .type = MSG_HELLO, .hello = evil_hello() };
	struct talk t;

	if (!evil_greet(e, &t) || !talk_say(&t, &m))
		return V_FAULT;
	return verdict(&t);
}

static int first_message(struct evil *e, const struct message *m)
{
	struct talk t;

	if (!talk_connect(&t, e->trust, e->port) || !talk_hear(&t, VERDICT_MS) || !talk_say(&t, m))
		return V_FAULT;
	return verdict(&t);
}

static int no_common_version(struct evil *e)
{
	struct message m = { .type = MSG_HELLO, .hello = evil_hello() };

	m.hello.version_min = m.hello.version_max = 9;
	return first_message(e, &m);
}

static int critical_capability(struct evil *e)
{
	const struct capability c = { { "warp", 4 }, true };
	struct message m = { .type = MSG_HELLO, .hello = evil_hello() };

	m.hello.capabilities = &c;
	m.hello.capability_count = 1;
	return first_message(e, &m);
}

static int job_before_hello(struct evil *e)
{
	return first_message(e, &(struct message){ .type = MSG_JOB, .job = evil_push(e) });
}

static int two_questions_at_once(struct evil *e)
{
	const struct text top = { "", 0 };
	const struct message m = { .type = MSG_LOOKUP, .lookup = { { "inbox", 5 }, &top, 1 } };
	struct talk t;

	if (!evil_greet(e, &t) || !talk_say(&t, &m) || !talk_say(&t, &m) || !talk_say(&t, &m))
		return V_FAULT;
	return verdict(&t);
}

/* LOOKUP and LIST with a path that the codec would not write. */
static int ask_path(struct evil *e, const char *path)
{
	static struct pack p;

	p.len = 0;
	pack_array(&p, 3);
	pack_uint(&p, MSG_LOOKUP);
	pack_str(&p, "inbox");
	pack_array(&p, 1);
	pack_bin(&p, path, strlen(path));
	return say(e, p.data, p.len);
}

static int lookup_dots(struct evil *e)
{
	return ask_path(e, "../canary");
}

static int lookup_dots_within(struct evil *e)
{
	return ask_path(e, "a/../../canary");
}

static int lookup_absolute(struct evil *e)
{
	return ask_path(e, "/etc/passwd");
}

static int lookup_reserved(struct evil *e)
{
	return ask_path(e, ".haul");
}

static int lookup_empty_component(struct evil *e)
{
	return ask_path(e, "a//b");
}

static int list_unknown_share(struct evil *e)
{
	const struct message m = { .type = MSG_LIST, .list = { .share = { "nothere", 7 } } };
	struct talk t;

	if (!evil_greet(e, &t) || !talk_say(&t, &m))
		return V_FAULT;
	return verdict(&t);
}

static int list_through_link(struct evil *e)
{
	const struct message m = { .type = MSG_LIST, .list = { .share = { "inbox", 5 }, .path = { "way/sub", 7 } } };
	struct talk t;

	if (!evil_greet(e, &t) || !talk_say(&t, &m))
		return V_FAULT;
	return verdict(&t);
}

/* ---- jobs ---- */

static int job(struct evil *e, const struct msg_job *m)
{
	static struct job j;
	int got = job_begin(&j, e, m) ? V_OK : job_verdict(&j);

	job_close(&j);
	return got;
}

static int job_for_other_share(struct evil *e)
{
	struct msg_job m = evil_push(e);

	m.share = (struct text){ "secret", 6 };
	return job(e, &m);
}

static int job_through_link(struct evil *e)
{
	struct msg_job m = evil_push(e);

	m.root = (struct text){ "way/sub", 7 };
	return job(e, &m);
}

static int pull_through_link(struct evil *e)
{
	const struct msg_job m = evil_pull("way/canary");

	return job(e, &m);
}

static int pull_follows_link_out(struct evil *e)
{
	struct msg_job m = evil_pull("way");
	struct job_source source = m.sources[0];

	source.follow = true;
	m.sources = &source;
	return job(e, &m);
}

/* A JOB with fields that the codec would not write. */
struct odd_job {
	const char *root, *source;
	uint64_t verb, direction, flags, lanes, block, probe;
};

static int say_job(struct evil *e, const struct odd_job *o)
{
	static struct pack p;

	p.len = 0;
	pack_array(&p, 20);
	pack_uint(&p, MSG_JOB);
	pack_nil(&p);
	pack_uint(&p, o->verb);
	pack_uint(&p, o->direction);
	pack_uint(&p, o->flags);
	pack_str(&p, "inbox");
	pack_bin(&p, o->root, strlen(o->root));
	pack_array(&p, o->source ? 1 : 0);
	if (o->source) {
		pack_array(&p, 3);
		pack_bin(&p, o->source, strlen(o->source));
		pack_bin(&p, "", 0);
		pack_byte(&p, 0xc2);
	}
	pack_uint(&p, o->lanes);
	pack_uint(&p, o->block);
	pack_uint(&p, 0);
	pack_uint(&p, 0); /* devices, their id, what is fixed, more lanes */
	pack_uint(&p, 0);
	pack_nil(&p);
	pack_uint(&p, 0);
	pack_uint(&p, 0);
	pack_uint(&p, o->probe);
	pack_uint(&p, 0); /* what a sync deletes, how much of it, where */
	pack_uint(&p, 0);
	pack_byte(&p, 0xc2);
	return say(e, p.data, p.len);
}

static int job_root_dots(struct evil *e)
{
	return say_job(e, &(struct odd_job){ "../outside", NULL, 1, 1, 0, 1, MIB, 0 });
}

static int job_root_reserved(struct evil *e)
{
	return say_job(e, &(struct odd_job){ ".haul/x", NULL, 1, 1, 0, 1, MIB, 0 });
}

static int job_unknown_flag(struct evil *e)
{
	return say_job(e, &(struct odd_job){ "x", NULL, 1, 1, 1u << 31, 1, MIB, 0 });
}

static int job_unknown_verb(struct evil *e)
{
	return say_job(e, &(struct odd_job){ "x", NULL, 4, 1, 0, 1, MIB, 0 });
}

static int job_seventeen_lanes(struct evil *e)
{
	return say_job(e, &(struct odd_job){ "x", NULL, 1, 1, 0, 17, MIB, 0 });
}

static int job_no_lanes(struct evil *e)
{
	return say_job(e, &(struct odd_job){ "x", NULL, 1, 1, 0, 0, MIB, 0 });
}

static int job_odd_block(struct evil *e)
{
	return say_job(e, &(struct odd_job){ "x", NULL, 1, 1, 0, 1, 3 * MIB, 0 });
}

static int job_block_of_a_gigabyte(struct evil *e)
{
	return say_job(e, &(struct odd_job){ "x", NULL, 1, 1, 0, 1, 1024 * (uint64_t)MIB, 0 });
}

static int pull_without_source(struct evil *e)
{
	return say_job(e, &(struct odd_job){ "", NULL, 1, 2, 0, 1, MIB, 0 });
}

static int push_with_source(struct evil *e)
{
	return say_job(e, &(struct odd_job){ "x", "y", 1, 1, 0, 1, MIB, 0 });
}

static int pull_dots(struct evil *e)
{
	return say_job(e, &(struct odd_job){ "", "../outside/canary", 1, 2, 0, 1, MIB, 0 });
}

static int pull_absolute(struct evil *e)
{
	return say_job(e, &(struct odd_job){ "", "/etc/passwd", 1, 2, 0, 1, MIB, 0 });
}

/* The wish for all memory there is gets less, and the next job is not kept waiting for ever. */
static int job_of_all_memory(struct evil *e)
{
	struct msg_job m = evil_push(e);

	m.lanes = LANES_MAX;
	m.block_bytes = MESSAGE_BLOCK_MAX;
	m.fixed = JOB_FIXED_LANES | JOB_FIXED_BLOCK;
	return job(e, &m);
}

/* ---- lanes ---- */

static int lane(struct evil *e, const struct dial_trust *as, uint32_t number, uint32_t epoch, bool right_id)
{
	const struct msg_job m = evil_push(e);
	struct msg_lane_hello hello = { .lane = number, .epoch = epoch };
	static struct job j;
	int got = V_FAULT;

	if (job_begin(&j, e, &m)) {
		memcpy(hello.session_id, j.accept.session_id, sizeof(hello.session_id));
		hello.session_id[31] ^= !right_id;
		(void)job_lane(&j, as, &j.lanes[0], &hello, &got);
	}
	job_close(&j);
	return got;
}

static int lane_of_wrong_session(struct evil *e)
{
	return lane(e, e->trust, 0, 0, false);
}

static int lane_out_of_range(struct evil *e)
{
	return lane(e, e->trust, 1, 0, true);
}

static int lane_of_another_device(struct evil *e)
{
	return lane(e, e->other, 0, 0, true);
}

static int lane_begins_with_successor(struct evil *e)
{
	return lane(e, e->trust, 0, 1, true);
}

static int lane_epoch_of_the_far_future(struct evil *e)
{
	return lane(e, e->trust, 0, UINT32_MAX, true);
}

static int two_connections_for_one_lane(struct evil *e)
{
	const struct msg_job m = evil_push(e);
	struct msg_lane_hello hello = { .lane = 0 };
	static struct job j;
	int got = V_FAULT;

	if (job_begin(&j, e, &m)) {
		memcpy(hello.session_id, j.accept.session_id, sizeof(hello.session_id));
		if (job_lane(&j, e->trust, &j.lanes[0], &hello, NULL))
			(void)job_lane(&j, e->trust, &j.lanes[1], &hello, &got);
	}
	job_close(&j);
	return got;
}

/* Successor after successor while none is used: the lane has a bound. */
static int hundred_successors(struct evil *e)
{
	const struct msg_job m = evil_push(e);
	struct msg_lane_hello hello = { .lane = 0 };
	struct talk lanes[100];
	static struct job j;
	size_t n = 0;
	int got;

	if (!job_begin(&j, e, &m))
		return V_FAULT;
	memcpy(hello.session_id, j.accept.session_id, sizeof(hello.session_id));
	for (; n < 100; n++, hello.epoch++) {
		if (!job_lane(&j, e->trust, &lanes[n], &hello, NULL)) {
			talk_close(&lanes[n]);
			break;
		}
	}
	got = n < 100 ? job_verdict(&j) : V_OK;
	while (n)
		talk_close(&lanes[--n]);
	job_close(&j);
	return got;
}

static int lane_hello_after_hello(struct evil *e)
{
	const struct message m = { .type = MSG_LANE_HELLO };
	struct talk t;

	if (!evil_greet(e, &t) || !talk_say(&t, &m))
		return V_FAULT;
	return verdict(&t);
}

static int lanes_never_come(struct evil *e)
{
	const struct msg_job m = evil_push(e);
	static struct job j;
	int got = job_begin(&j, e, &m) ? job_verdict(&j) : V_FAULT;

	job_close(&j);
	return got;
}

static int data_before_lane_ok(struct evil *e)
{
	const struct msg_job m = evil_push(e);
	struct message hello = { .type = MSG_LANE_HELLO };
	struct message_buffer b = { 0 };
	static struct job j;
	uint8_t both[512] = { 0 };
	int got = V_FAULT;

	if (job_begin(&j, e, &m) && talk_connect(&j.lanes[0], e->trust, e->port) &&
	    talk_hear(&j.lanes[0], VERDICT_MS)) {
		memcpy(hello.lane_hello.session_id, j.accept.session_id, SESSION_ID_BYTES);
		if (haul_ok(message_encode(&b, &hello)) && b.len < sizeof(both) - 64) {
			memcpy(both, b.data, b.len);
			if (talk_write(&j.lanes[0], both, b.len + 64))
				got = verdict(&j.lanes[0]);
		}
		message_buffer_close(&b);
	}
	job_close(&j);
	return got;
}

static int close_after_each_step(struct evil *e)
{
	const struct msg_job m = evil_push(e);
	static struct job j;

	for (int step = 0; step < 6; step++) {
		if (!job_begin(&j, e, &m) || (step > 0 && !job_lanes(&j)))
			return V_FAULT;
		if (step > 1) {
			(void)job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "file", 3 * MIB);
			(void)job_announce(&j);
		}
		if (step > 2 && !job_hear(&j, MSG_WANT))
			return V_FAULT;
		if (step > 3)
			(void)lane_block(&j.lanes[0], 0, 0, 3 * MIB, 0, 1, 0);
		if (step > 4)
			(void)job_announce_end(&j);
		job_close(&j);
	}
	return V_OK;
}

const struct evil_case talk_cases[] = {
	CASE(noise_instead_of_tls, V_CLOSED),
	CASE(close_after_tls, V_OK),
	CASE(length_zero, CODE(BAD_FRAME)),
	CASE(length_of_four_gigabytes, CODE(BAD_FRAME), CODE(OVERFLOW)),
	CASE(length_one_too_many, CODE(BAD_FRAME), CODE(OVERFLOW)),
	CASE(no_msgpack, CODE(BAD_FRAME)),
	CASE(deep_nesting, CODE(BAD_FRAME)),
	CASE(unknown_type, CODE(BAD_FRAME)),
	CASE(four_billion_elements, CODE(BAD_FRAME), CODE(OVERFLOW)),
	CASE(bytes_left_over, CODE(BAD_FRAME)),
	CASE(string_longer_than_frame, CODE(BAD_FRAME), CODE(OVERFLOW)),
	CASE(hello_again, CODE(BAD_MOVE)),
	CASE(no_common_version, CODE(NO_COMMON_VERSION)),
	CASE(critical_capability, CODE(CRITICAL_CAPABILITY)),
	CASE(job_before_hello, CODE(BAD_MOVE)),
	CASE(two_questions_at_once, CODE(BAD_MOVE)),
	CASE(lookup_dots, CODE(BAD_FRAME)),
	CASE(lookup_dots_within, CODE(BAD_FRAME)),
	CASE(lookup_absolute, CODE(BAD_FRAME)),
	CASE(lookup_reserved, CODE(RESERVED_NAME)),
	CASE(lookup_empty_component, CODE(BAD_FRAME)),
	CASE(list_unknown_share, CODE(NO_SHARE)),
	CASE(list_through_link, CODE(LINK_IN_PATH)),
	CASE(job_for_other_share, CODE(NO_SHARE)),
	CASE(job_through_link, CODE(LINK_IN_PATH)),
	CASE(pull_through_link, CODE(LINK_IN_PATH)),
	CASE(pull_follows_link_out, CODE(LINK_IN_PATH), CODE(CROSS_DEVICE), CODE(NOT_FOUND)),
	CASE(job_root_dots, CODE(BAD_FRAME)),
	CASE(job_root_reserved, CODE(RESERVED_NAME)),
	CASE(job_unknown_flag, CODE(BAD_FRAME)),
	CASE(job_unknown_verb, CODE(BAD_FRAME)),
	CASE(job_seventeen_lanes, CODE(BAD_FRAME)),
	CASE(job_no_lanes, CODE(BAD_FRAME)),
	CASE(job_odd_block, CODE(BAD_FRAME)),
	CASE(job_block_of_a_gigabyte, CODE(BAD_FRAME)),
	CASE(pull_without_source, CODE(BAD_FRAME)),
	CASE(push_with_source, CODE(BAD_FRAME)),
	CASE(pull_dots, CODE(BAD_FRAME)),
	CASE(pull_absolute, CODE(BAD_FRAME)),
	CASE(job_of_all_memory, V_OK),
	CASE(lane_of_wrong_session, CODE(NOT_ANNOUNCED)),
	CASE(lane_out_of_range, CODE(NOT_ANNOUNCED)),
	CASE(lane_of_another_device, CODE(NOT_ANNOUNCED)),
	CASE(lane_begins_with_successor, CODE(NOT_ANNOUNCED)),
	CASE(lane_epoch_of_the_far_future, CODE(NOT_ANNOUNCED)),
	CASE(two_connections_for_one_lane, CODE(NOT_ANNOUNCED)),
	CASE(hundred_successors, CODE(BAD_MOVE)),
	CASE(lane_hello_after_hello, CODE(BAD_MOVE)),
	CASE(lanes_never_come, CODE(TIMED_OUT)),
	CASE(data_before_lane_ok, V_CLOSED, CODE(BAD_MOVE), CODE(BAD_FRAME)),
	CASE(close_after_each_step, V_OK),
	{ 0 },
};
