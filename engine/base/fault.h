/*
 * What went wrong, to what, and why: filled where a failure is seen, printed once by whoever owns the report.
 */
#ifndef HAUL_BASE_FAULT_H
#define HAUL_BASE_FAULT_H

#include "engine/base/status.h"

enum { HAUL_FAULT_TEXT_MAX = 512 };

struct haul_fault {
	haul_status status;             /* HAUL_OK: nothing has been recorded */
	int os_errno;                   /* errno at the place of failure, 0 if none */
	char text[HAUL_FAULT_TEXT_MAX]; /* one sentence without full stop; names in it are already escaped */
};

/*
 * Record a failure and return its status, so that `return haul_fault_set(...)` reads well.
 *
 * fault   borrowed; NULL is fine, then only the status is returned. A fault already recorded is overwritten.
 * fmt     printf; names of files go through haul_escape() first.
 */
haul_status haul_fault_set(struct haul_fault *fault, haul_status st, const char *fmt, ...) HAUL_PRINTF(3, 4);

/* As haul_fault_set() with the status that errno value `err` stands for; ": " and strerror(err) are appended. */
haul_status haul_fault_errno(struct haul_fault *fault, int err, const char *fmt, ...) HAUL_PRINTF(3, 4);

/* A broken promise of our own code: returns HAUL_BUG after logging the text. Asserts are for what may not go on. */
haul_status haul_bug(const char *fmt, ...) HAUL_PRINTF(1, 2);

#endif
