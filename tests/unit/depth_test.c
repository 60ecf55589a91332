/* The depth finds the knee of a disk that is simulated: so many requests it works on at once, the rest waits in line.
 */
#include "engine/depth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SERVERS_MAX = 64, BLOCK = 4 << 20, MS = 1000000 };

struct disk {
	unsigned servers;    /* requests it works on at once */
	uint64_t service_ns; /* of each */
	unsigned strangers;  /* of the servers, taken by somebody else */
	uint64_t free_ns[SERVERS_MAX];
	uint64_t noise; /* state of a small generator */
};

struct sim {
	struct disk disk;
	struct depth depth;
	uint64_t now_ns, bytes;
	struct {
		uint64_t start_ns, end_ns;
	} flying[256];
	unsigned count, changes, deepest;
};

static uint64_t service(struct disk *d)
{
	d->noise = d->noise * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return d->service_ns - d->service_ns / 10 + (d->noise >> 33) % (d->service_ns / 5);
}

static void ask(struct sim *s)
{
	struct disk *d = &s->disk;
	unsigned best = d->strangers;
	uint64_t start;

	for (unsigned i = d->strangers; i < d->servers; i++)
		if (d->free_ns[i] < d->free_ns[best])
			best = i;
	start = d->free_ns[best] > s->now_ns ? d->free_ns[best] : s->now_ns;
	d->free_ns[best] = start + service(d);
	s->flying[s->count].start_ns = s->now_ns;
	s->flying[s->count++].end_ns = d->free_ns[best];
}

/* The next completion; false: nothing is in flight. */
static void complete(struct sim *s)
{
	unsigned first = 0;
	uint64_t start_ns;

	for (unsigned i = 1; i < s->count; i++)
		if (s->flying[i].end_ns < s->flying[first].end_ns)
			first = i;
	s->now_ns = s->flying[first].end_ns;
	start_ns = s->flying[first].start_ns;
	s->flying[first] = s->flying[--s->count];
	s->bytes += BLOCK;
	s->changes += depth_done(&s->depth, s->now_ns, s->now_ns - start_ns, BLOCK);
	assert_true(s->depth.now >= 1 && s->depth.now <= s->depth.most);
	if (s->depth.now > s->deepest)
		s->deepest = s->depth.now;
}

static void run(struct sim *s, uint64_t ms)
{
	uint64_t until = s->now_ns + ms * MS;

	while (s->now_ns < until) {
		while (s->count < s->depth.now)
			ask(s);
		complete(s);
	}
}

static struct sim sim_of(unsigned servers, uint64_t service_ns, unsigned first, unsigned most)
{
	struct sim s = { .disk = { .servers = servers, .service_ns = service_ns, .noise = 1 }, .now_ns = 1000 };

	depth_open(&s.depth, first, most);
	return s;
}

static void it_grows_to_what_the_disk_can_use(void **state)
{
	struct sim s = sim_of(16, 8 * MS, 4, 32);

	(void)state;
	run(&s, 1500);
	assert_true(s.depth.now >= 13);
	print_message("16 at once: %u in flight\n", s.depth.now);
	assert_true(s.depth.now <= 27);
}

static void it_does_not_queue_what_only_waits(void **state)
{
	struct sim s = sim_of(2, 8 * MS, 4, 32);
	uint64_t before;

	(void)state;
	run(&s, 1500);
	assert_true(s.depth.now <= 6);
	before = s.bytes;
	run(&s, 2000);
	/* And nothing is lost by it: both servers were busy all the time, but for the noise. */
	assert_true(s.bytes - before >= UINT64_C(2) * 2000 / 8 * BLOCK * 9 / 10);
}

static void it_is_bounded_by_the_share(void **state)
{
	struct sim s = sim_of(64, 4 * MS, 4, 8);

	(void)state;
	run(&s, 10000);
	assert_int_equal(s.deepest, 8);
	assert_int_equal(s.depth.now, 8);
}

static void it_backs_off_when_somebody_else_comes(void **state)
{
	struct sim s = sim_of(16, 8 * MS, 4, 16);
	unsigned alone;

	(void)state;
	run(&s, 1900);
	alone = s.depth.now;
	assert_true(alone >= 12);
	s.disk.strangers = 13;
	run(&s, 6000);
	assert_true(s.depth.now < alone);
	s.disk.strangers = 0;
	run(&s, 30000);
	assert_true(s.depth.now >= 12);
}

static void a_lane_with_nothing_to_ask_for_learns_nothing(void **state)
{
	struct sim s = sim_of(2, 8 * MS, 4, 32);

	(void)state;
	for (unsigned i = 0; i < 400; i++) {
		ask(&s);
		depth_idle(&s.depth);
		complete(&s);
	}
	assert_int_equal(s.changes, 0);
	assert_int_equal(s.depth.now, 4);
}

static void a_fixed_depth_stays(void **state)
{
	struct sim s = sim_of(16, 8 * MS, 8, 8);

	(void)state;
	run(&s, 3000);
	assert_int_equal(s.changes, 0);
	assert_int_equal(s.depth.now, 8);
}

static void a_clock_that_stands_still_is_no_division_by_zero(void **state)
{
	struct depth d;

	(void)state;
	depth_open(&d, 1, 4);
	for (unsigned i = 0; i < 100; i++)
		(void)depth_done(&d, 5, 0, BLOCK);
	assert_true(d.now >= 1 && d.now <= 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_grows_to_what_the_disk_can_use),
		cmocka_unit_test(it_does_not_queue_what_only_waits),
		cmocka_unit_test(it_is_bounded_by_the_share),
		cmocka_unit_test(it_backs_off_when_somebody_else_comes),
		cmocka_unit_test(a_lane_with_nothing_to_ask_for_learns_nothing),
		cmocka_unit_test(a_fixed_depth_stays),
		cmocka_unit_test(a_clock_that_stands_still_is_no_division_by_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
