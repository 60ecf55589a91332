/* The store's verdicts by rights, by what is there and by what comes; and the commit thread's groups: on real
 * directories. */
#include "agent/commit.h"
#include "agent/store.h"
#include "certs/rights.h"

#include "cmocka_first.h"
#include "temp_tree.h"
#include "tests/unit/meta_of.h"

enum { ALL = RIGHT_LIST | RIGHT_READ | RIGHT_CREATE | RIGHT_OVERWRITE | RIGHT_META, BIG = 1 << 20 };

struct fixture {
	struct temp_tree tree;
	struct place *place;
	struct mailbox main; /* plain: the test delivers by hand */
	struct store store;
	struct commit commit;
	struct dir_node top;
	unsigned looked, committed;
};

static struct fixture f;

static void on_looked(struct recv_entry *e)
{
	(void)e;
	f.looked++;
}

static void on_committed(struct recv_entry *e)
{
	(void)e;
	f.committed++;
}

static void open_fixture(uint64_t rights, uint32_t flags, enum job_verb verb)
{
	struct store_config store = { .verb = verb, .flags = flags, .time_window_ns = 1, .main = &f.main };
	struct commit_config commit = { .main = &f.main, .rights = &f.store.rights, .on_committed = on_committed };

	f = (struct fixture){ .top = { .path = (char *)"", .index = HAUL_NO_INDEX, .refs = 1 } };
	temp_tree_open(&f.tree, "commit");
	assert_ok(place_open(f.tree.fd, f.tree.fd, &f.place, NULL));
	assert_ok(mailbox_open_plain(&f.main));
	store.place = commit.place = f.place;
	store.root_fd = f.tree.fd;
	f.store.on_looked = on_looked;
	assert_ok(store_start(&f.store, &store, rights, NULL));
	assert_ok(commit_start(&f.commit, &commit, NULL));
	temp_text(f.tree.fd, "file", "old");
	temp_dir(f.tree.fd, "dir");
	temp_link(f.tree.fd, "link", "old");
}

static void deliver_until(const unsigned *count, unsigned wanted)
{
	struct list mails;

	list_init(&mails);
	while (*count < wanted) {
		mailbox_wait(&f.main, &mails, true);
		mail_deliver_all(NULL, &mails);
	}
}

static void close_fixture(void)
{
	store_stop(&f.store);
	commit_stop(&f.commit);
	deliver_until(&f.committed, f.committed);
	for (size_t i = 0; i < f.top.name_count; i++)
		free(f.top.names[i]);
	free(f.top.names);
	mailbox_close_plain(&f.main);
	place_close(f.place);
	temp_tree_close(&f.tree);
}

static struct recv_entry entry(enum entry_kind kind, const char *path, uint64_t size)
{
	struct recv_entry e = { .dir = &f.top, .path = (char *)(uintptr_t)path, .old.fd = -1 };

	e.facts = (struct entry_facts){ .kind = kind, .size = size, .mode = 0644, .mtime = { 1600000000, 5 } };
	if (kind == ENTRY_LINK) {
		e.link_target = (char *)"new";
		e.link_target_len = 3;
	}
	list_init(&e.link);
	return e;
}

/* ---- verdicts ---- */

struct look {
	const char *path;
	enum entry_kind kind;
	uint64_t size;
	uint64_t rights;
	uint32_t flags;
	enum recv_verdict verdict;
	enum haul_code code;
	uint32_t changes; /* these at least */
};

