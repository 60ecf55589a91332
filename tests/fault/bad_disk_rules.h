/*
 * What befalls which call of the bad disk: rules of a text file, read anew whenever it has changed.
 *
 *     OP PATTERN DEED [from=N] [to=N] [after=N] [times=N]      one a line; the first that fits counts
 *
 * OP       read write fsync fsyncdir open create rename link symlink mkdir unlink truncate fallocate meta flush
 * readdir; `change`: all that change something PATTERN  fnmatch(3), a slash is a letter like others; the path begins
 * with one DEED     an errno by name; `slow=MS`: late, but right; `short`: half of the bytes from/to  bytes that a read
 * or write touches; after: so many that fit pass first; times: so often (else always)
 *
 * Thread: any.
 */
#ifndef HAUL_FAULT_BAD_DISK_RULES_H
#define HAUL_FAULT_BAD_DISK_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rules, and where each that struck is noted (a line: OP PATH OFFSET DEED). Both held. */
void rules_open(const char *path, const char *log_path);

/*
 * What shall befall this call: 0, or a negative errno; a slow one has waited when it returns. For calls without bytes
 * `offset` and `len` are 0.
 *
 * len   may be cut to what shall be done of it; NULL where there are no bytes.
 */
int rules_ask(const char *op, const char *path, uint64_t offset, size_t *len);

#endif
