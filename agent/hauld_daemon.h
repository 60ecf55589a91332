/*
 * One agent: its home's identity and lists, its listeners, and the sessions of struct server, on one loop.
 *
 *   STARTING --all listen--> SERVING --SIGTERM, SIGINT--> STOPPING --sessions and listeners gone--> the loop runs out
 *
 * While SERVING, a change of the home's peers or shares, or SIGHUP, is taken over at once. A list that cannot be read
 * counts as empty: nobody is known then.
 */
#ifndef HAUL_AGENT_HAULD_DAEMON_H
#define HAUL_AGENT_HAULD_DAEMON_H

#include "agent/hauld_options.h"

struct hauld_daemon;

/*
 * Open the home, take its lock, and listen. ret_daemon is given: hauld_daemon_free() after hauld_daemon_run().
 * HAUL_ALREADY_RUNNING: another hauld serves this home. HAUL_EXISTS: an address is taken. The fault is the line for the
 * user. On failure everything is undone.
 */
HAUL_MUST_USE haul_status hauld_daemon_new(const struct hauld_options *options, struct hauld_daemon **ret_daemon,
					   struct haul_fault *fault);

/* Announce the addresses (stdout, agent's file, service manager) and serve until told to stop. */
void hauld_daemon_run(struct hauld_daemon *d);

void hauld_daemon_free(struct hauld_daemon *d);

#endif
