/* A peer's address as typed and kept: HOST, HOST:PORT, [V6] or [V6]:PORT. Text only; nothing is resolved. */
#ifndef HAUL_AGENT_PEER_ADDRESS_H
#define HAUL_AGENT_PEER_ADDRESS_H

#include "engine/base/fault.h"

#include <stddef.h>
#include <stdint.h>

enum { PEER_HOST_MAX = 255, PEER_ADDRESS_TEXT_MAX = 300 };

struct peer_address {
	char host[PEER_HOST_MAX + 1]; /* without brackets */
	uint16_t port;                /* HAUL_DEFAULT_PORT where none is given */
	bool has_port;
	bool is_v6; /* stood in brackets, or is a bare IPv6 address */
};

/* HAUL_BAD_VALUE with the forms that are allowed in the fault. */
HAUL_MUST_USE haul_status peer_address_parse(const char *text, struct peer_address *ret_address,
					     struct haul_fault *fault);

/* As it is kept: brackets around IPv6, the port only if it was given. Returns ret_text. */
const char *peer_address_text(const struct peer_address *a, char ret_text[PEER_ADDRESS_TEXT_MAX]);

#endif
