/* Owners of what arrives: who gets what, when, and what is left where it may not be given. */
#include "engine/owner.h"

#include "engine/partial.h"

#include "temp_tree.h"
#include "tests/unit/meta_of.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "tests/unit/skip_because.h"

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)
#define assert_done(st) assert_code(st, HAUL_OK)

struct fixture {
	struct temp_tree tree;
	struct place *place;
};

static const struct entry_facts some_meta = { .mode = 0640, .mtime = { .sec = 1234567890, .nsec = 123456789 } };

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct haul_fault fault;

	if (!f)
		return -1;
	temp_tree_open(&f->tree, "owner");
	temp_dir(f->tree.fd, "dir");
	*state = f;
	return haul_ok(place_open(f->tree.fd, f->tree.fd, &f->place, &fault)) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	place_close(f->place);
	temp_tree_close(&f->tree);
	free(f);
	return 0;
}

static void assert_owner(const struct fixture *f, const char *path, uid_t uid, gid_t gid)
{
	struct stat st;

	assert_int_equal(fstatat(f->tree.fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_uid, uid);
	assert_int_equal(st.st_gid, gid);
}

/* What arrives belongs to the owner when it has its name, a big file not before. What stood there keeps its own. */
static void what_arrives_gets_its_owner(void **state)
{
	const struct owner owner = { 4321, 8765 };
	const struct partial_config cfg = { .size = 7, .direct = DIRECT_NEVER };
	enum entry_kind kind;
	struct fixture *f = *state;
	struct haul_fault fault;
	struct partial part;
	struct stat st;

	if (geteuid() != 0)
		skip_because("only root gives files away");
	place_set_owner(f->place, &owner);
	assert_done(partial_create(f->place, "dir/large", &cfg, &part, &fault));
	assert_int_equal(fstat(part.file.fd, &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_done(partial_finish(&part, META(some_meta), false, &fault));
	assert_done(partial_publish(f->place, &part, "dir/large", PUBLISH_NO_REPLACE));
	assert_done(partial_create_small(f->place, "dir/small", "content", 7, META(some_meta), &part));
	assert_done(partial_publish(f->place, &part, "dir/small", PUBLISH_NO_REPLACE));
	assert_done(place_make_directory(f->place, "made", &kind));
	assert_done(place_finish_directory(f->place, "made", META(some_meta), false));
	assert_done(place_make_link(f->place, "made/link", "../dir/small", META(some_meta), PUBLISH_NO_REPLACE));
	assert_owner(f, "dir/large", 4321, 8765);
	assert_owner(f, "dir/small", 4321, 8765);
	assert_owner(f, "made", 4321, 8765);
	assert_owner(f, "made/link", 4321, 8765);
	assert_owner(f, "dir", 0, 0);
	assert_int_equal(fstatat(f->tree.fd, "dir/large", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(st.st_mtim.tv_sec, some_meta.mtime.sec);
}

/* Where root's word does not count, nothing is left of what could not be given away. */
static int try_to_give(struct fixture *f)
{
	const struct owner owner = { 4321, 8765 };
	enum entry_kind kind;
	struct haul_fault fault;
	struct partial part;
	struct place *p;

	if (fchown(f->tree.fd, 1234, 1234) || setgid(1234) || setuid(1234))
		return 1;
	if (haul_failed(place_open(f->tree.fd, f->tree.fd, &p, &fault)))
		return 2;
	place_set_owner(p, &owner);
	if (owner_probe(f->tree.fd, &owner, &fault).code != HAUL_DENIED.code || !strstr(fault.text, "4321:8765"))
		return 3;
	if (partial_create_small(p, "small", "x", 1, META(some_meta), &part).code != HAUL_DENIED.code)
		return 4;
	if (place_make_directory(p, "made", &kind).code != HAUL_DENIED.code)
		return 5;
	if (place_make_link(p, "link", "x", META(some_meta), PUBLISH_NO_REPLACE).code != HAUL_DENIED.code)
		return 6;
	place_close(p);
	return temp_count(f->tree.fd, ".") == 1 ? 0 : 7;
}

static void who_may_not_give_makes_nothing(void **state)
{
	struct fixture *f = *state;
	int status = -1;
	pid_t child;

	if (geteuid() != 0)
		skip_because("needs two users");
	place_close(f->place);
	f->place = NULL;
	child = fork();
	if (child == 0)
		_exit(try_to_give(f));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A directory that is not empty is not the one that was just made. */
static void a_directory_put_in_its_place_is_not_given(void **state)
{
	const struct owner owner = { 4321, 8765 };
	const struct owner impossible = { UINT32_MAX, 1 };
	struct fixture *f = *state;

	if (geteuid() != 0)
		skip_because("only root gives files away");
	temp_text(f->tree.fd, "dir/file", "x");
	assert_code(owner_give_directory(f->tree.fd, "dir", &owner), HAUL_CHANGED);
	assert_owner(f, "dir", 0, 0);
	assert_code(owner_give(f->tree.fd, &impossible), HAUL_BAD_VALUE);
}

/* Missing parents too, and their mode is the one asked for. */
static void made_parents_get_it(void **state)
{
	const struct make_path_config cfg = { .mode = 0750, .owner = { 4321, 8765 } };
	struct fixture *f = *state;
	struct stat st;

	if (geteuid() != 0)
		skip_because("only root gives files away");
	assert_done(beneath_make_path(f->tree.fd, "dir/x/y", &cfg, NULL));
	assert_owner(f, "dir", 0, 0);
	assert_owner(f, "dir/x", 4321, 8765);
	assert_owner(f, "dir/x/y", 4321, 8765);
	assert_int_equal(fstatat(f->tree.fd, "dir/x", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777 & ~0750u, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_arrives_gets_its_owner, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_may_not_give_makes_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_directory_put_in_its_place_is_not_given, set_up, tear_down),
		cmocka_unit_test_setup_teardown(made_parents_get_it, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
