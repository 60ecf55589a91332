/* Filters, lists and limits of the command line as a choice (docs/CLI.md "Filters"). */
#ifndef HAUL_CLI_FILTER_OPTIONS_H
#define HAUL_CLI_FILTER_OPTIONS_H

#include "cli/options.h"

#include "agent/choice_spec.h"

/*
 * Read the options and the files they name into `ret`, which is to be closed also after a failure.
 *
 * HAUL_USAGE  with the remedy: `!` in a pattern of an option, --include with nothing that excludes, a pattern that can
 *             never match, a file that cannot be read, more than may be, a listed path that leads out, a bad size or
 * age.
 */
HAUL_MUST_USE haul_status filter_options_read(const struct invocation *inv, struct choice_spec *ret,
					      struct problem *problem);

/*
 * --explain-filter PATH as a sentence: what is done with it and which pattern says so.
 *
 * ret_text  of `cap` bytes
 * Fails as choice_new().
 */
HAUL_MUST_USE haul_status filter_options_explain(const struct choice_spec *spec, const char *path, char *ret_text,
						 size_t cap, struct problem *problem);

/* "--exclude=*.foo, list:3: *.bar": the rules that are not in `matched` (bits as in struct transfer_report); "" when
 * there are none. Escaped, and cut when they are many. Returns ret_text. */
const char *filter_options_unmatched(const struct choice_spec *spec, const uint8_t *matched, char *ret_text,
				     size_t cap);

#endif
