/* What is told of kept partials, and of what is none. */
#include "kept_fixture.h"

#include "engine/kept_list.h"

enum { SEEN_MAX = 8 };

struct seen {
	struct kept_partial all[SEEN_MAX];
	size_t count, most;
};

static bool see(void *ctx, const struct kept_partial *k)
{
	struct seen *s = ctx;

	assert_true(s->count < SEEN_MAX);
	s->all[s->count++] = *k;
	return s->count < s->most;
}

static struct seen *look(struct fixture *f, int dir_fd, const char *after)
{
	static struct seen s;

	s = (struct seen){ .most = SEEN_MAX };
	assert_done(kept_list(f->tree.fd, dir_fd, after, see, &s));
	return &s;
}

static void nothing_is_kept_at_first(void **state)
{
	struct fixture *f = *state;
	struct partial part = get_kept(f->place, "file", &some_source, PARTIAL_NEW);

	assert_int_equal(look(f, f->tree.fd, "")->count, 0); /* without a record nobody can go on with it */
	partial_discard(&part);
	close_place(f);
	assert_int_equal(look(f, f->tree.fd, "")->count, 0); /* no .haul either */
	f->place = keeping_place(f->tree.fd, f->tree.fd, peer);
}

static void one_is_told_with_path_and_device(void **state)
{
	struct fixture *f = *state;
	const struct kept_partial *k;
	char id[KEPT_ID_CHARS + 1];
	struct seen *s;

	leave_one(f, "file", &some_source);
	s = look(f, -1, "");
	assert_int_equal(s->count, 1);
	k = &s->all[0];
	assert_string_equal(k->of.path, "file");
	assert_true(k->of.has_label);
	assert_memory_equal(k->of.source.owner.peer_id, peer, sizeof(peer));
	assert_int_equal(k->of.source.size, SIZE);
	assert_int_equal(k->of.there_bytes, 2 * HAUL_LEAF_BYTES);
	assert_true(k->touched_s >= time(NULL) - 600 && k->touched_s <= time(NULL));
	memcpy(id, k->id, sizeof(id));
	assert_int_equal(look(f, -1, id)->count, 0);
	id[0]--;
	assert_int_equal(look(f, -1, id)->count, 1);
}

static void several_come_in_order_and_may_be_stopped(void **state)
{
	struct fixture *f = *state;
	struct seen some = { .most = 2 };
	struct seen *s;

	place_name_root(f->place, "day1");
	leave_one(f, "a", &some_source);
	leave_one(f, "b", &some_source);
	leave_one(f, "c", &some_source);
	s = look(f, f->tree.fd, "");
	assert_int_equal(s->count, 3);
	assert_true(strcmp(s->all[0].id, s->all[1].id) < 0 && strcmp(s->all[1].id, s->all[2].id) < 0);
	assert_done(kept_list(f->tree.fd, -1, "", see, &some));
	assert_int_equal(some.count, 2);
	assert_done(kept_list(f->tree.fd, -1, some.all[1].id, see, &some));
	assert_int_equal(some.count, 3);
	assert_string_equal(some.all[2].id, s->all[2].id);
}

static void the_root_has_its_name(void **state)
{
	struct fixture *f = *state;

	place_name_root(f->place, "day1");
	leave_one(f, "a", &some_source);
	assert_string_equal(look(f, -1, "")->all[0].of.path, "day1/a");
}

static void those_beside_their_targets_are_found_there(void **state)
{
	struct fixture *f = *state;
	int dir;

	temp_dir(f->tree.fd, "group");
	assert_int_equal(fchmodat(f->tree.fd, "group", 02755, 0), 0);
	leave_one(f, "group/file", &some_source);
	assert_int_equal(look(f, -1, "")->count, 0);
	dir = openat(f->tree.fd, "group", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(look(f, dir, "")->count, 1);
	assert_string_equal(look(f, dir, "")->all[0].of.path, "group/file");
	(void)close(dir);
}

/* Neither is the record changed nor the lock taken: a job may be at work. */
static void looking_disturbs_nobody(void **state)
{
	struct fixture *f = *state;
	struct partial part;

	leave_one(f, "file", &some_source);
	part = get_kept(f->place, "file", &some_source, PARTIAL_OF_SAME);
	assert_int_equal(look(f, -1, "")->count, 1);
	assert_recorded(&part, "a-c-");
	check_leaf(&part, 1, 'b');
	assert_int_equal(look(f, -1, "")->all[0].of.there_bytes, 3 * HAUL_LEAF_BYTES);
	check_leaf(&part, 3, 'd');
	assert_int_equal(look(f, -1, "")->all[0].of.there_bytes, SIZE);
	partial_keep(&part);
}

static void a_damaged_record_is_left_out(void **state)
{
	struct fixture *f = *state;
	struct partial part = get_kept(f->place, "file", &some_source, PARTIAL_NEW);
	char record[RECORD_NAME_MAX], path[128];
	int fd;

	check_leaf(&part, 0, 'a');
	(void)snprintf(path, sizeof(path), KEPT "/%s", record_of(&part, record));
	fd = openat(f->tree.fd, path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "?", 1, 30), 1);
	(void)close(fd);
	assert_int_equal(look(f, -1, "")->count, 0);
	partial_discard(&part);
}

static void a_place_says_how_long_they_stay(void **state)
{
	struct fixture *f = *state;
	struct haul_fault fault;

	leave_one(f, "file", &some_source);
	close_place(f);
	assert_done(place_open_keeping(f->tree.fd, f->tree.fd, 30, &f->place, &fault));
	place_keep(f->place, peer);
	place_sweep_kept(f->place, time(NULL) + 29 * DAY);
	assert_int_equal(look(f, -1, "")->count, 1);
	assert_true(place_kept_bytes(f->place, "file") > 0);
	assert_true(place_kept_bytes(f->place, "other") == 0);
	place_sweep_kept(f->place, time(NULL) + 31 * DAY);
	assert_int_equal(look(f, -1, "")->count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		kept_test(nothing_is_kept_at_first),
		kept_test(one_is_told_with_path_and_device),
		kept_test(several_come_in_order_and_may_be_stopped),
		kept_test(the_root_has_its_name),
		kept_test(those_beside_their_targets_are_found_there),
		kept_test(looking_disturbs_nobody),
		kept_test(a_damaged_record_is_left_out),
		kept_test(a_place_says_how_long_they_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
