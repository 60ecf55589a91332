/* What lanes get out of the queue: every wished leaf once, in blocks that do not cross a block's bound, in turn. */
#include "agent/block_queue.h"

#include "cmocka_first.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_LEAVES = 4, BLOCK_BYTES = BLOCK_LEAVES << 20 };

static struct send_file *new_file(uint64_t entry, const struct leaf_range *ranges, size_t count)
{
	struct disk_file disk = { .fd = open("/dev/null", O_RDONLY | O_CLOEXEC) };
	struct send_file *f = send_file_new(&disk);

	assert_non_null(f);
	assert_true(disk.fd >= 0);
	f->entry = entry;
	assert_int_equal(send_file_set_ranges(f, ranges, count).code, HAUL_CODE_OK);
	return f;
}

static struct send_pack *new_pack(void)
{
	struct send_pack *p = send_pack_new(4);

	assert_non_null(p);
	p->items[0].path = strdup("file");
	p->count = 1;
	return p;
}

static void check_block(struct block_queue *q, uint64_t entry, uint64_t first, uint32_t count)
{
	struct send_work w = { 0 };

	assert_true(block_queue_take(q, &w));
	assert_non_null(w.file);
	assert_null(w.pack);
	assert_int_equal(w.file->entry, entry);
	assert_int_equal(w.first_leaf, first);
	assert_int_equal(w.leaf_count, count);
	send_file_drop(w.file);
}

static void check_pack(struct block_queue *q)
{
	struct send_work w = { 0 };

	assert_true(block_queue_take(q, &w));
	assert_non_null(w.pack);
	assert_null(w.file);
	send_pack_free(w.pack);
}

static void check_empty(struct block_queue *q)
{
	struct send_work w;

	assert_false(block_queue_take(q, &w));
}

static void blocks_end_where_blocks_end(void **state)
{
	const struct leaf_range whole = { 0, 10 }, middle = { 3, 3 };
	struct block_queue q;

	(void)state;
	assert_int_equal(block_queue_open(&q, BLOCK_BYTES).code, HAUL_CODE_OK);
	block_queue_add_file(&q, new_file(1, &whole, 1));
	block_queue_add_file(&q, new_file(2, &middle, 1));
	check_block(&q, 1, 0, 4);
	check_block(&q, 1, 4, 4);
	check_block(&q, 1, 8, 2);
	check_block(&q, 2, 3, 1);
	check_block(&q, 2, 4, 2);
	check_empty(&q);
	block_queue_close(&q);
}

static void ranges_come_one_after_the_other(void **state)
{
	const struct leaf_range ranges[] = { { 1, 1 }, { 7, 2 }, { 100, 4 } };
	struct block_queue q;
	struct send_file *f = new_file(5, ranges, 3);

	(void)state;
	assert_int_equal(atomic_load(&f->unread_leaves), 7);
	assert_int_equal(block_queue_open(&q, BLOCK_BYTES).code, HAUL_CODE_OK);
	block_queue_add_file(&q, f);
	check_block(&q, 5, 1, 1);
	check_block(&q, 5, 7, 1);
	check_block(&q, 5, 8, 1);
	check_block(&q, 5, 100, 4);
	check_empty(&q);
	block_queue_close(&q);
}

static void add_at(struct block_queue *q, uint64_t entry, uint64_t place)
{
	const struct leaf_range whole = { 0, 8 };
	struct send_file *f = new_file(entry, &whole, 1);

	f->place = place;
	block_queue_add_file(q, f);
}

static void check_file(struct block_queue *q, uint64_t entry)
{
	check_block(q, entry, 0, 4);
	check_block(q, entry, 4, 4);
}

static void a_spindle_gets_whole_files_in_one_direction(void **state)
{
	struct block_queue q;

	(void)state;
	assert_int_equal(block_queue_open(&q, BLOCK_BYTES).code, HAUL_CODE_OK);
	block_queue_set_order(&q, true, 0);
	add_at(&q, 5, 500);
	add_at(&q, 9, 900);
	add_at(&q, 2, 200);
	check_block(&q, 2, 0, 4);
	add_at(&q, 1, 100); /* behind the head: after the turn around */
	add_at(&q, 3, 300);
	add_at(&q, 4, 200); /* at the same place: after the one in turn */
	check_block(&q, 2, 4, 4);
	check_file(&q, 4);
	check_file(&q, 3);
	check_file(&q, 5);
	add_at(&q, 6, 600);
	add_at(&q, 0, 50);
	check_file(&q, 6);
	check_file(&q, 9);
	check_file(&q, 0);
	check_file(&q, 1);
	check_empty(&q);
	block_queue_close(&q);
}

static void a_run_of_one_kind_comes_before_the_other(void **state)
{
	const struct leaf_range whole = { 0, 24 };
	struct block_queue q;

	(void)state;
	assert_int_equal(block_queue_open(&q, BLOCK_BYTES).code, HAUL_CODE_OK);
	block_queue_set_order(&q, false, 2 * BLOCK_BYTES);
	block_queue_add_file(&q, new_file(1, &whole, 1));
	for (int i = 0; i < 3; i++) {
		struct send_pack *p = new_pack();

		p->bytes = BLOCK_BYTES;
		block_queue_add_pack(&q, p);
	}
	check_block(&q, 1, 0, 4);
	check_block(&q, 1, 4, 4);
	check_pack(&q);
	check_pack(&q);
	check_block(&q, 1, 8, 4);
	check_block(&q, 1, 12, 4);
	check_pack(&q);
	check_block(&q, 1, 16, 4); /* nothing else is there */
	check_block(&q, 1, 20, 4);
	check_empty(&q);
	block_queue_close(&q);
}

