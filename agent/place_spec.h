/*
 * A place as a user types it: PATH, PEER:SHARE[/PATH] or haul://HOST[:PORT]/SHARE[/PATH] (docs/CLI.md "Places").
 */
#ifndef HAUL_AGENT_PLACE_SPEC_H
#define HAUL_AGENT_PLACE_SPEC_H

#include "engine/base/fault.h"

#include <stdint.h>

enum { HAUL_DEFAULT_PORT = 42850 };

struct place_spec {
	char *text; /* as typed; owned, like all below */
	bool is_remote;
	char *peer; /* local name; NULL with haul:// */
	char *host; /* haul:// only, without brackets */
	uint16_t port;
	char *share; /* NULL: `PEER:` alone (haul list) */
	char *path;  /* local: as typed, `//` as `/`; remote: below the share, no slash at either end, "" = its top */
	bool has_slash; /* ended with '/', or is ".", "..", or a bare share: means the contents */
};

/*
 * HAUL_USAGE with the remedy in the fault: `user@nas:x`, `nas:/volume1/x`, `nas::inbox`, an empty text, a reserved or
 * impossible component.
 */
HAUL_MUST_USE haul_status place_spec_parse(const char *text, struct place_spec *ret_spec, struct haul_fault *fault);
void place_spec_close(struct place_spec *p);

#endif
