/*
 * A server that lies. A script answers the client's questions honestly until its own point; what the client makes of it
 * is its exit code, judged by whoever runs it. `pull` cases are asked to copy nas:inbox/tree to a directory, `push`
 * cases get a tree of one directory with one small file.
 */
#include "evil_script.h"

#include "certs/rights.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_MS = 15000 };

struct play {
	struct evil *evil;
	int listen_fd;
	struct talk control, lane;
	struct message question; /* the last; only its type and small fields are kept */
	uint64_t entries;
};

static int over(struct play *p, int verdict)
{
	talk_close(&p->lane);
	talk_close(&p->control);
	return verdict;
}

/* Let the client end by itself. */
static int until_it_goes(struct play *p)
{
	while (talk_hear(&p->control, WAIT_MS))
		;
	return over(p, p->control.end == TALK_SILENT ? V_SILENT : V_OK);
}

static bool say_hello(struct talk *t)
{
	struct message m = { .type = MSG_HELLO, .hello = evil_hello() };

	m.hello.your_name = (struct text){ "edit1", 5 };
	return talk_say(t, &m);
}

static bool open_play(struct play *p, struct evil *e, int listen_fd)
{
	const struct message *m;

	*p = (struct play){ .evil = e, .listen_fd = listen_fd, .lane = { .fd = -1 } };
	if (!talk_accept(&p->control, e->trust, listen_fd, WAIT_MS) || !say_hello(&p->control))
		return false;
	m = talk_hear(&p->control, WAIT_MS);
	return m && m->type == MSG_HELLO;
}

/* LOOKUP: everything is a directory that is there, but what a push would land on is missing. */
static bool answer_lookup(struct play *p, const struct msg_lookup *q)
{
	struct found found[MESSAGE_SOURCES_MAX] = { { 0 } };
	const struct message m = { .type = MSG_FOUND,
				   .found = { .rights = RIGHT_LIST | RIGHT_READ | RIGHT_CREATE | RIGHT_OVERWRITE,
					      .free_bytes = UINT64_C(1) << 40,
					      .found = found,
					      .found_count = q->path_count } };

	found[0] = (struct found){ .state = FOUND_THERE, .kind = ENTRY_DIRECTORY };
	return talk_say(&p->control, &m);
}

/* Questions are answered until the JOB. */
static bool to_the_job(struct play *p)
{
	const struct message *m;

	while ((m = talk_hear(&p->control, WAIT_MS))) {
		if (m->type == MSG_JOB)
			return true;
		if (m->type != MSG_LOOKUP || !answer_lookup(p, &m->lookup))
			return false;
	}
	return false;
}

static bool accept_job(struct play *p, uint32_t lanes, uint32_t block)
{
	const struct message m = {
		.type = MSG_ACCEPT,
		.accept = { .session_id = { 7 }, .lanes = lanes, .block_bytes = block, .root_exists = true }
	};

	return talk_say(&p->control, &m);
}

static bool take_lane(struct play *p)
{
	struct message ok = { .type = MSG_LANE_OK };
	const struct message *m;

	if (!talk_accept(&p->lane, p->evil->trust, p->listen_fd, WAIT_MS) || !say_hello(&p->lane))
		return false;
	m = talk_hear(&p->lane, WAIT_MS);
	if (!m || m->type != MSG_LANE_HELLO)
		return false;
	ok.lane_ok = (struct msg_lane_ok){ m->lane_hello.lane, m->lane_hello.epoch };
	return talk_say(&p->lane, &ok);
}

/* The client was started with --lanes 1. */
static bool running(struct play *p, struct evil *e, int listen_fd)
{
	return open_play(p, e, listen_fd) && to_the_job(p) && accept_job(p, 1, MIB) && take_lane(p);
}

/* ---- as the sender of a pull ---- */

static struct manifest_record entry(struct play *p, enum entry_kind kind, uint64_t parent, const char *name,
				    uint64_t size)
{
	struct manifest_record r = { .type = RECORD_ENTRY };

	r.entry = (struct manifest_entry){ .index = p->entries++,
					   .parent = parent,
					   .name = { name, strlen(name) },
					   .kind = kind,
					   .size = size,
					   .mtime = { 1700000000, 0 },
					   .mode = 0755,
					   .owner = UINT32_MAX,
					   .group = UINT32_MAX,
					   .link_to = HAUL_NO_INDEX };
	if (kind == ENTRY_LINK)
		r.entry.link_target = (struct text){ "../outside", 10 };
	return r;
}

static bool announce(struct play *p, const struct manifest_record *records, size_t count)
{
	return talk_say(&p->control, &(struct message){ .type = MSG_MANIFEST, .manifest = { records, count } });
}

static bool wait_credit(struct play *p)
{
	const struct message *m = talk_hear(&p->control, WAIT_MS);

	return m && m->type == MSG_CREDIT;
}

