/*
 * Which file system something lies on, so that it can be told from another one at another time: also after it was
 * unmounted, and after the machine was started again.
 */
#ifndef HAUL_ENGINE_FILE_SYSTEM_ID_H
#define HAUL_ENGINE_FILE_SYSTEM_ID_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { FILE_SYSTEM_ID_BYTES = 16 };

/*
 * A digest of the type of the file system and of its own id where that is part of what is stored (ext, btrfs), else of
 * what is mounted (a device, server:/export). False: not known, ret_id is zeros. Blocking. Thread: any; no state.
 */
bool file_system_id(int fd, uint8_t ret_id[FILE_SYSTEM_ID_BYTES]);

#endif
