/*
 * haul diagnose: each stage of a transfer alone, then the whole, and which part is the narrowest (docs/LIMITS.md).
 *
 * Blocking, on the calling thread, about a second per stage; SIGINT, SIGTERM and SIGHUP end it early. What is written
 * here has no name, at the peer a private one as whatever arrives; it is gone at the end, whatever happens.
 */
#ifndef HAUL_AGENT_DIAGNOSE_H
#define HAUL_AGENT_DIAGNOSE_H

#include "agent/transfer.h"

enum diagnose_stage {
	DIAGNOSE_READ, /* the disk here */
	DIAGNOSE_WRITE,
	DIAGNOSE_DIGEST, /* one thread, like the next two */
	DIAGNOSE_TLS_128,
	DIAGNOSE_TLS_256,
	DIAGNOSE_TO_PEER,    /* memory to memory: encrypted and checked, no disk */
	DIAGNOSE_FROM_PEER,  /* the same, the other way */
	DIAGNOSE_PEER_WRITE, /* memory here, the peer's disk there */
	DIAGNOSE_PEER_READ,
	DIAGNOSE_WHOLE, /* the disk here to the peer's */
	DIAGNOSE_STAGES,
};

/* What was found to be narrowest: a stage of enum transfer_limit, or that there are too few lanes. */
struct diagnose_verdict {
	enum transfer_limit limit; /* LIMIT_NONE: it could not be told */
	bool is_lanes;             /* the CPU limits, of fewer lanes than either machine has cores */
	bool is_measured;          /* from the waiting of the whole; else the slowest stage alone */
	double share;              /* is_measured: of the time, 0 to 1 */
	double bytes_per_s;        /* not is_measured: of the slowest stage; for a CPU cpu_bytes_per_s */
	double cpu_bytes_per_s;    /* digests and TLS of cpu_cores together, each as measured alone; 0: not known */
	unsigned cpu_cores;        /* of the machine that has fewer */
	char help[256];            /* what would help, a sentence */
};

struct diagnose_row {
	bool is_measured;
	double bytes_per_s, seconds;
	uint64_t bytes;
	char note[192]; /* how, or why not */
};

struct diagnose_report {
	int exit_code;
	double elapsed_s;
	struct diagnose_row rows[DIAGNOSE_STAGES];
	bool has_peer;
	char peer_name[64];
	unsigned lanes, cores, peer_cores;
	uint64_t round_trip_us;
	struct diagnose_verdict verdict;
	int signal_number; /* that ended it, else 0 */
};

struct diagnose_request {
	const struct place_spec *local; /* NULL: the current directory */
	const struct place_spec *peer;  /* with a share; NULL: this machine alone */
	unsigned lanes;                 /* 0: chosen */
	uint32_t block_bytes;           /* 0: chosen */
	uint64_t bandwidth_bytes_per_s;
	uint32_t connect_timeout_ms;
	enum transfer_direct direct;
	const char *backend;
	const char *trace; /* --trace FILE, or NULL */
};

struct diagnose_observer {
	void *ctx;
	/* A stage has been measured, or could not be; in the order of enum diagnose_stage. */
	void (*on_row)(void *ctx, enum diagnose_stage stage, const struct diagnose_row *row);
	void (*on_error)(void *ctx, const struct transfer_problem *p);
	void (*on_warning)(void *ctx, const struct transfer_problem *p);
};

void diagnose_run(const struct home *h, const struct diagnose_request *req, const struct diagnose_observer *obs,
		  struct diagnose_report *ret_report);

#endif
