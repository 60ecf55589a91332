/* The layout is in the header file. Appending is one write and one fdatasync for all pieces of a commit. */
#include "engine/leaf_record.h"

#include "engine/base/bytes.h"
#include "engine/beneath.h"
#include "engine/hash_tree.h"
#include "engine/whole_io.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	VERSION = 1,
	CHECK_BYTES = HAUL_DIGEST_BYTES,
	HEADER_BYTES = 144,
	HEADER_SPARE = 24, /* zeros */
	PIECE_HEAD_BYTES = 16,
	PIECE_BYTES_MAX = PIECE_HEAD_BYTES + HAUL_BLOCK_LEAVES_MAX * HAUL_DIGEST_BYTES + CHECK_BYTES,
	BATCH_PIECES = 64, /* encoded and written at once */
	LABEL_BYTES_MAX = LEAF_RECORD_PATH_MAX + 16,
};

static const uint8_t magic[8] = { 'h', 'a', 'u', 'l', '-', 'r', 'e', 'c' };

bool leaf_owner_equal(const struct leaf_owner *a, const struct leaf_owner *b)
{
	return a->root_inode == b->root_inode && memcmp(a->peer_id, b->peer_id, sizeof(a->peer_id)) == 0;
}

bool leaf_source_equal(const struct leaf_source *a, const struct leaf_source *b)
{
	static const uint8_t none[LEAF_RECORD_ID_BYTES];

	return a->size == b->size && entry_time_equal(&a->mtime, &b->mtime) &&
	       memcmp(a->id, b->id, sizeof(a->id)) == 0 && memcmp(a->id, none, sizeof(none)) != 0;
}

/* HAUL_TRUNCATED: the file ends before. */
static haul_status read_at(int fd, uint8_t *ret_data, size_t len, uint64_t offset)
{
	size_t got;
	haul_status st = read_up_to_at(fd, ret_data, len, offset, &got);

	return haul_ok(st) && got < len ? HAUL_TRUNCATED : st;
}

/* Of `len` bytes, a multiple of 16. */
static void check_of(const uint8_t *data, size_t len, uint64_t seed, struct haul_digest *ret_check)
{
	node_digest((const struct haul_digest *)data, len / HAUL_DIGEST_BYTES, seed, ret_check);
}

static bool is_checked(const uint8_t *data, size_t len, uint64_t seed)
{
	struct haul_digest check;

	check_of(data, len, seed, &check);
	return memcmp(check.bytes, data + len, CHECK_BYTES) == 0;
}

static void put_check(struct bytes *b, const uint8_t *data, size_t len, uint64_t seed)
{
	struct haul_digest check;

	check_of(data, len, seed, &check);
	bytes_put(b, check.bytes, CHECK_BYTES);
}

/* ---- header ---- */

static void encode_header(const struct leaf_source *source, uint64_t inode, uint8_t ret_data[HEADER_BYTES])
{
	struct bytes b = bytes_of(ret_data, HEADER_BYTES);

	memset(ret_data, 0, HEADER_BYTES);
	bytes_put(&b, magic, sizeof(magic));
	bytes_put_uint(&b, VERSION, 8);
	bytes_put_uint(&b, source->size, 8);
	bytes_put_uint(&b, (uint64_t)source->mtime.sec, 8);
	bytes_put_uint(&b, source->mtime.nsec, 8);
	bytes_put(&b, source->id, sizeof(source->id));
	bytes_put_uint(&b, inode, 8);
	bytes_put(&b, source->owner.peer_id, sizeof(source->owner.peer_id));
	bytes_put_uint(&b, source->owner.root_inode, 8);
	(void)bytes_skip(&b, HEADER_SPARE);
	put_check(&b, ret_data, HEADER_BYTES - CHECK_BYTES, 0);
}

