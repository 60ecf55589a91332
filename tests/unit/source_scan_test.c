/* The scan runs ahead by its batches and no further; stopped in the midst it ends at once. */
#include "agent/source_scan.h"

#include "cmocka_first.h"
#include "temp_tree.h"

enum { FILES = SOURCE_SCAN_BATCH * (SOURCE_SCAN_BATCHES + 3) };

struct desk {
	struct temp_tree tree;
	struct mailbox main;
	struct source_scan scan;
	struct scan_batch *held[SOURCE_SCAN_BATCHES + 1];
	unsigned held_count;
	uint64_t entries;
	bool is_over;
};

static struct desk d;

static void on_batch(void *owner, struct scan_batch *b)
{
	(void)owner;
	assert_true(d.held_count < SOURCE_SCAN_BATCHES);
	d.held[d.held_count++] = b;
}

static void deliver(bool wait)
{
	struct list mails;

	list_init(&mails);
	mailbox_wait(&d.main, &mails, wait);
	mail_deliver_all(NULL, &mails);
}

static void open_desk(void)
{
	struct scan_source source = { .path = "", .landing = NULL };
	char name[16];

	d = (struct desk){ .scan = { .main = &d.main, .on_batch = on_batch } };
	temp_tree_open_fast(&d.tree, "scan");
	for (unsigned i = 0; i < FILES; i++) {
		(void)snprintf(name, sizeof(name), "%06u", i);
		temp_text(d.tree.fd, name, "");
	}
	source.root_fd = d.tree.fd;
	assert_ok(mailbox_open_plain(&d.main));
	assert_ok(source_scan_start(&d.scan, &source, 1, 0, NULL));
}

static void close_desk(void)
{
	source_scan_stop(&d.scan);
	deliver(false);
	mailbox_close_plain(&d.main);
	temp_tree_close(&d.tree);
}

static void use_up(struct scan_batch *b)
{
	for (unsigned i = 0; i < b->count; i++)
		d.entries += b->items[i].event == SCAN_ENTRY;
	if (b->is_last) {
		assert_ok(b->status);
		d.is_over = true;
	}
	source_scan_return(b);
}

static void it_rests_until_a_batch_comes_back(void **state)
{
	(void)state;
	open_desk();
	while (d.held_count < SOURCE_SCAN_BATCHES)
		deliver(true);
	(void)usleep(50000);
	deliver(false); /* on_batch asserts that there are no more */
	while (!d.is_over) {
		struct scan_batch *b = d.held[0];

		memmove(d.held, d.held + 1, --d.held_count * sizeof(struct scan_batch *));
		use_up(b);
		if (!d.is_over && !d.held_count)
			deliver(true);
		else
			deliver(false);
	}
	assert_int_equal(d.entries, FILES);
	close_desk();
}

static void stopped_in_the_midst(void **state)
{
	(void)state;
	open_desk();
	deliver(true);
	close_desk();
}

/* A probe: one file that lies nowhere; delivered or not, nothing of it is left. */
static void a_probe_is_one_file_without_a_place(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		d = (struct desk){ .scan = { .main = &d.main, .on_batch = on_batch } };
		assert_ok(mailbox_open_plain(&d.main));
		assert_ok(source_scan_probe(&d.scan, 5 << 20));
		if (round) {
			deliver(true);
			assert_int_equal(d.held_count, 1);
			assert_int_equal(d.held[0]->count, 1);
			assert_int_equal(d.held[0]->items[0].facts.size, 5 << 20);
			assert_int_equal(d.held[0]->items[0].facts.kind, ENTRY_FILE);
			assert_true(d.held[0]->items[0].parent == HAUL_NO_INDEX);
			use_up(d.held[0]);
			assert_true(d.is_over);
		}
		source_scan_stop(&d.scan);
		deliver(false);
		mailbox_close_plain(&d.main);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_rests_until_a_batch_comes_back),
		cmocka_unit_test(stopped_in_the_midst),
		cmocka_unit_test(a_probe_is_one_file_without_a_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
