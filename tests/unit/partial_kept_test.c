/* Kept partials: what the next job finds of them, and how they end. */
#include "kept_fixture.h"

#include <sys/mount.h>
#include <sys/wait.h>

/* ---- found again ---- */

static void one_is_found_again_with_what_was_recorded(void **state)
{
	struct fixture *f = *state;
	struct partial part;
	struct stat st;

	part = get_kept(f->place, "dir/file", &some_source, PARTIAL_NEW);
	assert_fills(&part, "0000");
	assert_int_equal(fstat(part.file.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 1);
	partial_discard(&part);
	leave_one(f, "dir/file", &some_source);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 2);
	assert_int_equal(temp_count(f->tree.fd, "dir"), 0);
	part = get_kept(f->place, "dir/file", &some_source, PARTIAL_OF_SAME);
	assert_recorded(&part, "a-c-");
	assert_true(leaf_is(part.file.fd, SIZE, 0, 'a') && leaf_is(part.file.fd, SIZE, 2, 'c'));
	check_leaf(&part, 3, 'd');
	partial_keep(&part);
	next_job(f);
	part = get_kept(f->place, "dir/file", &some_source, PARTIAL_OF_SAME);
	assert_recorded(&part, "a-cd");
	put_leaf(&part, 1, 'B');
	assert_fills(&part, "aBcd");
	finish(f->place, &part, "dir/file");
	assert_facts(f->place, "dir/file", SIZE);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 0);
}

static void one_of_a_killed_job_is_found_again(void **state)
{
	struct fixture *f = *state;
	struct partial part;
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) { /* dies without closing */
		struct place *p = keeping_place(f->tree.fd, f->tree.fd, peer);

		part = get(p, "recorded", &some_source);
		check_leaf(&part, 1, 'b');
		put_leaf(&part, 0, 'a');
		part = get(p, "unrecorded", &some_source);
		put_leaf(&part, 0, 'a');
		_exit(part.is_kept ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 3);
	next_job(f);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 2);
	part = get_kept(f->place, "recorded", &some_source, PARTIAL_OF_SAME);
	assert_recorded(&part, "-b--");
	partial_discard(&part);
	part = get_kept(f->place, "unrecorded", &some_source, PARTIAL_NEW);
	assert_fills(&part, "0000");
	partial_discard(&part);
}

static void one_without_a_checkpoint_is_discarded(void **state)
{
	struct fixture *f = *state;
	struct partial part = get_kept(f->place, "file", &some_source, PARTIAL_NEW);

	put_leaf(&part, 0, 'a');
	partial_keep(&part);
	partial_keep(&part);
	assert_int_equal(part.name[0], '\0');
	assert_int_equal(temp_count(f->tree.fd, KEPT), 0);
	part = get_kept(f->place, "file", &some_source, PARTIAL_NEW);
	assert_fills(&part, "0000");
	partial_discard(&part);
}

static void ordinary_ones_are_not_kept(void **state)
{
	const struct leaf_source small_one = { .size = HAUL_LEAF_BYTES, .id = { 1 } };
	const struct leaf_source huge_one = { .size = LEAF_RECORD_LEAVES_MAX * (uint64_t)HAUL_LEAF_BYTES + 1,
					      .id = { 1 } };
	const struct partial_config huge = { .size = huge_one.size, .is_sparse = true, .source = &huge_one };
	struct fixture *f = *state;
	struct partial part = get(f->place, "file", &small_one);

	assert_false(part.is_kept);
	partial_keep(&part);
	part = get_config(f->place, "file", &huge);
	assert_false(part.is_kept);
	partial_keep(&part);
	part = get_config(f->place, "file", &(struct partial_config){ .size = SIZE });
	assert_false(part.is_kept);
	partial_keep(&part);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 0);
	close_place(f);
	f->place = new_place(f->tree.fd);
	part = get(f->place, "file", &some_source);
	assert_false(part.is_kept);
	partial_keep(&part);
	close_place(f);
	assert_int_equal(temp_count(f->tree.fd, "."), 1);
	f->place = new_place(f->tree.fd);
}

/* ---- another state of the source ---- */

