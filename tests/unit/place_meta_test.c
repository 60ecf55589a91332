/* Directories, links, metadata and reading in a place, also for an ordinary user. */
#include "partial_fixture.h"

#include <sys/wait.h>

static void a_place_that_is_only_read_makes_nothing(void **state)
{
	struct fixture *f = *state;
	struct entry_facts facts;
	struct haul_fault fault;

	close_place(f);
	assert_done(place_open(f->tree.fd, -1, &f->place, &fault));
	assert_done(place_stat(f->place, "dir", &facts));
	assert_int_equal(temp_count(f->tree.fd, "."), 1);
}

static void times_outside_the_usual_are_kept(void **state)
{
	static const struct entry_time times[] = { { -86400, 1 }, { 0, 0 }, { 4102444800, 999999999 } };
	struct fixture *f = *state;
	struct entry_facts meta = some_meta, got;
	struct partial part;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		meta.mtime = times[i];
		assert_done(partial_create_small(f->place, "file", "x", 1, META(meta), &part));
		assert_done(partial_publish(f->place, &part, "file", PUBLISH_REPLACE));
		assert_done(place_stat(f->place, "file", &got));
		assert_int_equal(got.mtime.sec, times[i].sec);
		assert_int_equal(got.mtime.nsec, times[i].nsec);
	}
	meta.mtime.nsec = 1000000000;
	assert_code(partial_create_small(f->place, "file", "x", 1, META(meta), &part), HAUL_BAD_VALUE);
	assert_int_equal(place_time_step_ns(f->place), 1);
}

static void directories_are_made_and_finished(void **state)
{
	const struct entry_facts only_mode = { .mode = 0711, .mtime.nsec = PARTIAL_KEEP_TIME };
	struct fixture *f = *state;
	const struct entry_facts meta = { .mode = 0555, .mtime = { .sec = 77, .nsec = 88 } };
	struct entry_facts got;
	enum entry_kind kind = ENTRY_FILE;
	struct partial part;

	assert_done(place_make_directory(f->place, "dir/new", &kind));
	assert_code(place_make_directory(f->place, "dir/new", &kind), HAUL_EXISTS);
	assert_int_equal(kind, ENTRY_DIRECTORY);
	temp_text(f->tree.fd, "file", "x");
	assert_code(place_make_directory(f->place, "file", &kind), HAUL_EXISTS);
	assert_int_equal(kind, ENTRY_FILE);
	small(f->place, "dir/new/file", "x", &part);
	assert_done(partial_publish(f->place, &part, "dir/new/file", PUBLISH_NO_REPLACE));
	assert_done(place_finish_directory(f->place, "dir/new", META(meta), true));
	assert_done(place_stat(f->place, "dir/new", &got));
	assert_int_equal(got.mode, 0555);
	assert_int_equal(got.mtime.sec, 77);
	assert_int_equal(got.mtime.nsec, 88);
	assert_done(place_finish_directory(f->place, "", META(only_mode), true));
	assert_done(place_stat(f->place, "", &got));
	assert_int_equal(got.mode, 0711);
	assert_int_not_equal(got.mtime.sec, 0);
	assert_code(place_finish_directory(f->place, "file", META(meta), false), HAUL_NOT_DIRECTORY);
}

static void links_are_made(void **state)
{
	struct fixture *f = *state;
	struct entry_facts got;
	char *target;
	size_t len;

	assert_done(place_make_link(f->place, "dir/link", "../\xff\n", META(some_meta), PUBLISH_NO_REPLACE));
	assert_done(place_stat(f->place, "dir/link", &got));
	assert_int_equal(got.kind, ENTRY_LINK);
	assert_int_equal(got.mtime.sec, some_meta.mtime.sec);
	assert_int_equal(got.mtime.nsec, some_meta.mtime.nsec);
	assert_done(place_read_link(f->place, "dir/link", &target, &len));
	assert_string_equal(target, "../\xff\n");
	free(target);
	assert_code(place_make_link(f->place, "dir/link", "b", META(some_meta), PUBLISH_NO_REPLACE), HAUL_EXISTS);
	assert_done(place_make_link(f->place, "dir/link", "b", META(some_meta), PUBLISH_REPLACE));
	assert_code(place_make_link(f->place, "dir", "b", META(some_meta), PUBLISH_REPLACE), HAUL_IS_DIRECTORY);
	assert_code(place_make_link(f->place, "e", "", META(some_meta), PUBLISH_REPLACE), HAUL_BAD_VALUE);
	assert_int_equal(temp_count(f->tree.fd, "dir"), 1);
}

static void metadata_is_set_on_what_was_seen(void **state)
{
	struct fixture *f = *state;
	struct entry_facts seen, got;
	const struct entry_facts only_time = { .mode = PARTIAL_KEEP_MODE, .mtime = some_meta.mtime };

	temp_text(f->tree.fd, "file", "x");
	assert_int_equal(fchmodat(f->tree.fd, "file", 0200, 0), 0);
	assert_done(place_stat(f->place, "file", &seen));
	assert_done(place_set_meta(f->place, "file", &seen, META(only_time)));
	assert_done(place_stat(f->place, "file", &got));
	assert_int_equal(got.mode, 0200);
	assert_int_equal(got.mtime.nsec, some_meta.mtime.nsec);
	assert_done(place_set_meta(f->place, "file", &got, META(some_meta)));
	assert_facts(f->place, "file", 1);
	assert_code(place_set_meta(f->place, "file", &seen, META(some_meta)), HAUL_CHANGED);
	assert_code(place_set_meta(f->place, "dir", &seen, META(some_meta)), HAUL_WRONG_KIND);
	temp_link(f->tree.fd, "link", "file");
	assert_code(place_set_meta(f->place, "link", &seen, META(some_meta)), HAUL_WRONG_KIND);
}

