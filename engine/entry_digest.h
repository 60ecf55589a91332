/*
 * The digest of one entry's record, and the root over all entries of a job (docs/ARCHITECTURE.md "hash tree").
 */
#ifndef HAUL_ENGINE_ENTRY_DIGEST_H
#define HAUL_ENGINE_ENTRY_DIGEST_H

#include "engine/base/entry.h"
#include "engine/base/fault.h"

struct entry_record {
	enum entry_kind kind;
	enum entry_outcome outcome;
	const char *path; /* components joined by '/', relative to the job's destination root; borrowed */
	size_t path_len;
	uint64_t size;           /* files */
	struct haul_digest root; /* files: zero bytes when assumed unchanged */
	const char *link_target; /* links */
	size_t link_target_len;
};

/* HAUL_NO_MEMORY only. */
HAUL_MUST_USE haul_status entry_digest(const struct entry_record *r, struct haul_digest *ret_digest);

/*
 * Entry digests of a job at 16 × index in an unlinked scratch file, so that entries may end in any order and memory
 * does not grow with their number. One thread at a time.
 */
struct job_digest;

/* dir: where the scratch file lies (O_TMPFILE, else created and unlinked). Given: job_digest_free(). */
HAUL_MUST_USE haul_status job_digest_new(const char *dir, struct job_digest **ret_job, struct haul_fault *fault);
void job_digest_free(struct job_digest *j);

HAUL_MUST_USE haul_status job_digest_put(struct job_digest *j, uint64_t index, const struct haul_digest *digest);

/* The root over indices 0 .. count-1; HAUL_BUG if one was never put. */
HAUL_MUST_USE haul_status job_digest_root(struct job_digest *j, uint64_t count, struct haul_digest *ret_root);

#endif
