/* How much fits onto a file system. Blocking (a network file system may take its time). Thread: any; no state. */
#ifndef HAUL_ENGINE_ROOM_H
#define HAUL_ENGINE_ROOM_H

#include "engine/base/status.h"

#include <stdint.h>

/*
 * Bytes that an ordinary user may still write to the file system of fd, and its size; UINT64_MAX when it says more than
 * that. On failure (HAUL_IO and others of fstatvfs) both are as they were.
 *
 * fd          any kind of open file or directory
 * ret_total   NULL: not asked
 */
HAUL_MUST_USE haul_status room_of(int fd, uint64_t *ret_free, uint64_t *ret_total);

#endif
