/* Arrival: what is seen at each step, what is left after failures, and who may disturb whom. */
#include "engine/place.h"

#include "temp_tree.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <cmocka.h>

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)
#define assert_done(st) assert_code(st, HAUL_OK)

struct fixture {
	struct temp_tree tree;
	struct place *place;
};

static const struct entry_facts some_meta = { .mode = 0640, .mtime = { .sec = 1234567890, .nsec = 123456789 } };

static struct place *new_place(int fd)
{
	struct place *p = NULL;
	struct haul_fault fault;

	assert_done(place_open(fd, fd, &p, &fault));
	return p;
}

static void close_place(struct fixture *f)
{
	place_close(f->place);
	f->place = NULL;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	temp_tree_open(&f->tree, "partial");
	temp_dir(f->tree.fd, "dir");
	f->place = new_place(f->tree.fd);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close_place(f);
	temp_tree_close(&f->tree);
	free(f);
	return 0;
}

static haul_status create(struct place *p, const char *path, uint64_t size, enum direct_mode mode,
			  struct partial *ret_partial)
{
	const struct partial_config cfg = { .size = size, .direct = mode };
	struct haul_fault fault = { .status = HAUL_OK };
	haul_status st = partial_create(p, path, &cfg, ret_partial, &fault);

	if (haul_failed(st) && fault.status.code != st.code)
		return haul_bug("the fault says something else");
	return st;
}

static void small(struct place *p, const char *path, const char *text, struct partial *ret_partial)
{
	assert_done(partial_create_small(p, path, text, strlen(text), &some_meta, ret_partial));
	assert_int_equal(ret_partial->file.fd, -1);
}

static void large(struct place *p, const char *path, const char *text, struct partial *ret_partial)
{
	assert_done(create(p, path, strlen(text), DIRECT_NEVER, ret_partial));
	assert_int_equal(pwrite(ret_partial->file.fd, text, strlen(text), 0), strlen(text));
}

static bool is_in_target(const struct partial *part)
{
	return (part->owns_dir || part->beside) && strncmp(part->name, ".haul.", 6) == 0 &&
	       strlen(part->name) == 6 + 32 + 5;
}

static void assert_facts(struct place *p, const char *path, uint64_t size)
{
	struct entry_facts facts;

	assert_done(place_stat(p, path, &facts));
	assert_int_equal(facts.kind, ENTRY_FILE);
	assert_int_equal(facts.mode, some_meta.mode);
	assert_int_equal(facts.size, size);
	assert_int_equal(facts.mtime.sec, some_meta.mtime.sec);
	assert_int_equal(facts.mtime.nsec, some_meta.mtime.nsec);
	assert_int_equal(facts.links, 1);
}

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
	assert_done(partial_finish(&part, &some_meta, true, &fault));
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
	assert_done(partial_finish(&part, &some_meta, false, &fault));
	assert_done(partial_publish(f->place, &part, "file", PUBLISH_NO_REPLACE));
	assert_true(temp_holds(f->tree.fd, "file", "content"));
}

