/* What the wrapped calls of the preloaded library share: whether a call counts, what befalls it, what is recorded. */
#ifndef HAUL_TESTS_FAULT_CALL_H
#define HAUL_TESTS_FAULT_CALL_H

#include "tests/fault/fault_log.h"
#include "tests/fault/fault_plan.h"

/* One call on its way. */
struct fault_call {
	enum fault_deed deed;
	bool is_recorded;
	uint64_t begin_ns;
};

/* An id of the recorder's. */
struct fault_id {
	char text[48];
};

/*
 * Before the call. `is_ours`: it concerns a root (disk, read) or a socket (net); all others pass.
 *
 * False: it is not made, and errno says why.
 */
bool fault_call_begin(struct fault_call *c, enum fault_kind kind, bool is_ours);

/* After it; with what is to be recorded (printf) if it was done. errno stays. */
void fault_call_end(struct fault_call *c, bool is_done, const char *text, ...) __attribute__((format(printf, 3, 4)));

/* Whether a descriptor leads to something below a root. */
bool fault_fd_is_ours(int fd);

/* The absolute path of a name in a directory; false: it is not known, or not below a root. */
bool fault_path(int dir_fd, const char *name, char ret_path[FAULT_PATH_MAX]);

struct fault_id fault_id_of_fd(int fd);
struct fault_id fault_id_of_path(const char *path);

#endif