static haul_status decode_header(const uint8_t *data, uint64_t inode, struct leaf_source *ret_source)
{
	struct bytes b = bytes_of((void *)(uintptr_t)data, HEADER_BYTES);
	const uint8_t *mark = bytes_skip(&b, sizeof(magic));
	uint64_t version = bytes_get_uint(&b, 8);
	struct leaf_source source;

	if (memcmp(mark, magic, sizeof(magic)) != 0 || version != VERSION ||
	    !is_checked(data, HEADER_BYTES - CHECK_BYTES, 0))
		return HAUL_CORRUPT;
	source.size = bytes_get_uint(&b, 8);
	source.mtime.sec = (int64_t)bytes_get_uint(&b, 8);
	source.mtime.nsec = (uint32_t)bytes_get_uint(&b, 8);
	bytes_get(&b, source.id, sizeof(source.id));
	if (bytes_get_uint(&b, 8) != inode)
		return HAUL_CORRUPT;
	bytes_get(&b, source.owner.peer_id, sizeof(source.owner.peer_id));
	source.owner.root_inode = bytes_get_uint(&b, 8);
	*ret_source = source;
	return HAUL_OK;
}

haul_status leaf_record_create(int dir_fd, const char *name, const struct leaf_source *source, uint64_t inode,
			       struct leaf_record *ret_record)
{
	uint8_t header[HEADER_BYTES];
	haul_status st;
	int fd;

	if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
		return haul_status_from_errno(errno);
	fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return haul_status_from_errno(errno);
	encode_header(source, inode, header);
	st = write_whole_at(fd, header, sizeof(header), 0);
	if (haul_ok(st) && fsync(fd) < 0)
		st = haul_status_from_errno(errno);
	if (haul_ok(st))
		st = beneath_sync_directory(dir_fd, -1);
	if (haul_failed(st)) {
		(void)close(fd);
		(void)unlinkat(dir_fd, name, 0);
		return st;
	}
	*ret_record = (struct leaf_record){ .fd = fd, .end = HEADER_BYTES };
	return HAUL_OK;
}

/* Of an open for writing that did not follow links: a link, a directory, a socket. */
static bool is_of_no_file(int err)
{
	return err == ELOOP || err == EISDIR || err == ENXIO;
}

haul_status leaf_record_open(int dir_fd, const char *name, uint64_t inode, struct leaf_source *ret_source,
			     struct leaf_record *ret_record)
{
	int fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	uint8_t header[HEADER_BYTES];
	struct stat st;
	haul_status result;

	if (fd < 0)
		return is_of_no_file(errno) ? HAUL_CORRUPT : haul_status_from_errno(errno);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		result = HAUL_CORRUPT;
	else
		result = read_at(fd, header, sizeof(header), 0);
	if (haul_ok(result))
		result = decode_header(header, inode, ret_source);
	if (haul_failed(result)) {
		(void)close(fd);
		return result.code == HAUL_CODE_TRUNCATED ? HAUL_CORRUPT : result;
	}
	*ret_record = (struct leaf_record){ .fd = fd, .end = HEADER_BYTES };
	return HAUL_OK;
}

/* ---- label ---- */

static const uint64_t label_mark = UINT64_MAX; /* in the place of a first leaf */

haul_status leaf_record_label(struct leaf_record *r, const char *path)
{
	uint8_t data[PIECE_HEAD_BYTES + LABEL_BYTES_MAX + CHECK_BYTES] = { 0 };
	struct bytes b = bytes_of(data, sizeof(data));
	size_t path_len = strlen(path), text, len;
	haul_status st;

	if (path_len > LEAF_RECORD_PATH_MAX)
		path_len = 0;
	text = (path_len / 16 + 1) * 16;
	len = PIECE_HEAD_BYTES + text;
	bytes_put_uint(&b, label_mark, 8);
	bytes_put_uint(&b, text / HAUL_DIGEST_BYTES, 8);
	bytes_put(&b, path, path_len);
	(void)bytes_skip(&b, text - path_len);
	put_check(&b, data, len, r->end);
	st = write_whole_at(r->fd, data, len + CHECK_BYTES, r->end);
	if (haul_ok(st))
		r->end += len + CHECK_BYTES;
	return st;
}

