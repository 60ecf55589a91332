/* What statx(2) and its like say, as entry facts. Internal to the engine. Thread: any; no state. */
#ifndef HAUL_ENGINE_FACTS_H
#define HAUL_ENGINE_FACTS_H

#include "engine/base/entry.h"

struct statx;

/* The mask that facts_from_statx() needs. */
#define FACTS_STATX_MASK 0x7ffu /* STATX_BASIC_STATS: type, mode, links, owner, times, inode, size, blocks */

/* `mode` as stat(2) and its like give it, with the bits of its kind. */
enum entry_kind facts_kind(unsigned mode);

/* sx was filled with FACTS_STATX_MASK. The size is that of regular files, 0 for all else. */
void facts_from_statx(const struct statx *sx, struct entry_facts *ret_facts);

#endif
