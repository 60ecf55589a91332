/* A hostile sender: lane frames, moves and ends. Every job has one lane and blocks of 1 MiB. */
#include "evil_script.h"

#include "engine/hash_tree.h"

#include <string.h>

static struct job j;

static int ended(int verdict)
{
	job_close(&j);
	return verdict;
}

static bool begin(struct evil *e)
{
	const struct msg_job m = evil_push(e);

	return job_begin(&j, e, &m) && job_lanes(&j) && job_hear(&j, MSG_CREDIT);
}

static int judged(void)
{
	return ended(job_verdict(&j));
}

/* ---- data ---- */

/* One file "big" of `size` bytes, announced, its WANT heard. */
static bool wanted(struct evil *e, uint64_t size)
{
	if (!begin(e))
		return false;
	(void)job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "big", size);
	return job_announce(&j) && job_announce_end(&j) && job_hear(&j, MSG_WANT);
}

enum { BIG = 3 * MIB + 10 };

static int honest(struct evil *e)
{
	if (!wanted(e, BIG))
		return ended(V_FAULT);
	for (uint64_t leaf = 0; leaf < 4; leaf++)
		(void)lane_block(&j.lanes[0], 0, 0, BIG, leaf, 1, 0);
	return ended(job_agree(&j));
}

static int corrupt_leaf_once(struct evil *e)
{
	const struct message *m;

	if (!wanted(e, BIG))
		return ended(V_FAULT);
	for (uint64_t leaf = 0; leaf < 4; leaf++)
		(void)lane_block(&j.lanes[0], 0, 0, BIG, leaf, 1, leaf == 2);
	m = job_hear(&j, MSG_WANT);
	if (!m || m->want.want_count != 1 || m->want.wants[0].kind != WANT_RANGES ||
	    m->want.wants[0].ranges[0].first != 2 || m->want.wants[0].ranges[0].count != 1)
		return ended(V_FAULT);
	(void)lane_block(&j.lanes[0], 0, 0, BIG, 2, 1, 0);
	return ended(job_agree(&j));
}

/* The file fails with CORRUPT, and the job goes on to its end. */
static int failed_as_corrupt(void)
{
	if (!j.result_count && !job_hear(&j, MSG_RESULT))
		return judged();
	if (j.results[0].outcome != OUTCOME_FAILED || j.results[0].code != HAUL_CODE_CORRUPT)
		return ended(V_FAULT);
	return ended(job_agree(&j));
}

static int corrupt_leaf_always(struct evil *e)
{
	if (!wanted(e, BIG))
		return ended(V_FAULT);
	for (uint64_t leaf = 0; leaf < 4; leaf++)
		(void)lane_block(&j.lanes[0], 0, 0, BIG, leaf, 1, leaf == 1);
	while (!j.result_count && j.control.end == TALK_OPEN) {
		const struct message *m = talk_hear(&j.control, VERDICT_MS);

		if (m && m->type == MSG_WANT)
			(void)lane_block(&j.lanes[0], 0, m->want.wants[0].attempt, BIG, 1, 1, 1);
		else if (m && m->type == MSG_RESULT)
			j.results[j.result_count++] = m->result.results[0];
	}
	return failed_as_corrupt();
}

static int pack(struct evil *e, unsigned bad_times)
{
	if (!wanted(e, 100))
		return ended(V_FAULT);
	for (unsigned attempt = 0; attempt <= bad_times; attempt++) {
		if (!lane_pack(&j.lanes[0], 0, attempt, 100, attempt < bad_times))
			return ended(V_FAULT);
		if (attempt < bad_times) {
			const struct message *m;

			do
				m = talk_hear(&j.control, VERDICT_MS);
			while (m && m->type == MSG_ACK);
			if (m && m->type == MSG_RESULT) {
				j.results[j.result_count++] = m->result.results[0];
				return failed_as_corrupt();
			}
		}
	}
	return ended(job_agree(&j));
}

