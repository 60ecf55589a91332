/*
 * The sending end of a job: scans, announces within the receiver's credit, serves what it wants, and proves the same
 * root.
 *
 *   scan thread ──batches──► window ──MANIFEST──►        ◄──WANT── open ──► block queue ──► lanes
 *                              ▲                                                              │
 *                              └────────── RESULT per entry: digest into the job tree ◄── leaf digests
 */
#ifndef HAUL_AGENT_SENDER_H
#define HAUL_AGENT_SENDER_H

#include "agent/job.h"
#include "agent/recv_entry.h"
#include "engine/scan.h"

struct sender;

/* `sources` is borrowed for the call; their handles are held until sender_free(). Given: sender_free() after on_end. */
HAUL_MUST_USE haul_status sender_new(const struct job_config *cfg, const struct scan_source *sources, size_t count,
				     struct sender **ret_sender, struct haul_fault *fault);
void sender_free(struct sender *s);

/* A message of the running job from the peer. */
void sender_message(struct sender *s, const struct message *m);
void sender_writable(struct sender *s); /* the link takes more */

/* End it: on_end follows with this status once lanes and threads are gone. */
void sender_stop(struct sender *s, haul_status why, const struct haul_fault *fault);

/* What an announced entry is read from, for a receiver in this process; held until its RESULT. False: none such. */
bool sender_origin(const struct sender *s, uint64_t index, struct entry_origin *ret_origin);

/* After its good end: the next listed path, from `*at` (0 at first), that no source has, or NULL. Borrowed. */
const char *sender_next_missing(const struct sender *s, size_t *at);

/* About once a second, or more often, while it runs: lanes whose peer is silent are given up. */
void sender_tick(struct sender *s);

struct lane_set *sender_lanes(struct sender *s);
const struct job_totals *sender_totals(const struct sender *s);
/* After its end: the files whose content went out, and whose result has not come. `path` as job_entry's, borrowed. */
void sender_each_sent(const struct sender *s, void (*each)(void *ctx, const char *path), void *ctx);
const char *sender_describe(const struct sender *s, char *ret_text, size_t cap);

#endif
