/*
 * Whether a directory is, or holds, what this home offers to others: it is neither removed nor renamed then. Blocking.
 * Thread: any; no state.
 */
#ifndef HAUL_AGENT_SHARE_GUARD_H
#define HAUL_AGENT_SHARE_GUARD_H

#include "agent/shares.h"

/*
 * Look at `name` in `dir_fd` (borrowed; name NULL: dir_fd itself), through links and bind mounts on either side.
 * contents: what lies in it moves, it stays; then only a share below it counts. `shown` is how the user wrote it.
 *
 * HAUL_GUARD: a share is there, or it could not be found out; the fault says so, with the cure.
 */
HAUL_MUST_USE haul_status share_guard_check(const struct share_list *shares, int dir_fd, const char *name,
					    bool contents, const char *shown, struct haul_fault *fault);

#endif
