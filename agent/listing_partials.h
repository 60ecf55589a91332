/* What interrupted jobs have left in a place to be gone on with. */
#ifndef HAUL_AGENT_LISTING_PARTIALS_H
#define HAUL_AGENT_LISTING_PARTIALS_H

#include "agent/listing.h"

/*
 * Of a directory here: what lies in its own `.haul/` and beside its files. Whom each comes from is named by the peers
 * that `h` knows. Returns the exit code; on_error tells why it is not 0.
 */
int listing_partials_local(const struct home *h, const char *path, const struct listing_observer *obs);

#endif
