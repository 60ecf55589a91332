/*
 * Small text files that haul writes for itself (peers, shares): one record a line, fields separated by one space.
 *
 * The first line names the format and its version, the last is the CRC-32 of all before it. Bytes of a field outside
 * [A-Za-z0-9._:/,+@-] are written %XX, an empty field as a lone "%", so a field holds any text without NUL. A file is
 * replaced as a whole and durably (temporary file, fsync, rename, fsync of the directory), so a reader sees the old or
 * the new one. Reading is all or nothing: whatever is damaged, too long or unknown gives a failure and no records.
 */
#ifndef HAUL_BASE_RECORD_FILE_H
#define HAUL_BASE_RECORD_FILE_H

#include "engine/base/fault.h"
#include "engine/base/status.h"

#include <stddef.h>

enum { RECORD_FILE_BYTES_MAX = 16 << 20 };

struct record_file;   /* what was read; immutable, any thread */
struct record_writer; /* what is to be written; the thread that made it */

/*
 * Read the file `name` in the directory.
 *
 * dir_fd      borrowed.
 * format      borrowed; name and version as in the file's first line, "haul-peers 1".
 * ret_file    given: record_file_free().
 * HAUL_NOT_FOUND  there is no such file.
 * HAUL_BAD_VALUE  damaged, over 16 MiB, of another format, or not a regular file.
 * HAUL_DENIED     another user could have written it: owner neither this user nor root, or writable by group or others.
 */
HAUL_MUST_USE haul_status record_file_read(int dir_fd, const char *name, const char *format,
					   struct record_file **ret_file, struct haul_fault *fault);

/* NULL is fine. */
void record_file_free(struct record_file *file);

/* How many records there are, and how many fields (at least one) record `line` has, counted from 0. */
size_t record_file_lines(const struct record_file *file);
size_t record_file_fields(const struct record_file *file, size_t line);

/* Field `n` of record `line`: text without NUL, borrowed until record_file_free(). NULL when the record is shorter. */
const char *record_file_field(const struct record_file *file, size_t line, size_t n);

/* An empty file of that format, to be filled. Given: record_writer_free(). NULL without memory. */
struct record_writer *record_writer_new(const char *format);

/* NULL is fine. */
void record_writer_free(struct record_writer *writer);

/*
 * Begin a record, then add its fields, borrowed. Failures (no memory, over 16 MiB) stick and are told by
 * record_writer_commit(). A record has at least one field.
 */
void record_writer_line(struct record_writer *writer);
void record_writer_field(struct record_writer *writer, const char *field);

/*
 * Write all records as `name` into the directory, mode 0600, replacing what is there. Durable on success; on failure
 * the old file stands, unless only the last fsync failed. Blocks on the disk. The writer may not be filled further.
 */
HAUL_MUST_USE haul_status record_writer_commit(struct record_writer *writer, int dir_fd, const char *name,
					       struct haul_fault *fault);

/*
 * Keep other processes from changing the file `name` between reading and writing: an exclusive lock on NAME.lock beside
 * it, which is made when missing. Waits up to 10 s.
 *
 * ret_lock_fd  given: record_unlock().
 * HAUL_BUSY    another process held it all the time.
 */
HAUL_MUST_USE haul_status record_lock(int dir_fd, const char *name, int *ret_lock_fd, struct haul_fault *fault);
void record_unlock(int lock_fd);

#endif
