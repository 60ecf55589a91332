/*
 * The whole was a transfer like any other, so its waiting names the part (limit.h). Without it (no right to write, no
 * source) the slowest stage alone is taken.
 */
#include "agent/diagnose_verdict.h"

#include "agent/limit.h"

#include <stdio.h>

static unsigned fewest_cores(const struct diagnose_facts *f)
{
	return f->has_peer && f->peer_cores < f->cores ? f->peer_cores : f->cores;
}

static bool is_cpu(enum transfer_limit limit)
{
	return limit == LIMIT_SOURCE_CPU || limit == LIMIT_DESTINATION_CPU;
}

static void judge_whole(const struct diagnose_facts *f, struct diagnose_verdict *v)
{
	const struct limit_facts facts = { .source = f->source,
					   .destination = f->destination,
					   .elapsed_s = f->whole_s };
	double shares[LIMIT_KINDS];

	limit_shares(&facts, shares);
	for (unsigned i = LIMIT_NONE + 1; i < LIMIT_KINDS; i++) {
		if (shares[i] > v->share) {
			v->limit = (enum transfer_limit)i;
			v->share = shares[i];
		}
	}
	v->is_measured = v->limit != LIMIT_NONE;
}

/* Of one thread to all that there are; TLS is done at both ends. */
static double of_all_cores(const struct diagnose_facts *f, enum diagnose_stage stage)
{
	return f->rows[stage].bytes_per_s * fewest_cores(f);
}

static void take_slower(const struct diagnose_facts *f, enum diagnose_stage stage, double rate,
			enum transfer_limit limit, double *slowest, struct diagnose_verdict *v)
{
	if (!f->rows[stage].is_measured || (*slowest > 0 && rate >= *slowest))
		return;
	*slowest = rate;
	v->limit = limit;
}

static void judge_stages(const struct diagnose_facts *f, struct diagnose_verdict *v)
{
	const struct diagnose_row *rows = f->rows;
	double slowest = 0;

	take_slower(f, DIAGNOSE_READ, rows[DIAGNOSE_READ].bytes_per_s, LIMIT_SOURCE_DISK, &slowest, v);
	take_slower(f, DIAGNOSE_TLS_128, of_all_cores(f, DIAGNOSE_TLS_128), LIMIT_SOURCE_CPU, &slowest, v);
	if (f->has_peer) {
		take_slower(f, DIAGNOSE_TO_PEER, rows[DIAGNOSE_TO_PEER].bytes_per_s, LIMIT_NETWORK, &slowest, v);
		take_slower(f, DIAGNOSE_PEER_WRITE, rows[DIAGNOSE_PEER_WRITE].bytes_per_s, LIMIT_DESTINATION_DISK,
			    &slowest, v);
	} else {
		take_slower(f, DIAGNOSE_WRITE, rows[DIAGNOSE_WRITE].bytes_per_s, LIMIT_DESTINATION_DISK, &slowest, v);
	}
}

/* Fewer lanes than cores: the CPU has more to give. */
static bool lacks_lanes(const struct diagnose_facts *f, const struct diagnose_verdict *v)
{
	return f->has_peer && is_cpu(v->limit) && f->lanes && f->lanes < fewest_cores(f);
}

static const char *help_for_network(const struct diagnose_facts *f)
{
	if (f->lanes_fixed && f->round_trip_us > 2000)
		return "a faster link; with a round trip this long also more lanes (leave --lanes out)";
	return "a faster link, or what slows this one down: cables, switches, wireless, other traffic";
}

static const char *help_for(const struct diagnose_facts *f, const struct diagnose_verdict *v)
{
	switch (v->limit) {
	case LIMIT_SOURCE_DISK:
		return f->has_peer ? "a faster disk here: nothing else would be felt"
				   : "a faster disk: it reads slower than it writes";
	case LIMIT_SOURCE_CPU:
		if (v->is_lanes)
			return "more lanes: there are cores without one (leave --lanes out)";
		return "more or faster cores here, or less else running on them";
	case LIMIT_NETWORK:
		return help_for_network(f);
	case LIMIT_DESTINATION_CPU:
		if (v->is_lanes)
			return "more lanes: there are cores without one (leave --lanes out)";
		return "more or faster cores at the peer, or less else running on them";
	case LIMIT_DESTINATION_DISK:
		return f->has_peer ? "a faster disk at the peer: nothing else would be felt"
				   : "a faster disk: it writes slower than it reads";
	case LIMIT_FILES:
		return "nothing of this measurement: it moves one file";
	case LIMIT_RATE:
		return "a higher --bwlimit";
	case LIMIT_NONE:
		break;
	}
	return "";
}

void diagnose_judge(const struct diagnose_facts *f, struct diagnose_verdict *ret_verdict)
{
	struct diagnose_verdict v = { .limit = LIMIT_NONE };

	if (f->source && f->destination)
		judge_whole(f, &v);
	if (v.limit == LIMIT_NONE)
		judge_stages(f, &v);
	v.is_lanes = lacks_lanes(f, &v);
	(void)snprintf(v.help, sizeof(v.help), "%s", help_for(f, &v));
	*ret_verdict = v;
}
