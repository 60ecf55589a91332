/* A schedule instead of a bucket: each chunk takes the next slot of the line, so any number of lanes shares one rate.
 */
#include "agent/rate_limit.h"

uint64_t rate_limit_reserve(struct rate_limit *r, uint64_t now_ns, size_t bytes)
{
	uint64_t slot_ns, start, end;

	if (!r->bytes_per_s)
		return 0;
	slot_ns = (uint64_t)((double)bytes * 1e9 / (double)r->bytes_per_s);
	start = atomic_load_explicit(&r->free_ns, memory_order_relaxed);
	do {
		end = (start > now_ns ? start : now_ns) + slot_ns;
	} while (!atomic_compare_exchange_weak(&r->free_ns, &start, end));
	return start > now_ns ? start - now_ns : 0;
}
