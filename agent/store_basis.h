/* A file that is there as the basis of the one that comes: the version before, or the same under another name. */
#ifndef HAUL_AGENT_STORE_BASIS_H
#define HAUL_AGENT_STORE_BASIS_H

#include "agent/store.h"

/*
 * Open what the entry, whose new partial is open, is to be compared with (e->old, e->basis_path), if there is anything:
 * e->has_basis. Where the file system can share extents the partial begins as its clone, and e->old is closed again.
 * Without memory, and where too many leaves are in work already, it has none. A failure: the partial is of no use. The
 * store's thread.
 */
HAUL_MUST_USE haul_status store_take_basis(struct store *s, struct recv_entry *e);

/* A dry run: whether it seems to be there under another name (e->is_renamed), by size and time. The store's thread. */
void store_guess_rename(struct store *s, struct recv_entry *e);

/* Whether the entry is to be written into the file that is there (--inplace). The store's thread. */
bool store_wants_in_place(const struct store *s, const struct recv_entry *e);

void store_close_basis(struct recv_entry *e); /* fine when it is closed */

#endif
