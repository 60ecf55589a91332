/*
 * From a place to an open control link: find the peer, resolve its addresses, try each in turn, shake hands.
 */
#ifndef HAUL_AGENT_DIAL_H
#define HAUL_AGENT_DIAL_H

#include "agent/control_link.h"
#include "agent/dial_trust.h"
#include "agent/home.h"
#include "agent/peers.h"
#include "agent/place_spec.h"

struct dial;

struct dial_config {
	const struct home *home;        /* held until the end */
	const struct place_spec *place; /* remote; held */
	uint32_t timeout_ms;            /* for all addresses together */
};

struct dial_result {
	struct control_link *link;       /* given; HELLO has been exchanged; set its callbacks at once with
					    control_link_set_callbacks() */
	struct dial_trust *trust;        /* given: dial_trust_free() after every channel is closed */
	struct tls_config *tls;          /* belongs to trust; lanes use it too */
	struct sockaddr_storage address; /* the one that answered */
	char peer_name[64];              /* local name of the device that answered */
	uint8_t device_id[32];
};

/*
 * Start. The result comes to on_done exactly once, from the loop; `result`, `fault` and `remedy` are borrowed.
 * On failure result->link is NULL and `fault` is the line for the user, with `remedy` the cure or NULL: no peer of that
 * name, another device answers, the peer does not know this device, nothing listens, no answer. A failure to start
 * (no memory, no identity, a damaged list of peers) is returned, and on_done does not come.
 */
HAUL_MUST_USE haul_status dial_start(uv_loop_t *loop, const struct dial_config *cfg,
				     void (*on_done)(void *ctx, struct dial_result *result,
						     const struct haul_fault *fault, const char *remedy),
				     void *ctx, struct dial **ret_dial, struct haul_fault *fault);

/* Give up; on_done comes with HAUL_CANCELLED. */
void dial_cancel(struct dial *d);

#endif
