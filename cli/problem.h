/*
 * A refusal or failure found by the command line itself: one line of text, its cure, and the exit code it stands for
 * (docs/CLI.md "Exit codes"). What a transfer meets comes as struct transfer_problem instead.
 */
#ifndef HAUL_CLI_PROBLEM_H
#define HAUL_CLI_PROBLEM_H

#include "agent/exit_class.h"
#include "engine/base/fault.h"

struct problem {
	enum haul_code code;
	int exit_code;
	char text[HAUL_FAULT_TEXT_MAX];   /* names in it are escaped; no full stop */
	char remedy[HAUL_FAULT_TEXT_MAX]; /* "" when there is none */
};

/* A usage error: exit 1, HAUL_USAGE. remedy may be NULL; borrowed. Returns HAUL_USAGE. */
haul_status problem_usage(struct problem *p, const char *remedy, const char *fmt, ...) HAUL_PRINTF(3, 4);

/* What a call of the agent reported; exit code by exit_code_of(). Returns the fault's status. */
haul_status problem_from_fault(struct problem *p, const struct haul_fault *fault);

/* As above for memory that ran out, where nothing else is known. Returns HAUL_NO_MEMORY. */
haul_status problem_no_memory(struct problem *p);

/* The exit code that a failure of the command line's own work stands for (agent/exit_class.h, but no entry is meant).
 */
int exit_code_of(enum haul_code code);

#endif
