/*
 * Whether one directory lies in another, so that a tree is never copied or moved into itself. Blocking (stat and
 * procfs only). Thread: any; no state.
 */
#ifndef HAUL_ENGINE_INSIDE_H
#define HAUL_ENGINE_INSIDE_H

#include "engine/base/status.h"

/*
 * Whether the directory `dir_fd` is `tree_fd` or lies in it: on the way up through "..", or, where one of them is seen
 * through a bind mount, by where both lie in their file system (mountinfo; left out where procfs is missing).
 *
 * dir_fd, tree_fd   borrowed; O_PATH is fine.
 * HAUL_DENIED and so on: the way up could not be followed to its end; *ret_is_inside is untouched.
 */
HAUL_MUST_USE haul_status directory_is_inside(int dir_fd, int tree_fd, bool *ret_is_inside);

#endif
