/*
 * Where big files have landed in earlier jobs from the same device into the same directory, by size and time: a file
 * that has another name at its source by now is looked for there before it is sent. Only a hint, which the content has
 * to bear out; so nothing is lost with it, and it is bounded: PLACED_FILES_MAX of the latest.
 *
 *   state dir/placed-<32 hex>   one for each device and directory; gone when unused for PLACED_KEEP_DAYS
 *
 * Threads: one puts, one (or the same) finds and saves, as told below.
 */
#ifndef HAUL_AGENT_PLACED_FILES_H
#define HAUL_AGENT_PLACED_FILES_H

#include "engine/base/entry.h"
#include "engine/base/status.h"

#include <stdint.h>

enum {
	PLACED_FILES_MAX = 16384,
	PLACED_PATHS_MAX = 4 * 1024 * 1024, /* bytes of all of them */
	PLACED_KEEP_DAYS = 180,
};

#define PLACED_SIZE_MIN (4 * HAUL_LEAF_BYTES) /* shorter ones are not noted */

struct placed_files;

/*
 * state_dir  held. peer_id: 32 bytes. root_fd: the directory, borrowed.
 * NULL: no memory, or it cannot be told which directory that is. Given: placed_files_free().
 */
struct placed_files *placed_files_new(const char *state_dir, const uint8_t peer_id[32], int root_fd);
void placed_files_free(struct placed_files *p); /* NULL is fine */

/* It has landed, or is there unchanged; `path` is below the directory. What cannot be noted is not. */
void placed_files_put(struct placed_files *p, const char *path, uint64_t size, const struct entry_time *mtime);

/*
 * The nth path (from 0) where such a file landed in an earlier job; NULL: none. Borrowed until placed_files_free().
 * Reads the file the first time. Blocking.
 */
const char *placed_files_find(struct placed_files *p, uint64_t size, const struct entry_time *mtime, unsigned nth);

/* No more are put: note them for later jobs, if there is anything new. Blocking; best effort. */
void placed_files_save(struct placed_files *p);

#endif
