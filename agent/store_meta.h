/* What of an entry's metadata may be kept, and what of it is other at the destination. Internal to the store's thread.
 */
#ifndef HAUL_AGENT_STORE_META_H
#define HAUL_AGENT_STORE_META_H

#include "agent/store.h"

/*
 * Before an entry is looked at: of its attributes only those stay that the sender may set here and this process can,
 * and its mode is that of something without an ACL if its ACL goes. What goes for want of a right is in e->lost.
 */
void store_trim_meta(struct store *s, struct recv_entry *e);

/* Within the job's window for times. */
bool store_time_equal(const struct store *s, const struct entry_time *a, const struct entry_time *b);

/* Differences of metadata between what is announced and what is there, as change bits. */
uint32_t store_meta_changes(struct store *s, struct recv_entry *e);

#endif
