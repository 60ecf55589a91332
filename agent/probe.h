/*
 * One measurement with a peer: a job whose content is made up or thrown away (docs/PROTOCOL.md "6 JOB", probe), over
 * real lanes. Blocking: runs a loop of its own on the calling thread.
 */
#ifndef HAUL_AGENT_PROBE_H
#define HAUL_AGENT_PROBE_H

#include "agent/home.h"
#include "agent/lane_meter.h"
#include "agent/place_spec.h"
#include "agent/trace.h"
#include "engine/engine.h"

#include <signal.h>

struct probe_config {
	const struct home *home;
	const struct place_spec *place; /* remote, with a share */
	bool is_push;                   /* to the peer */
	bool is_to_disk;                /* push: it writes; pull: it reads `path` */
	const char *path;               /* pull to disk: of the file in the share; else NULL */
	int source_fd;                  /* push: what is read here, from its beginning; -1: made up. Borrowed */
	uint64_t bytes;                 /* MESSAGE_PROBE_MIN .. MESSAGE_PROBE_MAX */
	unsigned lanes;                 /* 0: as many as a transfer would take by itself */
	uint32_t block_bytes;           /* 0: the same */
	uint64_t bandwidth_bytes_per_s; /* 0: unlimited */
	uint32_t connect_timeout_ms;
	enum engine_backend backend;
	enum direct_mode direct;
	struct trace *trace;      /* or NULL */
	const _Atomic bool *stop; /* NULL: nothing stops it (stop_signals.h) */
};

struct probe_result {
	double seconds; /* from the first lane to the end, the peer's sync included */
	uint64_t bytes; /* payload that crossed */
	unsigned lanes, cores, peer_cores;
	struct lane_times source, destination;
	uint64_t round_trip_us; /* 0: not known */
	char peer_name[64];
	char remedy[HAUL_FAULT_TEXT_MAX]; /* of a failure; "" if there is none */
};

/*
 * HAUL_OK, or why not, with the line for the user in `fault`; ret_result is filled as far as it goes.
 * HAUL_INTERRUPTED: *stop. HAUL_NO_RIGHT, HAUL_NO_SPACE and others of the peer's: said by its ERROR.
 */
HAUL_MUST_USE haul_status probe_run(const struct probe_config *cfg, struct probe_result *ret_result,
				    struct haul_fault *fault);

#endif
