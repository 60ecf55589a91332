/* What all messages share: bounds and texts. */
#ifndef HAUL_PROTOCOL_MESSAGE_BASE_H
#define HAUL_PROTOCOL_MESSAGE_BASE_H

#include <stddef.h>
#include <stdint.h>

enum {
	PROTOCOL_VERSION = 1,
	TREE_VERSION = 1,
	MESSAGE_BYTES_MAX = 256 * 1024, /* one frame's payload */
	MESSAGE_RECORDS_MAX = 4096,     /* records of one MANIFEST, WANT, ACK, RESULT, FAILED … */
	MESSAGE_PATH_MAX = 65535,       /* bytes of one path in LOOKUP, LIST and JOB */
	MESSAGE_SOURCES_MAX = 256,
	MESSAGE_SHARES_MAX = 256,
	MESSAGE_LISTING_MAX = 1024,
	MESSAGE_PARTIAL_ID_BYTES = 32,
	MESSAGE_PARTIAL_PATH_MAX = 4096,
	MESSAGE_TEXT_MAX = 300,
	MESSAGE_SHARE_NAME_MAX = 64,
	MESSAGE_PEER_NAME_MAX = 64,
	MESSAGE_CAPABILITIES_MAX = 64,
	MESSAGE_CAPABILITY_NAME_MAX = 32,
	MESSAGE_RANGES_MAX = 1024,
	MESSAGE_EXTRA_DIGESTS_MAX = 4,
	MESSAGE_EXTRA_DIGEST_BYTES_MAX = 64,
	MESSAGE_DIGESTS_MAX = 4096,       /* leaf digests of one BASIS or HAVE */
	MESSAGE_OWNERS_MAX = 1024,        /* of one message */
	MESSAGE_OWNERS_TOTAL_MAX = 65536, /* of one job */
	MESSAGE_OWNER_NAME_MAX = 256,
	MESSAGE_SOFTWARE_MAX = 64,
	MESSAGE_ATTEMPTS_MAX = 1000000,
	MESSAGE_STATES_MAX = 3, /* times one entry may be CHANGED */
	MESSAGE_CODE_MAX = 65535,
	MESSAGE_BLOCK_MIN = 1 << 20,
	MESSAGE_BLOCK_MAX = 1 << 24,
	SESSION_ID_BYTES = 32,
	SOURCE_ID_BYTES = 16,
	LANES_MAX = 16,
	MESSAGE_NOTES_MAX = 64,         /* of one job */
	MESSAGE_RULES_MAX = 1024,       /* of one CHOICE */
	MESSAGE_RULES_TOTAL_MAX = 4096, /* of one job */
	MESSAGE_PATTERN_MAX = 4096,
	MESSAGE_LOOK_MAX = 1024, /* entries of one LOOK */
	MESSAGE_KEPT_MAX = 256,  /* entries of one MOVED */
	LOOK_TOKEN_BYTES = 16,
};

/* Sizes end where off_t does, and a file of that size has this many leaves. */
#define MESSAGE_PROBE_MIN (UINT64_C(1) << 20)
#define MESSAGE_PROBE_MAX (UINT64_C(1) << 35)
#define MESSAGE_PROBE_DISK_MAX (UINT64_C(1) << 33) /* that a server lets be written */
#define MESSAGE_SIZE_MAX ((uint64_t)INT64_MAX)
#define MESSAGE_TIMES_MAX_MS (UINT64_C(1) << 43) /* twice as many nanoseconds still fit into 64 bits */
#define MESSAGE_LEAVES_MAX ((uint64_t)1 << 43)

enum digest_algorithm { DIGEST_XXH3_128 = 1, DIGEST_BLAKE3 = 2, DIGEST_SHA256 = 3 };

/* Bytes with a length; not NUL-terminated. */
struct text {
	const char *at;
	size_t len;
};

/* Byte order; a text that the other begins with comes first. Below 0, 0 or above 0, as memcmp(). */
int text_compare(struct text a, struct text b);

#endif