static int pull_name(struct evil *e, int listen_fd, const char *name, size_t len)
{
	struct play p;
	static struct job j;

	if (!running(&p, e, listen_fd) || !wait_credit(&p))
		return over(&p, V_FAULT);
	j = (struct job){ .control = p.control };
	if (!job_raw_name(&j, name, len))
		return over(&p, V_FAULT);
	return until_it_goes(&p);
}

static int pull_name_dots(struct evil *e, int fd)
{
	return pull_name(e, fd, "..", 2);
}

static int pull_name_out(struct evil *e, int fd)
{
	return pull_name(e, fd, "../outside/planted", 18);
}

static int pull_name_absolute(struct evil *e, int fd)
{
	return pull_name(e, fd, "/tmp/planted", 12);
}

static int pull_name_reserved(struct evil *e, int fd)
{
	return pull_name(e, fd, ".haul", 5);
}

static int pull_below_a_link(struct evil *e, int fd)
{
	struct play p;
	struct manifest_record records[2];

	if (!running(&p, e, fd) || !wait_credit(&p))
		return over(&p, V_FAULT);
	records[0] = entry(&p, ENTRY_LINK, HAUL_NO_INDEX, "link", 0);
	records[1] = entry(&p, ENTRY_FILE, 0, "planted", 1);
	(void)announce(&p, records, 2);
	return until_it_goes(&p);
}

static int pull_without_credit(struct evil *e, int fd)
{
	struct manifest_record r;
	struct play p;

	if (!open_play(&p, e, fd) || !to_the_job(&p))
		return over(&p, V_FAULT);
	r = entry(&p, ENTRY_FILE, HAUL_NO_INDEX, "early", 1);
	(void)announce(&p, &r, 1);
	return until_it_goes(&p);
}

static bool announce_one_file(struct play *p, uint64_t size)
{
	const struct manifest_record r = entry(p, ENTRY_FILE, HAUL_NO_INDEX, "file", size);
	const struct message end = { .type = MSG_MANIFEST_END, .manifest_end = { 1, size } };
	const struct message *m;

	if (!wait_credit(p) || !announce(p, &r, 1) || !talk_say(&p->control, &end))
		return false;
	while ((m = talk_hear(&p->control, WAIT_MS))) {
		if (m->type == MSG_WANT)
			return true;
	}
	return false;
}

/* Every time it is asked for, it is wrong again. The job ends in order. */
static int pull_corrupt_always(struct evil *e, int fd)
{
	const struct message *m;
	struct message end = { .type = MSG_JOB_END };
	struct play p;

	if (!running(&p, e, fd) || !announce_one_file(&p, 3 * MIB))
		return over(&p, V_FAULT);
	for (uint64_t leaf = 0; leaf < 3; leaf++)
		(void)lane_block(&p.lane, 0, 0, 3 * MIB, leaf, 1, 1);
	while ((m = talk_hear(&p.control, WAIT_MS)) && m->type != MSG_JOB_END) {
		if (m->type == MSG_RESULT) {
			(void)lane_end(&p.lane);
			talk_finish(&p.lane);
		}
		for (size_t i = 0; m->type == MSG_WANT && i < m->want.want_count; i++)
			(void)lane_block(&p.lane, 0, m->want.wants[i].attempt, 3 * MIB,
					 m->want.wants[i].ranges[0].first, 1, 1);
	}
	if (!m)
		return over(&p, V_FAULT);
	end.job_end = m->job_end;
	(void)talk_say(&p.control, &end);
	(void)talk_say(&p.control, &(struct message){ .type = MSG_DONE });
	return until_it_goes(&p);
}

static int pull_another_root(struct evil *e, int fd)
{
	const struct message end = { .type = MSG_MANIFEST_END };
	struct message job_end = { .type = MSG_JOB_END };
	const struct message *m;
	struct play p;

	if (!running(&p, e, fd) || !wait_credit(&p) || !talk_say(&p.control, &end) || !lane_end(&p.lane))
		return over(&p, V_FAULT);
	talk_finish(&p.lane);
	while ((m = talk_hear(&p.control, WAIT_MS)) && m->type != MSG_JOB_END)
		;
	if (!m)
		return over(&p, V_FAULT);
	job_end.job_end = m->job_end;
	job_end.job_end.root.bytes[5] ^= 1;
	(void)talk_say(&p.control, &job_end);
	return until_it_goes(&p);
}

static int pull_done_early(struct evil *e, int fd)
{
	struct play p;

	if (!running(&p, e, fd) || !talk_say(&p.control, &(struct message){ .type = MSG_DONE }))
		return over(&p, V_FAULT);
	return until_it_goes(&p);
}