/* The leaves are still there to be compared, but nothing counts until it is recorded anew. */
static void assert_other(struct fixture *f, const struct leaf_source *source)
{
	struct partial part;

	leave_one(f, "file", &some_source);
	part = get_kept(f->place, "file", source, PARTIAL_OF_OTHER);
	assert_true(part.has_record);
	assert_true(leaf_is(part.file.fd, SIZE, 0, 'a') && leaf_is(part.file.fd, SIZE, 2, 'c'));
	assert_recorded(&part, "----");
	partial_keep(&part);
	next_job(f);
	part = get(f->place, "file", source);
	assert_int_equal(part.found, source->id[0] ? PARTIAL_OF_SAME : PARTIAL_OF_OTHER);
	assert_recorded(&part, "----");
	check_leaf(&part, 3, 'D');
	partial_keep(&part);
	part = get_kept(f->place, "file", &some_source, PARTIAL_OF_OTHER);
	partial_discard(&part);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 0);
}

static void another_state_begins_the_record_anew(void **state)
{
	struct fixture *f = *state;
	struct leaf_source other = some_source;

	other.mtime.nsec++;
	assert_other(f, &other);
	other = some_source;
	other.id[0] = 2;
	assert_other(f, &other);
	other.id[0] = 0;
	assert_other(f, &other);
}

static void one_without_an_id_is_never_the_same(void **state)
{
	struct fixture *f = *state;
	struct leaf_source nameless = some_source;
	struct partial part;

	nameless.id[0] = 0;
	leave_one(f, "file", &nameless);
	part = get_kept(f->place, "file", &nameless, PARTIAL_OF_OTHER);
	assert_true(leaf_is(part.file.fd, SIZE, 0, 'a') && leaf_is(part.file.fd, SIZE, 2, 'c'));
	assert_recorded(&part, "----");
	partial_discard(&part);
}

static void a_shorter_or_longer_source_gives_the_size(void **state)
{
	struct fixture *f = *state;
	struct leaf_source other = some_source;
	struct partial part;

	leave_one(f, "file", &some_source);
	other.size = 2 * HAUL_LEAF_BYTES + 1;
	part = get_kept(f->place, "file", &other, PARTIAL_OF_OTHER);
	assert_fills(&part, "a0c"); /* what was not recorded has been given back */
	check_leaf(&part, 2, 'C');
	partial_keep(&part);
	next_job(f);
	part = get_kept(f->place, "file", &other, PARTIAL_OF_SAME);
	assert_recorded(&part, "--C");
	partial_keep(&part);
	other.size = 5 * HAUL_LEAF_BYTES;
	part = get_kept(f->place, "file", &other, PARTIAL_OF_OTHER);
	assert_true(leaf_is(part.file.fd, other.size, 0, '\0') && leaf_is(part.file.fd, other.size, 1, '\0'));
	assert_true(leaf_is(part.file.fd, other.size, 3, '\0') && leaf_is(part.file.fd, other.size, 4, '\0'));
	check_leaf(&part, 4, 'e');
	partial_keep(&part);
	next_job(f);
	part = get_kept(f->place, "file", &other, PARTIAL_OF_SAME);
	assert_recorded(&part, "----e");
	partial_discard(&part);
}

/* As direct writes leave it: the tail in whole units. */
static void a_padded_tail_counts_and_is_cut(void **state)
{
	struct fixture *f = *state;
	struct partial part = get_kept(f->place, "file", &some_source, PARTIAL_NEW);

	check_leaf(&part, 3, 'd');
	assert_int_equal(ftruncate(part.file.fd, (off_t)(SIZE + 4096 - TAIL)), 0);
	partial_keep(&part);
	next_job(f);
	part = get_kept(f->place, "file", &some_source, PARTIAL_OF_SAME);
	assert_recorded(&part, "---d");
	{
		struct leaf_map have;

		assert_true(leaf_map_open(&have, LEAVES));
		leaf_map_set(&have, 3);
		assert_done(partial_zero_rest(&part, &have));
		leaf_map_close(&have);
	}
	assert_fills(&part, "000d");
	partial_discard(&part);
}

static void room_that_is_not_filled_is_given_back(void **state)
{
	struct fixture *f = *state;
	struct leaf_source source = some_source;
	struct partial part;
	struct stat st;

	if (disk_file_is_in_memory(f->tree.fd))
		skip_because("the tests' directory lies in memory, where no room is taken");
	source.size = 16 * HAUL_LEAF_BYTES;
	part = get_kept(f->place, "file", &source, PARTIAL_NEW);
	check_leaf(&part, 5, 'f');
	assert_int_equal(fstat(part.file.fd, &st), 0);
	assert_true(st.st_blocks * 512 >= 16 * HAUL_LEAF_BYTES);
	partial_keep(&part);
	next_job(f);
	part = get_kept(f->place, "file", &source, PARTIAL_OF_SAME);
	assert_int_equal(fstat(part.file.fd, &st), 0);
	assert_in_range(st.st_blocks * 512, HAUL_LEAF_BYTES, 2 * HAUL_LEAF_BYTES);
	assert_int_equal(st.st_size, source.size);
	assert_true(leaf_is(part.file.fd, source.size, 5, 'f'));
	partial_discard(&part);
}

