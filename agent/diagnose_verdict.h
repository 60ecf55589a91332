/* From what was measured to what is narrowest and what would help. Pure functions. */
#ifndef HAUL_AGENT_DIAGNOSE_VERDICT_H
#define HAUL_AGENT_DIAGNOSE_VERDICT_H

#include "agent/diagnose.h"
#include "agent/lane_meter.h"

struct diagnose_facts {
	const struct diagnose_row *rows;               /* DIAGNOSE_STAGES of them */
	const struct lane_times *source, *destination; /* of the whole; NULL: it was not measured */
	double whole_s;
	/* Of memory to memory, to the peer; NULL: not measured. */
	const struct lane_times *network_source, *network_destination;
	double network_s;
	bool has_peer;
	bool lanes_fixed; /* by the user */
	unsigned lanes, cores, peer_cores;
	uint64_t round_trip_us;
};

void diagnose_judge(const struct diagnose_facts *f, struct diagnose_verdict *ret_verdict);

#endif
