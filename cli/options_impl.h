/* What the two halves of parsing share: the command line (options.c) and the environment (option_environment.c). */
#ifndef HAUL_CLI_OPTIONS_IMPL_H
#define HAUL_CLI_OPTIONS_IMPL_H

#include "cli/options.h"

struct parser {
	struct invocation *inv;
	int argc, at; /* argv[at] is the next argument */
	char *const *argv;
	struct problem *problem;
};

/* One more use of an option; value is held. HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status options_add(struct parser *p, const struct option_def *def, const char *value,
				      bool is_environment);

/* "--verify=disk" or "-x" as the user would recognise it, escaped. Returns ret_text. */
const char *options_shown(const struct option_def *def, const char *value, char *ret_text, size_t cap);

/* "WHAT is not in this version": always HAUL_USAGE. */
HAUL_MUST_USE haul_status options_refuse_later(struct parser *p, const char *what);

/* Whether `value` is one of the option's words, and one that this version has. HAUL_USAGE. */
HAUL_MUST_USE haul_status options_check_word(struct parser *p, const struct option_def *def, const char *value);

/* Every HAUL_OPTION_NAME of `environment` (NULL-terminated, or NULL) becomes a use. */
HAUL_MUST_USE haul_status options_from_environment(struct parser *p, char *const *environment);

#endif
