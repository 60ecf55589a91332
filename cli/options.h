/*
 * The command line taken apart: verb, options, operands (docs/CLI.md).
 *
 * Long options take `--opt=value` and `--opt value`, short ones bundle, `--` ends options; options may stand anywhere.
 * HAUL_OPTION_NAME in the environment stands for --name, below what the command line says.
 */
#ifndef HAUL_CLI_OPTIONS_H
#define HAUL_CLI_OPTIONS_H

#include "cli/option_table.h"
#include "cli/problem.h"
#include "cli/verbs.h"

struct option_use {
	const struct option_def *def;
	const char *value; /* borrowed from argv or the environment; NULL: a flag */
	bool is_environment;
};

struct invocation {
	const struct verb_def *verb; /* NULL: none was named */
	struct option_use *uses;     /* owned; the environment's first, then as typed */
	size_t use_count, use_cap;
	const char **operands; /* owned array, borrowed texts; without the verb */
	size_t operand_count;
};

/*
 * Parse. `argv` and `environment` (NULL-terminated, like environ) are held by the result.
 * HAUL_USAGE with the problem told: an unknown verb or option, one that this version lacks, a missing or wrong value.
 * On failure there is nothing to close.
 */
HAUL_MUST_USE haul_status invocation_parse(struct invocation *ret, int argc, char *const *argv,
					   char *const *environment, struct problem *problem);
void invocation_close(struct invocation *inv);

/* Whether the option was given; its value (the last given; NULL for a flag or when it was not given). */
bool invocation_has(const struct invocation *inv, enum option_id id);
const char *invocation_value(const struct invocation *inv, enum option_id id);

/* The index of the next use of `id` at or after `from`, or use_count. */
size_t invocation_next(const struct invocation *inv, enum option_id id, size_t from);

/* "--bwlimit=10M, --lanes=4": what the environment changed, "" when nothing. Returns ret_text. */
const char *invocation_environment(const struct invocation *inv, char *ret_text, size_t cap);

/* A problem that begins with an option which the environment gave names the variable instead. */
void invocation_blame(const struct invocation *inv, struct problem *problem);

/* Whether --json stands among the arguments or in the environment: known before anything is parsed. */
bool invocation_wants_json(int argc, char *const *argv, char *const *environment);

#endif
