/* Whether a symbolic link leads to a certain thing, at its end or on the way there. Blocking. Thread: any; no state. */
#ifndef HAUL_ENGINE_LINK_CHAIN_H
#define HAUL_ENGINE_LINK_CHAIN_H

#include "engine/base/entry.h"

#include <stdbool.h>

/*
 * `name` in the directory `dir_fd` (borrowed; O_PATH is fine) is a link whose target, or the target of a link that this
 * leads to, and so on, is `thing` itself by device and inode. false also for what is no link, dangles, goes in circles
 * or cannot be followed.
 */
bool link_leads_to(int dir_fd, const char *name, const struct entry_facts *thing);

#endif
