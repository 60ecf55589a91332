/* The record of a kept partial: what is read back, also after tears and damage, and what is never taken for one. */
#include "engine/hash_tree.h"
#include "engine/leaf_record.h"

#include "temp_tree.h"

#include "engine/base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <sys/mount.h>

#include "tests/unit/skip_because.h"

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)
#define assert_done(st) assert_code(st, HAUL_OK)

enum { INODE = 4711, LEAVES = 11, PIECES = 4, HEADER_BYTES = 144, FILE_MAX = 1024 };

static const struct leaf_source some_source = {
	.size = (LEAVES - 1) * (uint64_t)HAUL_LEAF_BYTES + 5,
	.mtime = { .sec = -5, .nsec = 999999999 },
	.id = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
};

static struct leaf_piece piece_of(uint64_t first, uint32_t count, uint8_t mark)
{
	struct leaf_piece p = { .first = first, .count = count };

	for (uint32_t i = 0; i < count; i++) {
		memset(p.digests[i].bytes, mark, HAUL_DIGEST_BYTES);
		p.digests[i].bytes[0] = (uint8_t)i;
	}
	return p;
}

/* The third one overlaps the second. */
static void some_pieces(struct leaf_piece ret_pieces[PIECES])
{
	ret_pieces[0] = piece_of(0, 2, 'a');
	ret_pieces[1] = piece_of(4, 1, 'b');
	ret_pieces[2] = piece_of(3, 3, 'c');
	ret_pieces[3] = piece_of(10, 1, 'd');
}

static size_t bytes_of_pieces(unsigned count)
{
	struct leaf_piece pieces[PIECES];
	size_t len = HEADER_BYTES;

	some_pieces(pieces);
	for (unsigned i = 0; i < count; i++)
		len += 32 + (size_t)pieces[i].count * HAUL_DIGEST_BYTES;
	return len;
}

static unsigned whole_pieces_in(size_t len)
{
	unsigned n = 0;

	while (n < PIECES && bytes_of_pieces(n + 1) <= len)
		n++;
	return n;
}

/* ---- a record in a directory of its own ---- */

static int set_up(void **state)
{
	struct temp_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return -1;
	temp_tree_open(t, "leaf_record");
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	temp_tree_close(*state);
	free(*state);
	return 0;
}

static void make(int dir_fd, const struct leaf_piece *pieces, size_t count)
{
	struct leaf_record r;

	assert_done(leaf_record_create(dir_fd, "record", &some_source, INODE, &r));
	assert_done(leaf_record_append(&r, pieces, count));
	leaf_record_close(&r);
	leaf_record_close(&r);
}

static size_t load(int dir_fd, uint8_t ret_data[FILE_MAX])
{
	int fd = openat(dir_fd, "record", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, ret_data, FILE_MAX);

	assert_true(n >= 0);
	(void)close(fd);
	return (size_t)n;
}

/* The four pieces; their bytes too. */
static size_t make_some(int dir_fd, uint8_t ret_data[FILE_MAX])
{
	struct leaf_piece pieces[PIECES];
	size_t len;

	some_pieces(pieces);
	make(dir_fd, pieces, PIECES);
	len = load(dir_fd, ret_data);
	assert_int_equal(len, bytes_of_pieces(PIECES));
	return len;
}

static haul_status try_open(int dir_fd, struct leaf_record *ret_record)
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

static void assert_leaves(struct leaf_record *r, const struct leaf_piece *pieces, unsigned count)
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
static void assert_prefix(int dir_fd, unsigned count)
{
	struct leaf_piece pieces[PIECES];
	struct leaf_record r;

	some_pieces(pieces);
	assert_done(try_open(dir_fd, &r));
	assert_leaves(&r, pieces, count);
	assert_int_equal(r.end, bytes_of_pieces(count));
	leaf_record_close(&r);
}

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

/* ---- the label ---- */

static size_t make_labelled(int dir_fd, const char *path, uint8_t ret_data[FILE_MAX])
{
	struct leaf_piece pieces[PIECES];
	struct leaf_record r;

	some_pieces(pieces);
	assert_done(leaf_record_create(dir_fd, "record", &some_source, INODE, &r));
	assert_done(leaf_record_label(&r, path));
	assert_done(leaf_record_append(&r, pieces, PIECES - 1));
	leaf_record_close(&r);
	return load(dir_fd, ret_data);
}

static void a_label_stands_before_the_pieces(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	struct leaf_piece pieces[PIECES];
	uint8_t data[FILE_MAX];
	struct leaf_look look;
	struct leaf_record r;

	some_pieces(pieces);
	make_labelled(dir, "day1/clip.mov", data);
	assert_done(leaf_record_look(dir, "record", INODE, &look));
	assert_true(look.has_label && leaf_source_equal(&look.source, &some_source));
	assert_string_equal(look.path, "day1/clip.mov");
	assert_int_equal(look.there_bytes, 5 * HAUL_LEAF_BYTES);
	assert_done(try_open(dir, &r));
	assert_leaves(&r, pieces, PIECES - 1);
	assert_done(leaf_record_append(&r, pieces + PIECES - 1, 1));
	leaf_record_close(&r);
	assert_done(leaf_record_look(dir, "record", INODE, &look));
	assert_int_equal(look.there_bytes, 5 * HAUL_LEAF_BYTES + 5); /* the last leaf is short */
	assert_done(try_open(dir, &r));
	assert_leaves(&r, pieces, PIECES);
	leaf_record_close(&r);
	assert_code(leaf_record_look(dir, "record", INODE + 1, &look), HAUL_CORRUPT);
	assert_code(leaf_record_look(dir, "none", INODE, &look), HAUL_NOT_FOUND);
}

