/* The command line of hauld. */
#ifndef HAUL_AGENT_HAULD_OPTIONS_H
#define HAUL_AGENT_HAULD_OPTIONS_H

#include "engine/base/fault.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

enum { HAULD_LISTEN_MAX = 16 };

struct hauld_options {
	struct sockaddr_storage listen[HAULD_LISTEN_MAX];
	size_t listen_count;
	bool is_default_listen; /* none was given: all addresses, and those that the machine lacks are left out */
	const char *home;       /* borrowed from argv; NULL: by the rules */
	bool is_system;
	const char *backend; /* NULL, "ring", "threads" */
	uint64_t budget_bytes;
	const char *trace; /* --trace, HAUL_TRACE; NULL: none */
	unsigned verbosity;
	bool wants_help, wants_version;
};

/*
 * argv and the environment's HAUL_ENGINE (borrowed for the process's life). HAUL_USAGE with the remedy in the fault.
 */
HAUL_MUST_USE haul_status hauld_options_parse(struct hauld_options *o, int argc, char **argv, struct haul_fault *fault);

/* What --help prints. Static storage. */
const char *hauld_help(void);

/* ADDR[:PORT]: a numeric address, IPv6 in brackets when a port follows; port 0 = any free one. HAUL_USAGE. */
HAUL_MUST_USE haul_status listen_address_parse(const char *text, struct sockaddr_storage *ret_address,
					       struct haul_fault *fault);

/* "256M": K M G T are powers of 1024, KB MB GB TB of 1000. HAUL_USAGE. */
HAUL_MUST_USE haul_status memory_size_parse(const char *text, uint64_t *ret_bytes, struct haul_fault *fault);

#endif
