/* A lane without a connection, between a block queue and grants: what each end hears, on real files. */
#include "agent/lane.h"
#include "engine/hash_tree.h"

#include "cmocka_first.h"
#include "temp_tree.h"

enum { LEAVES = 3, BYTES = 2 * HAUL_LEAF_BYTES + 12345, ENTRY = 7, REPORTS_MAX = 64 };

/* One of the two jobs that the lane belongs to. */
struct end {
	struct lane_job job;
	struct lane_report *reports[REPORTS_MAX];
	unsigned count;
};

struct fixture {
	struct temp_tree tree;
	struct mailbox main; /* plain: the test delivers by hand */
	struct block_budget budget;
	struct block_queue queue;
	struct end from, to;
	struct lane *lane;
	struct disk_file target;
	struct grant grant;
	uint8_t *data;
};

static struct fixture f;

static void on_report(void *owner, struct lane_report *r)
{
	struct end *e = owner;

	assert_ptr_equal(r->job, &e->job);
	assert_true(e->count < REPORTS_MAX);
	e->reports[e->count++] = r;
}

static struct lane_report *find(const struct end *e, enum lane_report_type type)
{
	for (unsigned i = 0; i < e->count; i++) {
		if (e->reports[i]->type == type)
			return e->reports[i];
	}
	return NULL;
}

static unsigned leaves_of(const struct end *e, enum lane_report_type type)
{
	unsigned leaves = 0;

	for (unsigned i = 0; i < e->count; i++)
		leaves += e->reports[i]->type == type ? e->reports[i]->leaf_count : 0;
	return leaves;
}

static void deliver(void)
{
	struct list mails;

	list_init(&mails);
	mailbox_wait(&f.main, &mails, true);
	mail_deliver_all(NULL, &mails);
}

static struct lane_report *wait_for(struct end *e, enum lane_report_type type)
{
	while (!find(e, type))
		deliver();
	return find(e, type);
}

static void wait_for_leaves(struct end *e, enum lane_report_type type)
{
	while (leaves_of(e, type) < LEAVES)
		deliver();
}

static void open_end(struct end *e, enum lane_role role)
{
	e->job = (struct lane_job){ .role = role,
				    .block_bytes = HAUL_LEAF_BYTES,
				    .blocks_per_lane = 4,
				    .backend = ENGINE_AUTO,
				    .budget = &f.budget,
				    .queue = &f.queue,
				    .main = &f.main,
				    .on_report = on_report,
				    .owner = e };
}

static int open_fixture(void **state)
{
	(void)state;
	f = (struct fixture){ .target.fd = -1 };
	temp_tree_open(&f.tree, "lane_copy");
	assert_ok(mailbox_open_plain(&f.main));
	block_budget_open(&f.budget, 64 * 1024 * 1024);
	assert_ok(block_queue_open(&f.queue, HAUL_LEAF_BYTES));
	f.data = malloc(BYTES);
	assert_non_null(f.data);
	for (size_t i = 0; i < BYTES; i++)
		f.data[i] = (uint8_t)(i * 7 + i / 4093);
	temp_file(f.tree.fd, "source", f.data, BYTES);
	open_end(&f.from, LANE_SENDS);
	open_end(&f.to, LANE_RECEIVES);
	assert_ok(lane_start_copying(&f.from.job, &f.to.job, 0, &f.lane, NULL));
	assert_non_null(wait_for(&f.from, LANE_JOINED));
	assert_non_null(wait_for(&f.to, LANE_JOINED));
	return 0;
}

/* Both ends have heard of the lane's end; it goes with the second lane_free(). */
static int close_fixture(void **state)
{
	(void)state;
	lane_stop(f.lane);
	lane_stop(f.lane);
	(void)wait_for(&f.from, LANE_ENDED);
	(void)wait_for(&f.to, LANE_ENDED);
	lane_free(f.lane);
	lane_free(f.lane);
	for (unsigned i = 0; i < f.from.count; i++)
		lane_report_free(f.from.reports[i]);
	for (unsigned i = 0; i < f.to.count; i++)
		lane_report_free(f.to.reports[i]);
	(void)disk_file_close(&f.target);
	block_queue_close(&f.queue);
	mailbox_close_plain(&f.main);
	free(f.data);
	temp_tree_close(&f.tree);
	return 0;
}

