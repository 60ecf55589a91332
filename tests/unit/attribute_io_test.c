/* Extended attributes on real files: read by name and by handle, set before the mode, made exact on what stands there.
 */
#include "engine/attribute_read.h"
#include "engine/place.h"
#include "engine/scan.h"

#include "temp_tree.h"
#include "tests/unit/meta_of.h"

#include "cmocka_first.h"

#include <sys/wait.h>
#include <sys/xattr.h>

#include "tests/unit/skip_because.h"

#define ONE(name_, value_)                                                                                             \
	{                                                                                                              \
		(name_), sizeof(name_) - 1, (value_), sizeof(value_) - 1                                               \
	}

/* user::rw-, user:1000:rwx, group::r--, mask::rwx, other::--- */
#define AN_ACL                                                                                                         \
	"\2\0\0\0\1\0\6\0\xff\xff\xff\xff\2\0\7\0\xe8\3\0\0\4\0\4\0\xff\xff\xff\xff\x10\0\7\0\xff\xff\xff\xff\x20\0\0" \
	"\0\xff\xff\xff\xff"

struct fixture {
	struct temp_tree tree;
	struct place *place;
	struct attributes *some; /* user.a, user.b */
};

static const struct entry_facts read_only = { .mode = 0444, .mtime = { .sec = 1234567890, .nsec = 123456789 } };

static int set_up(void **state)
{
	const struct attribute some[] = { ONE("user.a", "first\0value"), ONE("user.b", "") };
	struct fixture *f = calloc(1, sizeof(*f));
	struct haul_fault fault;

	if (!f)
		return -1;
	temp_tree_open(&f->tree, "attributes");
	temp_dir(f->tree.fd, "dir");
	assert_ok(attributes_copy(some, 2, &f->some));
	*state = f;
	return haul_ok(place_open(f->tree.fd, f->tree.fd, &f->place, &fault)) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	place_close(f->place);
	temp_tree_close(&f->tree);
	free(f->some);
	free(f);
	return 0;
}

static void need_attributes(const struct fixture *f)
{
	if (fsetxattr(f->tree.fd, "user.haul", "x", 1, 0) < 0)
		skip_because("no extended attributes here");
	assert_int_equal(fremovexattr(f->tree.fd, "user.haul"), 0);
}

static struct attributes *of(const struct fixture *f, const char *path, unsigned kinds)
{
	struct attribute_reader reader = { .kinds = kinds };
	struct attributes *set = NULL;
	struct entry_facts facts;
	bool left_out = false;

	assert_ok(place_stat(f->place, path, &facts));
	assert_ok(place_read_attributes(f->place, path, &facts, &reader, &set, &left_out));
	assert_false(left_out);
	return set;
}

static void assert_same(const struct fixture *f, const char *path, const struct attributes *wanted)
{
	struct attributes *set = of(f, path, ATTRIBUTE_USER | ATTRIBUTE_ACL);

	assert_int_equal(attributes_differ(set, wanted), 0);
	free(set);
}

static void assert_mode(const struct fixture *f, const char *path, unsigned mode)
{
	struct entry_facts facts;

	assert_ok(place_stat(f->place, path, &facts));
	assert_int_equal(facts.mode, mode);
	assert_int_equal(facts.mtime.nsec, read_only.mtime.nsec);
}

