/* A hostile receiver: asks for what was not offered, judges what it has not got, takes nothing. */
#include "evil_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct job j;

static int ended(int verdict)
{
	job_close(&j);
	return verdict;
}

static int judged(void)
{
	return ended(job_verdict(&j));
}

static bool grant(uint64_t records, uint64_t bytes)
{
	const struct message m = { .type = MSG_CREDIT, .credit = { records, bytes } };

	return talk_say(&j.control, &m);
}

/* `source/` of the share holds the directory `sub` (empty), `big` (5 MiB) and `small`; its manifest has been heard. */
static bool begin(struct evil *e)
{
	const struct msg_job m = evil_pull("source");

	return job_begin(&j, e, &m) && job_lanes(&j) && grant(100, 1 << 20) && job_hear(&j, MSG_MANIFEST_END);
}

enum { TOP, BIG_FILE, SMALL_FILE, SUB };

static int want(struct evil *e, const struct want *w)
{
	return begin(e) && talk_say(&j.control, &(struct message){ .type = MSG_WANT, .want = { w, 1 } })
		   ? judged()
		   : ended(V_FAULT);
}

static int want_never_announced(struct evil *e)
{
	return want(e, &(struct want){ .entry = 99, .kind = WANT_WHOLE });
}

static int want_a_directory(struct evil *e)
{
	return want(e, &(struct want){ .entry = TOP, .kind = WANT_WHOLE });
}

static int want_beyond_the_end(struct evil *e)
{
	const struct leaf_range r = { 5, 1 };

	return want(e, &(struct want){ .entry = BIG_FILE, .kind = WANT_RANGES, .ranges = &r, .range_count = 1 });
}

static int want_more_than_there_is(struct evil *e)
{
	const struct leaf_range r = { 4, 1000 };

	return want(e, &(struct want){ .entry = BIG_FILE, .kind = WANT_RANGES, .ranges = &r, .range_count = 1 });
}

static int want_a_clone(struct evil *e)
{
	return want(e, &(struct want){ .entry = BIG_FILE, .kind = WANT_CLONE, .clone_path = { "x", 1 } });
}

static int want_in_disorder(struct evil *e)
{
	static struct pack p;

	p.len = 0;
	pack_array(&p, 2);
	pack_uint(&p, MSG_WANT);
	pack_array(&p, 1);
	pack_array(&p, 6);
	pack_uint(&p, BIG_FILE);
	pack_uint(&p, 0);
	pack_uint(&p, WANT_RANGES);
	pack_array(&p, 2);
	for (uint64_t first = 3; first > 1; first--) {
		pack_array(&p, 2);
		pack_uint(&p, first);
		pack_uint(&p, 1);
	}
	pack_bin(&p, "", 0);
	pack_nil(&p);
	return begin(e) && talk_say_raw(&j.control, p.data, p.len) ? judged() : ended(V_FAULT);
}

static int want_again_and_again(struct evil *e, uint64_t entry, enum want_kind kind)
{
	const struct leaf_range first = { 0, 1 };
	struct want w[1000];

	for (size_t i = 0; i < 1000; i++)
		w[i] = (struct want){
			.entry = entry,
			.kind = kind,
			.ranges = &first,
			.range_count = kind == WANT_DIGEST_RANGES,
		};
	return begin(e) && talk_say(&j.control, &(struct message){ .type = MSG_WANT, .want = { w, 1000 } })
		   ? judged()
		   : ended(V_FAULT);
}

static int want_a_thousand_times(struct evil *e)
{
	return want_again_and_again(e, BIG_FILE, WANT_WHOLE);
}

static int want_small_a_thousand_times(struct evil *e)
{
	return want_again_and_again(e, SMALL_FILE, WANT_WHOLE);
}

static int want_digests_a_thousand_times(struct evil *e)
{
	return want_again_and_again(e, BIG_FILE, WANT_DIGESTS);
}

static int want_digest_ranges_a_thousand_times(struct evil *e)
{
	return want_again_and_again(e, BIG_FILE, WANT_DIGEST_RANGES);
}

/* The payload of a lane, until END or an end. */
static uint64_t lane_bytes(struct talk *lane, uint64_t max)
{
	static uint8_t buffer[65536];
	uint64_t got = 0;

	while (got < max && talk_read(lane, buffer, max - got < sizeof(buffer) ? (size_t)(max - got) : sizeof(buffer)))
		got += max - got < sizeof(buffer) ? max - got : sizeof(buffer);
	return got;
}