/* Its name is a digest, and somebody may find a path that gives the same one. */
static void one_of_another_owner_is_left_alone(void **state)
{
	struct leaf_source foreign = some_source;
	struct fixture *f = *state;
	struct leaf_record record;
	struct partial part;
	struct stat st;
	char name[RECORD_NAME_MAX];

	part = get_kept(f->place, "file", &some_source, PARTIAL_NEW);
	check_leaf(&part, 1, 'b');
	assert_int_equal(fstat(part.file.fd, &st), 0);
	partial_record_name(part.name, name);
	foreign.owner.root_inode = f->place->root_inode;
	memcpy(foreign.owner.peer_id, "somebody else", 13);
	assert_done(leaf_record_create(f->place->kept_fd, name, &foreign, st.st_ino, &record));
	leaf_record_close(&record);
	part.found = PARTIAL_OF_OTHER; /* its own record is another file now */
	partial_keep(&part);
	next_job(f);
	part = get(f->place, "file", &some_source);
	assert_false(part.is_kept);
	partial_discard(&part);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 2);
}

static void equal_leaves_are_recorded(void **state)
{
	struct fixture *f = *state;
	struct haul_digest digests[200];
	struct leaf_source source = some_source;
	struct leaf_map have, read;
	struct partial part;

	source.size = 200 * (uint64_t)HAUL_LEAF_BYTES;
	part = get_config(f->place, "file",
			  &(struct partial_config){ .size = source.size, .is_sparse = true, .source = &source });
	assert_true(part.is_kept && leaf_map_open(&have, 200) && leaf_map_open(&read, 200));
	for (uint64_t i = 0; i < 200; i++) {
		memset(digests[i].bytes, (int)i, sizeof(digests[i].bytes));
		if (i % 70)
			leaf_map_set(&have, i);
	}
	assert_done(partial_record_have(&part, &have, digests));
	partial_keep(&part);
	next_job(f);
	part = get_config(f->place, "file",
			  &(struct partial_config){ .size = source.size, .is_sparse = true, .source = &source });
	memset(digests, 0, sizeof(digests));
	assert_done(partial_read_record(&part, &read, digests));
	for (uint64_t i = 0; i < 200; i++) {
		assert_int_equal(leaf_map_has(&read, i), i % 70 != 0);
		assert_int_equal(digests[i].bytes[3], i % 70 ? i : 0);
	}
	leaf_map_close(&have);
	leaf_map_close(&read);
	partial_discard(&part);
}

static void after_a_failed_sync_nothing_is_recorded_or_kept(void **state)
{
	struct fixture *f = *state;
	struct partial part = get_kept(f->place, "file", &some_source, PARTIAL_NEW);
	struct leaf_piece piece = piece_of(2, 'c');

	check_leaf(&part, 1, 'b');
	part.lost = HAUL_IO;
	assert_string_equal(haul_status_text(partial_checkpoint(&part, &piece, 1)), haul_status_text(HAUL_IO));
	partial_keep(&part);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 0);
}

/* A file system in memory of 256 KiB; its handle. */
static int small_memory(struct fixture *f)
{
	char path[128];
	int fd;

	temp_dir(f->tree.fd, "memory");
	(void)snprintf(path, sizeof(path), "%s/memory", f->tree.path);
	if (geteuid() != 0 || mount("none", path, "tmpfs", 0, "size=256k") < 0)
		skip_because("mounting needs root");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(umount2(path, MNT_DETACH), 0);
	return fd;
}

