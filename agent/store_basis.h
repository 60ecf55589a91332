/* A file that is there as the basis of the one that comes: the version before, or the same under another name. */
#ifndef HAUL_AGENT_STORE_BASIS_H
#define HAUL_AGENT_STORE_BASIS_H

#include "agent/store.h"

/*
 * Open what the entry, of which nothing is there yet, is to be compared with (e->old, e->basis_path). The store's
 * thread. False: there is nothing that would do.
 */
bool store_open_basis(struct store *s, struct recv_entry *e);

#endif
