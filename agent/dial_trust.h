/*
 * What a client's connections stand on: this device's identity, the peers it knew when it began, and the TLS set-up of
 * the two. Not changed after it is open, so lanes of any thread may connect with it.
 */
#ifndef HAUL_AGENT_DIAL_TRUST_H
#define HAUL_AGENT_DIAL_TRUST_H

#include "agent/peers.h"
#include "certs/tls_config.h"

struct identity;

struct dial_trust {
	struct identity *identity;
	struct peer_list peers;
	struct tls_config *tls;
};

/* ret_trust is given: dial_trust_free() when no channel is left that uses its tls. */
HAUL_MUST_USE haul_status dial_trust_new(const struct home *home, struct dial_trust **ret_trust,
					 struct haul_fault *fault);
void dial_trust_free(struct dial_trust *t); /* NULL is fine */

#endif