static void small_files_do_not_wait_for_big_ones(void **state)
{
	const struct leaf_range whole = { 0, 16 };
	struct block_queue q;

	(void)state;
	assert_int_equal(block_queue_open(&q, BLOCK_BYTES).code, HAUL_CODE_OK);
	block_queue_add_file(&q, new_file(1, &whole, 1));
	block_queue_add_pack(&q, new_pack());
	block_queue_add_pack(&q, new_pack());
	check_block(&q, 1, 0, 4);
	check_pack(&q);
	check_block(&q, 1, 4, 4);
	check_pack(&q);
	check_block(&q, 1, 8, 4);
	check_block(&q, 1, 12, 4);
	check_empty(&q);
	block_queue_close(&q);
}

static void of_a_failed_file_nothing_more_comes(void **state)
{
	const struct leaf_range whole = { 0, 16 };
	struct send_file *f = new_file(1, &whole, 1);
	struct block_queue q;

	(void)state;
	assert_int_equal(block_queue_open(&q, BLOCK_BYTES).code, HAUL_CODE_OK);
	block_queue_add_file(&q, f);
	block_queue_add_file(&q, new_file(2, &whole, 1));
	check_block(&q, 1, 0, 4);
	atomic_store(&f->has_failed, true);
	check_block(&q, 2, 0, 4);
	block_queue_close(&q); /* frees what is left */
}

/* The descriptor is open until the last block of it is done, and no longer. */
static void the_last_block_closes_the_file(void **state)
{
	const struct leaf_range whole = { 0, 8 };
	struct send_file *f = new_file(1, &whole, 1);
	struct send_work a, b;
	struct block_queue q;
	int fd = f->file.fd;

	(void)state;
	assert_int_equal(block_queue_open(&q, BLOCK_BYTES).code, HAUL_CODE_OK);
	block_queue_add_file(&q, f);
	assert_true(block_queue_take(&q, &a) && block_queue_take(&q, &b));
	send_file_drop(b.file);
	assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	send_file_drop(a.file);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	block_queue_close(&q);
}

/* A lane was lost with it: it comes before what has not been begun, each leaf once, and keeps its file open. */
static void what_is_returned_is_next(void **state)
{
	const struct leaf_range whole = { 0, 10 };
	struct send_file *f = new_file(1, &whole, 1);
	struct send_work taken[3] = { 0 }, packed = { 0 };
	struct block_queue q;

	(void)state;
	assert_int_equal(block_queue_open(&q, BLOCK_BYTES).code, HAUL_CODE_OK);
	block_queue_add_file(&q, f);
	for (int i = 0; i < 3; i++)
		assert_true(block_queue_take(&q, &taken[i]));
	check_empty(&q);
	assert_ok(block_queue_return(&q, &taken[1]));
	assert_ok(block_queue_return(&q, &taken[0]));
	block_queue_add_file(&q, new_file(2, &whole, 1));
	check_block(&q, 1, 4, 4);
	check_block(&q, 1, 0, 4);
	check_block(&q, 2, 0, 4);
	check_block(&q, 2, 4, 4);
	check_block(&q, 2, 8, 2);
	send_file_drop(taken[2].file);

	block_queue_add_pack(&q, new_pack());
	assert_true(block_queue_take(&q, &packed));
	assert_non_null(packed.pack);
	assert_ok(block_queue_return(&q, &packed));
	check_pack(&q);
	block_queue_close(&q);
}

static void what_is_returned_of_a_failed_file_is_dropped(void **state)
{
	const struct leaf_range whole = { 0, 10 };
	struct send_work first = { 0 }, second = { 0 };
	struct block_queue q;

	(void)state;
	assert_int_equal(block_queue_open(&q, BLOCK_BYTES).code, HAUL_CODE_OK);
	block_queue_add_file(&q, new_file(1, &whole, 1));
	assert_true(block_queue_take(&q, &first));
	assert_true(block_queue_take(&q, &second));
	assert_ok(block_queue_return(&q, &first));
	atomic_store(&second.file->has_failed, true);
	send_file_drop(second.file);
	check_empty(&q);

	/* And what nobody takes any more is freed with the queue. */
	block_queue_add_file(&q, new_file(2, &whole, 1));
	assert_true(block_queue_take(&q, &first));
	assert_ok(block_queue_return(&q, &first));
	block_queue_close(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_end_where_blocks_end),
		cmocka_unit_test(ranges_come_one_after_the_other),
		cmocka_unit_test(a_spindle_gets_whole_files_in_one_direction),
		cmocka_unit_test(a_run_of_one_kind_comes_before_the_other),
		cmocka_unit_test(small_files_do_not_wait_for_big_ones),
		cmocka_unit_test(of_a_failed_file_nothing_more_comes),
		cmocka_unit_test(the_last_block_closes_the_file),
		cmocka_unit_test(what_is_returned_is_next),
		cmocka_unit_test(what_is_returned_of_a_failed_file_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
