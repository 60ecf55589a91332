/* Content without reading it, where source and destination lie on file systems that can share extents. */
#ifndef HAUL_AGENT_STORE_CLONE_H
#define HAUL_AGENT_STORE_CLONE_H

#include "agent/store.h"

/*
 * Try to make the entry's partial from its origin. The store's thread.
 *
 * True: settled, either cloned (e->was_cloned, the partial is whole) or failed (e->code). False: content has to come.
 */
bool store_clone(struct store *s, struct recv_entry *e);

#endif
