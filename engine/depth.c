/*
 * With the queue kept full, rate = depth × bytes / latency (Little). Beyond the knee a deeper queue makes latency grow
 * by as much as the depth and brings nothing; before it, rate grows. Rates of a shared disk jump by a fifth from one
 * moment to the next, so a step back takes two rounds that agree, and is tried again later. Cannot fail.
 */
#include "engine/depth.h"

#include <assert.h>

enum { ROUND_LEAST = 8, HOLD_MS = 2000 };

static const double worth = 1.03;  /* a deeper queue has to bring so much */
static const double crowded = 2.0; /* latency that says: somebody else is here */
static const uint64_t ns_per_ms = 1000000;

void depth_open(struct depth *d, unsigned first, unsigned most)
{
	assert(first >= 1 && first <= most);
	*d = (struct depth){ .least = first < 2 ? 1 : 2, .most = most, .now = first };
	d->state = first == most ? DEPTH_FIXED : DEPTH_TRYING;
}

static void round_begin(struct depth *d, uint64_t now_ns)
{
	d->done = 0;
	d->bytes = d->latency_ns = 0;
	d->started_ns = now_ns;
	d->was_short = false;
}

void depth_idle(struct depth *d)
{
	d->was_short = true;
}

static unsigned deeper(const struct depth *d)
{
	unsigned next = d->now < 4 ? d->now + 1 : d->now + d->now / 4;

	return next < d->most ? next : d->most;
}

static unsigned shallower(const struct depth *d)
{
	unsigned next = d->now - (d->now < 4 ? 1 : d->now / 4);

	return next > d->least ? next : d->least;
}

static void hold(struct depth *d, unsigned depth, uint64_t now_ns)
{
	d->state = DEPTH_HOLDING;
	d->now = depth;
	d->failures = 0;
	d->held_until_ns = now_ns + HOLD_MS * ns_per_ms;
}

static void keep(struct depth *d, double rate, double latency_ns)
{
	d->best_depth = d->now;
	d->best_rate = rate;
	d->best_latency_ns = latency_ns;
	d->failures = 0;
}

static void tried(struct depth *d, uint64_t now_ns, double rate, double latency_ns)
{
	bool is_deeper = d->now > d->best_depth;

	if (!d->best_depth || rate > d->best_rate * (is_deeper ? worth : 1.0)) {
		keep(d, rate, latency_ns);
		d->now = deeper(d);
	} else if (!is_deeper) {
		d->best_rate = rate; /* the disk has become slower: measured anew from here */
		d->now = deeper(d);
	} else if (++d->failures >= 2) {
		hold(d, d->best_depth, now_ns);
		return;
	}
	if (d->now == d->best_depth)
		hold(d, d->now, now_ns); /* as deep as it may be */
}

static void held(struct depth *d, uint64_t now_ns, double rate, double latency_ns)
{
	bool is_crowded = latency_ns > crowded * d->best_latency_ns && rate < d->best_rate * worth;

	if (is_crowded && ++d->failures >= 2 && d->now > d->least) {
		hold(d, shallower(d), now_ns);
		keep(d, rate, latency_ns);
		return;
	}
	if (!is_crowded)
		d->failures = 0;
	if (now_ns < d->held_until_ns)
		return;
	keep(d, rate, latency_ns);
	d->state = DEPTH_TRYING;
	d->now = deeper(d);
	if (d->now == d->best_depth)
		hold(d, d->now, now_ns);
}

bool depth_done(struct depth *d, uint64_t now_ns, uint64_t latency_ns, uint64_t bytes)
{
	unsigned was = d->now;
	double rate;

	if (d->state == DEPTH_FIXED)
		return false;
	if (!d->started_ns)
		round_begin(d, now_ns > latency_ns ? now_ns - latency_ns : 1);
	d->done++;
	d->bytes += bytes;
	d->latency_ns += latency_ns;
	if (d->done < ROUND_LEAST || d->done < 2 * d->now)
		return false;
	if (!d->was_short && now_ns > d->started_ns) {
		rate = (double)d->bytes * 1e9 / (double)(now_ns - d->started_ns);
		if (d->state == DEPTH_TRYING)
			tried(d, now_ns, rate, (double)d->latency_ns / d->done);
		else
			held(d, now_ns, rate, (double)d->latency_ns / d->done);
	}
	round_begin(d, now_ns);
	return d->now != was;
}
