/* A hostile sender that puts off and tells anew what it may not. Every job has one lane and blocks of 1 MiB. */
#include "evil_script.h"

static struct job j;

enum { BIG = 3 * MIB + 10, FIRST = 1000 };

static int ended(int verdict)
{
	job_close(&j);
	return verdict;
}

static bool say_put_off(uint64_t entry)
{
	const struct message m = { .type = MSG_PUT_OFF, .put_off = { &entry, 1 } };

	return talk_say(&j.control, &m);
}

static bool say_changed(uint64_t entry, uint32_t attempt, uint64_t size)
{
	const struct changed_entry c = { .entry = entry, .attempt = attempt, .size = size, .mode = 0644 };
	const struct message m = { .type = MSG_CHANGED, .changed = { &c, 1 } };

	return talk_say(&j.control, &m);
}

/* One file "big" of `size` bytes, or an open directory, announced; the WANT of a file is heard. */
static bool announced(struct evil *e, uint64_t size, bool is_wanted)
{
	struct msg_job m = evil_push(e);

	m.flags |= JOB_RESTART; /* nothing of a state is compared with the next */
	if (!job_begin(&j, e, &m) || !job_lanes(&j) || !job_hear(&j, MSG_CREDIT))
		return false;
	(void)job_add(&j, is_wanted ? ENTRY_FILE : ENTRY_DIRECTORY, HAUL_NO_INDEX, "big", is_wanted ? size : 0);
	if (!is_wanted)
		return job_announce(&j);
	return job_announce(&j) && job_announce_end(&j) && job_hear(&j, MSG_WANT);
}

static bool is_wanted_again(uint32_t attempt)
{
	const struct message *m = job_hear(&j, MSG_WANT);

	return m && m->want.want_count == 1 && m->want.wants[0].attempt >= attempt;
}

static bool send_all(uint32_t attempt, uint64_t size)
{
	for (uint64_t leaf = 0; leaf * MIB < size; leaf++)
		(void)lane_block(&j.lanes[0], 0, attempt, size, leaf, 1, 0);
	return true;
}

/* Half of the first state has come, and blocks of it come still when the second one is on its way. */
static int changed_while_being_sent(struct evil *e)
{
	if (!announced(e, BIG, true) || !lane_block(&j.lanes[0], 0, 0, BIG, 0, 1, 0) || !say_put_off(0) ||
	    !lane_block(&j.lanes[0], 0, 0, BIG, 1, 1, 0) || !say_changed(0, FIRST, BIG + MIB))
		return ended(V_FAULT);
	(void)lane_block(&j.lanes[0], 0, 0, BIG, 2, 1, 0);
	if (!is_wanted_again(FIRST))
		return ended(V_FAULT);
	(void)lane_block(&j.lanes[0], 0, 0, BIG, 3, 1, 0);
	(void)send_all(FIRST, BIG + MIB);
	return ended(job_agree(&j));
}

static int changed_into_a_small_file(struct evil *e)
{
	if (!announced(e, BIG, true) || !lane_block(&j.lanes[0], 0, 0, BIG, 0, 1, 0) || !say_put_off(0) ||
	    !say_changed(0, FIRST, 100) || !is_wanted_again(FIRST))
		return ended(V_FAULT);
	(void)lane_pack(&j.lanes[0], 0, FIRST, 100, false);
	return ended(job_agree(&j));
}

static int changed_three_times(struct evil *e)
{
	if (!announced(e, BIG, true))
		return ended(V_FAULT);
	for (uint32_t i = 1; i <= MESSAGE_STATES_MAX; i++) {
		if (!say_put_off(0) || !say_changed(0, i * FIRST, BIG + i) || !is_wanted_again(i * FIRST))
			return ended(V_FAULT);
	}
	(void)send_all(MESSAGE_STATES_MAX * FIRST, BIG + MESSAGE_STATES_MAX);
	return ended(job_agree(&j));
}

static int changed_for_ever(struct evil *e)
{
	if (!announced(e, BIG, true))
		return ended(V_FAULT);
	for (uint32_t i = 1; i < 10; i++) {
		if (!say_put_off(0) || !say_changed(0, i * FIRST, BIG + i))
			break;
		if (!is_wanted_again(i * FIRST))
			return i == MESSAGE_STATES_MAX + 1 ? ended(job_verdict(&j)) : ended(V_FAULT);
	}
	return ended(V_FAULT);
}

