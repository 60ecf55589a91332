/*
 * The record of a partial that outlives its job: what it is to become a copy of, and which of its leaves are on the
 * medium, each with its digest. A file beside the partial, 0600, ours.
 *
 * - header: 144 bytes: "haul-rec", version, source (size, mtime, id), inode of the partial, owner (peer, root), check.
 *
 * - label: 16 bytes (all ones, count), `count` times 16 bytes: path and at least one NUL; check. Once, right behind the
 *   header, or not at all: for people who want to know what lies here.
 *
 * - piece: 16 bytes (first leaf, count), `count` digests of 16 bytes, check.
 *
 * Numbers are big-endian. A check is the XXH3-128 of what stands before it in the header or piece, a piece's with its
 * offset in the file as the seed. Pieces are appended after the data that they speak of has been synced, and read up to
 * the first that is not whole: a torn write is the end, and what it spoke of is fetched again. A later piece of the
 * same leaf replaces the earlier one. Blocking. Thread: one at a time.
 */
#ifndef HAUL_ENGINE_LEAF_RECORD_H
#define HAUL_ENGINE_LEAF_RECORD_H

#include "engine/leaf_map.h"
#include "engine/base/entry.h"

enum {
	LEAF_RECORD_LEAVES_MAX = 1 << 22, /* a file of 4 TiB; its digests are 64 MiB. Longer ones have no record */
	LEAF_RECORD_ID_BYTES = 16,
	LEAF_RECORD_PATH_MAX = 4096, /* bytes without NUL; of a longer one nothing is noted */
};

/* Whose it is. The name of a partial is only a digest of these and its path, which somebody may have chosen. */
struct leaf_owner {
	uint8_t peer_id[32];
	uint64_t root_inode;
};

/* What a partial is a copy of. */
struct leaf_source {
	uint64_t size; /* bytes */
	struct entry_time mtime;
	uint8_t id[LEAF_RECORD_ID_BYTES]; /* of this state of this file; zeros: not known */
	struct leaf_owner owner;
};

/* Leaves that follow one another. */
struct leaf_piece {
	uint64_t first;
	uint32_t count; /* 1 to HAUL_BLOCK_LEAVES_MAX */
	struct haul_digest digests[HAUL_BLOCK_LEAVES_MAX];
};

/* What a record says of its partial, for looking at. */
struct leaf_look {
	struct leaf_source source;
	uint64_t there_bytes; /* in leaves that are recorded */
	bool has_label;
	char path[LEAF_RECORD_PATH_MAX + 1]; /* below the private directory, raw; "": not noted */
};

struct leaf_record {
	int fd;       /* owned */
	uint64_t end; /* where the next piece goes */
};

bool leaf_owner_equal(const struct leaf_owner *a, const struct leaf_owner *b);

/* Whether the two are the same state of the same file for certain: equal, and with an id. */
bool leaf_source_equal(const struct leaf_source *a, const struct leaf_source *b);

/*
 * A new record without leaves, in the place of whatever stood there; its name is durable when this returns.
 *
 * inode   of the partial that it belongs to.
 */
HAUL_MUST_USE haul_status leaf_record_create(int dir_fd, const char *name, const struct leaf_source *source,
					     uint64_t inode, struct leaf_record *ret_record);

/* Note where the partial goes; once, before the first append, with which it becomes durable. */
HAUL_MUST_USE haul_status leaf_record_label(struct leaf_record *r, const char *path);

/*
 * Look at one without changing it, whoever it belongs to and while a job may be appending to it.
 *
 * HAUL_NOT_FOUND, HAUL_CORRUPT   as leaf_record_open(). HAUL_NO_MEMORY.
 */
HAUL_MUST_USE haul_status leaf_record_look(int dir_fd, const char *name, uint64_t inode, struct leaf_look *ret_look);

/*
 * Open the one that is there. Given: leaf_record_close().
 *
 * HAUL_NOT_FOUND   there is none. HAUL_CORRUPT: not ours, not whole, or of another partial.
 */
HAUL_MUST_USE haul_status leaf_record_open(int dir_fd, const char *name, uint64_t inode, struct leaf_source *ret_source,
					   struct leaf_record *ret_record);

/*
 * Read its pieces, once, right after opening or leaf_record_rewind().
 *
 * ret_have      open, of the file's leaves: those that are recorded are set.
 * ret_digests   as many as leaves: those of recorded ones are filled in. NULL is fine.
 */
HAUL_MUST_USE haul_status leaf_record_read(struct leaf_record *r, struct leaf_map *ret_have,
					   struct haul_digest *ret_digests);

/* So that it is read once more. */
void leaf_record_rewind(struct leaf_record *r);

/* Append; leaf_record_sync() waits until it is on the medium. After a failure of either it may be used no more. */
HAUL_MUST_USE haul_status leaf_record_append(struct leaf_record *r, const struct leaf_piece *pieces, size_t count);
HAUL_MUST_USE haul_status leaf_record_sync(struct leaf_record *r);

void leaf_record_close(struct leaf_record *r); /* fine on a closed one: fd -1 */

#endif
