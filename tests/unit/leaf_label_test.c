/* The label of a record: where its partial goes. */
#include "leaf_record_fixture.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_label_stands_before_the_pieces),
		test(a_label_has_room_for_the_longest_path),
		test(a_torn_or_damaged_label_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