static const struct look looks[] = {
	/* nothing is there */
	{ "new", ENTRY_FILE, 10, ALL, 0, VERDICT_SMALL, 0, CHANGE_CREATED },
	{ "new", ENTRY_FILE, BIG, ALL, 0, VERDICT_BIG, 0, CHANGE_CREATED },
	{ "new", ENTRY_FILE, 10, RIGHT_CREATE, 0, VERDICT_SMALL, 0, CHANGE_CREATED },
	{ "new", ENTRY_FILE, 10, ALL & ~RIGHT_CREATE, 0, VERDICT_RESULT, HAUL_CODE_NO_RIGHT, 0 },
	{ "new", ENTRY_FILE, 10, ALL, JOB_DRY_RUN, VERDICT_RESULT, 0, CHANGE_CREATED },
	{ "new", ENTRY_LINK, 0, ALL, 0, VERDICT_COMMIT, 0, CHANGE_CREATED },
	{ "new", ENTRY_LINK, 0, ALL & ~RIGHT_CREATE, 0, VERDICT_RESULT, HAUL_CODE_NO_RIGHT, 0 },
	{ "new", ENTRY_FIFO, 0, ALL, 0, VERDICT_RESULT, HAUL_CODE_UNSUPPORTED, 0 },
	{ "new", ENTRY_BLOCK_DEVICE, 0, ALL, 0, VERDICT_RESULT, HAUL_CODE_UNSUPPORTED, 0 },
	/* a file is there */
	{ "file", ENTRY_FILE, 10, ALL, 0, VERDICT_SMALL, 0, CHANGE_CONTENT | CHANGE_SIZE },
	{ "file", ENTRY_FILE, 3, ALL, 0, VERDICT_SMALL, 0, CHANGE_CONTENT | CHANGE_TIME },
	{ "file", ENTRY_FILE, 3, ALL, JOB_CHECKSUM, VERDICT_DIGESTS, 0, 0 },
	{ "file", ENTRY_FILE, 10, ALL & ~RIGHT_OVERWRITE, 0, VERDICT_RESULT, HAUL_CODE_NO_RIGHT, 0 },
	{ "file", ENTRY_FILE, 10, RIGHT_CREATE, 0, VERDICT_RESULT, HAUL_CODE_EXISTS, 0 },
	{ "file", ENTRY_FILE, 10, ALL, JOB_DRY_RUN, VERDICT_RESULT, 0, CHANGE_CONTENT },
	{ "file", ENTRY_LINK, 0, ALL, 0, VERDICT_COMMIT, 0, CHANGE_KIND },
	{ "file", ENTRY_LINK, 0, ALL & ~RIGHT_OVERWRITE, 0, VERDICT_RESULT, HAUL_CODE_NO_RIGHT, 0 },
	/* a directory is there: never goes */
	{ "dir", ENTRY_FILE, 10, ALL, 0, VERDICT_RESULT, HAUL_CODE_IS_DIRECTORY, 0 },
	{ "dir", ENTRY_LINK, 0, ALL, 0, VERDICT_RESULT, HAUL_CODE_IS_DIRECTORY, 0 },
	/* a link is there: replaced, not followed */
	{ "link", ENTRY_FILE, 10, ALL, 0, VERDICT_SMALL, 0, CHANGE_KIND },
	{ "link", ENTRY_FILE, 10, ALL & ~RIGHT_OVERWRITE, 0, VERDICT_RESULT, HAUL_CODE_NO_RIGHT, 0 },
	{ "link", ENTRY_LINK, 0, ALL, 0, VERDICT_COMMIT, 0, CHANGE_CONTENT },
	/* through a link, and through a file */
	{ "link/x", ENTRY_FILE, 10, ALL, 0, VERDICT_RESULT, HAUL_CODE_LINK_IN_PATH, 0 },
	{ "file/x", ENTRY_FILE, 10, ALL, 0, VERDICT_RESULT, HAUL_CODE_NOT_DIRECTORY, 0 },
};

static void what_has_to_be_done(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		const struct look *l = &looks[i];
		struct recv_entry e;

		print_message("look %zu: %s\n", i, l->path);
		open_fixture(l->rights, l->flags, JOB_COPY);
		e = entry(l->kind, l->path, l->size);
		store_look(&f.store, &e);
		worker_send(&f.store.worker);
		deliver_until(&f.looked, 1);
		assert_int_equal(e.verdict, l->verdict);
		assert_int_equal(e.code.code, l->code);
		assert_int_equal(e.changes & l->changes, l->changes);
		close_fixture();
	}
}

static void directories(void **state)
{
	static const struct look rows[] = {
		{ "made", ENTRY_DIRECTORY, 0, ALL, 0, VERDICT_COMMIT, 0, CHANGE_CREATED },
		{ "made", ENTRY_DIRECTORY, 0, ALL & ~RIGHT_CREATE, 0, VERDICT_RESULT, HAUL_CODE_NO_RIGHT, 0 },
		{ "made", ENTRY_DIRECTORY, 0, ALL, JOB_DRY_RUN, VERDICT_RESULT, 0, CHANGE_CREATED },
		{ "dir", ENTRY_DIRECTORY, 0, ALL, 0, VERDICT_COMMIT, 0, 0 },
		{ "file", ENTRY_DIRECTORY, 0, ALL, 0, VERDICT_RESULT, HAUL_CODE_WRONG_KIND, 0 },
		{ "link", ENTRY_DIRECTORY, 0, ALL, 0, VERDICT_RESULT, HAUL_CODE_LINK_IN_PATH, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dir_node node = { .path = (char *)(uintptr_t)rows[i].path, .refs = 1 };
		struct recv_entry below, e;

		print_message("directory %zu: %s\n", i, rows[i].path);
		open_fixture(rows[i].rights, rows[i].flags, JOB_COPY);
		e = entry(ENTRY_DIRECTORY, rows[i].path, 0);
		below = entry(ENTRY_FILE, "link/planted", 4);
		e.node = below.dir = &node;
		store_look(&f.store, &e);
		store_look(&f.store, &below);
		worker_send(&f.store.worker);
		deliver_until(&f.looked, 2);
		assert_int_equal(e.verdict, rows[i].verdict);
		assert_int_equal(e.code.code, rows[i].code);
		if (rows[i].code) {
			assert_int_equal(below.verdict, VERDICT_RESULT);
			assert_int_equal(below.outcome, OUTCOME_FAILED);
		}
		assert_int_equal(temp_exists(f.tree.fd, "made"), i == 0);
		close_fixture();
	}
}

/* ---- groups ---- */

static struct recv_entry small(const char *path, const char *text)
{
	struct recv_entry e = entry(ENTRY_FILE, path, strlen(text));

	e.commit = COMMIT_SMALL;
	assert_ok(partial_create_small(f.place, path, text, strlen(text), META(e.facts), &e.partial));
	return e;
}

/* A small file waits for others, until it is said that none are on their way. */
static void a_small_file_waits_for_the_flush(void **state)
{
	struct recv_entry e;

	(void)state;
	open_fixture(ALL, 0, JOB_COPY);
	e = small("one", "1");
	commit_post(&f.commit, &e);
	worker_send(&f.commit.worker);
	(void)usleep(50000);
	assert_false(temp_exists(f.tree.fd, "one"));
	commit_flush(&f.commit);
	worker_send(&f.commit.worker);
	deliver_until(&f.committed, 1);
	assert_true(e.is_committed);
	assert_true(temp_holds(f.tree.fd, "one", "1"));
	close_fixture();
}

static void a_full_group_needs_no_flush(void **state)
{
	static struct recv_entry entries[COMMIT_GROUP_MIN];
	static char names[COMMIT_GROUP_MIN][16];

	(void)state;
	open_fixture(ALL, 0, JOB_COPY);
	for (unsigned i = 0; i < COMMIT_GROUP_MIN; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "n%u", i);
		entries[i] = small(names[i], "x");
		commit_post(&f.commit, &entries[i]);
	}
	worker_send(&f.commit.worker);
	deliver_until(&f.committed, COMMIT_GROUP_MIN);
	assert_true(temp_holds(f.tree.fd, "n999", "x"));
	close_fixture();
}

