/* What interrupted jobs take up, and what of it goes when somebody needs the room. */
#include "kept_fixture.h"

#include "engine/kept_list.h"
#include "engine/kept_room.h"

static const uint8_t other_peer[32] = "another";

/* For the device, three leaves of four written; the place is open for `peer` again afterwards. */
static void leave_for(struct fixture *f, const char *path, const uint8_t *device)
{
	close_place(f);
	f->place = keeping_place(f->tree.fd, f->tree.fd, device);
	leave_one(f, path, &some_source);
}

static uint64_t usage(const struct fixture *f, const uint8_t *device)
{
	uint64_t bytes = UINT64_MAX;

	assert_done(kept_usage(f->tree.fd, device, &bytes));
	return bytes;
}

static struct kept_room all_of_it(void)
{
	return (struct kept_room){ .want_bytes = UINT64_MAX, .now_s = (int64_t)time(NULL) + 1 };
}

static uint64_t freed(const struct fixture *f, const struct kept_room *how)
{
	uint64_t bytes = UINT64_MAX;

	assert_done(kept_make_room(f->tree.fd, how, &bytes));
	return bytes;
}

static void usage_is_of_one_device(void **state)
{
	struct fixture *f = *state;
	uint64_t one;

	assert_int_equal(usage(f, peer), 0);
	leave_for(f, "a", peer);
	one = usage(f, peer);
	assert_true(one >= 2 * HAUL_LEAF_BYTES && one <= SIZE + 65536);
	leave_for(f, "b", peer);
	leave_for(f, "c", other_peer);
	assert_int_equal(usage(f, peer), 2 * one);
	assert_int_equal(usage(f, other_peer), one);
}

static void nothing_there_is_nothing(void **state)
{
	struct fixture *f = *state;
	struct kept_room how = all_of_it();

	close_place(f);
	assert_int_equal(usage(f, peer), 0);
	assert_int_equal(freed(f, &how), 0);
	f->place = keeping_place(f->tree.fd, f->tree.fd, peer);
}

static void looking_drops_nothing(void **state)
{
	struct fixture *f = *state;
	struct kept_room how = all_of_it();
	uint64_t before;

	leave_for(f, "a", peer);
	before = usage(f, peer);
	how.only_looks = true;
	assert_int_equal(freed(f, &how), before);
	assert_int_equal(usage(f, peer), before);
	how.only_looks = false;
	assert_int_equal(freed(f, &how), before);
	assert_int_equal(usage(f, peer), 0);
	assert_int_equal(freed(f, &how), 0);
}

static void no_more_goes_than_is_wanted(void **state)
{
	struct fixture *f = *state;
	struct kept_room how = all_of_it();
	uint64_t gone;

	leave_for(f, "a", peer);
	leave_for(f, "b", peer);
	how.want_bytes = 1;
	gone = freed(f, &how);
	assert_int_equal(gone, usage(f, peer)); /* one of two */
}

static void the_part_of_a_device_stays(void **state)
{
	struct fixture *f = *state;
	struct kept_room how = all_of_it();
	uint64_t one;

	leave_for(f, "a", peer);
	leave_for(f, "b", peer);
	leave_for(f, "c", other_peer);
	one = usage(f, other_peer);
	how.each_bytes = one;
	assert_int_equal(freed(f, &how), one);
	assert_int_equal(usage(f, peer), one);
	assert_int_equal(usage(f, other_peer), one);
}

static void who_was_there_lately_keeps_it(void **state)
{
	struct fixture *f = *state;
	struct kept_room how = all_of_it();

	leave_for(f, "a", peer);
	how.untouched_s = 600;
	assert_int_equal(freed(f, &how), 0);
	how.now_s += 600;
	assert_true(freed(f, &how) > 0);
}

static void what_a_job_has_open_stays(void **state)
{
	struct fixture *f = *state;
	struct kept_room how = all_of_it();
	struct partial part;

	leave_for(f, "a", peer);
	close_place(f);
	f->place = keeping_place(f->tree.fd, f->tree.fd, peer);
	part = get_kept(f->place, "a", &some_source, PARTIAL_OF_SAME);
	assert_true(part.had_bytes >= 2 * HAUL_LEAF_BYTES);
	assert_int_equal(freed(f, &how), 0);
	partial_keep(&part);
	assert_true(part.kept_bytes >= 2 * HAUL_LEAF_BYTES && !part.kept_beside);
	assert_int_equal(freed(f, &how), part.kept_bytes);
}

static void a_dry_run_sees_what_is_kept(void **state)
{
	struct fixture *f = *state;
	struct haul_fault fault;
	uint64_t bytes;

	leave_for(f, "a", peer);
	bytes = usage(f, peer);
	close_place(f);
	assert_done(place_open(f->tree.fd, -1, &f->place, &fault));
	place_look_kept(f->place, f->tree.fd, peer);
	assert_int_equal(place_kept_bytes(f->place, "a"), bytes);
	assert_int_equal(place_kept_bytes(f->place, "b"), 0);
}

struct told {
	size_t count;
	char last[KEPT_ID_CHARS + 1];
};

static bool count_one(void *ctx, const struct kept_partial *k)
{
	struct told *t = ctx;

	assert_true(strcmp(t->last, k->id) < 0);
	memcpy(t->last, k->id, sizeof(t->last));
	t->count++;
	return true;
}

/* However many names there are: those without a record between them take their part of each batch. */
static void more_than_one_batch_is_listed(void **state)
{
	enum { NAMES = 2 * KEPT_LIST_BATCH + 100 };
	struct fixture *f = *state;
	struct told told = { .count = 0 };
	int kept = openat(f->tree.fd, KEPT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (unsigned i = 0; i < NAMES; i++) {
		char name[64];
		int fd;

		(void)snprintf(name, sizeof(name), "%08x%024x.part", i * 2654435761u, i);
		fd = openat(kept, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		(void)close(fd);
	}
	(void)close(kept);
	/* Opened meanwhile, so not swept: three that are worth something. */
	for (char name[] = "a"; *name < 'd'; (*name)++) {
		struct partial part = get_kept(f->place, name, &some_source, PARTIAL_NEW);

		check_leaf(&part, 0, 'a');
		partial_keep(&part);
	}
	assert_done(kept_list(f->tree.fd, -1, "", count_one, &told));
	assert_int_equal(told.count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		kept_test(usage_is_of_one_device),        kept_test(nothing_there_is_nothing),
		kept_test(looking_drops_nothing),         kept_test(no_more_goes_than_is_wanted),
		kept_test(the_part_of_a_device_stays),    kept_test(who_was_there_lately_keeps_it),
		kept_test(what_a_job_has_open_stays),     kept_test(a_dry_run_sees_what_is_kept),
		kept_test(more_than_one_batch_is_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