/* Every other leaf, in one wish: they all come, each in a block of its own. */
static int want_many_ranges(struct evil *e)
{
	const struct leaf_range r[] = { { 0, 1 }, { 2, 1 }, { 4, 1 } };
	const struct want w = { .entry = BIG_FILE, .kind = WANT_RANGES, .ranges = r, .range_count = 3 };
	const uint64_t all = 3 * (LANE_HEADER_BYTES + (uint64_t)MIB + 16);
	bool came;

	if (!begin(e) || !talk_say(&j.control, &(struct message){ .type = MSG_WANT, .want = { &w, 1 } }))
		return ended(V_FAULT);
	came = lane_bytes(&j.lanes[0], all) == all;
	return ended(came ? V_OK : V_FAULT);
}

static int result(struct evil *e, const struct entry_result *r, size_t count)
{
	const struct message m = { .type = MSG_RESULT, .result = { r, count } };

	return begin(e) && talk_say(&j.control, &m) ? judged() : ended(V_FAULT);
}

static int result_never_announced(struct evil *e)
{
	return result(e, &(struct entry_result){ .entry = 99, .outcome = OUTCOME_FAILED, .code = HAUL_CODE_IO }, 1);
}

static int result_twice(struct evil *e)
{
	const struct entry_result r[] = { { .entry = SUB, .outcome = OUTCOME_PROVEN },
					  { .entry = SUB, .outcome = OUTCOME_PROVEN } };

	return result(e, r, 2);
}

static int result_without_content(struct evil *e)
{
	return result(e, &(struct entry_result){ .entry = BIG_FILE, .outcome = OUTCOME_PROVEN }, 1);
}

static int result_with_another_root(struct evil *e)
{
	const struct entry_result r = {
		.entry = SMALL_FILE, .outcome = OUTCOME_PROVEN, .flags = RESULT_HAS_ROOT, .root = { { 9 } }
	};
	const struct want w = { .entry = SMALL_FILE, .kind = WANT_WHOLE };

	if (!begin(e) || !talk_say(&j.control, &(struct message){ .type = MSG_WANT, .want = { &w, 1 } }) ||
	    lane_bytes(&j.lanes[0], LANE_HEADER_BYTES) != LANE_HEADER_BYTES ||
	    !talk_say(&j.control, &(struct message){ .type = MSG_RESULT, .result = { &r, 1 } }))
		return ended(V_FAULT);
	return judged();
}

static int move(struct evil *e, const struct message *m)
{
	return begin(e) && talk_say(&j.control, m) ? judged() : ended(V_FAULT);
}

static int end_before_results(struct evil *e)
{
	return move(e, &(struct message){ .type = MSG_JOB_END });
}

static int done_before_end(struct evil *e)
{
	return move(e, &(struct message){ .type = MSG_DONE });
}

static int manifest_from_the_receiver(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "x", 1);
	(void)job_announce(&j);
	return judged();
}

static int acknowledged_never_announced(struct evil *e)
{
	const struct ack a = { .entry = 99, .level = ACK_DURABLE, .leaf_count = 1 };

	return move(e, &(struct message){ .type = MSG_ACK, .ack = { &a, 1 } });
}

static int basis_beyond_the_file(struct evil *e)
{
	const struct haul_digest d = { { 1 } };

	return move(e, &(struct message){ .type = MSG_BASIS, .digests = { BIG_FILE, 1 << 20, &d, 1 } });
}

static int credit_overflows(struct evil *e)
{
	return move(e, &(struct message){ .type = MSG_CREDIT, .credit = { UINT64_MAX, UINT64_MAX } });
}

static int payload_from_the_receiver(struct evil *e)
{
	return begin(e) && lane_end(&j.lanes[0]) ? judged() : ended(V_FAULT);
}

static int cancelled(struct evil *e)
{
	return move(e, &(struct message){ .type = MSG_CANCEL, .cancel = { HAUL_CODE_INTERRUPTED } });
}

/* Everything is wished for and nothing read; then all is dropped. */
static int takes_nothing(struct evil *e)
{
	const struct want w[] = { { .entry = BIG_FILE, .kind = WANT_WHOLE },
				  { .entry = SMALL_FILE, .kind = WANT_WHOLE } };

	if (!begin(e) || !talk_say(&j.control, &(struct message){ .type = MSG_WANT, .want = { w, 2 } }))
		return ended(V_FAULT);
	(void)usleep(300000);
	return ended(V_OK);
}

