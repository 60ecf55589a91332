/* The account of a device on a share: what is held, what has grown, what the ledger says after a crash. */
#include "agent/quota.h"
#include "agent/quota_ledger.h"
#include "tests/unit/temp_directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

enum { LIMIT = 6400 };

static const uint8_t device[32] = "edit1", other[32] = "cam3";
static const struct quota_limit limit = { .bytes = LIMIT, .since_s = 1000 }, none = { .bytes = 0 };
static struct temp_directory temp;
static struct list accounts;
static int share_fd;

static int set_up(void **state)
{
	(void)state;
	temp_directory_open(&temp);
	list_init(&accounts);
	share_fd = open(temp.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return share_fd < 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_true(list_is_empty(&accounts));
	(void)close(share_fd);
	temp_directory_close(&temp);
	return 0;
}

static struct quota *join(const struct quota_limit *l)
{
	struct quota *q = quota_join(&accounts, temp.path, device, "inbox", l);

	assert_non_null(q);
	assert_true(haul_ok(quota_load(q, share_fd, NULL)));
	return q;
}

struct file {
	uint64_t replaced;
	haul_status named;
	unsigned names;
};

static haul_status replaced(void *ctx, uint64_t *ret_size)
{
	*ret_size = ((struct file *)ctx)->replaced;
	return HAUL_OK;
}

static haul_status give_name(void *ctx)
{
	struct file *f = ctx;

	f->names++;
	return f->named;
}

static haul_status name(struct quota *q, uint64_t size, uint64_t held, uint64_t old)
{
	struct file f = { .replaced = old, .named = HAUL_OK };
	const struct quota_naming n = { size, held, replaced, give_name, &f };
	haul_status st = quota_name(q, &n);

	assert_int_equal(f.names, haul_ok(st));
	return st;
}

static uint64_t in_ledger(int64_t window_s)
{
	const struct quota_count of = { device, "inbox", window_s };
	uint64_t bytes = UINT64_MAX;

	assert_true(haul_ok(quota_ledger_read(temp.path, &of, &bytes, NULL)));
	return bytes;
}

static void what_is_held_and_what_has_grown_count(void **state)
{
	struct quota *q = join(&limit);

	(void)state;
	assert_true(quota_take(q, 4000));
	assert_false(quota_take(q, 2401));
	assert_true(quota_take(q, 2400));
	assert_int_equal(quota_left(q), 0);
	assert_true(quota_take(q, 0));
	assert_true(haul_ok(name(q, 4000, 4000, 0)));
	assert_int_equal(quota_left(q), 0);
	quota_change(q, 2400, 1000); /* interrupted, and so much is kept */
	assert_int_equal(quota_left(q), 1400);
	quota_leave(q);
	assert_int_equal(in_ledger(1000), 4000);
	q = join(&limit);
	assert_int_equal(quota_left(q), 2400);
	quota_leave(q);
}

static void what_is_replaced_is_given_back_and_no_more(void **state)
{
	struct quota *q = join(&limit);

	(void)state;
	assert_true(haul_ok(name(q, 1000, 0, 0)));
	assert_true(haul_ok(name(q, 1200, 0, 1000)));
	assert_int_equal(quota_left(q), LIMIT - 1200);
	assert_true(haul_ok(name(q, 10, 0, 1000000))); /* somebody else's: the share shrinks, the limit does not grow */
	assert_int_equal(quota_left(q), LIMIT);
	assert_true(quota_take(q, UINT64_MAX) == false);
	quota_leave(q);
}

static void a_name_that_is_not_given_does_not_count(void **state)
{
	struct quota *q = join(&limit);
	struct file f = { .named = HAUL_EXISTS };
	const struct quota_naming n = { 500, 500, replaced, give_name, &f };

	(void)state;
	assert_true(quota_take(q, 500));
	assert_int_equal(quota_name(q, &n).code, HAUL_CODE_EXISTS);
	assert_int_equal(quota_left(q), LIMIT - 500);
	quota_leave(q);
	assert_int_equal(in_ledger(1000), 0);
}

/* Whoever dies leaves a ledger that says at least what came: some way ahead, and never before the name. */
static void the_ledger_is_never_behind(void **state)
{
	struct quota *q = join(&limit);
	uint64_t grown = 0;

	(void)state;
	for (unsigned i = 1; i < 60; i++) {
		assert_true(haul_ok(name(q, i, 0, 0)));
		grown += i;
		assert_in_range(in_ledger(1000), grown, grown + LIMIT / 64);
	}
	quota_leave(q);
	assert_int_equal(in_ledger(1000), grown);
}

static void without_a_ledger_no_name_is_given(void **state)
{
	struct quota *q = join(&limit);

	(void)state;
	assert_int_equal(close(open(temp_path(&temp, "grown"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	assert_true(haul_failed(name(q, 10, 0, 0))); /* it is damaged */
	assert_int_equal(quota_left(q), LIMIT);
	quota_leave(q);
	q = quota_join(&accounts, temp.path, device, "inbox", &limit);
	assert_true(haul_failed(quota_load(q, share_fd, NULL)));
	quota_leave(q);
	q = join(&none); /* and who has no limit does not need it */
	assert_true(haul_ok(name(q, 10, 0, 0)));
	quota_leave(q);
}

static void jobs_of_one_device_and_share_have_one_account(void **state)
{
	struct quota *a = join(&limit), *b = join(&limit);
	struct quota *c = quota_join(&accounts, temp.path, other, "inbox", &limit);
	struct quota *d = quota_join(&accounts, temp.path, device, "projects", &limit);

	(void)state;
	assert_ptr_equal(a, b);
	assert_true(quota_take(a, 5000));
	quota_leave(a);
	assert_int_equal(quota_left(b), LIMIT - 5000);
	assert_int_equal(quota_left(c), LIMIT);
	assert_int_equal(quota_left(d), LIMIT);
	quota_leave(b);
	quota_leave(c);
	quota_leave(d);
	quota_leave(NULL);
}

static void another_limit_counts_anew_and_what_is_held_stays(void **state)
{
	const struct quota_limit later = { .bytes = 100000, .since_s = 2000 };
	struct quota *q = join(&limit);

	(void)state;
	assert_true(quota_take(q, 1000));
	assert_true(haul_ok(name(q, 3000, 0, 0)));
	quota_set(q, &later);
	assert_int_equal(quota_left(q), 99000);
	quota_set(q, &none);
	assert_int_equal(quota_bytes(q), 0);
	assert_int_equal(quota_left(q), UINT64_MAX);
	assert_true(quota_take(q, 1000000));
	quota_set(q, &limit);
	assert_false(quota_take(q, 1));
	quota_leave(q);
	assert_int_equal(in_ledger(2000), 0);
}

static void a_limit_that_falls_counts_for_what_is_under_way(void **state)
{
	const struct quota_limit less = { .bytes = 1000, .since_s = 2000 };
	struct quota *q = join(&limit);

	(void)state;
	assert_true(quota_take(q, 3000));
	quota_set(q, &less);
	assert_true(haul_ok(name(q, 600, 600, 0)));
	assert_int_equal(name(q, 600, 600, 0).code, HAUL_CODE_QUOTA);
	assert_true(haul_ok(name(q, 600, 600, 700)));
	quota_leave(q);
	assert_int_equal(in_ledger(2000), 500);
}

static void each_span_begins_at_nothing(void **state)
{
	int64_t now_s = (int64_t)time(NULL);
	const struct quota_limit daily = { .bytes = LIMIT,
					   .since_s = now_s - 3 * QUOTA_DAY_S - 50,
					   .every_s = QUOTA_DAY_S };
	const struct quota_count before = { device, "inbox", now_s - QUOTA_DAY_S - 50 };
	struct quota *q;
	uint64_t used;

	(void)state;
	assert_int_equal(quota_limit_window(&daily, now_s), now_s - 50);
	assert_int_equal(quota_limit_window(&daily, 5), daily.since_s); /* a clock that was set back */
	assert_true(haul_ok(quota_ledger_write(temp.path, &before, 6000, NULL)));
	q = join(&daily);
	assert_int_equal(quota_left(q), LIMIT);
	assert_true(haul_ok(name(q, 700, 0, 0)));
	quota_leave(q);
	assert_true(haul_ok(quota_used(temp.path, device, "inbox", &daily, share_fd, &used)));
	assert_int_equal(used, 700);
}

static void what_lies_beside_its_target_has_grown(void **state)
{
	struct quota *q = join(&limit);

	(void)state;
	assert_true(quota_take(q, 2000));
	quota_change(q, 2000, 0);
	quota_leave_beside(q, 1500);
	quota_leave(q);
	assert_int_equal(in_ledger(1000), 1500);
	q = join(&limit);
	assert_int_equal(quota_left(q), LIMIT - 1500);
	quota_take_up_beside(q, 1500);
	assert_true(quota_take(q, 2000));
	assert_int_equal(quota_left(q), LIMIT - 2000);
	quota_change(q, 2000, 0);
	quota_leave(q);
}

#define quota_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		quota_test(what_is_held_and_what_has_grown_count),
		quota_test(what_is_replaced_is_given_back_and_no_more),
		quota_test(a_name_that_is_not_given_does_not_count),
		quota_test(the_ledger_is_never_behind),
		quota_test(without_a_ledger_no_name_is_given),
		quota_test(jobs_of_one_device_and_share_have_one_account),
		quota_test(another_limit_counts_anew_and_what_is_held_stays),
		quota_test(a_limit_that_falls_counts_for_what_is_under_way),
		quota_test(each_span_begins_at_nothing),
		quota_test(what_lies_beside_its_target_has_grown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
