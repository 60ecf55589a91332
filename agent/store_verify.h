/* What the store thread does for `haul verify`: nothing is changed, every difference is named. */
#ifndef HAUL_AGENT_STORE_VERIFY_H
#define HAUL_AGENT_STORE_VERIFY_H

#include "agent/store.h"

/* Verdict for an entry that has been seen (or not). Also notes its name for store_dir_end(). */
void store_verify_look(struct store *s, struct recv_entry *e);

#endif
