/*
 * Inside of a diagnosis: diagnose.c (the run), diagnose_here.c (this machine), diagnose_peer.c (with the peer). One
 * thread.
 */
#ifndef HAUL_AGENT_DIAGNOSE_PARTS_H
#define HAUL_AGENT_DIAGNOSE_PARTS_H

#include "agent/diagnose.h"
#include "agent/measure.h"
#include "agent/probe.h"
#include "peer-protocol/message.h"

#define DIAGNOSE_STAGE_S 1.0
#define DIAGNOSE_BIG_BYTES (UINT64_C(64) << 20) /* what is worth reading instead of a file of our own */

struct identity;

/* The shares of the peer, gathered for the case that the one named is not among them. */
struct diagnose_offer {
	char peer_name[64], known_as[64];
	struct text names[MESSAGE_SHARES_MAX]; /* owned copies */
	size_t count;
};

struct diagnosis {
	const struct home *home;
	const struct diagnose_request *req;
	const struct diagnose_observer *obs;
	struct diagnose_report *report;
	struct identity *identity;
	struct trace *trace;
	int dir_fd;    /* what was named, a directory; -1: it is a file */
	int source_fd; /* what is read here; -1: nothing to read */
	/* what the peer offers */
	struct diagnose_offer offer;
	bool found_share, lists_failed;
	uint64_t rights, free_bytes;
	char *big_path; /* in the share; owned */
	uint64_t big_bytes;
	char big_name[HAUL_NAME_MAX + 1];
	struct probe_result network; /* to the peer */
	struct probe_result whole;
	bool has_network, has_whole;
	bool is_over; /* the peer cannot be reached, or a signal */
};

/* diagnose.c */
void diagnose_row_measured(struct diagnosis *d, enum diagnose_stage stage, const struct measured *m, const char *fmt,
			   ...) HAUL_PRINTF(4, 5);
void diagnose_row_missing(struct diagnosis *d, enum diagnose_stage stage, const char *fmt, ...) HAUL_PRINTF(3, 4);
bool diagnose_is_stopped(struct diagnosis *d); /* by a signal, or the peer cannot be reached */
void diagnose_tell_error(struct diagnosis *d, haul_status st, const char *side, const char *text, const char *remedy);

/* diagnose_here.c */
bool diagnose_open_here(struct diagnosis *d); /* what was named; false: told */
void diagnose_disk_here(struct diagnosis *d);
haul_status diagnose_cpu_here(struct diagnosis *d); /* opens the identity; a failure is told */

/* diagnose_peer.c, in this order */
void diagnose_ask_peer(struct diagnosis *d); /* rights and room; something to read, if we may; before any measuring */
void diagnose_forget_offer(struct diagnosis *d);
void diagnose_network(struct diagnosis *d);
void diagnose_peer_disk(struct diagnosis *d);
void diagnose_whole(struct diagnosis *d);

#endif
