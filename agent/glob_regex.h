/*
 * One gitignore pattern as a PCRE2 regular expression over bytes.
 *
 * PCRE2's own glob conversion is not used: it has neither the escapes nor the classes of gitignore. What is made here
 * never backtracks from one star into the one before it (atomic groups), so that a match costs at most the length of
 * the pattern times that of the path, and some.
 */
#ifndef HAUL_AGENT_GLOB_REGEX_H
#define HAUL_AGENT_GLOB_REGEX_H

#include "engine/base/status.h"

#include <stddef.h>

/*
 * Translate. The expression is to match a whole path, anchored at both ends, dots matching every byte.
 *
 * glob       without `!`, without the slash at its start and the one at its end; no NUL in it
 * ret_regex  given: free(); ASCII
 * HAUL_BAD_VALUE  the pattern matches nothing whatever: a bracket without its end, an unknown [:class:], a backslash
 *                 as the last byte.
 * HAUL_NO_MEMORY
 * Any thread.
 */
HAUL_MUST_USE haul_status glob_regex(const char *glob, size_t len, char **ret_regex);

#endif
