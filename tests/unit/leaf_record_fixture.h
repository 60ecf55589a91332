/* Records in a directory of their own: made, read raw, and looked at again. */
#ifndef HAUL_TESTS_LEAF_RECORD_FIXTURE_H
#define HAUL_TESTS_LEAF_RECORD_FIXTURE_H

#include "engine/hash_tree.h"
#include "engine/leaf_record.h"

#include "temp_tree.h"

#include "engine/base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)
#define assert_done(st) assert_code(st, HAUL_OK)

enum { INODE = 4711, LEAVES = 11, PIECES = 4, HEADER_BYTES = 144, FILE_MAX = 1024 };

static const struct leaf_source some_source = {
	.size = (LEAVES - 1) * (uint64_t)HAUL_LEAF_BYTES + 5,
	.mtime = { .sec = -5, .nsec = 999999999 },
	.id = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
};

static inline struct leaf_piece piece_of(uint64_t first, uint32_t count, uint8_t mark)
{
	struct leaf_piece p = { .first = first, .count = count };

	for (uint32_t i = 0; i < count; i++) {
		memset(p.digests[i].bytes, mark, HAUL_DIGEST_BYTES);
		p.digests[i].bytes[0] = (uint8_t)i;
	}
	return p;
}

/* The third one overlaps the second. */
static inline void some_pieces(struct leaf_piece ret_pieces[PIECES])
{
	ret_pieces[0] = piece_of(0, 2, 'a');
	ret_pieces[1] = piece_of(4, 1, 'b');
	ret_pieces[2] = piece_of(3, 3, 'c');
	ret_pieces[3] = piece_of(10, 1, 'd');
}

static inline size_t bytes_of_pieces(unsigned count)
{
	struct leaf_piece pieces[PIECES];
	size_t len = HEADER_BYTES;

	some_pieces(pieces);
	for (unsigned i = 0; i < count; i++)
		len += 32 + (size_t)pieces[i].count * HAUL_DIGEST_BYTES;
	return len;
}

static inline unsigned whole_pieces_in(size_t len)
{
	unsigned n = 0;

	while (n < PIECES && bytes_of_pieces(n + 1) <= len)
		n++;
	return n;
}

/* ---- a record in a directory of its own ---- */

static inline int set_up(void **state)
{
	struct temp_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return -1;
	temp_tree_open(t, "leaf_record");
	*state = t;
	return 0;
}

static inline int tear_down(void **state)
{
	temp_tree_close(*state);
	free(*state);
	return 0;
}

static inline void make(int dir_fd, const struct leaf_piece *pieces, size_t count)
{
	struct leaf_record r;

	assert_done(leaf_record_create(dir_fd, "record", &some_source, INODE, &r));
	assert_done(leaf_record_append(&r, pieces, count));
	leaf_record_close(&r);
	leaf_record_close(&r);
}

static inline size_t load(int dir_fd, uint8_t ret_data[FILE_MAX])
{
	int fd = openat(dir_fd, "record", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, ret_data, FILE_MAX);

	assert_true(n >= 0);
	(void)close(fd);
	return (size_t)n;
}

/* The four pieces; their bytes too. */
static inline size_t make_some(int dir_fd, uint8_t ret_data[FILE_MAX])
{
	struct leaf_piece pieces[PIECES];
	size_t len;

	some_pieces(pieces);
	make(dir_fd, pieces, PIECES);
	len = load(dir_fd, ret_data);
	assert_int_equal(len, bytes_of_pieces(PIECES));
	return len;
}

static inline haul_status try_open(int dir_fd, struct leaf_record *ret_record)
{
	struct leaf_source of = { .size = 77 };
	haul_status st = leaf_record_open(dir_fd, "record", INODE, &of, ret_record);

	if (haul_ok(st)) {
		assert_true(leaf_source_equal(&of, &some_source));
		assert_int_equal(of.mtime.sec, -5);
	} else {
		assert_int_equal(of.size, 77);
	}
	return st;
}

static inline void assert_leaves(struct leaf_record *r, const struct leaf_piece *pieces, unsigned count)
{
	struct haul_digest digests[LEAVES] = { 0 }, expected[LEAVES] = { 0 };
	struct leaf_map have = { 0 }, wanted = { 0 };

	assert_true(leaf_map_open(&have, LEAVES) && leaf_map_open(&wanted, LEAVES));
	for (unsigned i = 0; i < count; i++) {
		for (uint32_t k = 0; k < pieces[i].count; k++) {
			leaf_map_set(&wanted, pieces[i].first + k);
			expected[pieces[i].first + k] = pieces[i].digests[k];
		}
	}
	assert_done(leaf_record_read(r, &have, digests));
	assert_int_equal(have.count, wanted.count);
	assert_memory_equal(have.words, wanted.words, sizeof(uint64_t));
	assert_memory_equal(digests, expected, sizeof(digests));
	leaf_map_close(&have);
	leaf_map_close(&wanted);
}

/* The first `count` of the four pieces are in it, and nothing else. */
static inline void assert_prefix(int dir_fd, unsigned count)
{
	struct leaf_piece pieces[PIECES];
	struct leaf_record r;

	some_pieces(pieces);
	assert_done(try_open(dir_fd, &r));
	assert_leaves(&r, pieces, count);
	assert_int_equal(r.end, bytes_of_pieces(count));
	leaf_record_close(&r);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
