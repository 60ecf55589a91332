/*
 * The scan of a sending job in a thread of its own, delivered to the main loop in batches. A few batches go round, so
 * the scan is at most that far ahead of what the receiver has credit for.
 */
#ifndef HAUL_AGENT_SOURCE_SCAN_H
#define HAUL_AGENT_SOURCE_SCAN_H

#include "agent/mail.h"
#include "agent/owner_index.h"
#include "engine/scan.h"

#include <stdatomic.h>

enum { SOURCE_SCAN_BATCH = 512, SOURCE_SCAN_BATCHES = 3 };

/* One item of a scan with its own strings; freed with the batch unless taken (set to NULL). */
struct scanned {
	enum scan_event event;
	uint64_t index, parent;
	struct entry_facts facts;
	char *path; /* landing path */
	char *source_path;
	char *link_target;
	size_t link_target_len;
	struct attributes *attributes; /* NULL: none */
	bool attributes_left_out;
	uint32_t owner, group; /* indices of OWNERS; UINT32_MAX: not given */
	unsigned source;
	uint64_t count;
	bool is_complete;
	bool is_listing;
	bool is_partial;
	haul_status problem;
};

struct scan_batch {
	struct mail mail;
	struct source_scan *scan;
	unsigned count, used; /* used: the main loop's progress */
	bool is_last;
	haul_status status;       /* with is_last */
	struct new_owners owners; /* that its items have, and none before */
	size_t owners_used;       /* the main loop's progress */
	struct scanned items[SOURCE_SCAN_BATCH];
};

struct source_scan {
	struct worker worker;
	struct scan *scan;
	struct mailbox *main;
	struct scan_choice choice;                           /* set before the start; without take(): everything */
	void (*on_batch)(void *owner, struct scan_batch *b); /* main loop; give it back with source_scan_return() */
	void *owner;
	bool tells_root;     /* see scan_tell_root(); the same */
	bool restores_aside; /* see scan_restore_aside(); before source_scan_start() */
	bool is_over;        /* the thread's own, like the next two */
	bool reads_owners;
	struct owner_index owners;
	_Atomic bool is_cancelled;
	struct scan_batch batches[SOURCE_SCAN_BATCHES];
	unsigned in_main; /* batches delivered and not returned; main loop's */
};

/* attribute_kinds: enum attribute_kind of what entries come with. reads_owners was set before, or not. */
HAUL_MUST_USE haul_status source_scan_start(struct source_scan *s, const struct scan_source *sources, size_t count,
					    unsigned attribute_kinds, struct haul_fault *fault);

/*
 * Instead of a scan, for a probe: one file of `bytes` without a place, then the end. `main`, on_batch and owner as for
 * source_scan_start(). HAUL_NO_MEMORY.
 */
HAUL_MUST_USE haul_status source_scan_probe(struct source_scan *s, uint64_t bytes);

/* The batch has been used up: it goes round again. */
void source_scan_return(struct scan_batch *b);

/* Ends the thread at its next batch and waits for it. Batches in the main mailbox must not be delivered any more: see
 * on_batch. */
void source_scan_stop(struct source_scan *s);

#endif
