/* A small file replaced as a whole: whoever reads sees the old or the new one, also after a power cut. */
#ifndef HAUL_BASE_REPLACE_FILE_H
#define HAUL_BASE_REPLACE_FILE_H

#include "engine/base/fault.h"

#include <stddef.h>

/*
 * Write `len` bytes as `name` into the directory, mode 0600: temporary file, fsync, rename, fsync of the directory.
 *
 * dir_fd  borrowed; a real descriptor, not O_PATH. name, data: borrowed.
 *
 * On failure the old file stands, unless only the last fsync failed. Blocks on the disk. Any thread.
 */
HAUL_MUST_USE haul_status replace_file(int dir_fd, const char *name, const void *data, size_t len,
				       struct haul_fault *fault);

#endif
