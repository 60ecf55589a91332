/* The version of a file that is there, as the basis of the one that comes. */
#ifndef HAUL_AGENT_STORE_BASIS_H
#define HAUL_AGENT_STORE_BASIS_H

#include "agent/store.h"

/* Whether what comes is to be compared with it: nothing of the new version is there yet. The store's thread. */
bool store_wants_basis(const struct store *s, const struct recv_entry *e);

/* Open it (e->old); false: it will not do. */
bool store_open_basis(struct store *s, struct recv_entry *e);

#endif
