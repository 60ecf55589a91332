/*
 * Whom what arrives shall belong to, when that is not the process itself: set through the handle of what was just made,
 * before its mode and times (docs/DURABILITY.md).
 *
 * Giving files away is root's (CAP_CHOWN); so it is tried before a job begins. Thread: any; no state.
 */
#ifndef HAUL_ENGINE_OWNER_H
#define HAUL_ENGINE_OWNER_H

#include "engine/base/fault.h"

#include <stdint.h>

#define OWNER_OF_PROCESS UINT64_MAX /* in uid, gid: as the kernel makes it */

struct owner {
	uint64_t uid, gid;
};

#define OWNER_NONE ((struct owner){ OWNER_OF_PROCESS, OWNER_OF_PROCESS })

/* Whether there is anything to set. */
bool owner_is_set(const struct owner *o);

/*
 * Give what the handle (O_PATH is fine, also of a link) stands for to `o`; nothing where none is set. setuid and setgid
 * bits go with the old owner (chown(2)). HAUL_DENIED: not ours to give; HAUL_QUOTA; HAUL_BAD_VALUE: an impossible id.
 */
HAUL_MUST_USE haul_status owner_give(int fd, const struct owner *o);

/*
 * Give away the directory `name` in dir_fd that this process has just made. Whoever may write in dir_fd could have put
 * another one there since: HAUL_CHANGED unless it is empty and ours.
 */
HAUL_MUST_USE haul_status owner_give_directory(int dir_fd, const char *name, const struct owner *o);

/*
 * Try it in the directory dir_fd, leaving nothing behind. HAUL_DENIED, with the line for the user. HAUL_OK also where
 * nothing can be made to try with: then making things says why.
 */
HAUL_MUST_USE haul_status owner_probe(int dir_fd, const struct owner *o, struct haul_fault *fault);

#endif