static int corrupt_small_file_once(struct evil *e)
{
	return pack(e, 1);
}

static int corrupt_small_file_always(struct evil *e)
{
	return pack(e, 10);
}

/* What had arrived of it must not get the file's name when the lane ends in a fault. */
static int half_then_nonsense(struct evil *e)
{
	uint8_t nonsense[LANE_HEADER_BYTES] = { 77 };

	if (!wanted(e, BIG))
		return ended(V_FAULT);
	for (uint64_t leaf = 0; leaf < 3; leaf++)
		(void)lane_block(&j.lanes[0], 0, 0, BIG, leaf, 1, 0);
	(void)talk_write(&j.lanes[0], nonsense, sizeof(nonsense));
	return judged();
}

/* Leaf 1 whole, half of leaf 0, and the end. LANE_LOST is heard; the file must not get its name. */
static bool cut_lane(struct evil *e)
{
	const struct lane_header h = { .type = LANE_BLOCK, .algorithm = 1, .leaf_count = 1, .bytes = MIB };
	static uint8_t half[MIB / 2];

	const struct message *m;

	if (!wanted(e, BIG))
		return false;
	(void)lane_block(&j.lanes[0], 0, 0, BIG, 1, 1, 0);
	(void)lane_header(&j.lanes[0], &h);
	(void)talk_write(&j.lanes[0], half, sizeof(half));
	talk_close(&j.lanes[0]);
	m = job_hear(&j, MSG_LANE_LOST);
	return m && m->lane_lost.lane == 0 && m->lane_lost.epoch == 0;
}

static bool say_lost(uint32_t lane, uint32_t epoch)
{
	const struct message m = { .type = MSG_LANE_LOST, .lane_lost = { lane, epoch } };

	return talk_say(&j.control, &m);
}

static bool join_again(uint32_t epoch, int *ret_verdict)
{
	struct msg_lane_hello hello = { .lane = 0, .epoch = epoch };

	memcpy(hello.session_id, j.accept.session_id, sizeof(hello.session_id));
	return job_lane(&j, j.evil->trust, &j.lanes[0], &hello, ret_verdict);
}

static int lane_cut_in_a_leaf(struct evil *e)
{
	return ended(cut_lane(e) ? V_OK : V_FAULT);
}

/* As an honest sender would; but the leaf that has been acknowledged comes again too, which changes nothing. */
static int lane_cut_and_begun_anew(struct evil *e)
{
	if (!cut_lane(e) || !say_lost(0, 3) || !join_again(4, NULL))
		return ended(V_FAULT);
	for (uint64_t leaf = 0; leaf < 4; leaf++)
		(void)lane_block(&j.lanes[0], 0, 0, BIG, leaf, 1, 0);
	return ended(job_agree(&j));
}

/* The peer has not been told: it must not be taken for the lane's next connection. */
static int lane_begun_anew_unsaid(struct evil *e)
{
	int verdict = V_FAULT;

	if (cut_lane(e))
		(void)join_again(1, &verdict);
	return ended(verdict);
}

static int lost_lane_that_is_none(struct evil *e)
{
	return begin(e) && say_lost(9, 0) ? judged() : ended(V_FAULT);
}

static int lost_lane_of_an_epoch_before(struct evil *e)
{
	if (!cut_lane(e) || !say_lost(0, 5) || !join_again(6, NULL))
		return ended(V_FAULT);
	return say_lost(0, 5) ? judged() : ended(V_FAULT);
}

/* Lanes that live and lanes that never were are lost for ever: each time the same answer, and in the end none. */
static int lanes_lost_for_ever(struct evil *e)
{
	if (!begin(e))
		return ended(V_FAULT);
	for (uint32_t epoch = 0; epoch < 100 && say_lost(0, epoch); epoch++) {
		if (!job_hear(&j, MSG_LANE_LOST))
			return epoch < 64 ? ended(V_FAULT) : judged();
	}
	return ended(V_FAULT);
}

