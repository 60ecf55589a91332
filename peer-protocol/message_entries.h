/*
 * What is said of the entries of a job: announced, wanted, acknowledged, failed, changed, ended. message.h says who
 * owns what these point to; docs/PROTOCOL.md is the reference.
 */
#ifndef HAUL_PROTOCOL_MESSAGE_ENTRIES_H
#define HAUL_PROTOCOL_MESSAGE_ENTRIES_H

#include "engine/base/entry.h"
#include "peer-protocol/message_base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct owner_name {
	uint32_t index; /* 0, 1, 2 … over the whole job; users and groups share the numbering */
	bool is_group;
	uint32_t number;  /* uid or gid on the sender */
	struct text name; /* empty if the number has none */
};

struct msg_owners {
	const struct owner_name *owners;
	size_t owner_count;
};

enum manifest_record_type { RECORD_ENTRY = 1, RECORD_DIR_END = 2, RECORD_PROBLEM = 3 };
enum entry_flags {
	ENTRY_SPARSE = 1 << 0,
	ENTRY_HAS_SOURCE_ID = 1 << 1,
	ENTRY_HAS_ROOT = 1 << 2,
	ENTRY_ATTRIBUTES_LEFT_OUT = 1 << 3, /* it has more of them than are announced */
	ENTRY_ATTRIBUTES_OF_ROOT = 1 << 4,  /* who read them sees security.* and trusted.*: they are among them */
};

struct extra_digest {
	uint32_t algorithm;
	struct text bytes;
};

struct manifest_entry {
	uint64_t index;  /* 0, 1, 2 … in canonical order */
	uint64_t parent; /* index of the directory, announced before; HAUL_NO_INDEX: the job's root */
	struct text name;
	enum entry_kind kind;
	uint64_t size;
	struct entry_time mtime;
	uint32_t mode;
	uint32_t owner, group; /* indices of OWNERS; UINT32_MAX: not given */
	uint64_t link_to;      /* first entry of the hard-link group; HAUL_NO_INDEX: none */
	uint64_t rdev;
	const struct attribute *attributes; /* by attributes_check() */
	size_t attribute_count;
	uint32_t flags;   /* enum entry_flags; unknown bits are ignored */
	uint32_t attempt; /* 0 the first time an entry's data is offered */
	uint8_t source_id[SOURCE_ID_BYTES];
	struct haul_digest root;
	struct text link_target; /* symbolic links only */
	const struct extra_digest *extra;
	size_t extra_count;
};

/* The job's root as an entry (JOB_ROOT_TOO): the first, and the only one without a name. */
static inline bool manifest_is_root(const struct manifest_entry *e)
{
	return !e->name.len && !e->index && e->parent == HAUL_NO_INDEX && e->kind == ENTRY_DIRECTORY;
}

struct manifest_dir_end {
	uint64_t directory; /* index; HAUL_NO_INDEX: the job's root */
	uint64_t count;     /* entries directly in it that were announced */
	bool is_complete;   /* false: something of it could not be listed */
	uint32_t error;     /* enum haul_code, with !is_complete */
	bool is_partial;    /* the choice left out names in it by their size, time, or for lack in a list */
};

/* Something of the source that is left out, so that the receiver can name it. */
struct manifest_problem {
	uint64_t directory; /* index of one that is open; HAUL_NO_INDEX: the job's root */
	struct text name;
	uint32_t code; /* enum haul_code */
};

struct manifest_record {
	enum manifest_record_type type;
	union {
		struct manifest_entry entry;
		struct manifest_dir_end dir_end;
		struct manifest_problem problem;
	};
};

struct msg_manifest {
	const struct manifest_record *records;
	size_t record_count;
};

struct msg_manifest_end {
	uint64_t entries;
	uint64_t bytes; /* sum of the sizes of regular files */
};

enum want_kind {
	WANT_NOTHING = 0, /* what is there is kept; its RESULT follows */
	WANT_WHOLE = 1,
	WANT_RANGES = 2,        /* these leaves (again) */
	WANT_DIGESTS = 3,       /* leaf digests alone, to compare with what is there */
	WANT_CLONE = 4,         /* receiver makes it from a file it has; sender sends nothing */
	WANT_DIGEST_RANGES = 5, /* as 3, of these leaves */
};

