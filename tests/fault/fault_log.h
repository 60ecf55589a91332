/*
 * The recorder: what a process does to the files below its roots, in the order in which it is done, with all that is
 * written. While it records, one such call runs at a time. One line a call, fields with tabs between them:
 *
 *     BEGIN END WHAT ...       two times of CLOCK_MONOTONIC in nanoseconds, and one of
 *     create PATH ID           a new empty file             link OLD-PATH PATH
 *     mkdir PATH ID                                         rename OLD-PATH PATH
 *     symlink PATH TARGET                                   unlink PATH
 *     nameless ID          a new file without a name        name ID PATH     which gets one
 *     data ID OFFSET LENGTH AT           AT: where the bytes lie in the file of data
 *     size ID BYTES      cut or grown to this             zero ID OFFSET LENGTH    reads as zeros
 *     alloc ID END       at least so long                 sync ID, datasync ID, syncall DEVICE
 *     unknown NAME       something that the recorder does not understand: the run proves nothing
 *
 * ID is DEVICE:INODE. Only what succeeded is recorded.
 */
#ifndef HAUL_TESTS_FAULT_LOG_H
#define HAUL_TESTS_FAULT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { FAULT_PATH_MAX = 4352 };

/* Returns when the call may run; the time. */
uint64_t fault_log_begin(void);

/* After it: `text` is the line from WHAT on; NULL records nothing. */
void fault_log_end(uint64_t begin_ns, const char *text);

/* Before fault_log_end(): put bytes into the file of data; where they are. */
uint64_t fault_log_data(const void *data, size_t len);

#endif
