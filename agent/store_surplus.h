/* What the store thread does to find what only the destination has. */
#ifndef HAUL_AGENT_STORE_SURPLUS_H
#define HAUL_AGENT_STORE_SURPLUS_H

#include "agent/store.h"

/* Store thread: the entry's name is one that was announced in its directory. False: no memory, or too many. */
bool store_note_name(const struct recv_entry *e);

/* Store thread: another kind of thing stands where the entry lands, and is to go. False: it is protected. */
bool store_note_in_the_way(const struct store *s, const struct recv_entry *e);

#endif
