/* What one attempt has told, the next does not tell again; the same attempt may. */
#include "agent/told_set.h"

#include "cmocka_first.h"

#include <stdio.h>

static void the_next_attempt_knows(void **state)
{
	struct told_set s = { 0 };

	(void)state;
	assert_false(told_set_note(&s, "a/b", 0, 0));
	assert_false(told_set_note(&s, "a/b", 0, 0)); /* two things about one path */
	assert_false(told_set_note(&s, "a/b", 1, 0));
	assert_false(told_set_note(&s, "a/c", 0, 1));
	assert_true(told_set_note(&s, "a/b", 0, 1));
	assert_true(told_set_note(&s, "a/b", 1, 7));
	assert_false(told_set_note(&s, "a/c", 0, 1));
	told_set_close(&s);
}

static void what_is_taken_is_forgotten(void **state)
{
	struct told_set s = { 0 };

	(void)state;
	assert_false(told_set_take(&s, "a", 2, 5));
	assert_false(told_set_note(&s, "a", 2, 3));
	assert_false(told_set_take(&s, "a", 2, 3)); /* by this attempt, not by one before */
	assert_false(told_set_take(&s, "a", 1, 4));
	assert_true(told_set_take(&s, "a", 2, 4));
	assert_false(told_set_take(&s, "a", 2, 4));
	told_set_close(&s);
}

static void it_does_not_grow_for_ever(void **state)
{
	struct told_set s = { 0 };
	char path[32];

	(void)state;
	for (unsigned i = 0; i < TOLD_MAX + 10; i++) {
		(void)snprintf(path, sizeof(path), "%u", i);
		assert_false(told_set_note(&s, path, 0, 0));
	}
	assert_int_equal(s.seen.count, TOLD_MAX);
	assert_true(told_set_note(&s, "0", 0, 1));
	assert_false(told_set_note(&s, path, 0, 1));
	told_set_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_attempt_knows),
		cmocka_unit_test(what_is_taken_is_forgotten),
		cmocka_unit_test(it_does_not_grow_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