/* What the receiving end allows: before the work is queued, as in a job. */
static void give_grant(const char *name, int access, enum grant_mode mode)
{
	struct grant *grants[] = { &f.grant };
	int fd = openat(f.tree.fd, name, access | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_ok(disk_file_open(&f.target, fd, DIRECT_NEVER, BYTES, NULL));
	f.grant = (struct grant){
		.entry = ENTRY, .mode = mode, .size = BYTES, .end_leaf = LEAVES, .file = &f.target, .holders = 1
	};
	assert_ok(lane_grant(f.lane, grants, 1, 1));
}

static struct send_file *source(bool is_digests_only)
{
	const struct leaf_range all = { 0, LEAVES };
	int fd = openat(f.tree.fd, "source", O_RDONLY | O_CLOEXEC);
	struct disk_file file;
	struct send_file *sf;

	assert_ok(disk_file_open(&file, fd, DIRECT_NEVER, BYTES, NULL));
	sf = send_file_new(&file);
	assert_non_null(sf);
	sf->entry = ENTRY;
	sf->size = BYTES;
	sf->is_digests_only = is_digests_only;
	assert_ok(send_file_set_ranges(sf, &all, 1));
	return sf;
}

static void queue(struct send_file *sf)
{
	block_queue_add_file(&f.queue, sf);
	lane_wake(f.lane);
}

static void a_file_is_copied_and_both_ends_hear(void **state)
{
	struct grant *const grants[] = { &f.grant };
	uint8_t *got = malloc(BYTES);
	struct haul_digest digest;

	(void)state;
	give_grant("target", O_RDWR | O_CREAT, GRANT_WRITE);
	queue(source(false));
	wait_for_leaves(&f.to, LANE_WRITTEN);
	assert_int_equal(leaves_of(&f.from, LANE_SENT), LEAVES); /* heard before the last leaf was written */
	assert_int_equal(pread(f.target.fd, got, BYTES, 0), BYTES);
	assert_memory_equal(got, f.data, BYTES);
	leaf_digest(f.data, HAUL_LEAF_BYTES, &digest);
	for (unsigned i = 0; i < f.to.count; i++) {
		if (f.to.reports[i]->type == LANE_WRITTEN && f.to.reports[i]->first_leaf == 0)
			assert_memory_equal(&f.to.reports[i]->digests[0], &digest, sizeof(digest));
	}
	assert_ok(lane_release(f.lane, grants, 1));
	assert_int_equal(wait_for(&f.to, LANE_RELEASED)->grant_count, 1);
	assert_ptr_equal(wait_for(&f.to, LANE_RELEASED)->grants[0], &f.grant);
	assert_null(find(&f.from, LANE_RELEASED));
	free(got);
}

static void it_ends_when_both_ends_say_so(void **state)
{
	struct grant *const grants[] = { &f.grant };

	(void)state;
	lane_finish(f.lane);
	give_grant("target", O_RDWR | O_CREAT, GRANT_WRITE);
	queue(source(false)); /* the other end still has something */
	wait_for_leaves(&f.to, LANE_WRITTEN);
	assert_null(find(&f.from, LANE_ENDED));
	assert_ok(lane_release(f.lane, grants, 1));
	(void)wait_for(&f.to, LANE_RELEASED);
	lane_finish(f.lane);
	assert_ok(wait_for(&f.from, LANE_ENDED)->status);
	assert_ok(wait_for(&f.to, LANE_ENDED)->status);
}

static void stopping_reaches_both(void **state)
{
	(void)state;
	lane_stop(f.lane);
	assert_code(wait_for(&f.from, LANE_ENDED)->status, HAUL_CANCELLED);
	assert_code(wait_for(&f.to, LANE_ENDED)->status, HAUL_CANCELLED);
}

/* The last leaf of a file that has changed since it was opened is never handed over. */
static void a_file_that_changed_while_it_was_read_fails(void **state)
{
	struct send_file *sf = source(false);

	(void)state;
	sf->file.facts.mtime.sec--;
	give_grant("target", O_RDWR | O_CREAT, GRANT_WRITE);
	queue(sf);
	assert_code(wait_for(&f.from, LANE_FILE_FAILED)->status, HAUL_CHANGED);
	assert_int_equal(find(&f.from, LANE_FILE_FAILED)->entry, ENTRY);
	assert_true(leaves_of(&f.to, LANE_WRITTEN) < LEAVES);
}

static void a_file_that_became_shorter_fails(void **state)
{
	struct send_file *sf = source(false);

	int fd = openat(f.tree.fd, "source", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(fd, HAUL_LEAF_BYTES), 0);
	(void)close(fd);
	give_grant("target", O_RDWR | O_CREAT, GRANT_WRITE);
	queue(sf);
	assert_code(wait_for(&f.from, LANE_FILE_FAILED)->status, HAUL_CHANGED);
}

static void a_write_that_fails_is_the_receivers(void **state)
{
	(void)state;
	temp_text(f.tree.fd, "target", "");
	give_grant("target", O_RDONLY, GRANT_WRITE);
	queue(source(false));
	assert_true(haul_failed(wait_for(&f.to, LANE_FILE_FAILED)->status));
	assert_null(find(&f.from, LANE_FILE_FAILED));
}

static void what_differs_is_found_without_writing(void **state)
{
	uint32_t bad = 0;

	(void)state;
	f.data[HAUL_LEAF_BYTES + 17] ^= 1;
	temp_file(f.tree.fd, "target", f.data, BYTES);
	give_grant("target", O_RDONLY, GRANT_DIGESTS);
	queue(source(true));
	wait_for_leaves(&f.to, LANE_COMPARED);
	for (unsigned i = 0; i < f.to.count; i++) {
		if (f.to.reports[i]->type == LANE_COMPARED)
			bad |= f.to.reports[i]->bad_leaves << f.to.reports[i]->first_leaf;
	}
	assert_int_equal(bad, 1 << 1);
}

/* A want that crossed with the end of its attempt: dropped, and its memory comes back. */
static void what_is_not_granted_any_more_is_dropped(void **state)
{
	struct send_file *old = source(false);

	(void)state;
	give_grant("target", O_RDWR | O_CREAT, GRANT_WRITE);
	old->attempt = 1;
	queue(old);
	wait_for_leaves(&f.from, LANE_SENT);
	queue(source(false));
	wait_for_leaves(&f.to, LANE_WRITTEN);
	assert_int_equal(leaves_of(&f.to, LANE_WRITTEN), LEAVES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_copied_and_both_ends_hear, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(it_ends_when_both_ends_say_so, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(stopping_reaches_both, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(a_file_that_changed_while_it_was_read_fails, open_fixture,
						close_fixture),
		cmocka_unit_test_setup_teardown(a_file_that_became_shorter_fails, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(a_write_that_fails_is_the_receivers, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(what_differs_is_found_without_writing, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(what_is_not_granted_any_more_is_dropped, open_fixture, close_fixture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
