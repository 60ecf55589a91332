/*
 * Disks and file systems that misbehave: direct I/O that is refused at once, half-way, or fails; and what always holds:
 * every byte arrives, or the request says that it did not. Also that the disk is given no more than the depth allows.
 */
#include "tests/unit/meddler.h"

#include "engine/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/skip_because.h"

enum { MIB = 1024 * 1024, BLOCKS = 6, TAIL = 12345, FILE_BYTES = (BLOCKS - 1) * MIB + TAIL };

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)

struct fixture {
	struct engine *engine;
	struct disk_file file;
	struct block_budget budget;
	struct block_share share;
	struct block *blocks[BLOCKS];
};

static uint8_t pattern[FILE_BYTES];

static void fixture_open(struct fixture *x, const struct engine_config *cfg)
{
	int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		skip_because("the build lies on a file system without O_TMPFILE");
	assert_code(disk_file_open(&x->file, fd, DIRECT_AUTO, 1 << 30, NULL), HAUL_OK);
	if (!atomic_load(&x->file.is_direct)) {
		(void)disk_file_close(&x->file);
		skip_because("the build lies on a file system without direct I/O");
	}
	assert_code(engine_new(cfg, &x->engine, NULL), HAUL_OK);
	block_budget_open(&x->budget, 64 * MIB);
	assert_code(block_share_open(&x->share, &x->budget, BLOCKS, MIB), HAUL_OK);
	for (unsigned i = 0; i < BLOCKS; i++)
		x->blocks[i] = block_take(&x->share);
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)((i * 0x9e3779b97f4a7c15u) >> 56);
}

static void fixture_close(struct fixture *x)
{
	engine_free(x->engine);
	(void)disk_file_close(&x->file);
	for (unsigned i = 0; i < BLOCKS; i++)
		block_put(x->blocks[i]);
	block_share_close(&x->share);
}

static size_t bytes_of(unsigned block)
{
	return block + 1 < BLOCKS ? MIB : TAIL;
}

/* All blocks at once, in the order given; returns how many failed, whose status is *ret_st. */
static unsigned move_all(struct fixture *x, bool is_write, haul_status *ret_st)
{
	struct engine_done done[BLOCKS];
	unsigned failed = 0, n = 0;

	for (unsigned i = 0; i < BLOCKS; i++) {
		uint64_t offset = (uint64_t)i * MIB;
		haul_status st;

		if (is_write)
			memcpy(x->blocks[i]->data, pattern + offset, bytes_of(i));
		st = is_write ? engine_write(x->engine, &x->file, x->blocks[i]->data, bytes_of(i), offset, x->blocks[i])
			      : engine_read(x->engine, &x->file, x->blocks[i]->data, bytes_of(i), offset, x->blocks[i]);
		assert_code(st, HAUL_OK);
	}
	while (n < BLOCKS) {
		unsigned got;

		engine_submit(x->engine);
		got = engine_drain(x->engine, done, BLOCKS);
		for (unsigned i = 0; i < got; i++) {
			failed += haul_failed(done[i].status);
			if (haul_failed(done[i].status))
				*ret_st = done[i].status;
		}
		n += got;
	}
	assert_int_equal(engine_in_flight(x->engine), 0);
	return failed;
}

static void assert_content(struct fixture *x)
{
	uint8_t *is = malloc(sizeof(pattern));

	assert_non_null(is);
	assert_int_equal(ftruncate(x->file.fd, FILE_BYTES), 0); /* the padding of a direct tail */
	(void)fcntl(x->file.fd, F_SETFL, fcntl(x->file.fd, F_GETFL) & ~O_DIRECT);
	assert_int_equal(pread(x->file.fd, is, sizeof(pattern), 0), (ssize_t)sizeof(pattern));
	assert_memory_equal(is, pattern, sizeof(pattern));
	free(is);
}

static const struct engine_config meddling = { .depth = 16, .ops = &meddler_backend };

/* Write, then read, while direct steps answer err from `from` on: all of it arrives, the file is buffered, and says so.
 */
static void falls_back(int err, unsigned from, enum buffered_reason reason)
{
	struct fixture x;
	haul_status st = HAUL_OK;

	for (int is_write = 1; is_write >= 0; is_write--) {
		meddler = (struct meddler){ .direct_errno = err, .from = from };
		fixture_open(&x, &meddling);

		if (!is_write) {
			meddler.direct_errno = 0;
			assert_int_equal(move_all(&x, true, &st), 0);
			assert_int_equal(ftruncate(x.file.fd, FILE_BYTES), 0);
			meddler.direct_errno = err;
			meddler.from += meddler.steps;
		}
		assert_int_equal(move_all(&x, is_write, &st), 0);
		assert_true(meddler.refused >= 1);
		assert_false(atomic_load(&x.file.is_direct));
		assert_int_equal(atomic_load(&x.file.reason), reason);
		assert_int_equal(fcntl(x.file.fd, F_GETFL) & O_DIRECT, 0);
		for (unsigned i = 0; i < BLOCKS && !is_write; i++)
			assert_memory_equal(x.blocks[i]->data, pattern + (size_t)i * MIB, bytes_of(i));
		assert_content(&x);
		fixture_close(&x);
	}
}

