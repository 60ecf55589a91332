/*
 * Reading extended attributes. What has none, nearly everything, costs one call by name in its directory's handle; and
 * none on a file system that has no such thing. What has some is opened (O_PATH, links not followed) and read through
 * that handle, which needs procfs. Blocking.
 */
#ifndef HAUL_ENGINE_ATTRIBUTE_READ_H
#define HAUL_ENGINE_ATTRIBUTE_READ_H

#include "engine/base/attributes.h"
#include "engine/base/entry.h"

enum { ATTRIBUTE_DEVICES = 16 };

/* What a thread has learned of file systems. Zero, but for `kinds`, is empty. One thread at a time. */
struct attribute_reader {
	unsigned kinds;                      /* enum attribute_kind: what is looked for; 0: nothing is */
	uint64_t without[ATTRIBUTE_DEVICES]; /* devices that have none */
	uint64_t with[ATTRIBUTE_DEVICES];
	unsigned without_count, with_count;
};

/* Kinds that this process can set, file system permitting: security.* and trusted.* are root's. */
unsigned attribute_kinds_of_process(void);

/*
 * The attributes of `name` in dir_fd (O_PATH is fine), which was looked at as `facts`.
 *
 * ret_set        given: free(); NULL: it has none.
 * ret_left_out   true: not all of them could be read, or they are beyond the bounds of attributes.h. Else untouched.
 * HAUL_NO_MEMORY alone.
 */
HAUL_MUST_USE haul_status attribute_read_at(struct attribute_reader *r, int dir_fd, const char *name,
					    const struct entry_facts *facts, struct attributes **ret_set,
					    bool *ret_left_out);

/* The same of what a handle (O_PATH is fine, also of a link) stands for. */
HAUL_MUST_USE haul_status attribute_read(int fd, unsigned kinds, struct attributes **ret_set, bool *ret_left_out);

#endif
