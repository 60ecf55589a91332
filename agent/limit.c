/* The rule of docs/LIMITS.md "The rule", share by share. */
#include "agent/limit.h"

static double part(uint64_t of, uint64_t whole)
{
	return of < whole ? (double)of / (double)whole : whole ? 1 : 0;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

static double most(double a, double b)
{
	return a > b ? a : b;
}

/* Nothing is wanted of the source: the destination is still looking, making names, or syncing what it has. */
static void share_out_of_work(const struct limit_facts *f, double out, double *shares)
{
	double sync = f->elapsed_s > 0 ? least((double)f->destination->sync / (f->elapsed_s * 1e9), 1) : 0;

	if (sync > 0.5)
		shares[LIMIT_DESTINATION_DISK] = most(shares[LIMIT_DESTINATION_DISK], out);
	else
		shares[LIMIT_FILES] = least(shares[LIMIT_FILES] + out, 1);
}

/*
 * Of the time of the end that took longer: a source that was through with a small file at once limited nothing.
 *
 * A lane is one thread: its CPU's share is all that it did not sleep, the time included in which it had been driven off
 * its core. What it waited for a core after a sleep is not: on a full machine that is much of the time, and harmless as
 * long as what it slept for gathers in the socket meanwhile.
 */
void limit_shares(const struct limit_facts *f, double ret_shares[LIMIT_KINDS])
{
	const struct lane_times *src = f->source, *dst = f->destination;
	const uint64_t *from = src->waits, *to = dst->waits;
	uint64_t whole = src->wall > dst->wall ? src->wall : dst->wall;

	ret_shares[LIMIT_NONE] = 0;
	ret_shares[LIMIT_SOURCE_DISK] = part(from[LANE_WAITS_FOR_DISK], whole);
	ret_shares[LIMIT_SOURCE_CPU] = part(src->compute, whole);
	ret_shares[LIMIT_NETWORK] = least(part(from[LANE_WAITS_FOR_PEER], whole), part(to[LANE_WAITS_FOR_PEER], whole));
	ret_shares[LIMIT_DESTINATION_CPU] = part(dst->compute, whole);
	ret_shares[LIMIT_DESTINATION_DISK] = part(to[LANE_WAITS_FOR_DISK], whole);
	ret_shares[LIMIT_FILES] = most(part(from[LANE_WAITS_FOR_FILES], whole), part(to[LANE_WAITS_FOR_FILES], whole));
	ret_shares[LIMIT_RATE] = most(part(from[LANE_WAITS_FOR_RATE], whole), part(to[LANE_WAITS_FOR_RATE], whole));
	share_out_of_work(f, part(from[LANE_WAITS_FOR_WORK], whole), ret_shares);
}

enum transfer_limit limit_narrowest(const struct limit_facts *f, double *ret_share)
{
	double shares[LIMIT_KINDS];
	enum transfer_limit narrowest = LIMIT_NONE;

	limit_shares(f, shares);
	for (unsigned i = LIMIT_NONE + 1; i < LIMIT_KINDS; i++) {
		if (shares[i] > shares[narrowest])
			narrowest = (enum transfer_limit)i;
	}
	*ret_share = shares[narrowest];
	return narrowest;
}

enum transfer_limit limit_of(const struct limit_facts *f)
{
	double share;

	if (f->elapsed_s < LIMIT_LEAST_S || f->bytes < LIMIT_LEAST_BYTES)
		return LIMIT_NONE;
	return limit_narrowest(f, &share);
}
