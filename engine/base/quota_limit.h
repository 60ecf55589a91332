/*
 * By how much a device may make a share grow: in all since a moment, or anew in each span of time. Times are of the
 * wall clock, in seconds since 1970.
 */
#ifndef HAUL_BASE_QUOTA_LIMIT_H
#define HAUL_BASE_QUOTA_LIMIT_H

#include <stdint.h>

enum { QUOTA_DAY_S = 24 * 60 * 60, QUOTA_WEEK_S = 7 * QUOTA_DAY_S, QUOTA_MONTH_S = 30 * QUOTA_DAY_S };

struct quota_limit {
	uint64_t bytes;   /* 0: no limit */
	int64_t since_s;  /* counting begins */
	uint32_t every_s; /* and begins again so often; 0: never */
};

/* When the counting that is under way at now_s began: what was counted since another moment is of no account. */
static inline int64_t quota_limit_window(const struct quota_limit *q, int64_t now_s)
{
	if (!q->every_s || now_s <= q->since_s)
		return q->since_s;
	return now_s - (now_s - q->since_s) % (int64_t)q->every_s;
}

#endif
