/* What a sync may delete: limits, protected names, doubts, and what has changed since it was noted. */
#include "agent/mirror.h"

#include "engine/beneath.h"
#include "tests/unit/cmocka_first.h"
#include "tests/unit/temp_tree.h"

static struct temp_tree tree;

struct told {
	char path[128];
	enum haul_code code;
};

struct rig {
	struct mailbox main;
	struct mirror *mirror;
	struct told told[64];
	size_t count;
	struct mirror_totals totals;
	bool is_over;
};

static int set_up(void **state)
{
	(void)state;
	temp_tree_open(&tree, "mirror");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	temp_tree_close(&tree);
	return 0;
}

static void on_doomed(void *ctx, const char *path, enum entry_kind kind, haul_status st)
{
	struct rig *r = ctx;

	(void)kind;
	assert_true(r->count < sizeof(r->told) / sizeof(r->told[0]));
	(void)snprintf(r->told[r->count].path, sizeof(r->told[0].path), "%s", path);
	r->told[r->count++].code = st.code;
	mirror_taken(r->mirror, 1);
}

static void on_end(void *ctx, const struct mirror_totals *totals, haul_status st, const struct haul_fault *fault)
{
	struct rig *r = ctx;

	(void)fault;
	assert_true(haul_ok(st));
	r->totals = *totals;
	r->is_over = true;
}

static void rig_open(struct rig *r, struct mirror_limit asked, struct mirror_limit own, bool is_dry)
{
	struct haul_fault fault;
	const struct mirror_config cfg = { .root_fd = tree.fd,
					   .scratch_dir = "/tmp",
					   .asked = asked,
					   .own = own,
					   .is_dry = is_dry,
					   .main = &r->main,
					   .ctx = r,
					   .on_doomed = on_doomed,
					   .on_end = on_end };

	memset(r, 0, sizeof(*r));
	assert_true(haul_ok(mailbox_open_plain(&r->main)));
	assert_true(haul_ok(mirror_new(&cfg, &r->mirror, &fault)));
}

static void rig_run(struct rig *r, struct mirror_doubts doubts)
{
	mirror_run(r->mirror, &doubts);
	while (!r->is_over) {
		struct list mails;

		list_init(&mails);
		mailbox_wait(&r->main, &mails, true);
		mail_deliver_all(NULL, &mails);
	}
	mirror_free(r->mirror);
	mailbox_close_plain(&r->main);
}

static void put(const char *path)
{
	int fd = openat(tree.fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	(void)close(fd);
}

static void note(struct rig *r, const char *dir, const char *name, bool is_blind)
{
	char path[128];
	struct entry_facts facts;

	(void)snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "", name);
	assert_true(haul_ok(beneath_stat(tree.fd, path, &facts)));
	mirror_note(r->mirror, dir, name, &facts, is_blind);
}