/* How long the label at `r->end` is; 0: there is none, or not a whole one. */
static size_t read_label(const struct leaf_record *r, struct leaf_look *ret_look)
{
	uint8_t data[PIECE_HEAD_BYTES + LABEL_BYTES_MAX + CHECK_BYTES];
	struct bytes b = bytes_of(data, sizeof(data));
	uint64_t mark, count;
	size_t len, text;

	if (haul_failed(read_at(r->fd, data, PIECE_HEAD_BYTES, r->end)))
		return 0;
	mark = bytes_get_uint(&b, 8);
	count = bytes_get_uint(&b, 8);
	if (mark != label_mark || count == 0 || count > LABEL_BYTES_MAX / HAUL_DIGEST_BYTES)
		return 0;
	len = PIECE_HEAD_BYTES + (size_t)count * HAUL_DIGEST_BYTES;
	if (haul_failed(read_at(r->fd, data, len + CHECK_BYTES, r->end)) || !is_checked(data, len, r->end) ||
	    data[len - 1])
		return 0;
	ret_look->has_label = true;
	text = strnlen((const char *)b.at, LEAF_RECORD_PATH_MAX);
	memcpy(ret_look->path, b.at, text);
	ret_look->path[text] = '\0';
	return len + CHECK_BYTES;
}

/* ---- pieces ---- */

static size_t piece_bytes(uint32_t count)
{
	return PIECE_HEAD_BYTES + (size_t)count * HAUL_DIGEST_BYTES + CHECK_BYTES;
}

/* HAUL_TRUNCATED: no whole piece there. */
static haul_status read_piece(const struct leaf_record *r, uint64_t leaves, struct leaf_piece *ret_piece)
{
	uint8_t data[PIECE_BYTES_MAX];
	struct bytes b = bytes_of(data, sizeof(data));
	size_t got;
	haul_status st = read_up_to_at(r->fd, data, sizeof(data), r->end, &got);
	uint64_t count;

	if (haul_ok(st) && got < PIECE_HEAD_BYTES)
		st = HAUL_TRUNCATED;
	if (haul_failed(st))
		return st;
	ret_piece->first = bytes_get_uint(&b, 8);
	count = bytes_get_uint(&b, 8);
	if (count == 0 || count > HAUL_BLOCK_LEAVES_MAX || ret_piece->first >= leaves ||
	    count > leaves - ret_piece->first)
		return HAUL_TRUNCATED;
	ret_piece->count = (uint32_t)count;
	if (got < piece_bytes(ret_piece->count) ||
	    !is_checked(data, piece_bytes(ret_piece->count) - CHECK_BYTES, r->end))
		return HAUL_TRUNCATED;
	bytes_get(&b, ret_piece->digests, count * HAUL_DIGEST_BYTES);
	return HAUL_OK;
}

/* As far as it is whole: ends with HAUL_TRUNCATED, or what went wrong. ret_digests may be NULL. */
static haul_status read_pieces(struct leaf_record *r, struct leaf_map *ret_have, struct haul_digest *ret_digests)
{
	struct leaf_piece piece;
	haul_status st;

	while (haul_ok(st = read_piece(r, ret_have->leaves, &piece))) {
		for (uint32_t i = 0; i < piece.count; i++) {
			leaf_map_set(ret_have, piece.first + i);
			if (ret_digests)
				ret_digests[piece.first + i] = piece.digests[i];
		}
		r->end += piece_bytes(piece.count);
	}
	return st;
}

