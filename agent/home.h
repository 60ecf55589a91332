/*
 * The home of one agent: where its identity, peers, shares and state lie (docs/CLI.md "Home").
 *
 *   config dir  identity.key identity.crt peers shares     (0700)
 *   state dir   agent (lock and addresses of the running hauld), grown (what quotas count), placed-* (placed_files.h),
 * scratch files   (0700)
 */
#ifndef HAUL_AGENT_HOME_H
#define HAUL_AGENT_HOME_H

#include "engine/base/fault.h"

#include <stddef.h>
#include <stdint.h>

struct home {
	char *config_dir; /* owned, absolute */
	char *state_dir;
	bool is_system; /* uid 0's own: /etc/haul and /var/lib/haul */
};

/*
 * asked      --home DIR, else NULL: HAUL_HOME, else by uid and XDG. With DIR both directories lie in it: DIR and
 * DIR/state. Makes what is missing. HAUL_DENIED: owned by another user, or open to others; the fault says what to do.
 */
HAUL_MUST_USE haul_status home_open(struct home *h, const char *asked, struct haul_fault *fault);

/*
 * As home_open(), but nothing is made and nothing is checked: for work that needs a home only if there is one.
 * HAUL_NOT_FOUND: its config dir is not there; then nothing is given.
 */
HAUL_MUST_USE haul_status home_find(struct home *h, const char *asked, struct haul_fault *fault);

/* The system's home (/etc/haul and /var/lib/haul), whatever the environment says. Failures as home_open(). */
HAUL_MUST_USE haul_status home_open_system(struct home *h, struct haul_fault *fault);
void home_close(struct home *h);

/* A handle of the config dir, for reading and changing its files. *ret_fd is given. */
HAUL_MUST_USE haul_status home_open_config(const struct home *h, int *ret_fd, struct haul_fault *fault);

struct home_identity {
	uint8_t device_id[32];
	char device_id_text[80]; /* with groups and check characters */
};

/* The identity's public side, made on first use. */
HAUL_MUST_USE haul_status home_identity(const struct home *h, struct home_identity *ret_identity,
					struct haul_fault *fault);

/* This machine's name as proposed to others: host name, reduced to [a-z0-9._-]. ret_name: at least 64 bytes. */
void home_machine_name(char *ret_name, size_t cap);

/* Whether a hauld serves this home now, and where it listens ("127.0.0.1:42850", several separated by spaces). */
bool home_agent_runs(const struct home *h, char *ret_addresses, size_t cap, int *ret_pid);

#endif
