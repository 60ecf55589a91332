/* What strangers may occupy, who has to go, and who is turned away; never those who were good lately. */
#include "agent/admission.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct admission a;

static int enter(const char *from, uint64_t now_ms, int *ret_victim)
{
	struct sockaddr_in in4 = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, from, &in4.sin_addr) == 1)
		return admission_enter(&a, (const struct sockaddr *)&in4, now_ms, ret_victim);
	assert_int_equal(inet_pton(AF_INET6, from, &in6.sin6_addr), 1);
	return admission_enter(&a, (const struct sockaddr *)&in6, now_ms, ret_victim);
}

static int enter_alone(const char *from, uint64_t now_ms)
{
	int victim, slot = enter(from, now_ms, &victim);

	assert_int_not_equal(slot, ADMISSION_NONE);
	assert_int_equal(victim, ADMISSION_NONE);
	return slot;
}

static int setup(void **state)
{
	(void)state;
	admission_init(&a);
	return 0;
}

static void a_full_source_loses_its_oldest(void **state)
{
	int first[2], victim;

	(void)state;
	first[0] = enter_alone("10.0.0.1", 0);
	first[1] = enter_alone("10.0.0.2", 0);
	for (int i = 2; i < ADMISSION_PER_SOURCE; i++)
		(void)enter_alone("10.0.0.77", 0);
	(void)enter_alone("10.0.1.1", 0); /* another /24 */
	assert_int_equal(enter("10.0.0.9", 0, &victim), first[0]);
	assert_int_equal(victim, first[0]);
	assert_int_equal(enter("10.0.0.9", 0, &victim), first[1]);
}

static void the_silent_go_before_those_who_speak(void **state)
{
	int slots[ADMISSION_PER_SOURCE], victim;

	(void)state;
	for (int i = 0; i < ADMISSION_PER_SOURCE; i++)
		slots[i] = enter_alone("fe80::1", 0);
	admission_spoke(&a, slots[0]);
	admission_prove(&a, slots[1]);
	(void)enter("fe80::2", 0, &victim);
	assert_int_equal(victim, slots[2]);
}

static void proven_ones_are_never_dropped(void **state)
{
	int victim;

	(void)state;
	for (int i = 0; i < ADMISSION_PER_SOURCE; i++)
		admission_prove(&a, enter_alone("10.0.0.1", 0));
	assert_int_equal(enter("10.0.0.2", 0, &victim), ADMISSION_NONE);
	assert_int_equal(victim, ADMISSION_NONE);
}

static void a_full_table_takes_from_the_greediest(void **state)
{
	char from[32];
	int victim, greedy = ADMISSION_NONE;

	(void)state;
	for (int i = 0; i < ADMISSION_SLOTS; i++) {
		int net = i < 60 ? i / 6 : 10 + i; /* ten sources of six, four of one */
		int slot;

		(void)snprintf(from, sizeof(from), "10.0.%d.%d", net, i % 6 + 1);
		slot = enter_alone(from, 0);
		if (i == 0)
			greedy = slot;
	}
	assert_int_equal(enter("192.168.0.1", 0, &victim), greedy);
	assert_int_equal(victim, greedy);
}

static void fail_once(const char *from, uint64_t now_ms)
{
	admission_leave(&a, enter_alone(from, now_ms), ADMISSION_FAILED, now_ms);
}

static void failures_turn_an_address_away_for_a_while(void **state)
{
	int victim;

	(void)state;
	for (int i = 0; i < 16; i++)
		fail_once("10.0.0.1", 1000);
	assert_int_equal(enter("10.0.0.1", 1000, &victim), ADMISSION_NONE);
	(void)enter_alone("10.0.0.2", 1000); /* its neighbour has done nothing */
	(void)enter_alone("10.0.0.1", 1000 + 1000);
}

static void a_penalty_is_capped(void **state)
{
	uint64_t now_ms = 0;
	int victim;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int slot = enter("10.0.0.1", now_ms, &victim);

		if (slot != ADMISSION_NONE)
			admission_leave(&a, slot, ADMISSION_TOO_SLOW, now_ms);
		now_ms += 100;
	}
	(void)enter_alone("10.0.0.1", now_ms + ADMISSION_CAP_MS - ADMISSION_THRESHOLD_MS);
}

static void this_machine_waits_two_seconds_at_most(void **state)
{
	int victim;

	(void)state;
	for (int i = 0; i < 100; i++) {
		int slot = enter("127.0.0.1", 0, &victim);

		if (slot != ADMISSION_NONE)
			admission_leave(&a, slot, ADMISSION_TOO_SLOW, 0);
	}
	(void)enter_alone("127.0.0.1", 2000);
}

static void who_was_good_is_not_turned_away(void **state)
{
	(void)state;
	admission_leave(&a, enter_alone("10.0.0.1", 0), ADMISSION_GOOD, 0);
	for (int i = 0; i < 100; i++)
		fail_once("10.0.0.1", 1);
	(void)enter_alone("10.0.0.1", 2);
}

static void strangers_beside_a_good_one_do_not_displace_it(void **state)
{
	int lanes[16], victim;

	(void)state;
	admission_leave(&a, enter_alone("10.0.0.1", 0), ADMISSION_GOOD, 0);
	for (int i = 0; i < 16; i++)
		lanes[i] = enter_alone("10.0.0.1", 1);
	for (int i = 0; i < 1000; i++) {
		int slot = enter("10.0.0.2", 1, &victim);

		for (int j = 0; j < 16; j++)
			assert_int_not_equal(slot, lanes[j]);
	}
}

static void memory_of_addresses_is_bounded(void **state)
{
	char from[40];

	(void)state;
	admission_leave(&a, enter_alone("10.9.9.9", 0), ADMISSION_GOOD, 0);
	for (int i = 0; i < 3 * ADMISSION_ADDRESSES; i++) {
		(void)snprintf(from, sizeof(from), "2001:db8::%x:1", i);
		admission_leave(&a, enter_alone(from, 1), ADMISSION_FAILED, 1);
	}
	for (int i = 0; i < 100; i++)
		fail_once("10.9.9.9", 2); /* still remembered as good */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_full_source_loses_its_oldest, setup),
		cmocka_unit_test_setup(the_silent_go_before_those_who_speak, setup),
		cmocka_unit_test_setup(proven_ones_are_never_dropped, setup),
		cmocka_unit_test_setup(a_full_table_takes_from_the_greediest, setup),
		cmocka_unit_test_setup(failures_turn_an_address_away_for_a_while, setup),
		cmocka_unit_test_setup(a_penalty_is_capped, setup),
		cmocka_unit_test_setup(this_machine_waits_two_seconds_at_most, setup),
		cmocka_unit_test_setup(who_was_good_is_not_turned_away, setup),
		cmocka_unit_test_setup(strangers_beside_a_good_one_do_not_displace_it, setup),
		cmocka_unit_test_setup(memory_of_addresses_is_bounded, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
