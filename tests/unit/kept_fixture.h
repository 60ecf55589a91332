/* Jobs that keep partials: leaves written, recorded and looked at again. */
#ifndef HAUL_TESTS_KEPT_FIXTURE_H
#define HAUL_TESTS_KEPT_FIXTURE_H

#include "partial_fixture.h"

#include "engine/hash_tree.h"

enum { TAIL = 7, LEAVES = 4, DAY = 24 * 60 * 60 };

#define SIZE ((LEAVES - 1) * (uint64_t)HAUL_LEAF_BYTES + TAIL)
#define KEPT ".haul/partials"

static const uint8_t peer[32] = "a peer";
static const struct leaf_source some_source = { .size = SIZE, .mtime = { 1234567890, 5 }, .id = { 1 } };

/* ---- one leaf after another ---- */

static inline size_t leaf_len(uint64_t size, uint64_t leaf)
{
	uint64_t left = size - leaf * HAUL_LEAF_BYTES;

	return left < HAUL_LEAF_BYTES ? (size_t)left : HAUL_LEAF_BYTES;
}

static inline void put_leaf(struct partial *part, uint64_t leaf, char fill)
{
	static char data[HAUL_LEAF_BYTES];
	size_t len = leaf_len(part->size, leaf);

	memset(data, fill, len);
	assert_int_equal(pwrite(part->file.fd, data, len, (off_t)(leaf * HAUL_LEAF_BYTES)), len);
}

static inline bool leaf_is(int fd, uint64_t size, uint64_t leaf, char fill)
{
	static char data[HAUL_LEAF_BYTES];
	size_t len = leaf_len(size, leaf);

	return pread(fd, data, len, (off_t)(leaf * HAUL_LEAF_BYTES)) == (ssize_t)len && data[0] == fill &&
	       memcmp(data, data + 1, len - 1) == 0;
}

/* `fills` has a letter for each leaf, '0' for one of zeros. */
static inline void assert_fills(const struct partial *part, const char *fills)
{
	struct stat st;

	assert_int_equal(fstat(part->file.fd, &st), 0);
	assert_int_equal(st.st_size, part->size);
	assert_int_equal(leaf_count(part->size), strlen(fills));
	for (size_t i = 0; fills[i]; i++)
		assert_true(leaf_is(part->file.fd, part->size, i, fills[i] == '0' ? '\0' : fills[i]));
}

static inline struct leaf_piece piece_of(uint64_t leaf, char mark)
{
	struct leaf_piece p = { .first = leaf, .count = 1 };

	memset(p.digests[0].bytes, mark, HAUL_DIGEST_BYTES);
	return p;
}

/* The leaf is written and on the medium, and that is recorded. */
static inline void check_leaf(struct partial *part, uint64_t leaf, char fill)
{
	struct leaf_piece piece = piece_of(leaf, fill);

	put_leaf(part, leaf, fill);
	assert_done(partial_checkpoint(part, &piece, 1));
}

/* `marks` has the letter of each leaf that is recorded, '-' for one that is not. */
static inline void assert_recorded(struct partial *part, const char *marks)
{
	struct haul_digest digests[16];
	struct leaf_map have;

	assert_true(leaf_map_open(&have, leaf_count(part->size)));
	assert_int_equal(have.leaves, strlen(marks));
	assert_done(partial_read_record(part, &have, digests));
	for (size_t i = 0; marks[i]; i++) {
		struct leaf_piece expected = piece_of(i, marks[i]);

		assert_int_equal(leaf_map_has(&have, i), marks[i] != '-');
		if (marks[i] != '-')
			assert_true(digest_equal(&digests[i], &expected.digests[0]));
	}
	leaf_map_close(&have);
}

/* ---- jobs ---- */

static inline struct place *keeping_place(int root_fd, int private_fd, const uint8_t peer_id[32])
{
	struct haul_fault fault;
	struct place *p = NULL;

	assert_done(place_open(root_fd, private_fd, &p, &fault));
	place_keep(p, peer_id);
	return p;
}

static inline int set_up_keeping(void **state)
{
	int failed = set_up(state);

	if (!failed)
		place_keep(((struct fixture *)*state)->place, peer);
	return failed;
}

static inline void next_job(struct fixture *f)
{
	close_place(f);
	f->place = keeping_place(f->tree.fd, f->tree.fd, peer);
}

static inline struct partial get_config(struct place *p, const char *path, const struct partial_config *cfg)
{
	struct haul_fault fault = { .text = "" };
	struct partial part;

	if (haul_failed(partial_create(p, path, cfg, &part, &fault)))
		fail_msg("%s", fault.text);
	return part;
}

static inline struct partial get(struct place *p, const char *path, const struct leaf_source *source)
{
	return get_config(p, path,
			  &(struct partial_config){ .size = source->size, .direct = DIRECT_NEVER, .source = source });
}

static inline struct partial get_kept(struct place *p, const char *path, const struct leaf_source *source,
				      enum partial_found found)
{
	struct partial part = get(p, path, source);

	assert_true(part.is_kept);
	assert_int_equal(part.found, found);
	return part;
}

/* One with the leaves 0 and 2 recorded and 1 only written, by a job that is over. */
static inline void leave_one(struct fixture *f, const char *path, const struct leaf_source *source)
{
	struct partial part = get_kept(f->place, path, source, PARTIAL_NEW);

	check_leaf(&part, 0, 'a');
	put_leaf(&part, 1, 'b');
	check_leaf(&part, 2, 'c');
	partial_keep(&part);
	assert_int_equal(part.name[0], '\0');
	next_job(f);
}

static inline void finish(struct place *p, struct partial *part, const char *path)
{
	struct haul_fault fault;

	assert_done(partial_finish(part, META(some_meta), false, &fault));
	assert_done(partial_publish(p, part, path, PUBLISH_REPLACE));
}

static inline char *record_of(const struct partial *part, char ret_name[RECORD_NAME_MAX])
{
	partial_record_name(part->name, ret_name);
	return ret_name;
}

#define kept_test(name) cmocka_unit_test_setup_teardown(name, set_up_keeping, tear_down)

#endif
