/*
 * Each verb as one function: it gets the parsed command line and the console, and returns the exit code. With --json it
 * has written its `done` event. Main thread.
 */
#ifndef HAUL_CLI_RUN_H
#define HAUL_CLI_RUN_H

#include "cli/print.h"

#include "agent/home.h"

int run_transfer(const struct invocation *inv, struct console *c); /* copy, verify, move between machines */
int run_move(const struct invocation *inv, struct console *c);
int run_remove(const struct invocation *inv, struct console *c);
int run_list(const struct invocation *inv, struct console *c);
int run_diagnose(const struct invocation *inv, struct console *c);
int run_id(const struct invocation *inv, struct console *c);
int run_share(const struct invocation *inv, struct console *c);
int run_peer(const struct invocation *inv, struct console *c);
int run_help(const struct invocation *inv, struct console *c);
int run_help_of(const char *verb, struct console *c); /* NULL: the whole; `haul copy --help` comes here too */
int run_version(struct console *c);
int run_first_screen(const struct invocation *inv, struct console *c); /* `haul` alone: exit 1 */

/* Print the problem and the `done` event; returns its exit code. */
int run_refuse(struct console *c, const struct problem *p);
int run_refuse_fault(struct console *c, const struct haul_fault *fault);

/* `done` without a transfer; returns EXIT_CLASS_OK. */
int run_finish(struct console *c);

/*
 * The home that --home, --system or the environment say. Failure is told as a problem; HAUL_DENIED: owned by another
 * user; HAUL_USAGE: --system without being root. Given: home_close().
 */
HAUL_MUST_USE haul_status run_home(const struct invocation *inv, struct home *ret_home, struct problem *problem);

/*
 * As run_home() for work that needs a home only if there is one: nothing is made or checked. *ret_has: whether it is
 * there; if so given: home_close().
 */
HAUL_MUST_USE haul_status run_home_if_any(const struct invocation *inv, struct home *ret_home, bool *ret_has,
					  struct problem *problem);

/* What is said of a place on another machine: why it will not do, and what does. */
struct run_elsewhere {
	const char *reason, *remedy;
};

/*
 * Every operand as a place of this machine. `ret`: zeroed, room for all; place_spec_close() for each also after a
 * failure. HAUL_USAGE: no place, or one on another machine.
 */
HAUL_MUST_USE haul_status run_local_places(const struct invocation *inv, const struct run_elsewhere *elsewhere,
					   struct place_spec *ret, struct problem *problem);

/* What changes of shares and peers end with: whose agent serves them and whether it runs. A note on stderr. */
void run_tell_agent(const struct home *h, struct console *c);

#endif
