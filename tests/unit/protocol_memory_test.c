/*
 * Each allocation of a conversation fails in turn: the step says HAUL_NO_MEMORY, everything is given back, and a
 * conversation in which none fails any more goes through. Leaks are the address sanitizer's to find.
 */
#include "control_pair.h"

#include "cmocka_first.h"

#include <stdlib.h>
#include <string.h>

enum { ALLOCATIONS_MAX = 1000, DIRECTORIES = 40, WANTS = 3000 };

static unsigned until_failure; /* 0: none fails */
static bool has_failed;

void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t n);
void *__real_realloc(void *old, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t n);
void *__wrap_realloc(void *old, size_t n);

static bool fails_now(void)
{
	if (!until_failure || --until_failure)
		return false;
	has_failed = true;
	return true;
}

void *__wrap_malloc(size_t n)
{
	return fails_now() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t n)
{
	return fails_now() ? NULL : __real_calloc(count, n);
}

void *__wrap_realloc(void *old, size_t n)
{
	return fails_now() ? NULL : __real_realloc(old, n);
}

static haul_status open_sides(struct control_pair *p)
{
	*p = (struct control_pair){ 0 };
	for (int role = 0; role < 2; role++) {
		struct control_config cfg = { .role = (enum control_role)role };

		p->sides[role] = control_session_new(&cfg);
		if (!p->sides[role])
			return HAUL_NO_MEMORY;
	}
	return HAUL_OK;
}

/* Deep enough that the stack of open directories grows, long enough that the arena does. */
static haul_status say_much(struct control_pair *p)
{
	static struct want wants[WANTS];
	struct manifest_record records[2 * DIRECTORIES];
	struct message manifest = { .type = MSG_MANIFEST, .manifest = { records, 2 * DIRECTORIES } };
	struct message want = { .type = MSG_WANT, .want = { wants, WANTS } };
	struct message end = { .type = MSG_MANIFEST_END, .manifest_end = { .entries = DIRECTORIES } };
	haul_status st;

	for (uint64_t i = 0; i < DIRECTORIES; i++) {
		records[i] = entry_record(i, i ? i - 1 : HAUL_NO_INDEX, ENTRY_DIRECTORY, "d");
		records[2 * DIRECTORIES - 1 - i] = dir_end_record(i, i < DIRECTORIES - 1);
	}
	st = control_pair_say(p, CONTROL_CLIENT, &manifest, NULL);
	if (haul_ok(st))
		st = control_pair_say(p, CONTROL_CLIENT, &end, NULL);
	if (haul_ok(st))
		st = control_pair_say(p, CONTROL_SERVER, &want, NULL);
	return st;
}

static haul_status converse(struct control_pair *p)
{
	struct message hello = hello_message(), job = job_message(JOB_PUSH), accept = plain_message(MSG_ACCEPT);
	struct message credit = { .type = MSG_CREDIT, .credit = { 1000, 1000000 } };
	const struct {
		enum control_role role;
		const struct message *message;
	} words[] = { { CONTROL_SERVER, &hello },
		      { CONTROL_CLIENT, &hello },
		      { CONTROL_CLIENT, &job },
		      { CONTROL_SERVER, &accept },
		      { CONTROL_SERVER, &credit } };
	haul_status st = open_sides(p);

	for (size_t i = 0; haul_ok(st) && i < sizeof(words) / sizeof(words[0]); i++)
		st = control_pair_say(p, words[i].role, words[i].message, NULL);
	return haul_ok(st) ? say_much(p) : st;
}

static void every_allocation_may_fail(void **state)
{
	unsigned nth = 1;

	(void)state;
	for (; nth < ALLOCATIONS_MAX; nth++) {
		struct control_pair p;
		haul_status st;

		until_failure = nth;
		has_failed = false;
		st = converse(&p);
		until_failure = 0;
		control_pair_close(&p);
		assert_code(st, has_failed ? HAUL_NO_MEMORY : HAUL_OK);
		if (!has_failed)
			break;
	}
	assert_true(nth > 10 && nth < ALLOCATIONS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation_may_fail) };

	return cmocka_run_group_tests_name("protocol_memory", tests, NULL, NULL);
}
