/* What a peer's ERROR says, as a line for the user with its cure (docs/CLI.md "Errors say what"). */
#ifndef HAUL_AGENT_PEER_ERROR_H
#define HAUL_AGENT_PEER_ERROR_H

#include "engine/base/fault.h"
#include "peer-protocol/message.h"

struct peer_error {
	haul_status status;               /* e.code; HAUL_BUG for a number outside the list; never HAUL_OK */
	int exit_code;                    /* its class */
	char text[HAUL_FAULT_TEXT_MAX];   /* names escaped, no full stop */
	char remedy[HAUL_FAULT_TEXT_MAX]; /* "" where there is none */
};

/* e is borrowed, all in it untrusted; peer_name is our name for who sent it. */
void peer_error_explain(const struct msg_error *e, const char *peer_name, struct peer_error *ret_error);

/*
 * A quota of this device that a job has found too small. e: share, your_name and held_rights, untrusted; lack is the
 * peer's word as well.
 */
void peer_error_explain_quota(const struct msg_error *e, const struct job_lack *lack, const char *peer_name,
			      struct peer_error *ret_error);

/* "2.1 TB": bytes in units of 1000. Returns ret_text. */
const char *peer_error_bytes(uint64_t bytes, char *ret_text, size_t cap);

#endif