static int pull_end_early(struct evil *e, int fd)
{
	struct play p;

	if (!running(&p, e, fd) || !talk_say(&p.control, &(struct message){ .type = MSG_JOB_END }))
		return over(&p, V_FAULT);
	return until_it_goes(&p);
}

static int pull_half_then_cut(struct evil *e, int fd)
{
	struct play p;

	if (!running(&p, e, fd) || !announce_one_file(&p, 3 * MIB) || !lane_block(&p.lane, 0, 0, 3 * MIB, 0, 1, 0) ||
	    !lane_block(&p.lane, 0, 0, 3 * MIB, 1, 1, 0))
		return over(&p, V_FAULT);
	talk_close(&p.lane);
	return until_it_goes(&p);
}

static int pull_block_never_granted(struct evil *e, int fd)
{
	const struct lane_header h = { .type = LANE_BLOCK, .algorithm = 1, .entry = 5, .leaf_count = 1, .bytes = MIB };
	struct play p;

	if (!running(&p, e, fd) || !lane_header(&p.lane, &h))
		return over(&p, V_FAULT);
	return until_it_goes(&p);
}

static int pull_silent(struct evil *e, int fd)
{
	struct play p;

	return running(&p, e, fd) ? until_it_goes(&p) : over(&p, V_FAULT);
}

/* ---- answers ---- */

static int accepted(struct evil *e, int fd, uint32_t lanes, uint32_t block)
{
	struct play p;

	if (!open_play(&p, e, fd) || !to_the_job(&p) || !accept_job(&p, lanes, block))
		return over(&p, V_FAULT);
	return until_it_goes(&p);
}

static int accept_sixteen_lanes(struct evil *e, int fd)
{
	return accepted(e, fd, 16, MIB);
}

static int accept_a_huge_block(struct evil *e, int fd)
{
	return accepted(e, fd, 1, 16 * MIB);
}

static int note_never_asked_for(struct evil *e, int fd)
{
	static const char text[] = "\x1b]0;yours\x07";
	const struct message m = { .type = MSG_NOTE, .note = { .text = { text, sizeof(text) - 1 } } };
	struct play p;

	if (!running(&p, e, fd) || !talk_say(&p.control, &m))
		return over(&p, V_FAULT);
	return until_it_goes(&p);
}

static int answer_too_many(struct evil *e, int fd)
{
	const struct found found[3] = { { .state = FOUND_THERE, .kind = ENTRY_DIRECTORY } };
	const struct message m = { .type = MSG_FOUND, .found = { .found = found, .found_count = 3 } };
	const struct message *q;
	struct play p;

	if (!open_play(&p, e, fd))
		return over(&p, V_FAULT);
	q = talk_hear(&p.control, WAIT_MS);
	if (!q || q->type != MSG_LOOKUP || q->lookup.path_count == 3 || !talk_say(&p.control, &m))
		return over(&p, V_FAULT);
	return until_it_goes(&p);
}

/* What the server writes is shown to a person at a terminal. */
static int error_with_escapes(struct evil *e, int fd)
{
	const struct message m = { .type = MSG_ERROR,
				   .error = { .code = HAUL_CODE_IO,
					      .text = { "\033]0;owned\a\033[2Jgone", 18 },
					      .path = { "\033[31mred", 8 },
					      .your_name = { "\033[1mme", 6 } } };
	struct play p;

	if (!open_play(&p, e, fd) || !to_the_job(&p) || !talk_say(&p.control, &m))
		return over(&p, V_FAULT);
	return until_it_goes(&p);
}

static int error_of_no_known_code(struct evil *e, int fd)
{
	const struct message m = { .type = MSG_ERROR, .error = { .code = 54321 } };
	struct play p;

	if (!open_play(&p, e, fd) || !to_the_job(&p) || !talk_say(&p.control, &m))
		return over(&p, V_FAULT);
	return until_it_goes(&p);
}

static int cut_after_hello(struct evil *e, int fd)
{
	struct play p;
	bool done = open_play(&p, e, fd);

	return over(&p, done ? V_OK : V_FAULT);
}

static int cut_after_the_job(struct evil *e, int fd)
{
	struct play p;
	bool done = open_play(&p, e, fd) && to_the_job(&p);

	return over(&p, done ? V_OK : V_FAULT);
}

static int frame_of_four_gigabytes(struct evil *e, int fd)
{
	struct play p;

	if (!open_play(&p, e, fd) || !talk_write(&p.control, "\xff\xff\xff\xff", 4))
		return over(&p, V_FAULT);
	return until_it_goes(&p);
}

/* ---- as the receiver of a push ---- */

static bool hears_manifest(struct play *p)
{
	const struct message credit = { .type = MSG_CREDIT, .credit = { 1000, 1 << 20 } };
	const struct message *m;

	if (!talk_say(&p->control, &credit))
		return false;
	while ((m = talk_hear(&p->control, WAIT_MS)) && m->type != MSG_MANIFEST_END)
		;
	return m != NULL;
}

