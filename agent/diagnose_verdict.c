/*
 * The whole was a transfer like any other, so its waiting names the part (limit.h). Without it (no right to write, no
 * source) the slowest stage alone is taken: disks and network as measured, digests and TLS of all cores together, since
 * a lane does both for every byte and there is a lane for each core.
 */
#include "agent/diagnose_verdict.h"

#include "agent/limit.h"

#include <stdio.h>

static unsigned fewest_cores(const struct diagnose_facts *f)
{
	return f->has_peer && f->peer_cores && f->peer_cores < f->cores ? f->peer_cores : f->cores;
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

	v->limit = limit_narrowest(&facts, &v->share);
	v->is_measured = v->limit != LIMIT_NONE;
}

/* What crosses the network is encrypted and checked: its own waiting tells whether the link or a CPU was slow. */
static enum transfer_limit limit_of_network(const struct diagnose_facts *f)
{
	const struct limit_facts facts = { .source = f->network_source,
					   .destination = f->network_destination,
					   .elapsed_s = f->network_s };
	enum transfer_limit limit;
	double share;

	if (!f->network_source || !f->network_destination)
		return LIMIT_NETWORK;
	limit = limit_narrowest(&facts, &share);
	return is_cpu(limit) || limit == LIMIT_RATE ? limit : LIMIT_NETWORK;
}

/* Each byte is digested and encrypted by one thread, one after the other; both ends do it. 0: not measured. */
static double of_all_cores(const struct diagnose_facts *f)
{
	const struct diagnose_row *digest = &f->rows[DIAGNOSE_DIGEST], *tls = &f->rows[DIAGNOSE_TLS_128];
	double seconds_per_byte = 0;

	if (digest->is_measured && digest->bytes_per_s > 0)
		seconds_per_byte += 1 / digest->bytes_per_s;
	if (tls->is_measured && tls->bytes_per_s > 0)
		seconds_per_byte += 1 / tls->bytes_per_s;
	return seconds_per_byte > 0 ? fewest_cores(f) / seconds_per_byte : 0;
}

static void take_slower(double rate, enum transfer_limit limit, struct diagnose_verdict *v)
{
	if (rate <= 0 || (v->bytes_per_s > 0 && rate >= v->bytes_per_s))
		return;
	v->bytes_per_s = rate;
	v->limit = limit;
}

static double rate_of(const struct diagnose_facts *f, enum diagnose_stage stage)
{
	return f->rows[stage].is_measured ? f->rows[stage].bytes_per_s : 0;
}

static void judge_stages(const struct diagnose_facts *f, struct diagnose_verdict *v)
{
	v->cpu_bytes_per_s = of_all_cores(f);
	v->cpu_cores = fewest_cores(f);
	take_slower(rate_of(f, DIAGNOSE_READ), LIMIT_SOURCE_DISK, v);
	take_slower(v->cpu_bytes_per_s, LIMIT_SOURCE_CPU, v);
	if (f->has_peer) {
		take_slower(rate_of(f, DIAGNOSE_TO_PEER), limit_of_network(f), v);
		take_slower(rate_of(f, DIAGNOSE_PEER_WRITE), LIMIT_DESTINATION_DISK, v);
	} else {
		take_slower(rate_of(f, DIAGNOSE_WRITE), LIMIT_DESTINATION_DISK, v);
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
		if (f->has_peer)
			return "a faster disk here: nothing else would be felt";
		return f->rows[DIAGNOSE_WRITE].is_measured ? "a faster disk: it reads slower than it writes"
							   : "a faster disk";
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
		if (f->has_peer)
			return "a faster disk at the peer: nothing else would be felt";
		return f->rows[DIAGNOSE_READ].is_measured ? "a faster disk: it writes slower than it reads"
							  : "a faster disk";
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
