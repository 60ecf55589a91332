/*
 * Owners as the sender named them, and who they are on this machine. Asked for once each, by the store's thread, since
 * that may take its time. Internal to the store.
 */
#ifndef HAUL_AGENT_STORE_OWNERS_H
#define HAUL_AGENT_STORE_OWNERS_H

#include "agent/mail.h"
#include "peer-protocol/message.h"

struct store;
struct recv_entry;

struct known_owner {
	uint32_t number; /* on the sender */
	uint32_t local;  /* here; UINT32_MAX: nobody can tell */
	bool is_group;
	bool is_by_number; /* it has a name that is not known here */
};

/* By their indices. The thread's own. */
struct store_owners {
	struct known_owner *at; /* owned */
	size_t count, cap;
};

/* Post what came in OWNERS, before the entries that follow; with the next worker_send(). Main loop. HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status store_take_owners(struct store *s, const struct msg_owners *m);

/* The store's thread: the entry's owner and group become ours (UINT32_MAX: it keeps what it gets), as do its ACLs' ids.
 */
void store_map_owners(struct store *s, struct recv_entry *e);

void store_owners_close(struct store *s);

#endif
