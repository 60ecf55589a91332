/* What is there of a file that goes on, made ready for the main loop: up to four million leaves, half a second of work.
 */
#ifndef HAUL_AGENT_STORE_HAD_H
#define HAUL_AGENT_STORE_HAD_H

#include "engine/base/status.h"

struct recv_entry;
struct store;

/*
 * e->have and e->digests are known and the partial holds zeros elsewhere: put them into a new e->tree. What is there
 * behind more gaps than may be wanted counts no more (it is fetched again, as it is). Store thread. HAUL_NO_MEMORY.
 */
HAUL_MUST_USE haul_status store_had_take(struct recv_entry *e);

/*
 * Room for what of the entry is there (e->have, e->digests). HAUL_BUSY: there are as many leaves of files that go on as
 * may be. HAUL_NO_MEMORY. After either: store_had_close().
 */
HAUL_MUST_USE haul_status store_had_open(struct store *s, struct recv_entry *e);
void store_had_close(struct recv_entry *e); /* nothing of it counts; fine when it was not open */

#endif