static int changed_not_put_off(struct evil *e)
{
	if (!announced(e, BIG, true) || !say_changed(0, FIRST, BIG))
		return ended(V_FAULT);
	return ended(job_verdict(&j));
}

static int changed_twice_at_once(struct evil *e)
{
	if (!announced(e, BIG, true) || !say_put_off(0) || !say_changed(0, FIRST, BIG) ||
	    !say_changed(0, 2 * FIRST, BIG + 1))
		return ended(V_FAULT);
	return ended(job_verdict(&j));
}

static int changed_with_an_old_attempt(struct evil *e)
{
	if (!announced(e, BIG, true) || !say_put_off(0) || !say_changed(0, FIRST, BIG) || !is_wanted_again(FIRST) ||
	    !say_put_off(0) || !say_changed(0, FIRST, BIG + 1))
		return ended(V_FAULT);
	return ended(job_verdict(&j));
}

static int changed_beyond_the_disk(struct evil *e)
{
	if (!announced(e, BIG, true) || !say_put_off(0) || !say_changed(0, FIRST, MESSAGE_SIZE_MAX))
		return ended(V_FAULT);
	if (!j.result_count && !job_hear(&j, MSG_RESULT))
		return ended(job_verdict(&j));
	return j.results[0].code == HAUL_CODE_NO_SPACE && j.results[0].attempt >= FIRST ? ended(job_agree(&j))
											: ended(V_FAULT);
}

static int put_off_twice(struct evil *e)
{
	if (!announced(e, BIG, true) || !say_put_off(0) || !say_put_off(0))
		return ended(V_FAULT);
	return ended(job_verdict(&j));
}

static int put_off_a_directory(struct evil *e)
{
	if (!announced(e, 0, false) || !say_put_off(0))
		return ended(V_FAULT);
	return ended(job_verdict(&j));
}

static int put_off_then_failed(struct evil *e)
{
	const struct entry_failure f = { .entry = 0, .code = HAUL_CODE_NOT_FOUND };
	const struct message m = { .type = MSG_FAILED, .failed = { &f, 1 } };

	if (!announced(e, BIG, true) || !lane_block(&j.lanes[0], 0, 0, BIG, 0, 1, 0) || !say_put_off(0) ||
	    !talk_say(&j.control, &m) || !job_hear(&j, MSG_RESULT))
		return ended(V_FAULT);
	return j.results[0].code == HAUL_CODE_NOT_FOUND ? ended(job_agree(&j)) : ended(V_FAULT);
}

static int put_off_and_gone(struct evil *e)
{
	if (!announced(e, BIG, true) || !lane_block(&j.lanes[0], 0, 0, BIG, 0, 1, 0) || !say_put_off(0))
		return ended(V_FAULT);
	return ended(V_OK);
}

/* What the last state is of content_fill(), the first one too: only sizes differ. */
const struct evil_case again_cases[] = {
	CASE_WHOLE(changed_while_being_sent, "big", BIG + MIB, V_DONE),
	CASE_WHOLE(changed_into_a_small_file, "big", 100, V_DONE),
	CASE_WHOLE(changed_three_times, "big", BIG + MESSAGE_STATES_MAX, V_DONE),
	CASE_ABSENT(changed_for_ever, "big", CODE(BAD_MOVE)),
	CASE_ABSENT(changed_not_put_off, "big", CODE(BAD_MOVE)),
	CASE_ABSENT(changed_twice_at_once, "big", CODE(BAD_MOVE)),
	CASE_ABSENT(changed_with_an_old_attempt, "big", CODE(BAD_MOVE)),
	CASE_ABSENT(changed_beyond_the_disk, "big", V_DONE),
	CASE_ABSENT(put_off_twice, "big", CODE(BAD_MOVE)),
	CASE(put_off_a_directory, CODE(BAD_MOVE)),
	CASE_ABSENT(put_off_then_failed, "big", V_DONE),
	CASE_ABSENT(put_off_and_gone, "big", V_OK),
	{ 0 },
};
