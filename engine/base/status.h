/*
 * The one error type that crosses folders.
 *
 * A status is a struct, so that a byte count cannot pass for one, and every function that returns one must have its
 * result used. Codes come from the list below, in ranges per folder; errno, libuv's and mbedTLS's numbers are turned
 * into one of them where they enter. A status says what kind of failure it is; a struct haul_fault (fault.h) says
 * which file or peer it happened to.
 */
#ifndef HAUL_BASE_STATUS_H
#define HAUL_BASE_STATUS_H

#include <stdbool.h>

#define HAUL_MUST_USE __attribute__((warn_unused_result))
#define HAUL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* X(name, value, text): `text` is a short English phrase without a full stop. Values are stable: they go on the wire.
 */
#define HAUL_STATUS_LIST(X)                                                                                            \
	X(OK, 0, "success")                                                                                            \
	/* base 1..99 */                                                                                               \
	X(BUG, 1, "internal fault")                                                                                    \
	X(NO_MEMORY, 2, "out of memory")                                                                               \
	X(OVERFLOW, 3, "number too large")                                                                             \
	X(TRUNCATED, 4, "data ends too early")                                                                         \
	X(BAD_VALUE, 5, "value not allowed")                                                                           \
	X(BUSY, 6, "busy, try again")                                                                                  \
	X(CANCELLED, 7, "cancelled")                                                                                   \
	X(UNSUPPORTED, 8, "not supported here")                                                                        \
	/* engine 100..199 */                                                                                          \
	X(IO, 100, "input/output error")                                                                               \
	X(NO_SPACE, 101, "no space left")                                                                              \
	X(QUOTA, 102, "quota used up")                                                                                 \
	X(NOT_FOUND, 103, "no such file or directory")                                                                 \
	X(EXISTS, 104, "already exists")                                                                               \
	X(DENIED, 105, "permission denied")                                                                            \
	X(NOT_DIRECTORY, 106, "not a directory")                                                                       \
	X(IS_DIRECTORY, 107, "is a directory")                                                                         \
	X(LINK_IN_PATH, 108, "a symbolic link stands in the path")                                                     \
	X(CROSS_DEVICE, 109, "on another file system")                                                                 \
	X(CHANGED, 110, "changed while it was read")                                                                   \
	X(TOO_BIG, 111, "too big for this file system")                                                                \
	X(READ_ONLY, 112, "read-only file system")                                                                     \
	X(NAME_TOO_LONG, 113, "name too long")                                                                         \
	X(NOT_EMPTY, 114, "directory not empty")                                                                       \
	X(TOO_MANY_OPEN, 115, "too many open files")                                                                   \
	X(WRONG_KIND, 116, "another kind of file stands there")                                                        \
	X(CORRUPT, 117, "digest does not match")                                                                       \
	X(RESERVED_NAME, 118, "name is reserved for haul")                                                             \
	X(LINK_DANGLES, 119, "a symbolic link that leads nowhere")                                                     \
	X(LINK_LOOP, 120, "a symbolic link that leads in a circle")                                                    \
	X(LINK_LEADS_OUT, 121, "a symbolic link that leads out of the share")                                          \
	X(SAME_FILE, 122, "source and destination are one file")                                                       \
	/* peer-protocol 200..299 */                                                                                   \
	X(BAD_FRAME, 200, "malformed frame")                                                                           \
	X(BAD_MOVE, 201, "message not allowed in this state")                                                          \
	X(NOT_ANNOUNCED, 202, "message about something never announced")                                               \
	X(OVER_CREDIT, 203, "peer sent more than it was granted")                                                      \
	X(NO_COMMON_VERSION, 204, "no common protocol version")                                                        \
	X(CRITICAL_CAPABILITY, 205, "peer needs a capability this version lacks")                                      \
	X(ROOT_MISMATCH, 206, "job roots differ")                                                                      \
	/* certs 300..399 */                                                                                           \
	X(NOT_KNOWN, 300, "device is not known")                                                                       \
	X(NO_RIGHT, 301, "right missing")                                                                              \
	X(NO_SHARE, 302, "no such share")                                                                              \
	X(WRONG_DEVICE, 303, "another device answers")                                                                 \
	X(CRYPTO, 304, "cryptographic operation failed")                                                               \
	X(UNREADABLE_PINS, 305, "list of peers is damaged")                                                            \
	/* agent 400..499 */                                                                                           \
	X(REFUSED, 400, "connection refused")                                                                          \
	X(TIMED_OUT, 401, "no answer in time")                                                                         \
	X(LOST, 402, "connection lost")                                                                                \
	X(NO_ROUTE, 403, "address not reachable")                                                                      \
	X(USAGE, 404, "wrong usage")                                                                                   \
	X(INTERRUPTED, 405, "interrupted")                                                                             \
	X(VANISHED, 406, "source vanished")                                                                            \
	X(GUARD, 407, "a guard refused")                                                                               \
	X(ALREADY_RUNNING, 408, "the same job is running")                                                             \
	X(HOLDS_SHARE, 409, "it is a share, or holds one")

enum haul_code {
#define X(name, value, text) HAUL_CODE_##name = (value),
	HAUL_STATUS_LIST(X)
#undef X
};

typedef struct {
	enum haul_code code;
} haul_status;

#define X(name, value, text) static const haul_status HAUL_##name __attribute__((unused)) = { HAUL_CODE_##name };
HAUL_STATUS_LIST(X)
#undef X

static inline bool haul_failed(haul_status st)
{
	return st.code != HAUL_CODE_OK;
}

static inline bool haul_ok(haul_status st)
{
	return st.code == HAUL_CODE_OK;
}

/* The phrase of the list above; "unknown failure" for a number that is not in it. Static storage. */
const char *haul_status_text(haul_status st);

/* The status for a number that came over the wire or from a file: HAUL_BUG where it is not in the list. */
haul_status haul_status_from_number(unsigned number);

/* The status for an errno value; HAUL_IO where no closer one fits. Never HAUL_OK. */
haul_status haul_status_from_errno(int err);

#endif
