/* The age of a file as people write it: how long ago, or a date. */
#ifndef HAUL_CLI_AGE_H
#define HAUL_CLI_AGE_H

#include "engine/base/entry.h"

/*
 * The moment that is `text` before `now`: 30s 15m 12h 7d 4w, a fraction is fine; or that the date says, in local time:
 * 2026-11-30, 2026-11-30T12:00 or 2026-11-30T12:00:30, a space for the T.
 *
 * HAUL_BAD_VALUE: neither, or a bare number. HAUL_OVERFLOW: longer than 1,000 years.
 */
HAUL_MUST_USE haul_status age_parse(const char *text, const struct entry_time *now, struct entry_time *ret_then);

#endif