/* A frame after the WANT. */
static int frame(struct evil *e, const struct lane_header *h)
{
	return wanted(e, BIG) && lane_header(&j.lanes[0], h) ? judged() : ended(V_FAULT);
}

static int block_of_unknown_entry(struct evil *e)
{
	return frame(
	    e, &(struct lane_header){ .type = LANE_BLOCK, .algorithm = 1, .entry = 9, .leaf_count = 1, .bytes = MIB });
}

static int block_beyond_the_end(struct evil *e)
{
	return frame(e, &(struct lane_header){
			    .type = LANE_BLOCK, .algorithm = 1, .first_leaf = 4, .leaf_count = 1, .bytes = MIB });
}

static int block_beyond_all_numbers(struct evil *e)
{
	return frame(e, &(struct lane_header){ .type = LANE_BLOCK,
					       .algorithm = 1,
					       .first_leaf = MESSAGE_LEAVES_MAX - 1,
					       .leaf_count = 1,
					       .bytes = MIB });
}

static int last_leaf_too_long(struct evil *e)
{
	return frame(e, &(struct lane_header){
			    .type = LANE_BLOCK, .algorithm = 1, .first_leaf = 3, .leaf_count = 1, .bytes = MIB });
}

static int block_longer_than_agreed(struct evil *e)
{
	return frame(e, &(struct lane_header){ .type = LANE_BLOCK, .algorithm = 1, .leaf_count = 2, .bytes = 2 * MIB });
}

static int digests_instead_of_bytes(struct evil *e)
{
	return frame(e, &(struct lane_header){ .type = LANE_DIGESTS, .algorithm = 1, .leaf_count = 1, .bytes = MIB });
}

static int pack_of_a_big_file(struct evil *e)
{
	return wanted(e, BIG) && lane_pack(&j.lanes[0], 0, 0, 100, false) ? judged() : ended(V_FAULT);
}

static int pack_of_another_size(struct evil *e)
{
	return wanted(e, 100) && lane_pack(&j.lanes[0], 0, 0, 99, false) ? judged() : ended(V_FAULT);
}

static int pack_never_asked_for(struct evil *e)
{
	return wanted(e, 100) && lane_pack(&j.lanes[0], 6, 0, 100, false) ? judged() : ended(V_FAULT);
}

static int pack_sizes_do_not_add_up(struct evil *e)
{
	const struct lane_header h = { .type = LANE_PACK, .algorithm = 1, .bytes = 200, .count = 1 };
	struct lane_pack_item item = { .bytes = 100 };
	uint8_t bytes[LANE_PACK_ITEM_BYTES + 200] = { 0 };

	lane_pack_item_encode(&item, bytes);
	return wanted(e, 100) && lane_header(&j.lanes[0], &h) && talk_write(&j.lanes[0], bytes, sizeof(bytes))
		   ? judged()
		   : ended(V_FAULT);
}

static int same_file_twice_in_a_pack(struct evil *e)
{
	const struct lane_header h = { .type = LANE_PACK, .algorithm = 1, .bytes = 20, .count = 2 };
	struct lane_pack_item item = { .bytes = 10 };
	uint8_t bytes[2 * LANE_PACK_ITEM_BYTES + 20];

	content_fill(bytes + 2 * LANE_PACK_ITEM_BYTES, 0, 10);
	content_fill(bytes + 2 * LANE_PACK_ITEM_BYTES + 10, 0, 10);
	leaf_digest(bytes + 2 * LANE_PACK_ITEM_BYTES, 10, &item.digest);
	lane_pack_item_encode(&item, bytes);
	lane_pack_item_encode(&item, bytes + LANE_PACK_ITEM_BYTES);
	if (!wanted(e, 10) || !lane_header(&j.lanes[0], &h) || !talk_write(&j.lanes[0], bytes, sizeof(bytes)))
		return ended(V_FAULT);
	return ended(job_agree(&j));
}

