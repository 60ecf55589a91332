/* Several jobs at once with kept partials: none takes, changes or removes what another one has. */
#include "kept_fixture.h"

#include <sched.h>
#include <sys/wait.h>

static const uint8_t other_peer[32] = "another peer";

/* ---- several at once ---- */

static void one_that_another_job_has_is_left_alone(void **state)
{
	struct fixture *f = *state;
	struct place *second = keeping_place(f->tree.fd, f->tree.fd, peer);
	struct partial mine = get_kept(f->place, "file", &some_source, PARTIAL_NEW);
	struct partial other = get(second, "file", &some_source);

	assert_false(other.is_kept);
	check_leaf(&mine, 0, 'a');
	put_leaf(&other, 0, 'x');
	partial_keep(&other);
	other = get(second, "file", &some_source);
	assert_false(other.is_kept);
	assert_fills(&other, "0000");
	finish(second, &other, "file");
	assert_true(leaf_is(mine.file.fd, SIZE, 0, 'a'));
	partial_keep(&mine);
	other = get_kept(second, "file", &some_source, PARTIAL_OF_SAME);
	assert_recorded(&other, "a---");
	place_close(second);
	partial_discard(&other);
}

/* Whatever mode it gets: between its last byte and its name it is nobody else's to take or remove. */
static void one_that_waits_for_its_name_is_left_alone(void **state)
{
	static const uint32_t modes[] = { 0640, 0600, PARTIAL_KEEP_MODE };
	struct fixture *f = *state;
	struct place *second = keeping_place(f->tree.fd, f->tree.fd, peer);

	for (unsigned i = 0; i < 3; i++) {
		const struct entry_facts meta = { .mode = modes[i], .mtime.nsec = PARTIAL_KEEP_TIME };
		struct partial mine = get_kept(f->place, "file", &some_source, PARTIAL_NEW), other;
		struct haul_fault fault;

		check_leaf(&mine, 0, 'a');
		assert_done(partial_finish(&mine, META(meta), false, &fault));
		other = get(second, "file", &some_source);
		assert_false(other.is_kept);
		put_leaf(&other, 0, 'x');
		place_sweep_kept(second, time(NULL) + 15 * DAY);
		assert_done(partial_publish(f->place, &mine, "file", PUBLISH_REPLACE));
		partial_discard(&other);
		assert_int_equal(temp_count(f->tree.fd, KEPT), 0);
	}
	place_close(second);
}

static void peers_roots_and_paths_do_not_meet(void **state)
{
	struct fixture *f = *state;
	int dir = openat(f->tree.fd, "dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct place *of_peer = keeping_place(f->tree.fd, f->tree.fd, other_peer);
	struct place *of_root = keeping_place(dir, f->tree.fd, peer);
	struct partial parts[4] = {
		get_kept(f->place, "file", &some_source, PARTIAL_NEW),
		get_kept(of_peer, "file", &some_source, PARTIAL_NEW),
		get_kept(of_root, "file", &some_source, PARTIAL_NEW),
		get_kept(f->place, "file2", &some_source, PARTIAL_NEW),
	};

	assert_int_equal(temp_count(f->tree.fd, KEPT), 4);
	for (unsigned i = 0; i < 4; i++) {
		check_leaf(&parts[i], i, (char)('a' + (char)i));
		partial_keep(&parts[i]);
	}
	assert_int_equal(temp_count(f->tree.fd, KEPT), 8);
	parts[0] = get_kept(f->place, "file", &some_source, PARTIAL_OF_SAME);
	parts[1] = get_kept(of_peer, "file", &some_source, PARTIAL_OF_SAME);
	parts[2] = get_kept(of_root, "file", &some_source, PARTIAL_OF_SAME);
	parts[3] = get_kept(f->place, "file2", &some_source, PARTIAL_OF_SAME);
	assert_recorded(&parts[0], "a---");
	assert_recorded(&parts[1], "-b--");
	assert_recorded(&parts[2], "--c-");
	assert_recorded(&parts[3], "---d");
	for (unsigned i = 0; i < 4; i++)
		partial_discard(&parts[i]);
	place_close(of_root);
	place_close(of_peer);
	(void)close(dir);
}

/* ---- side by side ---- */

enum { WORKERS = 4, ROUNDS = 60 };

/* The file that got its name is whole and all of one job's, and no job loses its own to another. */
static void bring_the_file(struct place *p, char who, unsigned round)
{
	struct partial part = get(p, "dir/file", &some_source);
	struct haul_fault fault;
	struct stat st;
	int fd;

	for (unsigned i = 0; i < LEAVES; i++)
		put_leaf(&part, i, who);
	if (part.is_kept && round % 4 == 1)
		check_leaf(&part, 0, who);
	if (round % 4 == 2) {
		partial_discard(&part);
		return;
	}
	if (round % 4 == 1) {
		partial_keep(&part);
		return;
	}
	fd = fcntl(part.file.fd, F_DUPFD_CLOEXEC, 3);
	assert_done(partial_finish(&part, META(some_meta), false, &fault));
	(void)sched_yield();
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_nlink, 1);
	assert_done(partial_publish(p, &part, "dir/file", PUBLISH_REPLACE));
	for (unsigned i = 0; i < LEAVES; i++)
		assert_true(leaf_is(fd, SIZE, i, who));
	(void)close(fd);
}

static void work_in_a_loop(int fd, char who)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct place *p = keeping_place(fd, fd, peer);

		bring_the_file(p, who, round);
		place_close(p);
	}
}

static void jobs_with_one_file_do_not_disturb(void **state)
{
	struct fixture *f = *state;
	pid_t child[WORKERS];

	for (unsigned i = 0; i < WORKERS; i++) {
		child[i] = fork();
		assert_true(child[i] >= 0);
		if (child[i] == 0) {
			work_in_a_loop(f->tree.fd, (char)('a' + (char)i));
			_exit(0);
		}
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		int status = -1;

		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_int_equal(status, 0);
	}
	assert_facts(f->place, "dir/file", SIZE);
	assert_int_equal(temp_count(f->tree.fd, "dir"), 1);
}

static void no_handles_are_lost(void **state)
{
	struct fixture *f = *state;
	unsigned before = temp_count(AT_FDCWD, "/proc/self/fd");
	struct leaf_source other = some_source;

	other.id[0]++;
	assert_int_equal(fchmodat(f->tree.fd, "dir", 02755, 0), 0);
	for (unsigned i = 0; i < 8; i++) {
		const char *path = i % 2 ? "dir/file" : "file";
		struct place *p = keeping_place(f->tree.fd, f->tree.fd, peer);
		struct partial part = get(p, path, &some_source), locked = get(p, path, &some_source);

		partial_discard(&locked);
		check_leaf(&part, 0, 'a');
		partial_keep(&part);
		part = get(p, path, &other);
		if (i % 4 < 2)
			partial_discard(&part);
		else
			finish(p, &part, path);
		place_close(p);
	}
	assert_int_equal(temp_count(AT_FDCWD, "/proc/self/fd"), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		kept_test(one_that_another_job_has_is_left_alone),
		kept_test(one_that_waits_for_its_name_is_left_alone),
		kept_test(peers_roots_and_paths_do_not_meet),
		kept_test(jobs_with_one_file_do_not_disturb),
		kept_test(no_handles_are_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