static void preallocation_takes_the_room_at_once(void **state)
{
	struct fixture *f = *state;
	struct partial part;
	struct stat st;

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
	uint64_t before, after;
	haul_status st;

	assert_done(place_free_bytes(f->place, &before));
	st = create(f->place, "file", before + (UINT64_C(64) << 30), DIRECT_NEVER, &part);
	assert_true(st.code == HAUL_NO_SPACE.code || st.code == HAUL_TOO_BIG.code);
	assert_code(create(f->place, "file", UINT64_MAX, DIRECT_NEVER, &part), HAUL_TOO_BIG);
	assert_code(create(f->place, "file", INT64_MAX, DIRECT_NEVER, &part), HAUL_TOO_BIG);
	assert_done(place_free_bytes(f->place, &after));
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
	assert_code(partial_create_small(f->place, "dir/link/x", "x", 1, &some_meta, &part), HAUL_LINK_IN_PATH);
	assert_code(place_make_directory(f->place, "dir/link/x", &kind), HAUL_LINK_IN_PATH);
	assert_code(place_make_link(f->place, "dir/link/x", "t", &some_meta, PUBLISH_REPLACE), HAUL_LINK_IN_PATH);
	assert_code(place_finish_directory(f->place, "dir/link", &some_meta, false), HAUL_LINK_IN_PATH);
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
		skip(); /* a foreign group needs root */
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
		skip(); /* no ACLs on this file system */
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
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/dir", f->tree.path);
	if (geteuid() != 0 || mount("none", path, "tmpfs", 0, "size=4m") < 0)
		skip(); /* mounting needs root */
	small(f->place, "dir/a", "a", &part);
	assert_true(is_in_target(&part));
	assert_done(partial_publish(f->place, &part, "dir/a", PUBLISH_NO_REPLACE));
	large(f->place, "dir/b", "b", &part);
	assert_done(partial_finish(&part, &some_meta, true, &fault));
	assert_done(partial_publish(f->place, &part, "dir/b", PUBLISH_NO_REPLACE));
	assert_done(place_make_link(f->place, "dir/c", "a", &some_meta, PUBLISH_NO_REPLACE));
	assert_code(create(f->place, "dir/d", 8 << 20, DIRECT_NEVER, &part), HAUL_NO_SPACE);
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
		skip(); /* mounting needs root */
	small(f->place, "dir/a", "a", &part);
	assert_true(is_in_target(&part));
	assert_done(partial_publish(f->place, &part, "dir/a", PUBLISH_NO_REPLACE));
	assert_true(temp_holds(f->tree.fd, "from/a", "a"));
	close_place(f);
	assert_int_equal(umount(to), 0);
	f->place = new_place(f->tree.fd);
}

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
	st = partial_create_small(p, path, path, strlen(path), &some_meta, &part);
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
		assert_done(partial_create_small(f->place, "file", "x", 1, &meta, &part));
		assert_done(partial_publish(f->place, &part, "file", PUBLISH_REPLACE));
		assert_done(place_stat(f->place, "file", &got));
		assert_int_equal(got.mtime.sec, times[i].sec);
		assert_int_equal(got.mtime.nsec, times[i].nsec);
	}
	meta.mtime.nsec = 1000000000;
	assert_code(partial_create_small(f->place, "file", "x", 1, &meta, &part), HAUL_BAD_VALUE);
	assert_int_equal(place_time_step_ns(f->place), 1);
}

static void directories_are_made_and_finished(void **state)
{
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
	assert_done(place_finish_directory(f->place, "dir/new", &meta, true));
	assert_done(place_stat(f->place, "dir/new", &got));
	assert_int_equal(got.mode, 0555);
	assert_int_equal(got.mtime.sec, 77);
	assert_int_equal(got.mtime.nsec, 88);
	assert_done(place_finish_directory(
	    f->place, "", &(struct entry_facts){ .mode = 0711, .mtime.nsec = PARTIAL_KEEP_TIME }, true));
	assert_done(place_stat(f->place, "", &got));
	assert_int_equal(got.mode, 0711);
	assert_int_not_equal(got.mtime.sec, 0);
	assert_code(place_finish_directory(f->place, "file", &meta, false), HAUL_NOT_DIRECTORY);
}

