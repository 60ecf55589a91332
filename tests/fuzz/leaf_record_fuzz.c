/*
 * The record of a kept partial from disk. The first byte chooses: the rest is the whole file, or it is the fields of a
 * header and of pieces, which get their marks and checks here. What is read must be read again the same, also with one
 * piece more.
 */
#include "engine/hash_tree.h"
#include "engine/leaf_record.h"

#include "engine/base/bytes.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	INPUT_MAX = 1 << 16,
	LEAVES_MAX = 1 << 12, /* of a longer file the first ones: here it is not known how long it should be */
	HEADER_BYTES = 144,
	FIELDS_AT = 16, /* in the header, behind mark and version */
	FIELDS_BYTES = 64,
	INODE_AT = 56,
	PIECE_HEAD_BYTES = 16,
	DIGESTS_MAX = HAUL_BLOCK_LEAVES_MAX + 1,
	OUTPUT_MAX = 2 * INPUT_MAX + HEADER_BYTES,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char memory_path[] = "/dev/shm/haul-fuzz-XXXXXX", disk_path[] = "/tmp/haul-fuzz-XXXXXX";
static const char *dir_path;
static int dir_fd = -1;

static void remove_dir(void)
{
	(void)unlinkat(dir_fd, "record", 0);
	(void)rmdir(dir_path);
}

static void make_dir(void)
{
	dir_path = mkdtemp(memory_path);
	if (!dir_path)
		dir_path = mkdtemp(disk_path);
	assert(dir_path);
	dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert(dir_fd >= 0);
	(void)atexit(remove_dir);
}

static void put_file(const uint8_t *data, size_t len)
{
	int fd = openat(dir_fd, "record", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert(fd >= 0);
	assert(write(fd, data, len) == (ssize_t)len);
	(void)close(fd);
}

/* Of what stands before the cursor, from `start` on. */
static void put_check(struct bytes *b, const uint8_t *start, uint64_t seed)
{
	struct haul_digest check;

	node_digest((const struct haul_digest *)start, (size_t)(b->at - start) / HAUL_DIGEST_BYTES, seed, &check);
	bytes_put(b, check.bytes, sizeof(check.bytes));
}

/* The last byte of its head says how many digests follow, whether its count is that or not. */
static size_t put_piece(struct bytes *b, const uint8_t *file, const uint8_t *data, size_t len)
{
	const uint8_t *start = b->at;
	size_t digests = data[PIECE_HEAD_BYTES - 1] % (DIGESTS_MAX + 1), left = len - PIECE_HEAD_BYTES, taken;

	if (digests > left / HAUL_DIGEST_BYTES)
		digests = left / HAUL_DIGEST_BYTES;
	taken = PIECE_HEAD_BYTES + digests * HAUL_DIGEST_BYTES;
	bytes_put(b, data, taken);
	put_check(b, start, (uint64_t)(start - file));
	return taken;
}

static void put_framed(const uint8_t *data, size_t len)
{
	static const uint8_t head[FIELDS_AT] = { 'h', 'a', 'u', 'l', '-', 'r', 'e', 'c', [15] = 1 };
	static uint8_t file[OUTPUT_MAX];
	struct bytes b = bytes_of(file, sizeof(file));
	size_t fields = len < FIELDS_BYTES ? len : FIELDS_BYTES;

	bytes_put(&b, head, sizeof(head));
	memset(b.at, 0, FIELDS_BYTES);
	memcpy(b.at, data, fields);
	(void)bytes_skip(&b, FIELDS_BYTES);
	put_check(&b, file, 0);
	for (size_t at = fields; len - at >= PIECE_HEAD_BYTES;)
		at += put_piece(&b, file, data + at, len - at);
	assert(!b.is_short);
	put_file(file, sizeof(file) - b.left);
}

/* The inode that the record itself names: another one is refused before anything is read. */
static uint64_t own_inode(void)
{
	uint8_t text[8] = { 0 };
	struct bytes b = bytes_of(text, sizeof(text));
	int fd = openat(dir_fd, "record", O_RDONLY | O_CLOEXEC);

	assert(fd >= 0 && pread(fd, text, sizeof(text), INODE_AT) >= 0);
	(void)close(fd);
	return bytes_get_uint(&b, 8);
}

/* What is in the record; the file ends with it. False: it is none. */
static bool read_record(struct leaf_map *ret_have, struct haul_digest ret_digests[LEAVES_MAX],
			struct leaf_record *ret_record)
{
	struct leaf_source source;
	struct stat st;
	uint64_t leaves;

	memset(ret_digests, 0, LEAVES_MAX * sizeof(ret_digests[0]));
	if (haul_failed(leaf_record_open(dir_fd, "record", own_inode(), &source, ret_record)))
		return false;
	leaves = leaf_count(source.size);
	assert(leaf_map_open(ret_have, leaves < LEAVES_MAX ? leaves : LEAVES_MAX));
	assert(haul_ok(leaf_record_read(ret_record, ret_have, ret_digests)));
	assert(ret_have->count <= ret_have->leaves);
	assert(fstat(ret_record->fd, &st) == 0 && (uint64_t)st.st_size == ret_record->end);
	return true;
}

static void close_record(struct leaf_map *have, struct leaf_record *r)
{
	leaf_map_close(have);
	leaf_record_close(r);
}

/* It is there again, with the piece that was appended. */
static void assert_again(struct leaf_map *have, struct haul_digest digests[LEAVES_MAX], const struct leaf_piece *added)
{
	static struct haul_digest digests_again[LEAVES_MAX];
	struct leaf_map have_again;
	struct leaf_record r;

	leaf_map_set(have, added->first);
	digests[added->first] = added->digests[0];
	assert(read_record(&have_again, digests_again, &r));
	assert(have_again.leaves == have->leaves && have_again.count == have->count);
	assert(memcmp(have_again.words, have->words, (size_t)(have->leaves / 64 + 1) * sizeof(uint64_t)) == 0);
	assert(memcmp(digests_again, digests, sizeof(digests_again)) == 0);
	close_record(&have_again, &r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct haul_digest digests[LEAVES_MAX];
	struct leaf_piece added = { .count = 1, .digests = { { { 1, 2, 3 } } } };
	struct leaf_map have;
	struct leaf_record r;

	if (dir_fd < 0)
		make_dir();
	if (size == 0 || size > INPUT_MAX)
		return 0;
	if (data[0] & 1)
		put_framed(data + 1, size - 1);
	else
		put_file(data + 1, size - 1);
	if (!read_record(&have, digests, &r))
		return 0;
	added.first = have.leaves - 1;
	assert(haul_ok(leaf_record_append(&r, &added, 1)));
	leaf_record_close(&r);
	assert_again(&have, digests, &added);
	leaf_map_close(&have);
	return 0;
}