/* A leaf once more, with other bytes and a digest that fits them: whichever was there, nobody calls it proven. */
static int other_content_for_a_leaf(struct evil *e)
{
	if (!wanted(e, BIG))
		return ended(V_FAULT);
	(void)lane_block(&j.lanes[0], 0, 0, BIG, 0, 1, 0);
	(void)lane_header(&j.lanes[0],
			  &(struct lane_header){
			      .type = LANE_BLOCK, .flags = LANE_ZERO, .algorithm = 1, .leaf_count = 1, .bytes = MIB });
	if (!job_hear(&j, MSG_RESULT) || j.results[0].outcome != OUTCOME_FAILED)
		return judged();
	return ended(job_agree(&j));
}

static int same_leaf_many_times(struct evil *e)
{
	if (!wanted(e, BIG))
		return ended(V_FAULT);
	for (unsigned i = 0; i < 20; i++)
		(void)lane_block(&j.lanes[0], 0, 0, BIG, 0, 1, 0);
	for (uint64_t leaf = 1; leaf < 4; leaf++)
		(void)lane_block(&j.lanes[0], 0, 0, BIG, leaf, 1, 0);
	return ended(job_agree(&j));
}

/* Data of an attempt that was never wished for is dropped, and the right one counts. */
static int block_of_another_attempt(struct evil *e)
{
	if (!wanted(e, BIG))
		return ended(V_FAULT);
	(void)lane_block(&j.lanes[0], 0, 9, BIG, 0, 1, 0);
	for (uint64_t leaf = 0; leaf < 4; leaf++)
		(void)lane_block(&j.lanes[0], 0, 0, BIG, leaf, 1, 0);
	return ended(job_agree(&j));
}

static int data_after_end(struct evil *e)
{
	if (!wanted(e, BIG))
		return ended(V_FAULT);
	for (uint64_t leaf = 0; leaf < 4; leaf++)
		(void)lane_block(&j.lanes[0], 0, 0, BIG, leaf, 1, 0);
	(void)lane_end(&j.lanes[0]);
	(void)lane_block(&j.lanes[0], 0, 0, BIG, 0, 1, 1);
	talk_close(&j.lanes[0]);
	return ended(job_agree(&j));
}

/* A file of 16 leaves is there; with checksum its digests are wished for, and come 16 at once for blocks of one. */
static int too_many_digests_for_a_block(struct evil *e)
{
	const struct lane_header h = { .type = LANE_DIGESTS, .algorithm = 1, .leaf_count = 16, .bytes = 16 * MIB };
	struct msg_job m = evil_push(e);
	uint8_t digests[16 * 16] = { 0 };

	if (!wanted(e, 16 * MIB))
		return ended(V_FAULT);
	for (uint64_t leaf = 0; leaf < 16; leaf++)
		(void)lane_block(&j.lanes[0], 0, 0, 16 * MIB, leaf, 1, 0);
	if (job_agree(&j) != V_DONE)
		return ended(V_FAULT);
	job_close(&j);
	m.flags = JOB_CHECKSUM;
	if (!job_begin(&j, e, &m) || !job_lanes(&j))
		return ended(V_FAULT);
	(void)job_add(&j, ENTRY_FILE, HAUL_NO_INDEX, "big", 16 * MIB);
	if (!job_announce(&j) || !job_announce_end(&j) || !job_hear(&j, MSG_WANT))
		return ended(V_FAULT);
	(void)lane_header(&j.lanes[0], &h);
	(void)talk_write(&j.lanes[0], digests, sizeof(digests));
	return judged();
}

static int failed_never_announced(struct evil *e)
{
	const struct entry_failure f = { .entry = 3, .code = HAUL_CODE_IO };
	const struct message m = { .type = MSG_FAILED, .failed = { &f, 1 } };

	return begin(e) && talk_say(&j.control, &m) ? judged() : ended(V_FAULT);
}

