/* Inside of the listings of this machine, shared by listing_local.c and listing_partials.c. */
#ifndef HAUL_AGENT_LISTING_PARTS_H
#define HAUL_AGENT_LISTING_PARTS_H

#include "agent/listing.h"

/* A local path that cannot be listed is told; returns the exit code. All borrowed. */
int listing_local_failed(const struct listing_observer *obs, const char *path, haul_status st);

#endif