static void fill_up(int dir)
{
	static const char page[4096];
	int fd = openat(dir, "ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	while (write(fd, page, sizeof(page)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	(void)close(fd);
}

/* Its room is its own, the record's is not: what was recorded before still counts, and the file goes on. */
static void a_record_without_room_stays_behind(void **state)
{
	const struct partial_config cfg = {
		.size = SIZE, .source = &some_source, .direct = DIRECT_NEVER, .is_sparse = true
	};
	struct leaf_piece piece = piece_of(2, 'c');
	int dir = small_memory(*state);
	struct place *p = keeping_place(dir, dir, peer);
	struct partial none = get_config(p, "none", &cfg), some = get_config(p, "some", &cfg);

	assert_done(partial_checkpoint(&some, &piece, 1));
	fill_up(dir);
	assert_done(partial_checkpoint(&none, &piece, 1));
	assert_true(none.stops_recording && !none.has_record);
	piece = piece_of(1, 'b');
	for (unsigned i = 0; i < 200; i++)
		assert_done(partial_checkpoint(&some, &piece, 1));
	assert_true(some.stops_recording && some.has_record);
	assert_int_equal(unlinkat(dir, "ballast", 0), 0);
	partial_keep(&none);
	partial_keep(&some);
	assert_int_equal(temp_count(dir, KEPT), 2);
	some = get_config(p, "some", &cfg);
	assert_int_equal(some.found, PARTIAL_OF_SAME);
	assert_recorded(&some, "-bc-");
	partial_discard(&some);
	place_close(p);
	(void)close(dir);
}

static void one_that_starts_anew_is_all_zeros(void **state)
{
	const struct partial_config cfg = {
		.size = SIZE, .source = &some_source, .direct = DIRECT_NEVER, .starts_anew = true
	};
	struct fixture *f = *state;
	struct partial part;

	leave_one(f, "file", &some_source);
	part = get_config(f->place, "file", &cfg);
	assert_true(part.is_kept);
	assert_int_equal(part.found, PARTIAL_NEW);
	assert_fills(&part, "0000");
	assert_int_equal(temp_count(f->tree.fd, KEPT), 1);
	check_leaf(&part, 1, 'B');
	partial_keep(&part);
	next_job(f);
	part = get_kept(f->place, "file", &some_source, PARTIAL_OF_SAME);
	assert_recorded(&part, "-B--");
	partial_discard(&part);
}

/* ---- zeros ---- */

static void assert_zeroed(struct place *p)
{
	struct partial part = get(p, "file", &some_source);
	struct leaf_map have;

	assert_true(leaf_map_open(&have, LEAVES));
	for (unsigned i = 0; i < LEAVES; i++)
		put_leaf(&part, i, (char)('a' + (char)i));
	leaf_map_set(&have, 1);
	leaf_map_set(&have, 3);
	assert_done(partial_zero_rest(&part, &have));
	assert_fills(&part, "0b0d");
	leaf_map_clear(&have, 3);
	assert_done(partial_zero_rest(&part, &have));
	assert_fills(&part, "0b00");
	leaf_map_set(&have, 0);
	leaf_map_set(&have, 2);
	leaf_map_set(&have, 3);
	assert_done(partial_zero_rest(&part, &have));
	assert_fills(&part, "0b00");
	leaf_map_close(&have);
	partial_discard(&part);
}

static void what_is_not_recorded_is_zeroed(void **state)
{
	struct fixture *f = *state;

	assert_zeroed(f->place);
}

static void what_is_not_recorded_is_zeroed_in_memory(void **state)
{
	struct temp_tree tree;
	struct place *p;

	(void)state;
	temp_tree_open_fast(&tree, "partial_kept");
	if (!disk_file_is_in_memory(tree.fd)) {
		temp_tree_close(&tree);
		skip_because("no file system in memory at /dev/shm");
	}
	p = keeping_place(tree.fd, tree.fd, peer);
	assert_zeroed(p);
	place_close(p);
	temp_tree_close(&tree);
}

/* It can neither give zeros nor make holes. */
static void what_is_not_recorded_is_zeroed_by_writing(void **state)
{
	struct fixture *f = *state;
	char path[128];
	struct place *p;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/dir", f->tree.path);
	if (geteuid() != 0 || mount("none", path, "ramfs", 0, NULL) < 0)
		skip_because("mounting needs root");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(umount2(path, MNT_DETACH), 0);
	p = keeping_place(fd, fd, peer);
	assert_zeroed(p);
	place_close(p);
	(void)close(fd);
}

/* ---- the end of one ---- */

static void a_record_goes_with_its_partial(void **state)
{
	struct fixture *f = *state;
	struct partial part;

	leave_one(f, "file", &some_source);
	part = get_kept(f->place, "file", &some_source, PARTIAL_OF_SAME);
	partial_discard(&part);
	partial_discard(&part);
	assert_int_equal(temp_count(f->tree.fd, KEPT), 0);
	leave_one(f, "file", &some_source);
	part = get_kept(f->place, "file", &some_source, PARTIAL_OF_SAME);
	finish(f->place, &part, "file");
	assert_int_equal(temp_count(f->tree.fd, KEPT), 0);
	part = get_kept(f->place, "file", &some_source, PARTIAL_NEW);
	assert_fills(&part, "0000");
	partial_discard(&part);
	assert_facts(f->place, "file", SIZE);
}

/* Its job died before it got its name: others may have been able to write to it since. */
static void one_that_was_finished_is_replaced(void **state)
{
	struct fixture *f = *state;
	struct haul_fault fault;
	struct partial part;

	for (unsigned i = 0; i < 2; i++) {
		part = get_kept(f->place, "file", &some_source, PARTIAL_NEW);
		check_leaf(&part, 0, 'a');
		if (i == 0)
			assert_done(partial_finish(&part, META(some_meta), false, &fault));
		else
			assert_int_equal(fchown(part.file.fd, 4321, 4321), geteuid() == 0 ? 0 : -1);
		partial_keep(&part);
		next_job(f);
		part = get(f->place, "file", &some_source);
		assert_true(part.is_kept);
		if (i == 1 && geteuid() != 0)
			skip_because("a file of somebody else needs root");
		assert_int_equal(part.found, PARTIAL_NEW);
		assert_fills(&part, "0000");
		partial_discard(&part);
		assert_int_equal(temp_count(f->tree.fd, KEPT), 0);
	}
}

/* Who may not write to it any more can still replace it. */
static void one_that_was_made_read_only_is_replaced(void **state)
{
	const struct entry_facts read_only = { .mode = 0444, .mtime.nsec = PARTIAL_KEEP_TIME };
	struct fixture *f = *state;
	struct haul_fault fault;
	struct partial part;

	if (geteuid() != 0)
		skip_because("working as somebody else needs root");
	close_place(f);
	assert_int_equal(fchown(f->tree.fd, 4321, 4321) | seteuid(4321), 0);
	f->place = keeping_place(f->tree.fd, f->tree.fd, peer);
	part = get_kept(f->place, "file", &some_source, PARTIAL_NEW);
	check_leaf(&part, 0, 'a');
	assert_done(partial_finish(&part, META(read_only), false, &fault));
	partial_keep(&part);
	part = get(f->place, "file", &some_source);
	assert_int_equal(seteuid(0), 0);
	assert_true(part.is_kept);
	assert_int_equal(part.found, PARTIAL_NEW);
	assert_fills(&part, "0000");
	partial_discard(&part);
}

/* A record that its partial has not taken along: the next partial of that name may get the same inode. */
static void an_old_record_says_nothing_of_a_new_partial(void **state)
{
	struct fixture *f = *state;
	struct partial part;
	pid_t child;
	int status, fd;

	part = get_kept(f->place, "file", &some_source, PARTIAL_NEW);
	check_leaf(&part, 0, 'a');
	fd = fcntl(part.file.fd, F_DUPFD_CLOEXEC, 3);
	partial_keep(&part);
	assert_int_equal(ftruncate(fd, 0), 0);
	(void)close(fd);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) { /* it has its size, and nothing is written when its job dies */
		part = get(f->place, "file", &some_source);
		_exit(part.found == PARTIAL_NEW && part.is_kept ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	part = get_kept(f->place, "file", &some_source, PARTIAL_NEW);
	partial_discard(&part);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		kept_test(one_is_found_again_with_what_was_recorded),
		kept_test(one_of_a_killed_job_is_found_again),
		kept_test(one_without_a_checkpoint_is_discarded),
		kept_test(ordinary_ones_are_not_kept),
		kept_test(another_state_begins_the_record_anew),
		kept_test(one_without_an_id_is_never_the_same),
		kept_test(a_shorter_or_longer_source_gives_the_size),
		kept_test(a_padded_tail_counts_and_is_cut),
		kept_test(room_that_is_not_filled_is_given_back),
		kept_test(one_of_another_owner_is_left_alone),
		kept_test(equal_leaves_are_recorded),
		kept_test(after_a_failed_sync_nothing_is_recorded_or_kept),
		kept_test(a_record_without_room_stays_behind),
		kept_test(one_that_starts_anew_is_all_zeros),
		kept_test(what_is_not_recorded_is_zeroed),
		cmocka_unit_test(what_is_not_recorded_is_zeroed_in_memory),
		kept_test(what_is_not_recorded_is_zeroed_by_writing),
		kept_test(a_record_goes_with_its_partial),
		kept_test(one_that_was_finished_is_replaced),
		kept_test(one_that_was_made_read_only_is_replaced),
		kept_test(an_old_record_says_nothing_of_a_new_partial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
