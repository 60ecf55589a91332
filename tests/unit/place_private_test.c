/* The private directory: jobs beside each other, dead ones, threads of one job, and what goes with the last. */
#include "partial_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

static void where_haul_cannot_be_made_targets_serve(void **state)
{
	struct fixture *f = *state;
	struct partial part;

	close_place(f);
	temp_link(f->tree.fd, ".haul", "dir");
	f->place = new_place(f->tree.fd);
	small(f->place, "dir/file", "content", &part);
	assert_true(is_in_target(&part));
	assert_done(partial_publish(f->place, &part, "dir/file", PUBLISH_NO_REPLACE));
	assert_int_equal(temp_count(f->tree.fd, "dir"), 1);
	assert_done(place_sync_all(f->place));
}

static void the_last_job_takes_haul_away(void **state)
{
	struct fixture *f = *state;
	struct place *second = new_place(f->tree.fd);
	struct partial part;

	small(f->place, "x", "x", &part);
	assert_int_equal(temp_count(f->tree.fd, ".haul"), 2);
	place_close(second);
	assert_int_equal(temp_count(f->tree.fd, ".haul"), 1);
	assert_done(partial_publish(f->place, &part, "x", PUBLISH_NO_REPLACE));
	small(f->place, "left behind", "y", &part);
	close_place(f);
	assert_false(temp_exists(f->tree.fd, ".haul"));
	assert_true(temp_holds(f->tree.fd, "x", "x"));
	f->place = new_place(f->tree.fd);
}