haul_status leaf_record_read(struct leaf_record *r, struct leaf_map *ret_have, struct haul_digest *ret_digests)
{
	struct leaf_look label;
	haul_status st;

	r->end += read_label(r, &label);
	st = read_pieces(r, ret_have, ret_digests);
	if (st.code == HAUL_CODE_TRUNCATED && ftruncate(r->fd, (off_t)r->end) < 0)
		return haul_status_from_errno(errno);
	return st.code == HAUL_CODE_TRUNCATED ? HAUL_OK : st;
}

void leaf_record_rewind(struct leaf_record *r)
{
	r->end = HEADER_BYTES;
}

static haul_status look_at(int fd, uint64_t inode, struct leaf_look *ret_look)
{
	struct leaf_record r = { .fd = fd, .end = HEADER_BYTES };
	uint8_t header[HEADER_BYTES];
	struct leaf_map have;
	haul_status st = read_at(fd, header, sizeof(header), 0);

	if (haul_ok(st))
		st = decode_header(header, inode, &ret_look->source);
	if (haul_ok(st) && (!ret_look->source.size || leaf_count(ret_look->source.size) > LEAF_RECORD_LEAVES_MAX))
		st = HAUL_CORRUPT;
	if (haul_failed(st))
		return st.code == HAUL_CODE_TRUNCATED ? HAUL_CORRUPT : st;
	r.end += read_label(&r, ret_look);
	if (!leaf_map_open(&have, leaf_count(ret_look->source.size)))
		return HAUL_NO_MEMORY;
	st = read_pieces(&r, &have, NULL);
	ret_look->there_bytes = leaf_map_bytes(&have, ret_look->source.size);
	leaf_map_close(&have);
	return st.code == HAUL_CODE_TRUNCATED ? HAUL_OK : st;
}

haul_status leaf_record_look(int dir_fd, const char *name, uint64_t inode, struct leaf_look *ret_look)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct leaf_look look = { .there_bytes = 0 };
	struct stat facts;
	haul_status st;

	if (fd < 0)
		return haul_status_from_errno(errno);
	st = fstat(fd, &facts) < 0 || !S_ISREG(facts.st_mode) ? HAUL_CORRUPT : look_at(fd, inode, &look);
	(void)close(fd);
	if (haul_ok(st))
		*ret_look = look;
	return st;
}

static size_t encode_piece(const struct leaf_piece *piece, uint64_t offset, uint8_t *ret_data)
{
	size_t len = piece_bytes(piece->count);
	struct bytes b = bytes_of(ret_data, len);

	assert(piece->count >= 1 && piece->count <= HAUL_BLOCK_LEAVES_MAX);
	bytes_put_uint(&b, piece->first, 8);
	bytes_put_uint(&b, piece->count, 8);
	bytes_put(&b, piece->digests, (size_t)piece->count * HAUL_DIGEST_BYTES);
	put_check(&b, ret_data, len - CHECK_BYTES, offset);
	return len;
}

static haul_status append_batch(struct leaf_record *r, const struct leaf_piece *pieces, size_t count)
{
	uint8_t data[BATCH_PIECES * PIECE_BYTES_MAX];
	size_t len = 0;
	haul_status st;

	for (size_t i = 0; i < count; i++)
		len += encode_piece(&pieces[i], r->end + len, data + len);
	st = write_whole_at(r->fd, data, len, r->end);
	if (haul_ok(st))
		r->end += len;
	return st;
}

haul_status leaf_record_append(struct leaf_record *r, const struct leaf_piece *pieces, size_t count)
{
	haul_status st = HAUL_OK;

	for (size_t at = 0; at < count && haul_ok(st); at += BATCH_PIECES)
		st = append_batch(r, pieces + at, count - at < BATCH_PIECES ? count - at : BATCH_PIECES);
	return st;
}

haul_status leaf_record_sync(struct leaf_record *r)
{
	return fdatasync(r->fd) < 0 ? haul_status_from_errno(errno) : HAUL_OK;
}

void leaf_record_close(struct leaf_record *r)
{
	if (r->fd >= 0)
		(void)close(r->fd);
	r->fd = -1;
}
