/* A lane's account: each turn on what was announced before it, and nothing for the wait before the first work and
 * after the last. */
#include "agent/lane_meter.h"

#include "cmocka_first.h"

#include <string.h>

#define MS UINT64_C(1000000)

static struct lane_turn turn(uint64_t now_ms, uint64_t idle_ms, uint64_t moved, enum lane_wait waits_for)
{
	return (struct lane_turn){ .now_ns = now_ms * MS,
				   .idle_ns = idle_ms * MS,
				   .moved = moved,
				   .waits_for = waits_for,
				   .if_over = waits_for,
				   .disk = DISK_NO_INPUT };
}

static void take(struct lane_meter *m, struct lane_turn t)
{
	lane_meter_turn(m, &t);
}

static void what_was_slept_belongs_to_what_was_announced(void **state)
{
	struct lane_meter m;

	(void)state;
	lane_meter_start(&m, 0, 0);
	take(&m, turn(5, 4, 1, LANE_WAITS_FOR_DISK)); /* the first work */
	take(&m, turn(15, 12, 2, LANE_WAITS_FOR_PEER));
	take(&m, turn(45, 32, 3, LANE_WAITS_FOR_DISK));
	assert_int_equal(m.times.waits[LANE_WAITS_FOR_DISK], 8 * MS);
	assert_int_equal(m.times.waits[LANE_WAITS_FOR_PEER], 20 * MS);
	assert_int_equal(m.times.waits[LANE_WAITS_FOR_WORK], 0);
	assert_int_equal(m.times.compute, 12 * MS);
	assert_int_equal(m.times.wall, 40 * MS);
}

static void a_wait_that_brings_nothing_is_not_booked(void **state)
{
	struct lane_meter m;

	(void)state;
	lane_meter_start(&m, 0, 0);
	take(&m, turn(1000, 999, 0, LANE_WAITS_FOR_WORK)); /* joined, nothing wanted yet */
	take(&m, turn(2000, 1998, 1, LANE_WAITS_FOR_DISK));
	take(&m, turn(2010, 2007, 2, LANE_WAITS_FOR_WORK));
	take(&m, turn(3010, 3006, 2, LANE_WAITS_FOR_WORK)); /* woken for nothing */
	take(&m, turn(4010, 4005, 2, LANE_WAITS_FOR_WORK)); /* and the end */
	assert_int_equal(m.times.wall, 10 * MS);
	assert_int_equal(m.times.waits[LANE_WAITS_FOR_WORK], 0);
	take(&m, turn(5010, 5004, 3, LANE_WAITS_FOR_WORK)); /* but there was more to do */
	assert_int_equal(m.times.wall, 3010 * MS);
	assert_int_equal(m.times.waits[LANE_WAITS_FOR_WORK], (999 + 999 + 999) * MS);
}

static void the_disk_has_its_own_account(void **state)
{
	struct lane_turn busy = turn(10, 0, 1, LANE_WAITS_FOR_PEER), full = turn(30, 10, 2, LANE_WAITS_FOR_PEER);
	struct lane_meter m;

	(void)state;
	busy.disk = DISK_BUSY;
	busy.has_files = true;
	full.disk = DISK_NO_ROOM;
	lane_meter_start(&m, 0, 0);
	take(&m, busy);
	take(&m, full);
	take(&m, turn(80, 50, 3, LANE_WAITS_FOR_WORK));
	assert_int_equal(m.times.disk[DISK_BUSY], 20 * MS);
	assert_int_equal(m.times.disk[DISK_NO_ROOM], 50 * MS);
	assert_int_equal(m.times.files, 20 * MS);
	assert_int_equal(m.times.disk[DISK_NO_INPUT], 0);
}

/* The last blocks are written when nothing comes any more: that was the disk, however free the blocks were. */
static void what_is_written_after_the_last_arrival_is_the_disks_time(void **state)
{
	struct lane_turn t = turn(0, 0, 1, LANE_WAITS_FOR_PEER);
	struct lane_meter m;

	(void)state;
	t.if_over = LANE_WAITS_FOR_DISK;
	lane_meter_start(&m, 0, 0);
	take(&m, t); /* begins */
	for (uint64_t i = 1; i <= 3; i++) {
		t.now_ns = t.idle_ns = i * 10 * MS;
		t.moved++;
		t.arrived += i < 3; /* the third time a write has come back, and no more bytes */
		take(&m, t);
	}
	assert_int_equal(m.times.waits[LANE_WAITS_FOR_PEER], 20 * MS);
	assert_int_equal(m.times.waits[LANE_WAITS_FOR_DISK], 0);
	lane_meter_end(&m);
	assert_int_equal(m.times.waits[LANE_WAITS_FOR_PEER], 20 * MS);
	assert_int_equal(m.times.waits[LANE_WAITS_FOR_DISK], 10 * MS);
	assert_int_equal(m.times.wall, 30 * MS);
}

/* libuv's idle time and the clock are read one after the other. */
static void more_slept_than_passed_is_cut(void **state)
{
	struct lane_meter m;

	(void)state;
	lane_meter_start(&m, 0, 0);
	take(&m, turn(1, 1, 1, LANE_WAITS_FOR_DISK));
	take(&m, turn(3, 9, 2, LANE_WAITS_FOR_DISK));
	assert_int_equal(m.times.compute, 0);
	assert_int_equal(m.times.waits[LANE_WAITS_FOR_DISK], 2 * MS);
}

static void it_says_itself_in_a_line(void **state)
{
	const struct lane_times t = { .wall = 1000 * MS,
				      .compute = 250 * MS,
				      .digest = 20 * MS,
				      .ready = 100 * MS,
				      .waits = { [LANE_WAITS_FOR_DISK] = 700 * MS, [LANE_WAITS_FOR_PEER] = 50 * MS },
				      .disk = { [DISK_BUSY] = 900 * MS } };
	const struct lane_times none = { 0 };
	char text[256] = "kept";

	(void)state;
	assert_false(lane_times_text(&none, text, sizeof(text)));
	assert_string_equal(text, "kept");
	assert_true(lane_times_text(&t, text, sizeof(text)));
	assert_string_equal(text, "busy 25 % (digests 2 %), without a core 10 %, asleep 75 %, for the disk 70 %, for "
				  "the peer 5 %; its disk busy 90 %");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_slept_belongs_to_what_was_announced),
		cmocka_unit_test(a_wait_that_brings_nothing_is_not_booked),
		cmocka_unit_test(the_disk_has_its_own_account),
		cmocka_unit_test(what_is_written_after_the_last_arrival_is_the_disks_time),
		cmocka_unit_test(more_slept_than_passed_is_cut),
		cmocka_unit_test(it_says_itself_in_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
