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

/*
 * A lane is one thread: busy is what it ran, and what it would have run had a core been free. Where the kernel does not
 * tell the latter, what was not slept stands for both.
 */
static double busy(const struct lane_times *t)
{
	uint64_t wanted = t->cpu + t->ready;

	return part(t->ready || t->cpu > t->compute ? wanted : t->compute, t->wall);
}

static double wait_for(const struct lane_times *t, enum lane_wait what)
{
	return part(t->waits[what], t->wall);
}

/* Nothing is wanted of the source: the destination is still looking, making names, or syncing what it has. */
static void share_out_of_work(const struct limit_facts *f, double *shares)
{
	double out = wait_for(f->source, LANE_WAITS_FOR_WORK);
	double sync = f->elapsed_s > 0 ? least((double)f->destination->sync / (f->elapsed_s * 1e9), 1) : 0;

	if (sync > 0.5)
		shares[LIMIT_DESTINATION_DISK] = most(shares[LIMIT_DESTINATION_DISK], out);
	else
		shares[LIMIT_FILES] = least(shares[LIMIT_FILES] + out, 1);
}

void limit_shares(const struct limit_facts *f, double ret_shares[LIMIT_KINDS])
{
	const struct lane_times *src = f->source, *dst = f->destination;

	for (unsigned i = 0; i < LIMIT_KINDS; i++)
		ret_shares[i] = 0;
	ret_shares[LIMIT_SOURCE_DISK] = wait_for(src, LANE_WAITS_FOR_DISK);
	ret_shares[LIMIT_SOURCE_CPU] = busy(src);
	ret_shares[LIMIT_NETWORK] = least(wait_for(src, LANE_WAITS_FOR_PEER), wait_for(dst, LANE_WAITS_FOR_PEER));
	ret_shares[LIMIT_DESTINATION_CPU] = busy(dst);
	ret_shares[LIMIT_DESTINATION_DISK] = wait_for(dst, LANE_WAITS_FOR_DISK);
	ret_shares[LIMIT_FILES] = most(wait_for(src, LANE_WAITS_FOR_FILES), wait_for(dst, LANE_WAITS_FOR_FILES));
	ret_shares[LIMIT_RATE] = most(wait_for(src, LANE_WAITS_FOR_RATE), wait_for(dst, LANE_WAITS_FOR_RATE));
	share_out_of_work(f, ret_shares);
}

enum transfer_limit limit_of(const struct limit_facts *f)
{
	double shares[LIMIT_KINDS];
	enum transfer_limit narrowest = LIMIT_NONE;

	if (f->elapsed_s < LIMIT_LEAST_S || f->bytes < LIMIT_LEAST_BYTES)
		return LIMIT_NONE;
	limit_shares(f, shares);
	for (unsigned i = LIMIT_NONE + 1; i < LIMIT_KINDS; i++) {
		if (shares[i] > shares[narrowest])
			narrowest = (enum transfer_limit)i;
	}
	return narrowest;
}