static int failed_in_the_middle(struct evil *e)
{
	const struct entry_failure f = { .entry = 0, .code = HAUL_CODE_IO };
	const struct message m = { .type = MSG_FAILED, .failed = { &f, 1 } };

	if (!wanted(e, BIG) || !lane_block(&j.lanes[0], 0, 0, BIG, 0, 1, 0) || !talk_say(&j.control, &m) ||
	    !job_hear(&j, MSG_RESULT))
		return ended(V_FAULT);
	return j.results[0].code == HAUL_CODE_IO ? ended(job_agree(&j)) : ended(V_FAULT);
}

/* ---- moves ---- */

static int move(struct evil *e, const struct message *m)
{
	return begin(e) && talk_say(&j.control, m) ? judged() : ended(V_FAULT);
}

static int result_from_the_sender(struct evil *e)
{
	const struct entry_result r = { 0 };

	return move(e, &(struct message){ .type = MSG_RESULT, .result = { &r, 1 } });
}

static int want_from_the_sender(struct evil *e)
{
	const struct want w = { .kind = WANT_WHOLE };

	return move(e, &(struct message){ .type = MSG_WANT, .want = { &w, 1 } });
}

static int credit_from_the_sender(struct evil *e)
{
	return move(e, &(struct message){ .type = MSG_CREDIT, .credit = { 1, 1 } });
}

static int end_too_early(struct evil *e)
{
	return move(e, &(struct message){ .type = MSG_JOB_END });
}

static int done_too_early(struct evil *e)
{
	return move(e, &(struct message){ .type = MSG_DONE });
}

static int job_within_a_job(struct evil *e)
{
	return move(e, &(struct message){ .type = MSG_JOB, .job = evil_push(e) });
}

static int lookup_within_a_job(struct evil *e)
{
	const struct text top = { "", 0 };

	return move(e, &(struct message){ .type = MSG_LOOKUP, .lookup = { { "inbox", 5 }, &top, 1 } });
}

static int another_root_at_the_end(struct evil *e)
{
	struct message m = { .type = MSG_JOB_END };

	if (!begin(e) || !job_announce_end(&j) || !lane_end(&j.lanes[0]))
		return ended(V_FAULT);
	talk_finish(&j.lanes[0]);
	if (!job_hear(&j, MSG_JOB_END))
		return ended(V_FAULT);
	m.job_end = j.peer_end;
	m.job_end.root.bytes[0] ^= 1;
	return talk_say(&j.control, &m) ? judged() : ended(V_FAULT);
}

static const struct message cancel = { .type = MSG_CANCEL, .cancel = { HAUL_CODE_INTERRUPTED } };

static int cancel_at_once(struct evil *e)
{
	const struct msg_job m = evil_push(e);

	return job_begin(&j, e, &m) && talk_say(&j.control, &cancel) ? judged() : ended(V_FAULT);
}

static int cancel_with_lanes(struct evil *e)
{
	return move(e, &cancel);
}

static int cancel_with_data_on_the_way(struct evil *e)
{
	if (!wanted(e, BIG))
		return ended(V_FAULT);
	(void)lane_block(&j.lanes[0], 0, 0, BIG, 0, 1, 0);
	(void)lane_block(&j.lanes[0], 0, 0, BIG, 1, 1, 0);
	return talk_say(&j.control, &cancel) ? judged() : ended(V_FAULT);
}

static int cancel_twice(struct evil *e)
{
	return begin(e) && talk_say(&j.control, &cancel) && talk_say(&j.control, &cancel) ? judged() : ended(V_FAULT);
}

static int error_in_the_middle(struct evil *e)
{
	const struct message m = { .type = MSG_ERROR, .error = { .code = HAUL_CODE_IO } };

	if (!wanted(e, BIG) || !lane_block(&j.lanes[0], 0, 0, BIG, 0, 1, 0) || !talk_say(&j.control, &m))
		return ended(V_FAULT);
	job_close(&j);
	return V_OK;
}

