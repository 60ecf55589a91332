/*
 * Sizes, rates and times as people write them, both ways.
 *
 * Read: K M G T (also KiB ...) are powers of 1024, KB MB GB TB powers of 1000; a fraction is fine ("1.5G").
 * Written: decimal units with three significant digits, as disks and links are sold.
 */
#ifndef HAUL_CLI_SIZES_H
#define HAUL_CLI_SIZES_H

#include "engine/base/quota_limit.h"
#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { SIZE_TEXT_MAX = 40 };

/* Bytes. HAUL_BAD_VALUE: not a size; HAUL_OVERFLOW: does not fit. ret_bytes is untouched then. */
HAUL_MUST_USE haul_status size_parse(const char *text, uint64_t *ret_bytes);

/*
 * "2T", "200G/day" (or week, month: 30 days), "none"; at least one byte. It counts from since_s on. HAUL_BAD_VALUE,
 * HAUL_OVERFLOW.
 */
HAUL_MUST_USE haul_status quota_parse(const char *text, int64_t since_s, struct quota_limit *ret_quota);

/* Bytes per second; a bare number counts KiB/s as in rsync, "/s" at the end is fine, 0 means no limit. As above. */
HAUL_MUST_USE haul_status rate_parse(const char *text, uint64_t *ret_bytes_per_s);

/* Milliseconds; a bare number is seconds, else s m h d w. As above; more than 49 days is HAUL_OVERFLOW. */
HAUL_MUST_USE haul_status wait_parse(const char *text, uint32_t *ret_ms);

/* A number within min and max, digits only. */
HAUL_MUST_USE haul_status number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number);

/* Seconds with a fraction, not negative and finite. */
HAUL_MUST_USE haul_status seconds_parse(const char *text, double *ret_seconds);

/* Each writes a NUL-terminated text of less than SIZE_TEXT_MAX bytes and returns it. */
const char *size_text(uint64_t bytes, char ret_text[SIZE_TEXT_MAX]);               /* "1.21 TB", "412 B" */
const char *rate_text(double bytes_per_s, char ret_text[SIZE_TEXT_MAX]);           /* "1.06 GB/s" */
const char *duration_text(double seconds, char ret_text[SIZE_TEXT_MAX]);           /* "0.8 s", "19 min", "2 h 05 min" */
const char *quota_text(const struct quota_limit *q, char ret_text[SIZE_TEXT_MAX]); /* "200 GB/day" */
const char *count_text(uint64_t count, char ret_text[SIZE_TEXT_MAX]);              /* "412,001" */

#endif