/* M-07: the file's own mode, which forbids writing, comes last. */
static void what_arrives_has_its_attributes_and_then_its_mode(void **state)
{
	struct fixture *f = *state;
	struct place_meta meta = { .facts = &read_only, .attributes = f->some, .kinds = ATTRIBUTE_USER };
	const struct partial_config cfg = { .size = 3, .direct = DIRECT_NEVER };
	enum entry_kind kind;
	struct haul_fault fault;
	struct partial part;

	need_attributes(f);
	assert_ok(partial_create_small(f->place, "small", "x", 1, &meta, &part));
	assert_ok(partial_publish(f->place, &part, "small", PUBLISH_NO_REPLACE));
	assert_ok(partial_create(f->place, "big", &cfg, &part, &fault));
	assert_ok(partial_finish(&part, &meta, false, &fault));
	assert_ok(partial_publish(f->place, &part, "big", PUBLISH_NO_REPLACE));
	assert_ok(place_make_directory(f->place, "made", &kind));
	assert_ok(place_finish_directory(f->place, "made", &meta, false));
	assert_int_equal(meta.lost, 0);
	assert_same(f, "small", f->some);
	assert_same(f, "big", f->some);
	assert_same(f, "made", f->some);
	assert_mode(f, "small", 0444);
	assert_mode(f, "made", 0444);
}

/* M-09, and an order: an ACL changes the mode's group bits, the mode then those of the ACL's mask. */
static void an_acl_and_the_special_bits_are_both_there(void **state)
{
	const struct entry_facts facts = { .mode = 04670, .mtime = read_only.mtime };
	const struct attribute acl[] = { ONE(ATTRIBUTE_ACL_ACCESS, AN_ACL) };
	struct fixture *f = *state;
	struct place_meta meta = { .facts = &facts, .kinds = ATTRIBUTE_ACL };
	struct attributes *wanted;
	struct partial part;

	need_attributes(f);
	assert_ok(attributes_copy(acl, 1, &wanted));
	meta.attributes = wanted;
	assert_ok(partial_create_small(f->place, "small", "x", 1, &meta, &part));
	assert_ok(partial_publish(f->place, &part, "small", PUBLISH_NO_REPLACE));
	if (meta.lost) {
		free(wanted);
		skip_because("no ACLs here");
	}
	assert_same(f, "small", wanted);
	assert_mode(f, "small", 04670);
	free(wanted);
}

static void set_exactly(struct fixture *f)
{
	struct place_meta meta = { .facts = &read_only, .attributes = f->some, .kinds = ATTRIBUTE_USER };
	struct entry_facts seen;

	assert_ok(place_stat(f->place, "old", &seen));
	assert_ok(place_set_meta(f->place, "old", &seen, &meta));
	assert_int_equal(meta.lost, 0);
	assert_same(f, "old", f->some);
	assert_mode(f, "old", 0444);
	/* Only of the kinds asked for. */
	meta.attributes = NULL;
	meta.kinds = ATTRIBUTE_ACL;
	assert_ok(place_stat(f->place, "old", &seen));
	assert_ok(place_set_meta(f->place, "old", &seen, &meta));
	assert_same(f, "old", f->some);
	meta.kinds = ATTRIBUTE_USER;
	assert_ok(place_stat(f->place, "old", &seen));
	assert_ok(place_set_meta(f->place, "old", &seen, &meta));
	assert_same(f, "old", NULL);
	assert_mode(f, "old", 0444);
}

static void make_old(const struct fixture *f)
{
	int fd;

	temp_text(f->tree.fd, "old", "x");
	fd = openat(f->tree.fd, "old", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fsetxattr(fd, "user.surplus", "x", 1, 0) | fsetxattr(fd, "user.b", "other", 5, 0), 0);
	assert_int_equal(fchmod(fd, 0444) | close(fd), 0);
}

static void what_stands_there_gets_exactly_them(void **state)
{
	struct fixture *f = *state;

	need_attributes(f);
	make_old(f);
	set_exactly(f);
}

