/*
 * The one call under beneath.h: opening a path that cannot leave its root, by the kernel (openat2) or, on kernels
 * without it, component by component. Internal to the engine.
 */
#ifndef HAUL_ENGINE_BENEATH_OPEN_H
#define HAUL_ENGINE_BENEATH_OPEN_H

#include "engine/beneath.h"

#include <stddef.h>

enum beneath_way { BENEATH_UNKNOWN, BENEATH_OPENAT2, BENEATH_WALK };

/* For tests: resolve this way from now on. BENEATH_UNKNOWN: find out again. */
void beneath_set_way(enum beneath_way way);

/*
 * Open the first `len` bytes of `path` (not NUL-terminated there), components not checked. flags as beneath_open().
 * *ret_fd is given.
 */
HAUL_MUST_USE haul_status beneath_open_range(int root_fd, const char *path, size_t len, int flags, mode_t mode,
					     int *ret_fd);

/*
 * Whether the path is well formed: components of 1 to 255 bytes, none "." or "..", at most HAUL_DEPTH_MAX of them; ""
 * is. HAUL_BAD_VALUE, HAUL_NAME_TOO_LONG otherwise. ret_parent_len, ret_name (may be NULL): where the last component
 * begins and how long the path before it is.
 */
HAUL_MUST_USE haul_status beneath_check_path(const char *path, size_t *ret_parent_len, const char **ret_name);

#endif
