/* Kept partials that nobody comes for, in `.haul/partials/` and beside their targets, and what is not one of them. */
#include "kept_fixture.h"

/* ---- sweeping ---- */

static void kept_ones_go_after_two_weeks(void **state)
{
	static const char stem[] = KEPT "/0123456789abcdef0123456789abcdef";
	struct fixture *f = *state;
	struct partial part;
	char path[128];

	leave_one(f, "file", &some_source);
	part = get_kept(f->place, "locked", &some_source, PARTIAL_NEW);
	check_leaf(&part, 0, 'a');
	(void)snprintf(path, sizeof(path), "%s.part", stem);
	temp_text(f->tree.fd, path, "unrecorded");
	(void)snprintf(path, sizeof(path), "%s.record", stem);
	path[strlen(KEPT) + 1] = 'f';
	temp_text(f->tree.fd, path, "orphan");
	temp_text(f->tree.fd, KEPT "/other", "x");
	temp_text(f->tree.fd, KEPT "/0123456789abcdef.part", "x");
	temp_text(f->tree.fd, KEPT "/0123456789abcdef0123456789abcdef.party", "x");
	assert_int_equal(temp_count(f->tree.fd, KEPT), 9);
	place_sweep_kept(f->place, time(NULL));
	assert_int_equal(temp_count(f->tree.fd, KEPT), 7);
	place_sweep_kept(f->place, time(NULL) + 13 * DAY);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 7);
	place_sweep_kept(f->place, time(NULL) + 15 * DAY);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 5);
	partial_keep(&part);
	part = get_kept(f->place, "locked", &some_source, PARTIAL_OF_SAME);
	partial_discard(&part);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 3);
	(void)unlinkat(f->tree.fd, KEPT "/other", 0);
}

static void an_unrecorded_one_of_a_live_job_stays(void **state)
{
	struct fixture *f = *state;
	struct partial part = get_kept(f->place, "file", &some_source, PARTIAL_NEW);

	place_sweep_kept(f->place, time(NULL) + 15 * DAY);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 1);
	finish(f->place, &part, "file");
	assert_facts(f->place, "file", SIZE);
}

static void haul_goes_with_the_last_kept_one(void **state)
{
	struct fixture *f = *state;
	struct place *second;
	struct partial part;

	leave_one(f, "file", &some_source);
	close_place(f);
	assert_int_equal(temp_count(f->tree.fd, ".haul"), 1);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 2);
	f->place = keeping_place(f->tree.fd, f->tree.fd, peer);
	second = keeping_place(f->tree.fd, f->tree.fd, peer);
	part = get_kept(f->place, "file", &some_source, PARTIAL_OF_SAME);
	partial_discard(&part);
	close_place(f);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 0);
	part = get_kept(second, "file", &some_source, PARTIAL_NEW);
	partial_discard(&part);
	place_close(second);
	assert_false(temp_exists(f->tree.fd, ".haul"));
	f->place = new_place(f->tree.fd);
}

/* ---- beside the target ---- */

static void a_setgid_directory_keeps_them_itself(void **state)
{
	struct fixture *f = *state;
	struct partial part;
	char record[RECORD_NAME_MAX], path[128];

	assert_int_equal(fchmodat(f->tree.fd, "dir", 02755, 0), 0);
	part = get_kept(f->place, "dir/file", &some_source, PARTIAL_NEW);
	assert_true(is_in_target(&part));
	check_leaf(&part, 1, 'b');
	(void)snprintf(path, sizeof(path), "dir/%s", part.name);
	assert_true(temp_exists(f->tree.fd, path));
	(void)snprintf(path, sizeof(path), "dir/%s", record_of(&part, record));
	assert_true(temp_exists(f->tree.fd, path));
	assert_int_equal(strncmp(record, part.name, 6 + 32), 0);
	assert_string_equal(record + 6 + 32, ".record");
	partial_keep(&part);
	next_job(f);
	assert_int_equal(temp_count(f->tree.fd, "dir"), 2);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 0);
	part = get_kept(f->place, "dir/file", &some_source, PARTIAL_OF_SAME);
	assert_recorded(&part, "-b--");
	finish(f->place, &part, "dir/file");
	assert_int_equal(temp_count(f->tree.fd, "dir"), 1);
	assert_facts(f->place, "dir/file", SIZE);
}