const struct evil_case push_cases[] = {
	CASE_WHOLE(honest, "big", BIG, V_DONE),
	CASE_WHOLE(corrupt_leaf_once, "big", BIG, V_DONE),
	CASE_ABSENT(corrupt_leaf_always, "big", V_DONE),
	CASE_WHOLE(corrupt_small_file_once, "big", 100, V_DONE),
	CASE_ABSENT(corrupt_small_file_always, "big", V_DONE),
	CASE_ABSENT(half_then_nonsense, "big", CODE(BAD_FRAME)),
	CASE_ABSENT(lane_cut_in_a_leaf, "big", V_OK),
	CASE_WHOLE(lane_cut_and_begun_anew, "big", BIG, V_DONE),
	CASE_ABSENT(lane_begun_anew_unsaid, "big", CODE(NOT_ANNOUNCED)),
	CASE(lost_lane_that_is_none, CODE(BAD_VALUE)),
	CASE_ABSENT(lost_lane_of_an_epoch_before, "big", CODE(BAD_VALUE)),
	CASE(lanes_lost_for_ever, CODE(LOST)),
	CASE_ABSENT(block_of_unknown_entry, "big", CODE(NOT_ANNOUNCED)),
	CASE_ABSENT(block_beyond_the_end, "big", CODE(NOT_ANNOUNCED)),
	CASE_ABSENT(block_beyond_all_numbers, "big", CODE(NOT_ANNOUNCED)),
	CASE_ABSENT(last_leaf_too_long, "big", CODE(NOT_ANNOUNCED)),
	CASE_ABSENT(block_longer_than_agreed, "big", CODE(BAD_FRAME)),
	CASE_ABSENT(digests_instead_of_bytes, "big", CODE(NOT_ANNOUNCED)),
	CASE_ABSENT(pack_of_a_big_file, "big", CODE(NOT_ANNOUNCED)),
	CASE_ABSENT(pack_of_another_size, "big", CODE(NOT_ANNOUNCED)),
	CASE_ABSENT(pack_never_asked_for, "big", CODE(NOT_ANNOUNCED)),
	CASE_ABSENT(pack_sizes_do_not_add_up, "big", CODE(BAD_FRAME)),
	CASE_WHOLE(same_file_twice_in_a_pack, "big", 10, V_DONE),
	CASE_ABSENT(other_content_for_a_leaf, "big", V_DONE),
	CASE_WHOLE(same_leaf_many_times, "big", BIG, V_DONE),
	CASE_WHOLE(block_of_another_attempt, "big", BIG, V_DONE),
	CASE(data_after_end, V_DONE, CODE(LOST), CODE(BAD_FRAME)),
	CASE_WHOLE(too_many_digests_for_a_block, "big", 16 * MIB, CODE(BAD_FRAME)),
	CASE(failed_never_announced, CODE(NOT_ANNOUNCED)),
	CASE_ABSENT(failed_in_the_middle, "big", V_DONE),
	CASE(result_from_the_sender, CODE(BAD_MOVE)),
	CASE(want_from_the_sender, CODE(BAD_MOVE)),
	CASE(credit_from_the_sender, CODE(BAD_MOVE)),
	CASE(end_too_early, CODE(BAD_MOVE)),
	CASE(done_too_early, CODE(BAD_MOVE)),
	CASE(job_within_a_job, CODE(BAD_MOVE)),
	CASE(lookup_within_a_job, CODE(BAD_MOVE)),
	CASE(another_root_at_the_end, CODE(ROOT_MISMATCH)),
	CASE(cancel_at_once, CODE(CANCELLED)),
	CASE(cancel_with_lanes, CODE(CANCELLED)),
	CASE_ABSENT(cancel_with_data_on_the_way, "big", CODE(CANCELLED)),
	CASE(cancel_twice, CODE(BAD_MOVE), CODE(CANCELLED)),
	CASE_ABSENT(error_in_the_middle, "big", V_OK),
	{ 0 },
};
