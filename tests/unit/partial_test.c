/* Arrival: what is seen at each step, where a partial lies, and what is left after failures. */
#include "partial_fixture.h"

#include "engine/room.h"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/xattr.h>

static void a_large_file_arrives(void **state)
{
	struct fixture *f = *state;
	struct haul_fault fault;
	struct partial part;
	struct stat st;

	large(f->place, "dir/file", "content", &part);
	assert_int_equal(fstat(part.file.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 7);
	assert_int_equal(temp_count(f->tree.fd, "dir"), 0);
	assert_done(partial_finish(&part, META(some_meta), true, &fault));
	assert_int_equal(temp_count(f->tree.fd, "dir"), 0);
	assert_done(partial_publish(f->place, &part, "dir/file", PUBLISH_NO_REPLACE));
	assert_done(place_sync_parent(f->place, "dir/file"));
	assert_true(temp_holds(f->tree.fd, "dir/file", "content"));
	assert_facts(f->place, "dir/file", 7);
	partial_discard(&part);
	assert_true(temp_exists(f->tree.fd, "dir/file"));
}

static void a_small_file_arrives(void **state)
{
	struct fixture *f = *state;
	struct partial part, empty;

	small(f->place, "dir/file", "content", &part);
	small(f->place, "empty", "", &empty);
	assert_int_equal(temp_count(f->tree.fd, "dir"), 0);
	assert_done(partial_publish(f->place, &part, "dir/file", PUBLISH_NO_REPLACE));
	assert_done(partial_publish(f->place, &empty, "empty", PUBLISH_NO_REPLACE));
	assert_done(place_sync_all(f->place));
	assert_true(temp_holds(f->tree.fd, "dir/file", "content"));
	assert_facts(f->place, "dir/file", 7);
	assert_facts(f->place, "empty", 0);
}

static void a_padded_tail_is_cut(void **state)
{
	struct fixture *f = *state;
	struct haul_fault fault;
	struct partial part;
	char zeros[64] = "";

	large(f->place, "file", "content", &part);
	assert_int_equal(pwrite(part.file.fd, zeros, sizeof(zeros), 7), sizeof(zeros));
	assert_done(partial_finish(&part, META(some_meta), false, &fault));
	assert_done(partial_publish(f->place, &part, "file", PUBLISH_NO_REPLACE));
	assert_true(temp_holds(f->tree.fd, "file", "content"));
}

static void preallocation_takes_the_room_at_once(void **state)
{
	struct fixture *f = *state;
	struct partial part;
	struct stat st;

	if (disk_file_is_in_memory(f->tree.fd))
		skip_because("the tests' directory lies in memory, where room is only looked at");
	assert_done(create(f->place, "dir/file", 3 << 20, DIRECT_AUTO, &part));
	assert_int_equal(fstat(part.file.fd, &st), 0);
	assert_int_equal(st.st_size, 3 << 20);
	assert_true(st.st_blocks >= 3 << 11);
	partial_discard(&part);
	assert_int_equal(part.name[0], '\0');
}

static void what_does_not_fit_is_told_and_leaves_nothing(void **state)
{
	struct fixture *f = *state;
	struct partial part;
	uint64_t before, after, total;
	haul_status st;

	assert_done(room_of(f->tree.fd, &before, NULL));
	st = create(f->place, "file", before + (UINT64_C(64) << 30), DIRECT_NEVER, &part);
	assert_true(st.code == HAUL_NO_SPACE.code || st.code == HAUL_TOO_BIG.code);
	assert_code(create(f->place, "file", UINT64_MAX, DIRECT_NEVER, &part), HAUL_TOO_BIG);
	assert_code(create(f->place, "file", INT64_MAX, DIRECT_NEVER, &part), HAUL_TOO_BIG);
	assert_done(room_of(f->tree.fd, &after, &total));
	assert_true(total >= after);
	assert_code(room_of(-1, &total, NULL), HAUL_IO);
	assert_true(after > before / 2);
	close_place(f);
	assert_int_equal(temp_count(f->tree.fd, "."), 1);
	f->place = new_place(f->tree.fd);
}

static void the_rule_decides_what_is_replaced(void **state)
{
	struct fixture *f = *state;
	struct partial part;

	temp_text(f->tree.fd, "old", "old");
	temp_link(f->tree.fd, "link", "old");
	small(f->place, "old", "new", &part);
	assert_code(partial_publish(f->place, &part, "old", PUBLISH_NO_REPLACE), HAUL_EXISTS);
	assert_code(partial_publish(f->place, &part, "link", PUBLISH_NO_REPLACE), HAUL_EXISTS);
	assert_code(partial_publish(f->place, &part, "dir", PUBLISH_REPLACE), HAUL_IS_DIRECTORY);
	assert_true(temp_holds(f->tree.fd, "old", "old"));
	assert_done(partial_publish(f->place, &part, "link", PUBLISH_REPLACE));
	assert_true(temp_holds(f->tree.fd, "link", "new"));
	assert_true(temp_holds(f->tree.fd, "old", "old"));
	small(f->place, "old", "newer", &part);
	assert_done(partial_publish(f->place, &part, "old", PUBLISH_REPLACE));
	assert_true(temp_holds(f->tree.fd, "old", "newer"));
}

static void links_in_the_path_stop_everything(void **state)
{
	struct fixture *f = *state;
	struct haul_fault fault;
	struct partial part;
	struct disk_file file;
	enum entry_kind kind;

	temp_dir(f->tree.fd, "outside");
	temp_link(f->tree.fd, "dir/link", "../outside");
	assert_code(create(f->place, "dir/link/x", 1, DIRECT_NEVER, &part), HAUL_LINK_IN_PATH);
	assert_code(partial_create_small(f->place, "dir/link/x", "x", 1, META(some_meta), &part), HAUL_LINK_IN_PATH);
	assert_code(place_make_directory(f->place, "dir/link/x", &kind), HAUL_LINK_IN_PATH);
	assert_code(place_make_link(f->place, "dir/link/x", "t", META(some_meta), PUBLISH_REPLACE), HAUL_LINK_IN_PATH);
	assert_code(place_finish_directory(f->place, "dir/link", META(some_meta), false), HAUL_LINK_IN_PATH);
	assert_code(place_open_file(f->place, "dir/link", DIRECT_NEVER, &file, &fault), HAUL_WRONG_KIND);
	small(f->place, "dir/x", "x", &part);
	assert_code(partial_publish(f->place, &part, "dir/link/x", PUBLISH_REPLACE), HAUL_LINK_IN_PATH);
	partial_discard(&part);
	assert_code(create(f->place, "../x", 1, DIRECT_NEVER, &part), HAUL_BAD_VALUE);
	assert_code(create(f->place, "none/x", 1, DIRECT_NEVER, &part), HAUL_NOT_FOUND);
	assert_int_equal(temp_count(f->tree.fd, "outside"), 0);
}

static void a_setgid_directory_hands_its_group_down(void **state)
{
	struct fixture *f = *state;
	struct partial part;
	struct stat st;

	if (geteuid() != 0)
		skip_because("a foreign group needs root");
	assert_int_equal(fchownat(f->tree.fd, "dir", 0, 4321, 0) | fchmodat(f->tree.fd, "dir", 02755, 0), 0);
	small(f->place, "dir/file", "x", &part);
	assert_true(is_in_target(&part));
	assert_done(partial_publish(f->place, &part, "dir/file", PUBLISH_NO_REPLACE));
	assert_int_equal(fstatat(f->tree.fd, "dir/file", &st, 0), 0);
	assert_int_equal(st.st_gid, 4321);
}

static void a_default_acl_is_handed_down(void **state)
{
	/* POSIX ACL, version 2: u::rwx, u:77:rwx, g::r-x, mask rwx, o::--- */
	static const uint8_t acl[] = { 2, 0,  0,   0,   1,   0,   7,  0, 255, 255, 255, 255, 2,   0,  7,
				       0, 77, 0,   0,   0,   4,   0,  5, 0,   255, 255, 255, 255, 16, 0,
				       7, 0,  255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255 };
	struct fixture *f = *state;
	struct partial part;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/dir", f->tree.path);
	if (setxattr(path, "system.posix_acl_default", acl, sizeof(acl), 0) < 0)
		skip_because("no ACLs on this file system");
	small(f->place, "dir/file", "x", &part);
	assert_true(is_in_target(&part));
	assert_done(partial_publish(f->place, &part, "dir/file", PUBLISH_NO_REPLACE));
	(void)snprintf(path, sizeof(path), "%s/dir/file", f->tree.path);
	assert_int_equal(getxattr(path, "system.posix_acl_access", NULL, 0), sizeof(acl));
}

/* The root's own setgid bit and ACL do not reach what is renamed into a plain directory below it. */
static void the_private_directory_is_plain(void **state)
{
	struct fixture *f = *state;
	struct partial part;
	struct stat st;

	close_place(f);
	assert_int_equal(fchmodat(f->tree.fd, "dir", 0755, 0), 0);
	if (geteuid() == 0)
		assert_int_equal(fchown(f->tree.fd, 0, 4321), 0);
	assert_int_equal(fchmod(f->tree.fd, 02755), 0);
	f->place = new_place(f->tree.fd);
	assert_int_equal(fstatat(f->tree.fd, ".haul", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	small(f->place, "dir/file", "x", &part);
	assert_false(is_in_target(&part));
	assert_done(partial_publish(f->place, &part, "dir/file", PUBLISH_NO_REPLACE));
	assert_int_equal(fstatat(f->tree.fd, "dir/file", &st, 0), 0);
	assert_int_equal(st.st_gid, getegid());
}

static void another_file_system_gets_its_partials_itself(void **state)
{
	struct fixture *f = *state;
	struct haul_fault fault;
	struct partial part;
	struct stat st;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/dir", f->tree.path);
	if (geteuid() != 0 || mount("none", path, "tmpfs", 0, "size=4m") < 0)
		skip_because("mounting needs root");
	small(f->place, "dir/a", "a", &part);
	assert_true(is_in_target(&part));
	assert_done(partial_publish(f->place, &part, "dir/a", PUBLISH_NO_REPLACE));
	large(f->place, "dir/b", "b", &part);
	assert_done(partial_finish(&part, META(some_meta), true, &fault));
	assert_done(partial_publish(f->place, &part, "dir/b", PUBLISH_NO_REPLACE));
	assert_done(place_make_link(f->place, "dir/c", "a", META(some_meta), PUBLISH_NO_REPLACE));
	assert_code(create(f->place, "dir/d", 8 << 20, DIRECT_NEVER, &part), HAUL_NO_SPACE);
	assert_done(create(f->place, "dir/d", 1 << 20, DIRECT_NEVER, &part));
	assert_int_equal(fstat(part.file.fd, &st), 0);
	assert_int_equal(st.st_size, 1 << 20);
	assert_int_equal(st.st_blocks, 0); /* zeros that nobody needs would have to be written first */
	partial_discard(&part);
	assert_int_equal(temp_count(f->tree.fd, "dir"), 3);
	close_place(f);
	assert_int_equal(umount(path), 0);
	f->place = new_place(f->tree.fd);
}

/* A bind mount has the device number of its source, and yet no rename crosses it. */
static void a_bind_mount_gets_its_partials_itself(void **state)
{
	struct fixture *f = *state;
	struct partial part;
	char from[128], to[128];

	temp_dir(f->tree.fd, "from");
	(void)snprintf(from, sizeof(from), "%s/from", f->tree.path);
	(void)snprintf(to, sizeof(to), "%s/dir", f->tree.path);
	if (geteuid() != 0 || mount(from, to, NULL, MS_BIND, NULL) < 0)
		skip_because("mounting needs root");
	small(f->place, "dir/a", "a", &part);
	assert_true(is_in_target(&part));
	assert_done(partial_publish(f->place, &part, "dir/a", PUBLISH_NO_REPLACE));
	assert_true(temp_holds(f->tree.fd, "from/a", "a"));
	close_place(f);
	assert_int_equal(umount(to), 0);
	f->place = new_place(f->tree.fd);
}

static void no_handles_are_lost(void **state)
{
	struct fixture *f = *state;
	unsigned before = temp_count(AT_FDCWD, "/proc/self/fd");
	struct partial part;

	for (unsigned i = 0; i < 50; i++) {
		struct place *p = new_place(f->tree.fd);

		assert_code(create(p, "none/x", 1, DIRECT_NEVER, &part), HAUL_NOT_FOUND);
		assert_code(create(p, "dir/x", UINT64_MAX, DIRECT_NEVER, &part), HAUL_TOO_BIG);
		large(p, "dir/x", "x", &part);
		partial_discard(&part);
		small(p, "dir/x", "x", &part);
		assert_done(partial_publish(p, &part, "dir/x", PUBLISH_REPLACE));
		place_close(p);
	}
	assert_int_equal(temp_count(AT_FDCWD, "/proc/self/fd"), before);
}

/* A group of small files waits for its syncs: thousands of them, also where each lies beside its target. */
static void small_ones_wait_without_handles(void **state)
{
	struct fixture *f = *state;
	unsigned before, entries = temp_count(f->tree.fd, "dir");
	struct partial parts[20];
	char path[32];

	assert_int_equal(fchmodat(f->tree.fd, "dir", 02755, 0), 0);
	small(f->place, "dir/first", "x", &parts[0]);
	before = temp_count(AT_FDCWD, "/proc/self/fd");
	for (unsigned i = 1; i < 20; i++) {
		(void)snprintf(path, sizeof(path), "dir/%u", i);
		small(f->place, path, "x", &parts[i]);
		assert_true(is_in_target(&parts[i]));
	}
	assert_int_equal(temp_count(AT_FDCWD, "/proc/self/fd"), before);
	assert_done(partial_publish(f->place, &parts[0], "dir/first", PUBLISH_NO_REPLACE));
	for (unsigned i = 1; i < 20; i++)
		partial_discard(&parts[i]);
	assert_facts(f->place, "dir/first", 1);
	assert_int_equal(temp_count(f->tree.fd, "dir"), entries + 1);
}

/* More than the disk has: only what is written takes room. */
static void a_sparse_file_takes_no_room_ahead(void **state)
{
	const struct partial_config cfg = { .size = UINT64_C(1) << 40, .direct = DIRECT_NEVER, .is_sparse = true };
	struct fixture *f = *state;
	struct haul_fault fault;
	struct partial part;
	struct stat st;
	haul_status made;

	made = partial_create(f->place, "sparse", &cfg, &part, &fault);
	if (made.code == HAUL_CODE_TOO_BIG)
		skip_because("a file system without files of that length");
	assert_done(made);
	assert_int_equal(pwrite(part.file.fd, "x", 1, 1 << 30), 1);
	assert_int_equal(fstat(part.file.fd, &st), 0);
	assert_int_equal(st.st_size, cfg.size);
	assert_true(st.st_blocks < 4096);
	assert_done(partial_finish(&part, META(some_meta), false, &fault));
	assert_done(partial_publish(f->place, &part, "sparse", PUBLISH_NO_REPLACE));
	assert_facts(f->place, "sparse", cfg.size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_large_file_arrives),
		test(a_small_file_arrives),
		test(a_padded_tail_is_cut),
		test(a_sparse_file_takes_no_room_ahead),
		test(preallocation_takes_the_room_at_once),
		test(what_does_not_fit_is_told_and_leaves_nothing),
		test(the_rule_decides_what_is_replaced),
		test(links_in_the_path_stop_everything),
		test(a_setgid_directory_hands_its_group_down),
		test(a_default_acl_is_handed_down),
		test(the_private_directory_is_plain),
		test(another_file_system_gets_its_partials_itself),
		test(a_bind_mount_gets_its_partials_itself),
		test(no_handles_are_lost),
		test(small_ones_wait_without_handles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
