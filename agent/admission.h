/*
 * How many connections of strangers there may be, from where, and which one has to go. A table without sockets or
 * clock: time comes in, decisions come out.
 *
 * A source is an IPv4 /24 or an IPv6 /64 when slots are counted. One without a free slot loses the oldest connection
 * that has said nothing, else the oldest that has not proven itself, so the new one gets in unless all have. An address
 * that was good lately is a source of its own, with more slots, since a transfer's lanes come all at once; strangers of
 * its prefix cannot displace it. Penalties are for single addresses, because on a LAN the prefix is everybody: one
 * whose handshakes fail collects seconds, and above a threshold it is turned away until they have run off; never one
 * that was good lately. Thread: any one.
 */
#ifndef HAUL_AGENT_ADMISSION_H
#define HAUL_AGENT_ADMISSION_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	ADMISSION_SLOTS = 64,
	ADMISSION_PER_SOURCE = 8,
	ADMISSION_PER_GOOD = 32,
	ADMISSION_ADDRESSES = 1024, /* remembered for what they did */
	ADMISSION_THRESHOLD_MS = 15 * 1000,
	ADMISSION_CAP_MS = 60 * 1000,
	ADMISSION_LOOPBACK_CAP_MS = ADMISSION_THRESHOLD_MS + 2 * 1000, /* users of this machine wait 2 s at most */
	ADMISSION_GOOD_MS = 10 * 60 * 1000,                            /* how long "lately" is */
	ADMISSION_NONE = -1,
};

struct admission_slot {
	bool is_used;
	bool is_good; /* its address was, when it came */
	bool has_spoken;
	bool is_proven; /* a known device has shaken hands; it only owes its first message */
	uint8_t address[16];
	uint64_t order; /* of arrival */
};

struct admission_address {
	bool is_used;
	uint8_t address[16];
	uint64_t penalty_until_ms; /* seconds collected run off with time */
	uint64_t good_until_ms;
};

struct admission {
	struct admission_slot slots[ADMISSION_SLOTS];
	struct admission_address addresses[ADMISSION_ADDRESSES];
	uint64_t arrivals;
};

enum admission_outcome {
	ADMISSION_GOOD,     /* authenticated: its first message came */
	ADMISSION_FAILED,   /* not TLS, not ours, not known */
	ADMISSION_TOO_SLOW, /* the deadline passed */
	ADMISSION_DROPPED,  /* by us, or it went away by itself */
};

void admission_init(struct admission *a);

/*
 * A connection has arrived. Returns its slot, or ADMISSION_NONE: turn it away. `*ret_victim` is the slot whose
 * connection must be closed for it (and has been freed already), or ADMISSION_NONE.
 */
int admission_enter(struct admission *a, const struct sockaddr *from, uint64_t now_ms, int *ret_victim);

/* Its first byte has come. */
void admission_spoke(struct admission *a, int slot);
/* A known device has shaken hands. */
void admission_prove(struct admission *a, int slot);

/* The connection has ended or is out of our hands: free its slot, remember how it went. */
void admission_leave(struct admission *a, int slot, enum admission_outcome outcome, uint64_t now_ms);

#endif