static void links_are_made(void **state)
{
	struct fixture *f = *state;
	struct entry_facts got;
	char *target;
	size_t len;

	assert_done(place_make_link(f->place, "dir/link", "../\xff\n", &some_meta, PUBLISH_NO_REPLACE));
	assert_done(place_stat(f->place, "dir/link", &got));
	assert_int_equal(got.kind, ENTRY_LINK);
	assert_int_equal(got.mtime.sec, some_meta.mtime.sec);
	assert_int_equal(got.mtime.nsec, some_meta.mtime.nsec);
	assert_done(place_read_link(f->place, "dir/link", &target, &len));
	assert_string_equal(target, "../\xff\n");
	free(target);
	assert_code(place_make_link(f->place, "dir/link", "b", &some_meta, PUBLISH_NO_REPLACE), HAUL_EXISTS);
	assert_done(place_make_link(f->place, "dir/link", "b", &some_meta, PUBLISH_REPLACE));
	assert_code(place_make_link(f->place, "dir", "b", &some_meta, PUBLISH_REPLACE), HAUL_IS_DIRECTORY);
	assert_code(place_make_link(f->place, "e", "", &some_meta, PUBLISH_REPLACE), HAUL_BAD_VALUE);
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
	assert_done(place_set_meta(f->place, "file", &seen, &only_time));
	assert_done(place_stat(f->place, "file", &got));
	assert_int_equal(got.mode, 0200);
	assert_int_equal(got.mtime.nsec, some_meta.mtime.nsec);
	assert_done(place_set_meta(f->place, "file", &got, &some_meta));
	assert_facts(f->place, "file", 1);
	assert_code(place_set_meta(f->place, "file", &seen, &some_meta), HAUL_CHANGED);
	assert_code(place_set_meta(f->place, "dir", &seen, &some_meta), HAUL_WRONG_KIND);
	temp_link(f->tree.fd, "link", "file");
	assert_code(place_set_meta(f->place, "link", &seen, &some_meta), HAUL_WRONG_KIND);
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
	check(place_finish_directory(p, "dir/x", &some_meta, false).code == HAUL_NOT_FOUND.code);
	check(haul_ok(partial_create_small(p, "dir/x", "x", 1, &some_meta, &part)));
	check(partial_publish(p, &part, "dir/x", PUBLISH_REPLACE).code == HAUL_DENIED.code);
	check(haul_ok(place_open_up_directory(p, "dir", &old)));
	check(old == 0500);
	check(haul_ok(partial_publish(p, &part, "dir/x", PUBLISH_REPLACE)));
	meta.mode = old;
	check(haul_ok(place_finish_directory(p, "dir", &meta, true)));
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
	check(haul_ok(partial_create_small(p, "dir/x", "x", 1, &some_meta, &part)));
	check(is_in_target(&part)); /* what it hands down cannot be known */
	check(haul_ok(partial_publish(p, &part, "dir/x", PUBLISH_REPLACE)));
	check(haul_ok(place_sync_parent(p, "dir/x")));
	check(haul_ok(place_finish_directory(p, "dir", &meta, true)));
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
	check(haul_ok(partial_create_small(p, "dir/x", "x", 1, &some_meta, &part)));
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
		skip(); /* two users need root */
	as_ordinary_user(*state, haul_of_somebody_else);
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

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* More than the disk has: only what is written takes room. */
static void a_sparse_file_takes_no_room_ahead(void **state)
{
	const struct partial_config cfg = { .size = UINT64_C(1) << 40, .direct = DIRECT_NEVER, .is_sparse = true };
	struct fixture *f = *state;
	struct haul_fault fault;
	struct partial part;
	struct stat st;

	if (haul_failed(partial_create(f->place, "sparse", &cfg, &part, &fault)))
		skip(); /* a file system without files of that length */
	assert_int_equal(pwrite(part.file.fd, "x", 1, 1 << 30), 1);
	assert_int_equal(fstat(part.file.fd, &st), 0);
	assert_int_equal(st.st_size, cfg.size);
	assert_true(st.st_blocks < 4096);
	assert_done(partial_finish(&part, &some_meta, false, &fault));
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
		test(where_haul_cannot_be_made_targets_serve),
		test(the_last_job_takes_haul_away),
		test(a_dead_job_is_swept_and_nothing_else),
		test(jobs_side_by_side_do_not_disturb),
		test(the_last_job_leaves_while_the_next_one_comes),
		test(several_threads_work_in_one_place),
		test(a_place_that_is_only_read_makes_nothing),
		test(times_outside_the_usual_are_kept),
		test(directories_are_made_and_finished),
		test(links_are_made),
		test(metadata_is_set_on_what_was_seen),
		test(only_regular_files_are_opened),
		test(directories_without_write_permission_are_told),
		test(directories_without_read_permission_serve),
		test(haul_of_another_user_is_left_alone),
		test(dead_partials_in_targets_go_after_a_day),
		test(no_handles_are_lost),
		test(small_ones_wait_without_handles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
