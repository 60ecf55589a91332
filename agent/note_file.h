/*
 * Notes in a scratch file, read in the order in which they were made or from any that begins where is known: a fixed
 * part, and two texts. One thread at a time.
 */
#ifndef HAUL_AGENT_NOTE_FILE_H
#define HAUL_AGENT_NOTE_FILE_H

#include "engine/base/fault.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct note_file;

/* scratch_dir: borrowed for the call. By errno, HAUL_NO_MEMORY. Given: note_file_free(). */
HAUL_MUST_USE haul_status note_file_new(const char *scratch_dir, struct note_file **ret_notes,
					struct haul_fault *fault);
void note_file_free(struct note_file *n); /* NULL is fine */

/* Everything is copied. Returns the bytes that it takes there; a failure is seen by note_file_end(). */
uint32_t note_file_add(struct note_file *n, const void *fixed, size_t fixed_bytes, const char *first,
		       const char *second);

/* No more come: where the last one ends. By errno: not all of them could be written. */
HAUL_MUST_USE haul_status note_file_end(struct note_file *n, off_t *ret_end);

/*
 * The note that begins at `at`, whose fixed part has so many bytes. The texts are borrowed until the next call.
 * ret_next: where the next one begins. HAUL_IO, HAUL_NO_MEMORY.
 */
HAUL_MUST_USE haul_status note_file_read(struct note_file *n, off_t at, void *ret_fixed, size_t fixed_bytes,
					 const char **ret_first, const char **ret_second, off_t *ret_next);

#endif