static void only_regular_files_are_opened(void **state)
{
	struct fixture *f = *state;
	struct haul_fault fault;
	struct disk_file file;

	temp_text(f->tree.fd, "file", "x");
	assert_int_equal(mkfifoat(f->tree.fd, "fifo", 0600), 0);
	assert_done(place_open_file(f->place, "file", DIRECT_AUTO, &file, &fault));
	assert_int_equal(file.facts.size, 1);
	assert_done(disk_file_close(&file));
	assert_code(place_open_file(f->place, "fifo", DIRECT_AUTO, &file, &fault), HAUL_WRONG_KIND);
	assert_code(place_open_file(f->place, "dir", DIRECT_AUTO, &file, &fault), HAUL_IS_DIRECTORY);
	assert_code(place_open_file(f->place, "none", DIRECT_AUTO, &file, &fault), HAUL_NOT_FOUND);
	assert_non_null(strstr(fault.text, "none"));
}

/* What needs an ordinary user: in a child, as root may do everything. */
static void as_ordinary_user(struct fixture *f, void (*act)(struct fixture *f))
{
	int status = -1;
	pid_t child;

	if (geteuid() == 0)
		assert_int_equal(fchown(f->tree.fd, 4000, 4000) | fchownat(f->tree.fd, "dir", 4000, 4000, 0), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (geteuid() == 0 && (setegid(4000) < 0 || seteuid(4000) < 0))
			_exit(2);
		act(f);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define check(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			(void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                          \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

static void write_protected(struct fixture *f)
{
	struct entry_facts meta = { .mtime.nsec = PARTIAL_KEEP_TIME };
	struct haul_fault fault;
	struct place *p = NULL;
	struct partial part;
	uint32_t old = 0;

	check(haul_ok(place_open(f->tree.fd, f->tree.fd, &p, &fault)));
	check(fchmodat(f->tree.fd, "dir", 0500, 0) == 0);
	check(create(p, "dir/x", 1, DIRECT_NEVER, &part).code == HAUL_DENIED.code);
	check(place_finish_directory(p, "dir/x", META(some_meta), false).code == HAUL_NOT_FOUND.code);
	check(haul_ok(partial_create_small(p, "dir/x", "x", 1, META(some_meta), &part)));
	check(partial_publish(p, &part, "dir/x", PUBLISH_REPLACE).code == HAUL_DENIED.code);
	check(haul_ok(place_open_up_directory(p, "dir", &old)));
	check(old == 0500);
	check(haul_ok(partial_publish(p, &part, "dir/x", PUBLISH_REPLACE)));
	meta.mode = old;
	check(haul_ok(place_finish_directory(p, "dir", META(meta), true)));
	check(create(p, "dir/y", 1, DIRECT_NEVER, &part).code == HAUL_DENIED.code);
	place_close(p);
}

static void unreadable(struct fixture *f)
{
	struct entry_facts meta = { .mode = 0100, .mtime.nsec = PARTIAL_KEEP_TIME };
	struct haul_fault fault;
	struct place *p = NULL;
	struct partial part;
	uint32_t old = 0;

	check(haul_ok(place_open(f->tree.fd, f->tree.fd, &p, &fault)));
	check(fchmodat(f->tree.fd, "dir", 0300, 0) == 0);
	check(haul_ok(partial_create_small(p, "dir/x", "x", 1, META(some_meta), &part)));
	check(is_in_target(&part)); /* what it hands down cannot be known */
	check(haul_ok(partial_publish(p, &part, "dir/x", PUBLISH_REPLACE)));
	check(haul_ok(place_sync_parent(p, "dir/x")));
	check(haul_ok(place_finish_directory(p, "dir", META(meta), true)));
	check(haul_ok(place_open_up_directory(p, "dir", &old)));
	check(old == 0100);
	place_close(p);
}

static void haul_of_somebody_else(struct fixture *f)
{
	struct haul_fault fault;
	struct place *p = NULL;
	struct partial part;

	check(haul_ok(place_open(f->tree.fd, f->tree.fd, &p, &fault)));
	check(haul_ok(partial_create_small(p, "dir/x", "x", 1, META(some_meta), &part)));
	check(is_in_target(&part));
	check(haul_ok(partial_publish(p, &part, "dir/x", PUBLISH_REPLACE)));
	place_close(p);
}

static void directories_without_write_permission_are_told(void **state)
{
	close_place(*state);
	as_ordinary_user(*state, write_protected);
	((struct fixture *)*state)->place = new_place(((struct fixture *)*state)->tree.fd);
}

static void directories_without_read_permission_serve(void **state)
{
	close_place(*state);
	as_ordinary_user(*state, unreadable);
	((struct fixture *)*state)->place = new_place(((struct fixture *)*state)->tree.fd);
}

static void haul_of_another_user_is_left_alone(void **state)
{
	if (geteuid() != 0)
		skip_because("two users need root");
	as_ordinary_user(*state, haul_of_somebody_else);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_place_that_is_only_read_makes_nothing),
		test(times_outside_the_usual_are_kept),
		test(directories_are_made_and_finished),
		test(links_are_made),
		test(metadata_is_set_on_what_was_seen),
		test(only_regular_files_are_opened),
		test(directories_without_write_permission_are_told),
		test(directories_without_read_permission_serve),
		test(haul_of_another_user_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
