/* Inside of serve_ask: what lies in a share. Not for others. */
#ifndef HAUL_AGENT_SERVE_ENTRIES_H
#define HAUL_AGENT_SERVE_ENTRIES_H

#include "agent/directory_page.h"
#include "agent/serve_ask.h"

struct serve_offer {
	struct share share; /* own copy */
	uint64_t rights;    /* of the device that asks; never 0 */
	struct quota_limit quota;
};

struct serve_ask {
	struct text peer_name; /* owned, as are the texts below, and NUL-terminated */
	enum message_type type;
	struct text share, after;
	bool wants_partials;                    /* LIST */
	uint8_t device_id[32];                  /* of the peer */
	const char *state_dir;                  /* held; NULL: no quota is counted */
	struct text paths[MESSAGE_SOURCES_MAX]; /* LIST: one */
	size_t path_count;
	struct serve_offer offers[MESSAGE_SHARES_MAX];
	size_t offer_count;
	/* The answer and what it points to. */
	struct message answer;
	struct text offered[MESSAGE_SHARES_MAX];
	struct found *found;
	struct directory_page page; /* names in hand, of which `seen` were dealt with */
	size_t seen;
	struct listing_entry *entries;
	struct listing_share *shares;
	struct listing_partial *partials; /* owned with their texts */
	size_t partial_count;
};

/* Answer with ERROR. o: NULL when it is about no offered share. */
void serve_refuse(struct serve_ask *a, haul_status st, const struct serve_offer *o);

void serve_look_up(struct serve_ask *a, const struct serve_offer *o, int root_fd);
void serve_list_partials(struct serve_ask *a, const struct serve_offer *o, int root_fd);
void serve_list_entries(struct serve_ask *a, const struct serve_offer *o, int root_fd);

#endif