static int push_told(struct evil *e, int fd, const struct message *m)
{
	struct play p;

	if (!running(&p, e, fd) || !hears_manifest(&p) || !talk_say(&p.control, m))
		return over(&p, V_FAULT);
	return until_it_goes(&p);
}

static int push_want_never_announced(struct evil *e, int fd)
{
	const struct want w = { .entry = 77, .kind = WANT_WHOLE };

	return push_told(e, fd, &(struct message){ .type = MSG_WANT, .want = { &w, 1 } });
}

/* "I have it", although nothing was asked for: the file is entry 1. */
static int push_proven_without_reading(struct evil *e, int fd)
{
	const struct entry_result r[] = { { .entry = 0, .outcome = OUTCOME_PROVEN },
					  { .entry = 1, .outcome = OUTCOME_PROVEN, .flags = RESULT_COMMITTED } };

	return push_told(e, fd, &(struct message){ .type = MSG_RESULT, .result = { r, 2 } });
}

static int push_result_twice(struct evil *e, int fd)
{
	const struct entry_result r[] = { { .entry = 0, .outcome = OUTCOME_PROVEN },
					  { .entry = 0, .outcome = OUTCOME_PROVEN } };

	return push_told(e, fd, &(struct message){ .type = MSG_RESULT, .result = { r, 2 } });
}

static int push_done_early(struct evil *e, int fd)
{
	return push_told(e, fd, &(struct message){ .type = MSG_DONE });
}

static int push_end_early(struct evil *e, int fd)
{
	return push_told(e, fd, &(struct message){ .type = MSG_JOB_END });
}

static int push_all_unchanged_other_root(struct evil *e, int fd)
{
	const struct entry_result r[] = { { .entry = 0, .outcome = OUTCOME_PROVEN },
					  { .entry = 1, .outcome = OUTCOME_UNCHANGED } };
	uint8_t frame[LANE_HEADER_BYTES];
	struct message end = { .type = MSG_JOB_END, .job_end = { .entries = 2, .files = 1, .root = { { 1 } } } };
	struct play p;

	if (!running(&p, e, fd) || !hears_manifest(&p) ||
	    !talk_say(&p.control, &(struct message){ .type = MSG_RESULT, .result = { r, 2 } }))
		return over(&p, V_FAULT);
	(void)talk_read(&p.lane, frame, sizeof(frame));
	talk_finish(&p.lane);
	(void)talk_say(&p.control, &end);
	return until_it_goes(&p);
}

#define SERVER_CASE(name, words, exits)                                                                                \
	{                                                                                                              \
#name, name, words, exits                                                                              \
	}

const struct evil_server_case server_cases[] = {
	SERVER_CASE(pull_name_dots, "pull", "10"),
	SERVER_CASE(pull_name_out, "pull", "10"),
	SERVER_CASE(pull_name_absolute, "pull", "10"),
	SERVER_CASE(pull_name_reserved, "pull", "3|10"),
	SERVER_CASE(pull_below_a_link, "pull", "10"),
	SERVER_CASE(pull_without_credit, "pull", "10"),
	SERVER_CASE(pull_corrupt_always, "pull", "4"),
	SERVER_CASE(pull_another_root, "pull", "4"),
	SERVER_CASE(pull_done_early, "pull", "10"),
	SERVER_CASE(pull_end_early, "pull", "10"),
	SERVER_CASE(pull_half_then_cut, "pull", "5"),
	SERVER_CASE(pull_block_never_granted, "pull", "10"),
	SERVER_CASE(pull_silent, "pull", "5"),
	SERVER_CASE(accept_sixteen_lanes, "pull", "10"),
	SERVER_CASE(accept_a_huge_block, "pull", "10"),
	SERVER_CASE(note_never_asked_for, "pull", "10"),
	SERVER_CASE(answer_too_many, "pull", "10"),
	SERVER_CASE(error_with_escapes, "pull", "2|3"),
	SERVER_CASE(error_of_no_known_code, "pull", "10"),
	SERVER_CASE(cut_after_hello, "pull", "5"),
	SERVER_CASE(cut_after_the_job, "push", "5"),
	SERVER_CASE(frame_of_four_gigabytes, "push", "10"),
	SERVER_CASE(push_want_never_announced, "push", "10"),
	SERVER_CASE(push_proven_without_reading, "push", "10"),
	SERVER_CASE(push_result_twice, "push", "10"),
	SERVER_CASE(push_done_early, "push", "10"),
	SERVER_CASE(push_end_early, "push", "10"),
	SERVER_CASE(push_all_unchanged_other_root, "push", "4"),
	{ 0 },
};