static void direct_io_that_is_refused_at_once_is_done_buffered(void **state)
{
	(void)state;
	falls_back(EINVAL, 1, BUFFERED_IO_REFUSED); /* a lie about alignment looks like this */
	falls_back(EOPNOTSUPP, 1, BUFFERED_IO_REFUSED);
}

static void direct_io_that_is_refused_half_way_is_done_buffered(void **state)
{
	(void)state;
	for (unsigned from = 2; from <= BLOCKS; from++)
		falls_back(EINVAL, from, BUFFERED_IO_REFUSED);
}

static void direct_io_that_fails_is_done_buffered(void **state)
{
	(void)state;
	for (unsigned from = 1; from <= BLOCKS; from++)
		falls_back(EIO, from, BUFFERED_IO_FAILED);
}

static void short_steps_and_a_refusal_lose_nothing(void **state)
{
	struct fixture x;
	haul_status st = HAUL_OK;

	(void)state;
	meddler = (struct meddler){ .direct_errno = EINVAL, .from = 40, .short_bytes = 100 * 1024 - 512 };
	fixture_open(&x, &meddling);
	assert_int_equal(move_all(&x, true, &st), 0);
	assert_true(meddler.refused >= 1);
	assert_content(&x);
	fixture_close(&x);
}

static void what_is_truly_broken_is_said_and_harms_nothing_else(void **state)
{
	struct fixture x;
	haul_status st = HAUL_OK;

	(void)state;
	meddler = (struct meddler){ .direct_errno = EIO, .buffered_errno = EIO, .from = 3, .count = 2 };
	fixture_open(&x, &meddling);
	assert_int_equal(move_all(&x, true, &st), 1);
	assert_code(st, HAUL_IO);
	assert_int_equal(move_all(&x, true, &st), 0);
	assert_content(&x);
	fixture_close(&x);

	meddler = (struct meddler){ .direct_errno = ENODEV, .buffered_errno = ENODEV, .from = 1 }; /* gone */
	fixture_open(&x, &meddling);
	assert_int_equal(move_all(&x, true, &st), BLOCKS);
	fixture_close(&x);
}

static void the_disk_is_given_what_the_depth_allows_in_order(void **state)
{
	const struct engine_config one = { .depth = 16, .ops = &meddler_backend, .write = { 1, 1 } };
	const struct engine_config two = { .depth = 16, .ops = &meddler_backend, .read = { 2, 2 }, .write = { 9, 99 } };
	struct fixture x;
	haul_status st = HAUL_OK;

	(void)state;
	meddler = (struct meddler){ .from = 1 };
	fixture_open(&x, &one);
	assert_int_equal(engine_depth_now(x.engine, true), 1);
	assert_true(engine_has_room(x.engine, true));
	assert_int_equal(engine_depth_now(x.engine, false), 16);
	assert_int_equal(move_all(&x, true, &st), 0);
	assert_int_equal(meddler.flying_max, 1);
	for (unsigned i = 0; i < BLOCKS; i++)
		assert_int_equal(meddler.offsets[i], (uint64_t)i * MIB);
	assert_int_equal(move_all(&x, false, &st), 0);
	assert_int_equal(meddler.flying_max, BLOCKS); /* reads have a depth of their own */
	fixture_close(&x);

	meddler = (struct meddler){ .from = 1 };
	fixture_open(&x, &two);
	assert_int_equal(engine_depth_now(x.engine, true), 9);
	assert_int_equal(move_all(&x, false, &st), 0);
	assert_int_equal(meddler.flying_max, 2);
	fixture_close(&x);
}

static void what_waits_for_the_depth_is_dropped_at_the_end(void **state)
{
	const struct engine_config one = { .depth = 16, .ops = &meddler_backend, .read = { 1, 1 } };
	struct fixture x;

	(void)state;
	meddler = (struct meddler){ .from = 1 };
	fixture_open(&x, &one);
	for (unsigned i = 0; i < BLOCKS; i++)
		assert_code(engine_read(x.engine, &x.file, x.blocks[i]->data, MIB, 0, NULL), HAUL_OK);
	engine_submit(x.engine);
	assert_false(engine_has_room(x.engine, false));
	assert_true(engine_has_room(x.engine, true));
	assert_int_equal(engine_in_flight(x.engine), BLOCKS);
	fixture_close(&x);
	assert_int_equal(meddler.started, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(direct_io_that_is_refused_at_once_is_done_buffered),
		cmocka_unit_test(direct_io_that_is_refused_half_way_is_done_buffered),
		cmocka_unit_test(direct_io_that_fails_is_done_buffered),
		cmocka_unit_test(short_steps_and_a_refusal_lose_nothing),
		cmocka_unit_test(what_is_truly_broken_is_said_and_harms_nothing_else),
		cmocka_unit_test(the_disk_is_given_what_the_depth_allows_in_order),
		cmocka_unit_test(what_waits_for_the_depth_is_dropped_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