static void in_targets_kept_ones_go_after_two_weeks(void **state)
{
	static const char unrecorded[] = "dir/.haul.0123456789abcdef0123456789abcdef.part";
	struct fixture *f = *state;
	int dir = openat(f->tree.fd, "dir", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct partial part;

	assert_int_equal(fchmodat(f->tree.fd, "dir", 02755, 0), 0);
	leave_one(f, "dir/file", &some_source);
	part = get_kept(f->place, "dir/locked", &some_source, PARTIAL_NEW);
	check_leaf(&part, 0, 'a');
	temp_text(f->tree.fd, unrecorded, "x");
	temp_text(f->tree.fd, "dir/.haul.ffffffffffffffffffffffffffffffff.record", "orphan");
	place_sweep_target(f->place, dir, time(NULL));
	assert_int_equal(temp_count(f->tree.fd, "dir"), 5);
	assert_true(temp_exists(f->tree.fd, unrecorded));
	place_sweep_target(f->place, dir, time(NULL) + 13 * DAY);
	assert_int_equal(temp_count(f->tree.fd, "dir"), 4);
	assert_false(temp_exists(f->tree.fd, unrecorded));
	place_sweep_target(f->place, dir, time(NULL) + 15 * DAY);
	assert_int_equal(temp_count(f->tree.fd, "dir"), 2);
	partial_discard(&part);
	assert_int_equal(temp_count(f->tree.fd, "dir"), 0);
	(void)close(dir);
}

/* Others may write to the directory: what they put under our name is neither followed nor written to. */
static void what_others_put_there_is_not_taken(void **state)
{
	struct fixture *f = *state;
	struct partial part;
	char path[128], record[RECORD_NAME_MAX];

	assert_int_equal(fchmodat(f->tree.fd, "dir", 02777, 0), 0);
	temp_text(f->tree.fd, "outside", "outside");
	part = get_kept(f->place, "dir/file", &some_source, PARTIAL_NEW);
	(void)snprintf(path, sizeof(path), "dir/%s", part.name);
	partial_discard(&part);
	for (unsigned i = 0; i < 4; i++) {
		if (i == 0)
			temp_link(f->tree.fd, path, "../outside");
		else if (i == 1)
			assert_int_equal(linkat(f->tree.fd, "outside", f->tree.fd, path, 0), 0);
		else if (i == 2)
			assert_int_equal(mkfifoat(f->tree.fd, path, 0600), 0);
		else
			temp_dir(f->tree.fd, path);
		part = get(f->place, "dir/file", &some_source);
		assert_false(part.is_kept);
		assert_fills(&part, "0000");
		partial_discard(&part);
		assert_int_equal(unlinkat(f->tree.fd, path, i == 3 ? AT_REMOVEDIR : 0), 0);
	}
	assert_true(temp_holds(f->tree.fd, "outside", "outside"));
	partial_record_name(strrchr(path, '/') + 1, record);
	(void)snprintf(path, sizeof(path), "dir/%s", record);
	temp_dir(f->tree.fd, path);
	part = get(f->place, "dir/file", &some_source);
	assert_false(part.is_kept);
	partial_discard(&part);
	assert_int_equal(temp_count(f->tree.fd, "dir"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		kept_test(kept_ones_go_after_two_weeks),
		kept_test(an_unrecorded_one_of_a_live_job_stays),
		kept_test(haul_goes_with_the_last_kept_one),
		kept_test(a_setgid_directory_keeps_them_itself),
		kept_test(in_targets_kept_ones_go_after_two_weeks),
		kept_test(what_others_put_there_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
