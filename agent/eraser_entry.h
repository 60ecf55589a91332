/*
 * One entry of a source that has landed: looked at again here and at the destination, and deleted if it is still what
 * was read and the destination's entry is there and another one. Blocking; one thread at a time.
 */
#ifndef HAUL_AGENT_ERASER_ENTRY_H
#define HAUL_AGENT_ERASER_ENTRY_H

#include "agent/eraser_proof.h"
#include "agent/source_eraser.h"

/* What has been shown so far, and by what it is judged. Made with root_fd, began and stop; the rest zero. */
struct eraser_proofs {
	int root_fd;              /* borrowed; of the destination */
	int64_t began;            /* s since 1970: before anything was scanned */
	const _Atomic bool *stop; /* borrowed; NULL is fine */
	struct eraser_synced synced;
	struct { /* of two directories; the last that were looked at */
		unsigned dir_number;
		uint64_t device, inode;
		haul_status apart;
		struct haul_fault fault;
	} pair;
};

/* Where the entry is, as it is now. All borrowed. */
struct eraser_source {
	int dir_fd;
	unsigned dir_number; /* one and the same directory as long as it is the same; never 0 */
	const char *name;
	struct entry_facts now;
};

/* Nothing has changed but what reading changes. */
bool eraser_is_unchanged(const struct entry_facts *was, const struct entry_facts *is);

/* A directory cannot go because something is in it. */
bool eraser_is_not_empty(haul_status st);

/*
 * HAUL_CHANGED, HAUL_SAME_FILE, HAUL_UNSUPPORTED: it is not to be deleted. HAUL_NOT_FOUND: it is gone.
 * HAUL_RESERVED_NAME, or eraser_is_not_empty(): a directory with something in it. The parent is not synced.
 */
HAUL_MUST_USE haul_status eraser_entry_erase(struct eraser_proofs *p, const struct eraser_entry *e,
					     const struct eraser_source *from, struct haul_fault *fault);

#endif
