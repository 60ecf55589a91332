/*
 * Whole buffers, whatever a single call takes or gives. Blocking; any thread; no state.
 *
 * By errno; HAUL_IO where a write takes nothing and says no reason.
 */
#ifndef HAUL_ENGINE_WHOLE_IO_H
#define HAUL_ENGINE_WHOLE_IO_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

HAUL_MUST_USE haul_status write_whole(int fd, const void *data, size_t len); /* where the file stands */
HAUL_MUST_USE haul_status write_whole_at(int fd, const void *data, size_t len, uint64_t offset);

/* *ret_got is less than len only where the file ends. */
HAUL_MUST_USE haul_status read_up_to(int fd, void *ret_data, size_t len, size_t *ret_got);
HAUL_MUST_USE haul_status read_up_to_at(int fd, void *ret_data, size_t len, uint64_t offset, size_t *ret_got);

#endif
