/*
 * One thing in a tree: what a scan finds, a manifest carries and a destination makes.
 *
 * Paths are byte strings of components joined by '/', relative to the job's root, of any length (deeper than PATH_MAX
 * is fine); they never start or end with '/', and "" is the root itself. Components obey haul_component_check().
 */
#ifndef HAUL_BASE_ENTRY_H
#define HAUL_BASE_ENTRY_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HAUL_NAME_MAX = 255,   /* bytes of one component */
	HAUL_DEPTH_MAX = 4096, /* components of one path */
	HAUL_LINK_TARGET_MAX = 4095,
	HAUL_DIGEST_BYTES = 16,
	HAUL_LEAF_BYTES = 1 << 20, /* 1 MiB: leaf of every hash tree */
	HAUL_BLOCK_LEAVES_MAX = 16 /* 16 MiB: the longest block */
};

#define HAUL_NO_INDEX UINT64_MAX /* no such entry; also the parent of what lies at the job's root */

struct haul_digest {
	uint8_t bytes[HAUL_DIGEST_BYTES]; /* XXH3-128, canonical (big-endian) form */
};

enum entry_kind {
	ENTRY_FILE = 1,
	ENTRY_DIRECTORY = 2,
	ENTRY_LINK = 3,
	ENTRY_FIFO = 4,
	ENTRY_SOCKET = 5,
	ENTRY_CHAR_DEVICE = 6,
	ENTRY_BLOCK_DEVICE = 7,
};

/* How an entry ended; the number goes into its record (docs/ARCHITECTURE.md "hash tree"). */
enum entry_outcome {
	OUTCOME_PROVEN = 0,    /* every leaf compared, or nothing to compare */
	OUTCOME_UNCHANGED = 1, /* assumed equal by size and time */
	OUTCOME_FAILED = 2,    /* failed or skipped */
};

/* What of an entry's metadata could not be kept at the destination, and why; the entry itself is there. Bits. */
enum entry_lost {
	LOST_ATTRIBUTES_RIGHT = 1 << 0,  /* extended attributes: the sender has no `meta` */
	LOST_ATTRIBUTES_STORE = 1 << 1,  /* the file system there cannot store them */
	LOST_ATTRIBUTES_ROOM = 1 << 2,   /* it has no room for all of them */
	LOST_ATTRIBUTES_SOURCE = 1 << 3, /* they could not be read, or are beyond the bounds of attributes.h */
	LOST_ACL_RIGHT = 1 << 4,         /* ACLs: the sender has no `meta` */
	LOST_ACL_STORE = 1 << 5,         /* the file system there cannot store them */
	LOST_TRUSTED_RIGHT = 1 << 6,     /* security.* and trusted.*: the sender has no `special` */
	LOST_OWNER_RIGHT = 1 << 7,       /* owner and group: the sender has no `special` */
	LOST_OWNER_STORE = 1 << 8,       /* they cannot be set there */
	LOST_OWNER_NAME = 1 << 9,        /* nobody there has the name: it went by its number */
	LOST_SPECIAL_BITS = 1 << 10,     /* setuid or setgid: the sender has no `special`, or the owner was not kept */
	LOST_KINDS = 11,
	LOST_ALL = (1 << LOST_KINDS) - 1,
};

struct entry_time {
	int64_t sec;   /* since 1970, may be negative */
	uint32_t nsec; /* 0 .. 999,999,999 */
};

/* The facts about one entry. Plain values: copying is fine; name and link target are kept beside it by whoever owns it.
 */
struct entry_facts {
	enum entry_kind kind;
	uint32_t mode; /* permission bits with setuid, setgid and sticky: 07777 */
	uint64_t size; /* bytes; regular files only, else 0 */
	struct entry_time mtime;
	struct entry_time ctime;
	uint32_t uid, gid;
	uint64_t rdev;
	uint64_t device, inode; /* on the machine that looked */
	uint64_t links;         /* hard links */
	uint64_t blocks;        /* 512-byte units allocated */
};

static inline bool entry_time_equal(const struct entry_time *a, const struct entry_time *b)
{
	return a->sec == b->sec && a->nsec == b->nsec;
}

/* Whether both are one and the same object of a file system (one inode), as seen by the same machine. */
static inline bool entry_is_same(const struct entry_facts *a, const struct entry_facts *b)
{
	return a->device == b->device && a->inode == b->inode;
}

/*
 * Whether `len` bytes may be one component of a path that a peer sends or a scan reports.
 *
 * HAUL_BAD_VALUE       empty, longer than 255, holds '/' or NUL, or is "." or "..".
 * HAUL_RESERVED_NAME   ".haul" or begins with ".haul." or ".haul-", compared without regard to ASCII case.
 */
HAUL_MUST_USE haul_status haul_component_check(const char *name, size_t len);

#endif
