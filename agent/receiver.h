/*
 * The receiving end of a job: compares what is announced with what is there, asks for what it needs, and puts it in
 * place.
 *
 *   MANIFEST ──► store thread: look, make directories ──► verdicts ──► grants to every lane, then WANT
 *   lanes: written, compared ──► tree full ──► grants released ──► commit thread: sync, rename, sync ──► RESULT
 */
#ifndef HAUL_AGENT_RECEIVER_H
#define HAUL_AGENT_RECEIVER_H

#include "agent/job.h"
#include "agent/mirror.h"
#include "agent/recv_entry.h"
#include "engine/owner.h"

struct receiver;

/* What a sync is to delete, and what it must not. asked.rule DELETE_NONE: no sync. */
struct receiver_mirror {
	struct mirror_limit asked, own; /* by whoever runs it; by this end */
	const struct home *home;        /* whose shares stay; held; NULL: none */
	bool covers_root;               /* the job's root is the counterpart of a source, not only what lands in it */
	bool is_other_source;           /* another file system than last time */
};

struct receiver_config {
	struct job_config job;
	int root_fd;    /* the job's destination directory, -1 if missing (dry run only); held until receiver_free() */
	int private_fd; /* under which `.haul/` is made; held; -1 with root_fd */
	struct owner owner; /* of what arrives */
	uint32_t umask;     /* taken off every mode; UINT32_MAX: nothing */
	uint64_t rights;    /* certs/rights.h: what the sender may do here; all of them for a local user */
	const uint8_t
	    *peer_id; /* the sender's device, 32 bytes, held: what stays unfinished is kept for it; NULL: not */
	const char *root_name; /* what root_fd is below private_fd; held; NULL: the same */
	unsigned keep_days;    /* how long it is kept when nobody goes on with it; 0: PLACE_KEEP_DAYS */
	struct quota *quota;   /* of that device on the share, joined and loaded; held; NULL: nothing is counted */
	bool may_clone;        /* whole files may share their source's extents, unread, where it is known */
	struct receiver_mirror mirror;
	enum root_rule root_rule; /* of the job's root, where the sender announces it */
	/* A job with both ends here: what an announced entry is read from. NULL: the source is elsewhere. */
	bool (*origin_of)(void *ctx, uint64_t index, struct entry_origin *ret_origin);
	void *origin_ctx;
};

/* Given: receiver_free() after on_end. */
HAUL_MUST_USE haul_status receiver_new(const struct receiver_config *cfg, struct receiver **ret_receiver,
				       struct haul_fault *fault);
void receiver_free(struct receiver *r);

/* Grant the first credit: the job begins. Once the link may speak of the job. */
void receiver_begin(struct receiver *r);

void receiver_message(struct receiver *r, const struct message *m);
void receiver_writable(struct receiver *r);

/* The rights of the sender have changed (server): counts for what is looked at from now on. */
void receiver_set_rights(struct receiver *r, uint64_t rights);

/* End it: partials are kept or dropped, what is committed stays; on_end follows with this status. */
void receiver_stop(struct receiver *r, haul_status why, const struct haul_fault *fault);

/* A pull after its good end: the next listed path, from `*at` (0 at first), that did not come, or NULL. Borrowed. */
const char *receiver_next_missing(const struct receiver *r, size_t *at);

/* About once a second, or more often, while it runs: the peer hears which lanes are at work. */
void receiver_tick(struct receiver *r);

struct lane_set *receiver_lanes(struct receiver *r);
const struct job_totals *receiver_totals(const struct receiver *r);
const char *receiver_describe(const struct receiver *r, char *ret_text, size_t cap);

#endif
