/* What two agents have in common, judged by the HELLO of the other one. Thread: the session's. */
#ifndef HAUL_PROTOCOL_HELLO_H
#define HAUL_PROTOCOL_HELLO_H

#include "engine/base/fault.h"
#include "peer-protocol/message.h"

/* A HELLO that outlives the frame it came in. `hello` points into the struct, which therefore must not be copied. */
struct hello_copy {
	struct msg_hello hello;
	struct capability capabilities[MESSAGE_CAPABILITIES_MAX];
	char texts[MESSAGE_SOFTWARE_MAX + MESSAGE_PEER_NAME_MAX +
		   MESSAGE_CAPABILITIES_MAX * MESSAGE_CAPABILITY_NAME_MAX];
};

/*
 * Check a peer's HELLO against what this version can do and copy it, block sizes and lanes clamped to our limits.
 *
 * theirs   borrowed.
 * HAUL_NO_COMMON_VERSION      versions, trees, digests or block sizes do not overlap.
 * HAUL_CRITICAL_CAPABILITY    it needs something that this version does not know.
 */
HAUL_MUST_USE haul_status hello_adopt(struct hello_copy *ret_copy, const struct msg_hello *theirs,
				      struct haul_fault *fault);

#endif