/* One that cannot have its name fails alone, and leaves nothing. */
static void a_failure_belongs_to_its_entry(void **state)
{
	struct recv_entry good, taken, dir;

	(void)state;
	open_fixture(ALL, 0, JOB_COPY);
	good = small("good", "g");
	taken = small("file", "t"); /* may_replace is not set */
	dir = small("dir", "d");
	dir.may_replace = true;
	commit_post(&f.commit, &taken);
	commit_post(&f.commit, &dir);
	commit_post(&f.commit, &good);
	commit_flush(&f.commit);
	worker_send(&f.commit.worker);
	deliver_until(&f.committed, 3);
	assert_code(taken.code, HAUL_EXISTS);
	assert_code(dir.code, HAUL_IS_DIRECTORY);
	assert_false(taken.is_committed || dir.is_committed);
	assert_true(good.is_committed);
	assert_true(temp_holds(f.tree.fd, "file", "old"));
	assert_true(temp_holds(f.tree.fd, "good", "g"));
	close_fixture();
}

static void a_discarded_one_leaves_nothing(void **state)
{
	struct recv_entry e;

	(void)state;
	open_fixture(ALL, 0, JOB_COPY);
	e = small("gone", "g");
	e.code = HAUL_CORRUPT;
	e.commit = COMMIT_DISCARD;
	commit_post(&f.commit, &e);
	worker_send(&f.commit.worker);
	deliver_until(&f.committed, 1);
	assert_false(e.is_committed);
	assert_code(e.code, HAUL_CORRUPT);
	assert_false(temp_exists(f.tree.fd, "gone"));
	close_fixture();
}

/* What was complete when the job ends is put in place. */
static void stopping_commits_what_waits(void **state)
{
	struct recv_entry e;

	(void)state;
	open_fixture(ALL, 0, JOB_COPY);
	e = small("late", "l");
	commit_post(&f.commit, &e);
	commit_stop(&f.commit);
	assert_true(temp_holds(f.tree.fd, "late", "l"));
	deliver_until(&f.committed, 1);
	{
		struct commit_config again = {
			.place = f.place, .main = &f.main, .rights = &f.store.rights, .on_committed = on_committed
		};

		assert_ok(commit_start(&f.commit, &again, NULL));
	}
	close_fixture();
}

/* What was allowed when the entry was looked at and no longer is when its content has come is not done. */
static void a_right_that_is_gone_counts_at_the_rename(void **state)
{
	struct recv_entry e;

	(void)state;
	open_fixture(ALL, 0, JOB_COPY);
	e = small("late", "l");
	atomic_store(&f.store.rights, RIGHT_LIST | RIGHT_READ);
	commit_post(&f.commit, &e);
	commit_flush(&f.commit);
	worker_send(&f.commit.worker);
	deliver_until(&f.committed, 1);
	assert_int_equal(e.code.code, HAUL_CODE_NO_RIGHT);
	assert_false(temp_holds(f.tree.fd, "late", "l"));
	close_fixture();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_to_be_done),
		cmocka_unit_test(directories),
		cmocka_unit_test(a_small_file_waits_for_the_flush),
		cmocka_unit_test(a_right_that_is_gone_counts_at_the_rename),
		cmocka_unit_test(a_full_group_needs_no_flush),
		cmocka_unit_test(a_failure_belongs_to_its_entry),
		cmocka_unit_test(a_discarded_one_leaves_nothing),
		cmocka_unit_test(stopping_commits_what_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