static int lane_closed_while_it_sends(struct evil *e)
{
	const struct want w = { .entry = BIG_FILE, .kind = WANT_WHOLE };

	if (!begin(e) || !talk_say(&j.control, &(struct message){ .type = MSG_WANT, .want = { &w, 1 } }))
		return ended(V_FAULT);
	(void)lane_bytes(&j.lanes[0], 1000);
	talk_close(&j.lanes[0]);
	return ended(job_hear(&j, MSG_LANE_LOST) ? V_OK : V_FAULT); /* its job would go on */
}

static int no_credit_no_entry(struct evil *e)
{
	const struct msg_job m = evil_pull("source");
	const struct message *heard;

	if (!job_begin(&j, e, &m) || !job_lanes(&j))
		return ended(V_FAULT);
	heard = talk_hear(&j.control, 1000);
	return ended(heard ? V_FAULT : V_OK);
}

/* The connection is never read while thousands of files that cannot be opened are wished for. */
static int reads_nothing_of_failures(struct evil *e)
{
	const struct msg_job m = evil_pull("many");
	static struct want w[4000];

	if (!job_begin(&j, e, &m) || !job_lanes(&j) || !grant(UINT64_MAX / 2, UINT64_MAX / 2))
		return ended(V_FAULT);
	if (!job_hear(&j, MSG_MANIFEST_END))
		return ended(V_FAULT);
	for (size_t i = 0; i < 4000; i++)
		w[i] = (struct want){ .entry = i + 1, .kind = WANT_WHOLE };
	for (size_t i = 0; i < 4; i++) {
		if (!talk_say(&j.control, &(struct message){ .type = MSG_WANT, .want = { w + i * 1000, 1000 } }))
			return ended(V_FAULT);
	}
	(void)usleep(500000);
	return ended(V_OK);
}

static int closes_at_each_step(struct evil *e)
{
	const struct msg_job m = evil_pull("source");
	const struct want w = { .entry = BIG_FILE, .kind = WANT_WHOLE };

	for (int step = 0; step < 5; step++) {
		if (!job_begin(&j, e, &m) || (step > 0 && !job_lanes(&j)) || (step > 1 && !grant(100, 1 << 20)) ||
		    (step > 2 && !job_hear(&j, MSG_MANIFEST_END)))
			return ended(V_FAULT);
		if (step > 3)
			(void)talk_say(&j.control, &(struct message){ .type = MSG_WANT, .want = { &w, 1 } });
		job_close(&j);
	}
	return V_OK;
}

const struct evil_case pull_cases[] = {
	CASE(want_never_announced, CODE(NOT_ANNOUNCED)),
	CASE(want_a_directory, CODE(BAD_MOVE)),
	CASE(want_beyond_the_end, CODE(BAD_FRAME)),
	CASE(want_more_than_there_is, CODE(BAD_FRAME)),
	CASE(want_a_clone, CODE(NOT_ANNOUNCED)),
	CASE(want_in_disorder, CODE(BAD_FRAME)),
	CASE(want_a_thousand_times, CODE(BAD_MOVE)),
	CASE(want_small_a_thousand_times, CODE(BAD_MOVE)),
	CASE(want_digests_a_thousand_times, CODE(BAD_MOVE)),
	CASE(want_digest_ranges_a_thousand_times, CODE(BAD_MOVE)),
	CASE(want_many_ranges, V_OK),
	CASE(result_never_announced, CODE(NOT_ANNOUNCED)),
	CASE(result_twice, CODE(NOT_ANNOUNCED)),
	CASE(result_without_content, CODE(BAD_MOVE)),
	CASE(result_with_another_root, CODE(ROOT_MISMATCH)),
	CASE(end_before_results, CODE(BAD_MOVE)),
	CASE(done_before_end, CODE(BAD_MOVE)),
	CASE(manifest_from_the_receiver, CODE(BAD_MOVE)),
	CASE(acknowledged_never_announced, CODE(NOT_ANNOUNCED)),
	CASE(basis_beyond_the_file, CODE(BAD_MOVE)),
	CASE(credit_overflows, CODE(OVERFLOW)),
	CASE(payload_from_the_receiver, CODE(BAD_FRAME)),
	CASE(cancelled, CODE(CANCELLED)),
	CASE(takes_nothing, V_OK),
	CASE(lane_closed_while_it_sends, V_OK),
	CASE(no_credit_no_entry, V_OK),
	CASE(reads_nothing_of_failures, V_OK),
	CASE(closes_at_each_step, V_OK),
	{ 0 },
};
