/*
 * What has to be shown before anything of a moved source is deleted: that the two directories are not one seen through
 * two file systems (overlay, a network mount of this machine, bindfs), and that the destination has been synced.
 * Numbers of device and inode do not tell the former. Blocking; directory handles may be O_PATH, all are borrowed.
 */
#ifndef HAUL_AGENT_ERASER_PROOF_H
#define HAUL_AGENT_ERASER_PROOF_H

#include "engine/base/entry.h"
#include "engine/base/fault.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { ERASER_NAME_BYTES = 64, ERASER_SYNCED_MAX = 16 };

/* Devices whose file systems have been synced by this run. Zero: none. */
struct eraser_synced {
	uint64_t devices[ERASER_SYNCED_MAX];
	unsigned count;
};

/*
 * A private name: `.haul-` + word + random digits. No sweep removes it: after a crash it may be the only name of a file
 * of the user's. HAUL_IO: no randomness.
 */
HAUL_MUST_USE haul_status eraser_private_name(const char *word, char ret_name[ERASER_NAME_BYTES]);

/*
 * Make a name in the landing's directory and see whether it shows up in the source's. The name is removed, and so are
 * those that a run which died has left; the directory keeps its mtime. HAUL_SAME_FILE: they are one directory; anything
 * else: it could not be found out.
 */
HAUL_MUST_USE haul_status eraser_prove_apart(int source_dir, int landing_dir, struct haul_fault *fault);

/*
 * Make what stands under the name in that directory durable: syncfs of what the directory lies on, unless this run has
 * done so; where that reaches nothing (sync_reach.h), fsync of the file and of the directory. `device` is the
 * directory's.
 */
HAUL_MUST_USE haul_status eraser_sync(struct eraser_synced *s, int landing_dir, const char *name, uint64_t device,
				      struct haul_fault *fault);

/*
 * Whether two entries may be one, by times that nobody can set: a change time equal to the nanosecond, and size and
 * mtime as well. A copy that happens to have it only stays at the source.
 */
bool eraser_may_be_one(const struct entry_facts *a, const struct entry_facts *b);

/*
 * Whether it was changed so shortly before `began` (seconds since 1970), or later, that another change may have left
 * the same times: file systems count them in steps of up to 2 s.
 */
bool eraser_is_fresh(const struct entry_facts *facts, int64_t began);

/*
 * Read both regular files and compare every byte. HAUL_CHANGED: they differ; HAUL_CANCELLED: *stop (NULL is fine).
 */
HAUL_MUST_USE haul_status eraser_compare(int dir_fd, const char *name, int to_fd, const char *to_name,
					 const _Atomic bool *stop, struct haul_fault *fault);

#endif
