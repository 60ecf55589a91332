/* From options and operands to what transfer_run() takes, with everything refused that can be told beforehand. */
#ifndef HAUL_CLI_COPY_REQUEST_H
#define HAUL_CLI_COPY_REQUEST_H

#include "cli/options.h"

#include "agent/transfer.h"

struct copy_request {
	struct transfer_request transfer; /* points into `places` and the invocation */
	struct place_spec *places;        /* owned: the sources, then the destination */
	size_t place_count;
	struct choice_spec choice; /* owned; `transfer` points to it unless it takes everything */
};

/* --connect-timeout in milliseconds, its default when it was not given. HAUL_USAGE: no time. */
HAUL_MUST_USE haul_status copy_request_connect_timeout(const struct invocation *inv, uint32_t *ret_ms,
						       struct problem *problem);

/*
 * HAUL_ENGINE chooses how the disk is driven, for tests of either way: `ret_backend` is set to its word (held, the
 * environment's), or left. HAUL_USAGE: an unknown one.
 */
HAUL_MUST_USE haul_status copy_request_engine(const char **ret_backend, struct problem *problem);

/*
 * What tunes any transfer: lanes, block, rate, times, direct, engine, trace; the rest of `t` is left alone. `inv` is
 * held. HAUL_USAGE: a value out of bounds.
 */
HAUL_MUST_USE haul_status copy_request_tuning(const struct invocation *inv, struct transfer_request *t,
					      struct problem *problem);

/*
 * For copy and verify, and for a move between machines. `inv` is held. HAUL_USAGE: a value out of bounds, an impossible
 * place, both sides remote, sources of several peers or of a peer and this machine, --as with several sources or with
 * contents. On failure there is nothing to close.
 */
HAUL_MUST_USE haul_status copy_request_open(struct copy_request *ret, const struct invocation *inv,
					    struct problem *problem);
void copy_request_close(struct copy_request *r);

#endif
