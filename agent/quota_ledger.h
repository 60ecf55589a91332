/*
 * What devices have put into shares, as far as a quota counts it: the file `grown` in the state directory of a home, a
 * record "DEVICE-ID SHARE SINCE BYTES" for each device and share. A count is of the window that began at SINCE
 * (quota_limit.h); one of another window is of no account, so that a new quota begins at nothing without anybody
 * touching this file. Blocking; any thread.
 */
#ifndef HAUL_AGENT_QUOTA_LEDGER_H
#define HAUL_AGENT_QUOTA_LEDGER_H

#include "engine/base/fault.h"

#include <stdint.h>

struct quota_count {
	const uint8_t *device_id; /* 32 bytes */
	const char *share;
	int64_t window_s;
};

/* What is counted; 0 when nothing is. HAUL_BAD_VALUE: the file is damaged, and the fault says what to do. */
HAUL_MUST_USE haul_status quota_ledger_read(const char *state_dir, const struct quota_count *of, uint64_t *ret_bytes,
					    struct haul_fault *fault);

/* Note it durably, in the place of what was noted of this device and share. Failures as reading and writing a file. */
HAUL_MUST_USE haul_status quota_ledger_write(const char *state_dir, const struct quota_count *of, uint64_t bytes,
					     struct haul_fault *fault);

#endif
