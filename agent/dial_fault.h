/* The lines that say why a peer could not be reached, and the cures (docs/CLI.md "Errors"). */
#ifndef HAUL_AGENT_DIAL_FAULT_H
#define HAUL_AGENT_DIAL_FAULT_H

#include "agent/home.h"
#include "agent/peers.h"
#include "agent/place_spec.h"

enum { DIAL_REMEDY_MAX = 512 };

/* What the user is told: the fault and, if there is one, the cure. */
struct dial_fault {
	struct haul_fault fault;
	char remedy[DIAL_REMEDY_MAX]; /* empty: none */
};

/* no peer "nass" (known: nas) */
void dial_fault_no_peer(struct dial_fault *f, const char *name, const struct peer_list *known);
void dial_fault_no_address(struct dial_fault *f, const struct peer *peer);
/* nas does not know this device */
void dial_fault_unknown_here(struct dial_fault *f, const char *peer_name, const struct home *home, const char *share);
/* 192.168.1.20 answers as another device than nas; or is none that we know (peer_name NULL) */
void dial_fault_other_device(struct dial_fault *f, const char *host, const char *peer_name);
void dial_fault_no_answer(struct dial_fault *f, uint32_t timeout_ms, unsigned port);
void dial_fault_unresolved(struct dial_fault *f, const char *host, const char *why);

/* Keep in `best` what tells the user more: another device's answer over a refusal, a refusal over silence. */
void dial_fault_keep_better(struct dial_fault *best, const struct dial_fault *other);

#endif
