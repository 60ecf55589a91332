/*
 * Reading a whole small file in one go, for packs: no ring, no direct I/O, one open and one read.
 *
 * Blocking; several threads at once are fine.
 */
#ifndef HAUL_ENGINE_SMALL_FILE_H
#define HAUL_ENGINE_SMALL_FILE_H

#include "engine/follow.h"

/*
 * Read the regular file at `at` that a scan saw as `expect`.
 *
 * expect      borrowed; its size is at most cap (asserted).
 * ret_len     bytes read: expect's size. ret_facts: of the open file, after reading. Both untouched on failure.
 * HAUL_WRONG_KIND   it is no regular file (any more); nothing was read and no device was waited for.
 * HAUL_CHANGED      another file, size or mtime than expected, or it changed under our reading.
 * As follow_open(): HAUL_NOT_FOUND, HAUL_DENIED, HAUL_LINK_IN_PATH and so on. As read(2): HAUL_IO.
 */
HAUL_MUST_USE haul_status small_file_read(const struct source_place *at, const struct entry_facts *expect, void *buf,
					  size_t cap, size_t *ret_len, struct entry_facts *ret_facts);

#endif
