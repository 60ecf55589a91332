/*
 * What the receiver of a move keeps of each entry that has landed, found by its number, in scratch files: so that it
 * can be looked at again when the sender asks. Written by one thread, then read by one.
 */
#ifndef HAUL_AGENT_LANDING_NOTES_H
#define HAUL_AGENT_LANDING_NOTES_H

#include "engine/base/entry.h"
#include "engine/base/fault.h"

struct landing_notes;

/* scratch_dir: borrowed for the call. By errno, HAUL_NO_MEMORY. Given: landing_notes_free(). */
HAUL_MUST_USE haul_status landing_notes_new(const char *scratch_dir, struct landing_notes **ret_notes,
					    struct haul_fault *fault);
void landing_notes_free(struct landing_notes *n); /* NULL is fine */

/* Of entry `index`, once: its path below the job's root, and its facts as it landed. A failure is seen by the end. */
void landing_notes_put(struct landing_notes *n, uint64_t index, const char *path, const struct entry_facts *facts,
		       bool is_new);

/* No more come. By errno, HAUL_IO: not all of them could be written. */
HAUL_MUST_USE haul_status landing_notes_end(struct landing_notes *n);

/* ret_path: given, free(). HAUL_NOT_FOUND: nothing has landed under that number. HAUL_IO, HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status landing_notes_get(struct landing_notes *n, uint64_t index, char **ret_path,
					    struct entry_facts *ret_facts, bool *ret_is_new);

#endif