/* A user may set them only while he may write: the file is opened up for the while, and its mode is right again. */
static void a_user_s_own_read_only_file_gets_them_too(void **state)
{
	struct fixture *f = *state;
	int status = 0;
	pid_t child;

	need_attributes(f);
	if (geteuid() != 0)
		skip_because("working as somebody else needs root");
	make_old(f);
	assert_int_equal(fchmod(f->tree.fd, 0755) | fchownat(f->tree.fd, "old", 4321, 4321, 0), 0);
	child = fork();
	if (child == 0) {
		if (setegid(4321) || seteuid(4321))
			_exit(2);
		set_exactly(f);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void root_s_attributes_go_with_links_too(void **state)
{
	const struct attribute one[] = { ONE("trusted.haul", "t") };
	struct fixture *f = *state;
	struct place_meta meta = { .facts = &read_only, .kinds = ATTRIBUTE_KINDS_ALL };
	struct attributes *wanted, *set;

	need_attributes(f);
	if (fsetxattr(f->tree.fd, "trusted.haul", "x", 1, 0) < 0)
		skip_because("trusted attributes are root's");
	assert_ok(attributes_copy(one, 1, &wanted));
	meta.attributes = wanted;
	assert_ok(place_make_link(f->place, "link", "nowhere", &meta, PUBLISH_NO_REPLACE));
	set = of(f, "link", ATTRIBUTE_KINDS_ALL);
	assert_int_equal(attributes_differ(set, wanted), 0);
	free(set);
	assert_null(of(f, "link", ATTRIBUTE_USER | ATTRIBUTE_ACL));
	free(wanted);
}

/* More than a file system takes is named, not a lost file. */
static void what_cannot_be_stored_is_told(void **state)
{
	struct fixture *f = *state;
	char *value = calloc(1, ATTRIBUTE_VALUE_MAX);
	const struct attribute big[] = { { "user.big", 8, value, ATTRIBUTE_VALUE_MAX }, ONE("user.c", "x") };
	struct place_meta meta = { .facts = &read_only, .kinds = ATTRIBUTE_USER };
	struct attributes *wanted, *set;
	struct partial part;

	need_attributes(f);
	assert_ok(attributes_copy(big, 2, &wanted));
	meta.attributes = wanted;
	assert_ok(partial_create_small(f->place, "small", "x", 1, &meta, &part));
	assert_ok(partial_publish(f->place, &part, "small", PUBLISH_NO_REPLACE));
	set = of(f, "small", ATTRIBUTE_USER);
	assert_non_null(attributes_find(set, "user.c"));
	assert_true(meta.lost == 0 ? attributes_differ(set, wanted) == 0 : meta.lost == LOST_ATTRIBUTES_ROOM);
	free(set);
	free(wanted);
	free(value);
}

static void a_scan_comes_with_them(void **state)
{
	struct fixture *f = *state;
	struct scan_source source = { .root_fd = f->tree.fd, .path = "dir", .links = LINKS_KEPT };
	struct haul_fault fault;
	struct scan_item item;
	struct attributes *taken = NULL;
	struct scan *s;

	need_attributes(f);
	temp_text(f->tree.fd, "dir/bare", "x");
	temp_text(f->tree.fd, "dir/with", "x");
	make_old(f);
	assert_int_equal(renameat(f->tree.fd, "old", f->tree.fd, "dir/with"), 0);
	assert_ok(scan_new(&source, 1, &s, &fault));
	scan_read_attributes(s, ATTRIBUTE_USER);
	assert_ok(scan_next(s, &item));
	assert_string_equal(item.path, "bare");
	assert_null(item.attributes);
	assert_ok(scan_next(s, &item));
	assert_string_equal(item.path, "with");
	assert_int_equal(item.attributes->count, 2);
	assert_string_equal(item.attributes->at[1].name, "user.surplus");
	assert_false(item.attributes_left_out);
	taken = scan_take_attributes(s);
	assert_ok(scan_next(s, &item));
	assert_int_equal(item.event, SCAN_DIR_END);
	scan_free(s);
	assert_string_equal(taken->at[0].name, "user.b");
	free(taken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_arrives_has_its_attributes_and_then_its_mode, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_acl_and_the_special_bits_are_both_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_stands_there_gets_exactly_them, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_user_s_own_read_only_file_gets_them_too, set_up, tear_down),
		cmocka_unit_test_setup_teardown(root_s_attributes_go_with_links_too, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_stored_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_scan_comes_with_them, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