static bool is_there(const char *path)
{
	struct stat st;

	return fstatat(tree.fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static const struct mirror_limit no_limit = { DELETE_NONE, 0 }, any = { DELETE_ANY, 0 }, usual = { DELETE_USUAL, 0 };

static void limits_are_what_the_page_says(void **state)
{
	const struct mirror_limit three = { DELETE_COUNT, 3 }, fifth = { DELETE_PERCENT, 20 };

	(void)state;
	assert_false(mirror_limit_is_passed(&usual, 10, 10));
	assert_true(mirror_limit_is_passed(&usual, 11, 109));
	assert_false(mirror_limit_is_passed(&usual, 11, 110));
	assert_false(mirror_limit_is_passed(&usual, 1000, 1000000));
	assert_true(mirror_limit_is_passed(&usual, 1001, 1000000));
	assert_false(mirror_limit_is_passed(&three, 3, 3));
	assert_true(mirror_limit_is_passed(&three, 4, 1000));
	assert_false(mirror_limit_is_passed(&fifth, 20, 100));
	assert_true(mirror_limit_is_passed(&fifth, 21, 100));
	assert_true(mirror_limit_is_passed(&fifth, UINT64_MAX / 4, UINT64_MAX / 2));
	assert_false(mirror_limit_is_passed(&any, 5, 5));
	assert_false(mirror_limit_is_passed(&no_limit, 5, 5));
}

static void protected_names(void **state)
{
	(void)state;
	assert_true(mirror_protects("lost+found"));
	assert_true(mirror_protects("@eaDir"));
	assert_true(mirror_protects(".zfs"));
	assert_true(mirror_protects(".haul-aside-1"));
	assert_true(mirror_protects(".HAUL"));
	assert_false(mirror_protects(".hauled"));
	assert_false(mirror_protects("lost"));
}

static enum delete_refusal weigh_renamed(const char *const *renamed, size_t count)
{
	static const struct mirror_limit two = { DELETE_COUNT, 2 };
	struct rig r;

	rig_open(&r, two, no_limit, true);
	note(&r, "", "m", false);
	note(&r, "", "ma", false);
	note(&r, "", "n", false);
	rig_run(&r, (struct mirror_doubts){ .renamed = renamed, .renamed_count = count });
	assert_int_equal(r.totals.surplus, 5); /* m, m/x, m/y, ma, n */
	return r.totals.refusal;
}

static void what_has_another_name_counts_against_no_limit(void **state)
{
	static const char *const three[] = { "m/x", "m/y", "n" },
				 *const alike[] = { "l", "m", "m0", "mab", "n/x", "o" }, *const two[] = { "m/x", "ma" };

	(void)state;
	assert_int_equal(mkdirat(tree.fd, "m", 0700), 0);
	put("m/x");
	put("m/y");
	put("ma");
	put("n");
	assert_int_equal(weigh_renamed(NULL, 0), DELETE_TOO_MANY);
	assert_int_equal(weigh_renamed(three, 3), DELETE_ALLOWED);
	assert_int_equal(weigh_renamed(two, 2), DELETE_TOO_MANY);
	assert_int_equal(weigh_renamed(alike, 6), DELETE_TOO_MANY);
}

static void what_is_noted_goes_and_the_rest_stays(void **state)
{
	struct rig r;
	struct stat before, after;

	(void)state;
	assert_int_equal(mkdirat(tree.fd, "d", 0700), 0);
	assert_int_equal(mkdirat(tree.fd, "d/tree", 0700), 0);
	assert_int_equal(mkdirat(tree.fd, "d/box", 0700), 0);
	assert_int_equal(mkdirat(tree.fd, "d/box/@eaDir", 0700), 0);
	put("d/tree/x");
	put("d/box/x");
	put("d/box/@eaDir/y");
	put("d/old");
	put("d/new");
	rig_open(&r, any, no_limit, false);
	note(&r, "d", "tree", false);
	note(&r, "d", "box", false);
	note(&r, "d", "old", false);
	assert_int_equal(fstatat(tree.fd, "d", &before, 0), 0);
	rig_run(&r, (struct mirror_doubts){ 0 });
	assert_int_equal(fstatat(tree.fd, "d", &after, 0), 0);
	assert_int_equal(r.totals.refusal, DELETE_ALLOWED);
	assert_int_equal(r.totals.deleted, 4); /* tree, tree/x, box/x, old */
	assert_int_equal(r.totals.deleted_files, 3);
	assert_false(is_there("d/tree") || is_there("d/old") || is_there("d/box/x"));
	assert_true(is_there("d/new") && is_there("d/box/@eaDir/y"));
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

static void what_has_changed_since_stays_and_is_told(void **state)
{
	struct rig r;

	(void)state;
	put("written");
	put("replaced");
	put("gone");
	rig_open(&r, any, no_limit, false);
	note(&r, "", "written", false);
	note(&r, "", "replaced", false);
	note(&r, "", "gone", false);
	assert_int_equal(fchmodat(tree.fd, "written", 0640, 0), 0);
	put("other");
	assert_int_equal(renameat(tree.fd, "other", tree.fd, "replaced"), 0);
	assert_int_equal(unlinkat(tree.fd, "gone", 0), 0);
	rig_run(&r, (struct mirror_doubts){ 0 });
	assert_int_equal(r.totals.deleted, 0);
	assert_int_equal(r.totals.left, 2);
	assert_int_equal(r.count, 2);
	assert_int_equal(r.told[0].code, HAUL_CODE_CHANGED);
	assert_true(is_there("written") && is_there("replaced"));
}

static void one_doubt_and_nothing_goes(void **state)
{
	static const struct mirror_doubts doubts[] = { { .is_empty = true },
						       { .is_other = true },
						       { .is_troubled = true } };
	static const enum delete_refusal refusals[] = { DELETE_EMPTY_SOURCE, DELETE_OTHER_SOURCE, DELETE_TROUBLED };
	struct rig r;

	(void)state;
	put("f");
	for (size_t i = 0; i < 3; i++) {
		rig_open(&r, any, no_limit, false);
		note(&r, "", "f", false);
		rig_run(&r, doubts[i]);
		assert_int_equal(r.totals.refusal, refusals[i]);
		assert_int_equal(r.count, 1);
		assert_int_equal(r.told[0].code, HAUL_CODE_GUARD);
	}
	rig_open(&r, any, no_limit, false);
	note(&r, "", "f", true);
	rig_run(&r, (struct mirror_doubts){ 0 });
	assert_int_equal(r.totals.refusal, DELETE_BLIND);
	rig_open(&r, any, no_limit, false);
	note(&r, "", "f", false);
	mirror_note_lost(r.mirror, HAUL_IO);
	rig_run(&r, (struct mirror_doubts){ 0 });
	assert_int_equal(r.totals.refusal, DELETE_BLIND);
	assert_true(is_there("f"));
}

static void too_many_are_counted_with_what_lies_in_them(void **state)
{
	struct rig r;
	char path[32];

	(void)state;
	assert_int_equal(mkdirat(tree.fd, "many", 0700), 0);
	for (int i = 0; i < 20; i++) {
		(void)snprintf(path, sizeof(path), "many/%d", i);
		put(path);
	}
	rig_open(&r, usual, no_limit, false);
	note(&r, "", "many", false);
	for (int i = 0; i < 50; i++)
		mirror_saw(r.mirror);
	rig_run(&r, (struct mirror_doubts){ 0 });
	assert_int_equal(r.totals.refusal, DELETE_TOO_MANY);
	assert_int_equal(r.totals.surplus, 21);
	assert_int_equal(r.totals.there, 71);
	rig_open(&r, any, (struct mirror_limit){ DELETE_COUNT, 20 }, false);
	note(&r, "", "many", false);
	rig_run(&r, (struct mirror_doubts){ 0 });
	assert_int_equal(r.totals.refusal, DELETE_TOO_MANY_HERE);
	assert_true(is_there("many/3"));
	rig_open(&r, any, no_limit, true);
	note(&r, "", "many", false);
	rig_run(&r, (struct mirror_doubts){ 0 });
	assert_int_equal(r.totals.refusal, DELETE_ALLOWED);
	assert_int_equal(r.count, 1);
	assert_true(is_there("many/3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_what_the_page_says),
		cmocka_unit_test(protected_names),
		cmocka_unit_test(what_is_noted_goes_and_the_rest_stays),
		cmocka_unit_test(what_has_changed_since_stays_and_is_told),
		cmocka_unit_test(one_doubt_and_nothing_goes),
		cmocka_unit_test(too_many_are_counted_with_what_lies_in_them),
		cmocka_unit_test(what_has_another_name_counts_against_no_limit),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
