/* The peers as `haul peer list`, `haul list` and the first screen print them. */
#ifndef HAUL_CLI_RUN_PEERS_H
#define HAUL_CLI_RUN_PEERS_H

#include "cli/run.h"

/* One line each, and the end of the run. */
int run_list_peers(const struct home *h, struct console *c);

#endif