struct leaf_range {
	uint64_t first;
	uint64_t count; /* at least 1 */
};

struct want {
	uint64_t entry;
	uint32_t attempt;
	enum want_kind kind;
	const struct leaf_range *ranges; /* WANT_RANGES, WANT_DIGEST_RANGES: ascending, disjoint */
	size_t range_count;
	struct text clone_path; /* WANT_CLONE */
	uint8_t clone_source_id[SOURCE_ID_BYTES];
};

static inline bool want_has_ranges(const struct want *w)
{
	return w->kind == WANT_RANGES || w->kind == WANT_DIGEST_RANGES;
}

struct msg_want {
	const struct want *wants;
	size_t want_count;
};

/* BASIS and HAVE */
struct msg_digests {
	uint64_t entry;
	uint64_t first_leaf;
	const struct haul_digest *digests;
	size_t digest_count;
};

enum ack_level { ACK_RECEIVED = 1, ACK_WRITTEN = 2, ACK_DURABLE = 3 };

struct ack {
	uint64_t entry;
	uint32_t attempt;
	enum ack_level level;
	uint64_t first_leaf, leaf_count;
};

struct msg_ack {
	const struct ack *acks;
	size_t ack_count;
};

struct entry_failure {
	uint64_t entry;
	uint32_t attempt;
	uint32_t code; /* enum haul_code */
};

struct msg_failed {
	const struct entry_failure *failures;
	size_t failure_count;
};

/* All their attempts are over. CHANGED or FAILED follows for each, later. */
struct msg_put_off {
	const uint64_t *entries;
	size_t entry_count;
};

/* A file that was put off, as it is by now. */
struct changed_entry {
	uint64_t entry;
	uint32_t attempt; /* the first of this state; above all before */
	uint64_t size;
	struct entry_time mtime;
	uint32_t mode;
	uint32_t flags; /* enum entry_flags; ENTRY_HAS_ROOT means nothing here */
	uint8_t source_id[SOURCE_ID_BYTES];
};

struct msg_changed {
	const struct changed_entry *entries;
	size_t entry_count;
};

/* What was done, or would be done by a dry run; several may be set. */
enum change_bits {
	CHANGE_CREATED = 1 << 0, /* was not there */
	CHANGE_CONTENT = 1 << 1, /* bytes, link target or kind replaced */
	CHANGE_SIZE = 1 << 2,
	CHANGE_TIME = 1 << 3,
	CHANGE_MODE = 1 << 4,
	CHANGE_KIND = 1 << 5,
	CHANGE_SURPLUS = 1 << 6,    /* verify: only at the destination */
	CHANGE_MISSING = 1 << 7,    /* verify: not at the destination */
	CHANGE_DELETED = 1 << 8,    /* with SURPLUS: a sync deletes it, would, or had to leave it (code) */
	CHANGE_ATTRIBUTES = 1 << 9, /* extended attributes but ACLs */
	CHANGE_ACL = 1 << 10,
	CHANGE_OWNER = 1 << 11,
	CHANGE_GROUP = 1 << 12,
	CHANGE_STAYS = 1 << 13, /* nothing is: the choice lets what is there stay, or nothing be made */
	CHANGE_META = CHANGE_TIME | CHANGE_MODE | CHANGE_ATTRIBUTES | CHANGE_ACL | CHANGE_OWNER | CHANGE_GROUP,
};

enum result_flags {
	RESULT_COMMITTED = 1 << 0, /* durable under its final name */
	RESULT_HAS_ROOT = 1 << 1,
	RESULT_HAS_OFFSET = 1 << 2,
};

struct entry_result {
	uint64_t entry; /* HAUL_NO_INDEX with CHANGE_SURPLUS: not of the manifest; `detail` is its path */
	uint32_t attempt;
	enum entry_outcome outcome;
	uint32_t code;    /* enum haul_code; 0 unless the outcome is failed, or for a warning */
	uint32_t changes; /* enum change_bits */
	uint32_t flags;   /* enum result_flags */
	uint64_t offset;  /* verify: first byte that differs */
	struct haul_digest root;
	struct text detail; /* CHANGE_SURPLUS: the path; untrusted */
	uint32_t lost;      /* enum entry_lost; unknown bits are ignored */
};

struct msg_result {
	const struct entry_result *results;
	size_t result_count;
};

#endif