static void a_label_has_room_for_the_longest_path(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	char path[LEAF_RECORD_PATH_MAX + 2];
	uint8_t data[FILE_MAX];
	struct leaf_look look;

	memset(path, 'x', sizeof(path));
	for (size_t len = LEAF_RECORD_PATH_MAX - 17; len <= LEAF_RECORD_PATH_MAX + 1; len++) {
		path[len] = '\0';
		make_labelled(dir, path, data);
		assert_done(leaf_record_look(dir, "record", INODE, &look));
		assert_true(look.has_label);
		assert_int_equal(strlen(look.path), len <= LEAF_RECORD_PATH_MAX ? len : 0);
		assert_int_equal(look.there_bytes, 5 * HAUL_LEAF_BYTES);
		path[len] = 'x';
	}
}

/* Then it is as if the record ended there: nothing behind it was synced without it. */
static void a_torn_or_damaged_label_is_none(void **state)
{
	int dir = ((struct temp_tree *)*state)->fd;
	uint8_t data[FILE_MAX];
	size_t len = make_labelled(dir, "day1/clip.mov", data), end = HEADER_BYTES + 16 + 16 + 16;
	struct leaf_look look;

	assert_true(end < len);
	for (size_t at = HEADER_BYTES; at < end; at++) {
		temp_file(dir, "record", data, at);
		assert_done(leaf_record_look(dir, "record", INODE, &look));
		assert_true(!look.has_label && !look.path[0] && look.there_bytes == 0);
		data[at] ^= 0x11;
		temp_file(dir, "record", data, len);
		assert_done(leaf_record_look(dir, "record", INODE, &look));
		assert_true(!look.has_label && look.there_bytes == 0);
		data[at] ^= 0x11;
	}
	temp_file(dir, "record", data, end);
	assert_done(leaf_record_look(dir, "record", INODE, &look));
	assert_true(look.has_label && look.there_bytes == 0);
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

/* ---- which leaves ---- */

static void assert_run(const struct leaf_map *m, bool set, uint64_t from, uint64_t first, uint64_t count)
{
	uint64_t ret_first = 999, ret_count = 999;

	assert_int_equal(leaf_map_run(m, set, from, &ret_first, &ret_count), count > 0);
	assert_int_equal(ret_count, count);
	if (count)
		assert_int_equal(ret_first, first);
}

static void a_map_counts_its_leaves(void **state)
{
	struct leaf_map m;

	(void)state;
	assert_true(leaf_map_open(&m, 130));
	leaf_map_set(&m, 0);
	leaf_map_set(&m, 64);
	leaf_map_set(&m, 129);
	leaf_map_set(&m, 129);
	leaf_map_set(&m, 130);
	leaf_map_set(&m, UINT64_MAX);
	assert_int_equal(m.count, 3);
	assert_true(leaf_map_has(&m, 0) && leaf_map_has(&m, 64) && leaf_map_has(&m, 129));
	assert_false(leaf_map_has(&m, 63) || leaf_map_has(&m, 65) || leaf_map_has(&m, 130));
	assert_false(leaf_map_has(&m, UINT64_MAX));
	leaf_map_clear(&m, 64);
	leaf_map_clear(&m, 64);
	leaf_map_clear(&m, 1);
	leaf_map_clear(&m, 130);
	assert_int_equal(m.count, 2);
	assert_false(leaf_map_has(&m, 64));
	leaf_map_close(&m);
	leaf_map_close(&m);
	assert_null(m.words);
}

static void a_map_gives_its_runs(void **state)
{
	struct leaf_map m;

	(void)state;
	assert_true(leaf_map_open(&m, 128));
	assert_run(&m, true, 0, 0, 0);
	assert_run(&m, false, 0, 0, 128);
	for (uint64_t i = 60; i < 70; i++)
		leaf_map_set(&m, i);
	leaf_map_set(&m, 127);
	assert_run(&m, true, 0, 60, 10);
	assert_run(&m, true, 65, 65, 5);
	assert_run(&m, true, 70, 127, 1);
	assert_run(&m, true, 128, 0, 0);
	assert_run(&m, false, 0, 0, 60);
	assert_run(&m, false, 60, 70, 57);
	assert_run(&m, false, 127, 0, 0);
	assert_run(&m, false, UINT64_MAX, 0, 0);
	leaf_map_close(&m);
	assert_true(leaf_map_open(&m, 0));
	assert_run(&m, false, 0, 0, 0);
	leaf_map_close(&m);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
		test(a_label_stands_before_the_pieces),
		test(a_label_has_room_for_the_longest_path),
		test(a_torn_or_damaged_label_is_none),
		test(another_partials_record_is_not_taken),
		test(only_a_plain_file_of_ours_is_taken),
		test(a_new_record_leaves_others_files_alone),
		test(no_handles_are_lost),
		cmocka_unit_test(sources_are_equal_only_for_certain),
		cmocka_unit_test(a_map_counts_its_leaves),
		cmocka_unit_test(a_map_gives_its_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