static void a_dead_job_is_swept_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	struct place *other;
	struct partial alive;
	pid_t child;
	int status;

	small(f->place, "x", "alive", &alive);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) { /* dies without closing */
		struct partial part;

		other = new_place(f->tree.fd);
		small(other, "y", "dead", &part);
		(void)place_make_directory(other, "made", &(enum entry_kind){ 0 }).code;
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(temp_count(f->tree.fd, ".haul"), 2);
	temp_dir(f->tree.fd, ".haul/0123456789abcdef0123456789abcdef");
	temp_dir(f->tree.fd, ".haul/0123456789abcdef0123456789abcdef/not ours");
	temp_text(f->tree.fd, ".haul/0123456789abcdef0123456789abcdef/file", "x");
	temp_dir(f->tree.fd, ".haul/other");
	temp_text(f->tree.fd, ".haul/other/file", "x");
	temp_text(f->tree.fd, ".haul/fedcba9876543210fedcba9876543210", "a file");
	temp_link(f->tree.fd, ".haul/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "other");
	other = new_place(f->tree.fd);
	/* The live job, the new one, the directory that would not go, and three things that are no job's. */
	assert_int_equal(temp_count(f->tree.fd, ".haul"), 6);
	assert_int_equal(temp_count(f->tree.fd, ".haul/0123456789abcdef0123456789abcdef"), 1);
	assert_true(temp_exists(f->tree.fd, ".haul/other/file"));
	place_close(other);
	assert_done(partial_publish(f->place, &alive, "x", PUBLISH_NO_REPLACE));
	assert_true(temp_holds(f->tree.fd, "x", "alive"));
}

/* Processes that open, work and close side by side for a while; none may lose a file to another's sweep. */
static void work_in_a_loop(int fd, unsigned who, bool some_die)
{
	for (unsigned i = 0; i < 150; i++) {
		struct place *p = new_place(fd);
		struct partial part;
		char path[32];

		(void)snprintf(path, sizeof(path), "dir/%u-%u", who, i);
		small(p, path, "x", &part);
		if (is_in_target(&part) || haul_failed(partial_publish(p, &part, path, PUBLISH_NO_REPLACE)))
			_exit(1);
		if (!some_die || i % 7 != 6)
			place_close(p);
	}
	_exit(0);
}

static void work_side_by_side(struct fixture *f, bool some_die)
{
	pid_t child[4];

	for (unsigned i = 0; i < 4; i++) {
		child[i] = fork();
		assert_true(child[i] >= 0);
		if (child[i] == 0)
			work_in_a_loop(f->tree.fd, i, some_die);
	}
	for (unsigned i = 0; i < 4; i++) {
		int status = -1;

		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(temp_count(f->tree.fd, "dir"), 600);
}

static void jobs_side_by_side_do_not_disturb(void **state)
{
	struct fixture *f = *state;

	work_side_by_side(f, true);
	close_place(f);
	f->place = new_place(f->tree.fd);
	assert_int_equal(temp_count(f->tree.fd, ".haul"), 1);
}

/* With nobody else there `.haul/` comes and goes all the while. */
static void the_last_job_leaves_while_the_next_one_comes(void **state)
{
	struct fixture *f = *state;

	close_place(f);
	work_side_by_side(f, false);
	assert_false(temp_exists(f->tree.fd, ".haul"));
	f->place = new_place(f->tree.fd);
}

enum { MAKERS = 12, FILES_EACH = 60 }; /* more threads than there are caches */

struct maker {
	struct place *place;
	unsigned number;
	bool is_ok;
};

static bool make_one(struct place *p, unsigned dir, const char *path)
{
	struct entry_facts facts;
	enum entry_kind kind;
	struct partial part;
	char dir_path[32];
	haul_status st;

	(void)snprintf(dir_path, sizeof(dir_path), "dir/%u", dir);
	st = place_make_directory(p, dir_path, &kind);
	if (haul_failed(st) && st.code != HAUL_EXISTS.code)
		return false;
	st = partial_create_small(p, path, path, strlen(path), META(some_meta), &part);
	if (haul_ok(st))
		st = partial_publish(p, &part, path, PUBLISH_NO_REPLACE);
	if (haul_ok(st))
		st = place_stat(p, path, &facts);
	return haul_ok(st) && facts.size == strlen(path);
}

static void *make_many(void *arg)
{
	struct maker *m = arg;

	m->is_ok = true;
	for (unsigned i = 0; i < FILES_EACH; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "dir/%u/%u-%u", i % 5, m->number, i);
		m->is_ok &= make_one(m->place, i % 5, path);
	}
	return NULL;
}

static void several_threads_work_in_one_place(void **state)
{
	struct fixture *f = *state;
	struct maker makers[MAKERS];
	pthread_t threads[MAKERS];

	for (unsigned t = 0; t < MAKERS; t++) {
		makers[t] = (struct maker){ .place = f->place, .number = t };
		assert_int_equal(pthread_create(&threads[t], NULL, make_many, &makers[t]), 0);
	}
	for (unsigned t = 0; t < MAKERS; t++) {
		assert_int_equal(pthread_join(threads[t], NULL), 0);
		assert_true(makers[t].is_ok);
	}
	for (unsigned t = 0; t < MAKERS; t++) {
		for (unsigned i = 0; i < FILES_EACH; i++) {
			char path[32];

			(void)snprintf(path, sizeof(path), "dir/%u/%u-%u", i % 5, t, i);
			assert_true(temp_holds(f->tree.fd, path, path));
		}
	}
}

static void dead_partials_in_targets_go_after_a_day(void **state)
{
	static const char dead[] = "dir/.haul.0123456789abcdef0123456789abcdef.part";
	struct fixture *f = *state;
	time_t tomorrow = time(NULL) + 24 * 60 * 60 + 60;
	int dir = openat(f->tree.fd, "dir", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct partial alive;

	assert_int_equal(fchmodat(f->tree.fd, "dir", 02755, 0), 0);
	large(f->place, "dir/file", "x", &alive);
	assert_true(is_in_target(&alive));
	temp_text(f->tree.fd, dead, "x");
	temp_text(f->tree.fd, "dir/.haul.0123456789abcdef.part", "x");
	temp_text(f->tree.fd, "dir/.haul.0123456789abcdef0123456789abcdef.party", "x");
	temp_text(f->tree.fd, "dir/other", "x");
	place_sweep_target(f->place, dir, time(NULL));
	assert_int_equal(temp_count(f->tree.fd, "dir"), 5);
	assert_int_equal(fchmodat(f->tree.fd, "dir", 0755, 0), 0);
	place_sweep_target(f->place, dir, tomorrow);
	assert_int_equal(temp_count(f->tree.fd, "dir"), 5); /* no place for partials: not even listed */
	assert_int_equal(fchmodat(f->tree.fd, "dir", 02755, 0), 0);
	place_sweep_target(f->place, dir, tomorrow);
	assert_int_equal(temp_count(f->tree.fd, "dir"), 4);
	assert_false(temp_exists(f->tree.fd, dead));
	assert_done(partial_publish(f->place, &alive, "dir/file", PUBLISH_NO_REPLACE));
	(void)close(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(where_haul_cannot_be_made_targets_serve),      test(the_last_job_takes_haul_away),
		test(a_dead_job_is_swept_and_nothing_else),         test(jobs_side_by_side_do_not_disturb),
		test(the_last_job_leaves_while_the_next_one_comes), test(several_threads_work_in_one_place),
		test(dead_partials_in_targets_go_after_a_day),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
