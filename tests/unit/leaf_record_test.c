/* The record of a kept partial: what is read back, also after tears and damage, and what is never taken for one. */
#include "leaf_record_fixture.h"

#include <sys/mount.h>

#include "tests/unit/skip_because.h"

/* ---- whole ones ---- */

static void pieces_are_read_back_in_order(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	uint8_t data[FILE_MAX];
	struct stat st;

	make_some(dir, data);
	assert_int_equal(fstatat(dir, "record", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_prefix(dir, PIECES);
	assert_prefix(dir, PIECES); /* reading a whole one changes nothing */
}

static void a_new_record_has_no_leaves(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	struct leaf_record r;

	assert_done(leaf_record_create(dir, "record", &some_source, INODE, &r));
	assert_done(leaf_record_append(&r, NULL, 0));
	leaf_record_close(&r);
	assert_prefix(dir, 0);
}

static void a_later_piece_replaces_an_earlier_one(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	struct leaf_piece pieces[] = { piece_of(2, 4, 'a'), piece_of(3, 1, 'b'), piece_of(2, 2, 'c') };
	struct haul_digest digests[LEAVES];
	struct leaf_map have;
	struct leaf_record r;

	make(dir, pieces, 3);
	assert_true(leaf_map_open(&have, LEAVES));
	assert_done(try_open(dir, &r));
	assert_done(leaf_record_read(&r, &have, digests));
	assert_int_equal(have.count, 4);
	assert_true(digest_equal(&digests[2], &pieces[2].digests[0]));
	assert_true(digest_equal(&digests[3], &pieces[2].digests[1]));
	assert_true(digest_equal(&digests[4], &pieces[0].digests[2]));
	assert_true(digest_equal(&digests[5], &pieces[0].digests[3]));
	leaf_record_close(&r);
	leaf_map_close(&have);
}

enum { MANY = 150 }; /* more than are written at once, each of the greatest length */

static void many_long_pieces_are_read_back(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	struct leaf_piece *pieces = calloc(MANY, sizeof(*pieces));
	struct haul_digest *digests = calloc((size_t)MANY * HAUL_BLOCK_LEAVES_MAX, sizeof(*digests));
	struct leaf_map have;
	struct leaf_record r;

	assert_non_null(pieces);
	assert_non_null(digests);
	assert_true(leaf_map_open(&have, (uint64_t)MANY * HAUL_BLOCK_LEAVES_MAX));
	for (unsigned i = 0; i < MANY; i++)
		pieces[i] = piece_of((uint64_t)i * HAUL_BLOCK_LEAVES_MAX, HAUL_BLOCK_LEAVES_MAX, (uint8_t)i);
	make(dir, pieces, MANY);
	assert_done(try_open(dir, &r));
	assert_done(leaf_record_read(&r, &have, digests));
	assert_int_equal(have.count, have.leaves);
	for (size_t i = 0; i < (size_t)MANY * HAUL_BLOCK_LEAVES_MAX; i++)
		assert_true(digest_equal(&digests[i], &pieces[i / 16].digests[i % 16]));
	leaf_record_close(&r);
	leaf_map_close(&have);
	free(digests);
	free(pieces);
}

/* ---- torn and damaged ones ---- */

static void a_record_cut_anywhere_gives_the_whole_pieces_before(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	uint8_t data[FILE_MAX];
	size_t len = make_some(dir, data);
	struct leaf_record r;
	struct stat st;

	for (size_t cut = 0; cut <= len; cut++) {
		temp_file(dir, "record", data, cut);
		if (cut < HEADER_BYTES) {
			assert_code(try_open(dir, &r), HAUL_CORRUPT);
			continue;
		}
		assert_prefix(dir, whole_pieces_in(cut));
		assert_int_equal(fstatat(dir, "record", &st, 0), 0);
		assert_int_equal(st.st_size, bytes_of_pieces(whole_pieces_in(cut)));
	}
}

static void a_byte_flipped_anywhere_ends_the_record_there(void **state)
{
	static const uint8_t flips[] = { 0x01, 0x10, 0x80, 0xff };
	int dir = ((struct temp_tree *)*state)->fd;
	uint8_t data[FILE_MAX];
	size_t len = make_some(dir, data);
	struct leaf_record r;

	for (size_t i = 0; i < len * sizeof(flips); i++) {
		size_t at = i / sizeof(flips);

		data[at] ^= flips[i % sizeof(flips)];
		temp_file(dir, "record", data, len);
		if (at < HEADER_BYTES)
			assert_code(try_open(dir, &r), HAUL_CORRUPT);
		else
			assert_prefix(dir, whole_pieces_in(at));
		data[at] ^= flips[i % sizeof(flips)];
	}
}

/* A loss of power leaves blocks of zeros at the end of a file; and what was there once may come back. */
static void what_follows_the_last_piece_is_nothing(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	uint8_t data[FILE_MAX] = "", whole[FILE_MAX];
	size_t len = make_some(dir, whole), two = bytes_of_pieces(2);

	memcpy(data, whole, len);
	memset(data + len, 0, sizeof(data) - len);
	temp_file(dir, "record", data, sizeof(data));
	assert_prefix(dir, PIECES);
	memset(data + two, 0xff, sizeof(data) - two);
	temp_file(dir, "record", data, sizeof(data));
	assert_prefix(dir, 2);
	memcpy(data, whole, two);
	memcpy(data + two, whole + HEADER_BYTES, two - HEADER_BYTES); /* whole pieces, but not of this place */
	temp_file(dir, "record", data, 2 * two - HEADER_BYTES);
	assert_prefix(dir, 2);
}

static void appending_goes_on_after_a_torn_tail(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	struct leaf_piece pieces[PIECES];
	uint8_t data[FILE_MAX];
	size_t len = make_some(dir, data);
	struct leaf_record r;

	some_pieces(pieces);
	for (size_t cut = bytes_of_pieces(2); cut < len; cut++) {
		unsigned left = whole_pieces_in(cut);

		temp_file(dir, "record", data, cut);
		assert_done(try_open(dir, &r));
		assert_leaves(&r, pieces, left);
		assert_done(leaf_record_append(&r, pieces + left, PIECES - left));
		leaf_record_close(&r);
		assert_prefix(dir, PIECES);
	}
}

static void put_piece(struct bytes *b, uint64_t first, uint64_t count, size_t digests)
{
	uint8_t piece[16 + 32 * HAUL_DIGEST_BYTES] = { 0 };
	struct bytes p = bytes_of(piece, sizeof(piece));
	size_t len = 16 + digests * HAUL_DIGEST_BYTES;
	struct haul_digest check;

	bytes_put_uint(&p, first, 8);
	bytes_put_uint(&p, count, 8);
	node_digest((const struct haul_digest *)piece, len / HAUL_DIGEST_BYTES, HEADER_BYTES, &check);
	bytes_put(b, piece, len);
	bytes_put(b, check.bytes, sizeof(check.bytes));
}

/* One piece, its check right, behind the header. True: it was taken. */
static bool is_taken(int dir_fd, uint64_t first, uint64_t count, size_t digests)
{
	struct haul_digest ret_digests[LEAVES];
	struct leaf_map have;
	struct leaf_record r;
	uint8_t data[FILE_MAX];
	struct bytes b = bytes_of(data, sizeof(data));
	bool taken;

	(void)load(dir_fd, data);
	(void)bytes_skip(&b, HEADER_BYTES);
	put_piece(&b, first, count, digests);
	temp_file(dir_fd, "record", data, sizeof(data) - b.left);
	assert_true(leaf_map_open(&have, LEAVES));
	assert_done(try_open(dir_fd, &r));
	assert_done(leaf_record_read(&r, &have, ret_digests));
	taken = have.count > 0;
	leaf_record_close(&r);
	leaf_map_close(&have);
	return taken;
}

static void leaves_that_cannot_be_are_not_taken(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	uint8_t data[FILE_MAX];

	make_some(dir, data);
	assert_true(is_taken(dir, 0, 1, 1));
	assert_true(is_taken(dir, 0, LEAVES, LEAVES));
	assert_true(is_taken(dir, LEAVES - 1, 1, 1));
	assert_false(is_taken(dir, 0, 0, 0));
	assert_false(is_taken(dir, 0, HAUL_BLOCK_LEAVES_MAX + 1, HAUL_BLOCK_LEAVES_MAX + 1));
	assert_false(is_taken(dir, 0, LEAVES + 1, LEAVES + 1));
	assert_false(is_taken(dir, LEAVES, 1, 1));
	assert_false(is_taken(dir, LEAVES - 1, 2, 2));
	assert_false(is_taken(dir, UINT64_MAX, 2, 2));
	assert_false(is_taken(dir, 0, (UINT64_C(1) << 32) + 1, 1));
	assert_false(is_taken(dir, 0, UINT64_MAX, 1));
}

/* Where there is no room any more what was recorded before still counts. */
static void a_full_medium_costs_what_did_not_fit(void **state)
{
	struct temp_tree *t = *state;
	struct leaf_piece pieces[PIECES], many[100];
	struct leaf_record r;
	haul_status st = HAUL_OK;
	int dir;

	if (geteuid() != 0 || mount("none", t->path, "tmpfs", 0, "size=64k") < 0)
		skip_because("mounting needs root");
	dir = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(umount2(t->path, MNT_DETACH), 0);
	some_pieces(pieces);
	for (unsigned i = 0; i < 100; i++)
		many[i] = pieces[3];
	assert_done(leaf_record_create(dir, "record", &some_source, INODE, &r));
	assert_done(leaf_record_append(&r, pieces, PIECES));
	for (unsigned i = 0; i < 100 && haul_ok(st); i++)
		st = leaf_record_append(&r, many, 100);
	assert_code(st, HAUL_NO_SPACE);
	leaf_record_close(&r);
	assert_done(try_open(dir, &r));
	assert_leaves(&r, pieces, PIECES);
	leaf_record_close(&r);
	(void)close(dir);
}

/* ---- what is no record of this partial ---- */

static void another_partials_record_is_not_taken(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	struct leaf_source of = { .size = 77 };
	struct leaf_record r = { .fd = -1, .end = 5 };
	uint8_t data[FILE_MAX];

	make_some(dir, data);
	assert_code(leaf_record_open(dir, "record", INODE + 1, &of, &r), HAUL_CORRUPT);
	assert_code(leaf_record_open(dir, "none", INODE, &of, &r), HAUL_NOT_FOUND);
	assert_int_equal(of.size, 77);
	assert_int_equal(r.fd, -1);
	assert_int_equal(r.end, 5);
}

static void only_a_plain_file_of_ours_is_taken(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	struct leaf_record r;
	uint8_t data[FILE_MAX];

	make_some(dir, data);
	assert_int_equal(linkat(dir, "record", dir, "second", 0), 0);
	assert_code(try_open(dir, &r), HAUL_CORRUPT);
	assert_int_equal(unlinkat(dir, "record", 0), 0);
	temp_link(dir, "record", "second");
	assert_code(try_open(dir, &r), HAUL_CORRUPT);
	assert_int_equal(unlinkat(dir, "record", 0), 0);
	temp_dir(dir, "record");
	assert_code(try_open(dir, &r), HAUL_CORRUPT);
	assert_int_equal(unlinkat(dir, "record", AT_REMOVEDIR), 0);
	assert_int_equal(mkfifoat(dir, "record", 0600), 0);
	assert_code(try_open(dir, &r), HAUL_CORRUPT);
	assert_int_equal(unlinkat(dir, "record", 0), 0);
	assert_int_equal(mknodat(dir, "record", S_IFSOCK | 0600, 0), 0);
	assert_code(try_open(dir, &r), HAUL_CORRUPT);
	assert_int_equal(renameat(dir, "second", dir, "record"), 0);
	assert_prefix(dir, PIECES);
	if (geteuid() != 0)
		skip_because("a file of somebody else needs root");
	assert_int_equal(fchownat(dir, "record", 4321, 4321, 0), 0);
	assert_code(try_open(dir, &r), HAUL_CORRUPT);
}

static void a_new_record_leaves_others_files_alone(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	struct leaf_record r;

	temp_text(dir, "other", "other");
	temp_link(dir, "record", "other");
	make(dir, NULL, 0);
	assert_prefix(dir, 0);
	assert_int_equal(unlinkat(dir, "record", 0), 0);
	assert_int_equal(linkat(dir, "other", dir, "record", 0), 0);
	make(dir, NULL, 0);
	assert_prefix(dir, 0);
	assert_true(temp_holds(dir, "other", "other"));
	assert_int_equal(unlinkat(dir, "record", 0), 0);
	temp_dir(dir, "record");
	assert_code(leaf_record_create(dir, "record", &some_source, INODE, &r), HAUL_IS_DIRECTORY);
}

static void no_handles_are_lost(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	unsigned before = temp_count(AT_FDCWD, "/proc/self/fd");
	struct leaf_record r;
	uint8_t data[FILE_MAX];

	make_some(dir, data);
	assert_prefix(dir, PIECES);
	temp_text(dir, "record", "short");
	assert_code(try_open(dir, &r), HAUL_CORRUPT);
	assert_int_equal(unlinkat(dir, "record", 0), 0);
	assert_int_equal(mkfifoat(dir, "record", 0600), 0);
	assert_code(try_open(dir, &r), HAUL_CORRUPT);
	assert_int_equal(temp_count(AT_FDCWD, "/proc/self/fd"), before);
}

static void sources_are_equal_only_for_certain(void **state)
{
	struct leaf_source other = some_source, unknown = some_source;

	(void)state;
	assert_true(leaf_source_equal(&some_source, &other));
	other.size++;
	assert_false(leaf_source_equal(&some_source, &other));
	other = some_source;
	other.mtime.sec++;
	assert_false(leaf_source_equal(&some_source, &other));
	other = some_source;
	other.mtime.nsec--;
	assert_false(leaf_source_equal(&some_source, &other));
	other = some_source;
	other.id[15] ^= 1;
	assert_false(leaf_source_equal(&some_source, &other));
	memset(unknown.id, 0, sizeof(unknown.id));
	other = unknown;
	assert_false(leaf_source_equal(&unknown, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(pieces_are_read_back_in_order),
		test(a_new_record_has_no_leaves),
		test(a_later_piece_replaces_an_earlier_one),
		test(many_long_pieces_are_read_back),
		test(a_record_cut_anywhere_gives_the_whole_pieces_before),
		test(a_byte_flipped_anywhere_ends_the_record_there),
		test(what_follows_the_last_piece_is_nothing),
		test(appending_goes_on_after_a_torn_tail),
		test(leaves_that_cannot_be_are_not_taken),
		test(a_full_medium_costs_what_did_not_fit),
		test(another_partials_record_is_not_taken),
		test(only_a_plain_file_of_ours_is_taken),
		test(a_new_record_leaves_others_files_alone),
		test(no_handles_are_lost),
		cmocka_unit_test(sources_are_equal_only_for_certain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
