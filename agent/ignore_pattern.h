/*
 * One pattern of gitignore's syntax (docs/CLI.md "Filters"), without its `!`: compiled, and held against paths.
 *
 * Patterns without a slash but at their end are held against the last name of a path, others against the whole path
 * below the directory that they are anchored at. Plain names and `*.suffix`, which most are, are compared as bytes;
 * the rest is a PCRE2 expression with bounds on what a match may cost. One thread at a time.
 */
#ifndef HAUL_AGENT_IGNORE_PATTERN_H
#define HAUL_AGENT_IGNORE_PATTERN_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IGNORE_PATTERN_MAX = 4096 /* bytes */ };

struct pcre2_real_code_8;

enum ignore_form { IGNORE_NEVER, IGNORE_NAME, IGNORE_SUFFIX, IGNORE_REGEX };

struct ignore_pattern {
	enum ignore_form form;
	bool is_path;         /* held against the whole path */
	bool wants_directory; /* matches directories alone */
	char *text;           /* NAME, SUFFIX: the bytes; REGEX: those before the first special one; owned */
	size_t text_len;
	struct pcre2_real_code_8 *code; /* REGEX; owned */
};

/* What a match works with, shared by the patterns of one thread. */
struct ignore_matcher;
struct ignore_matcher *ignore_matcher_new(void); /* NULL: no memory */
void ignore_matcher_free(struct ignore_matcher *m);

/*
 * Compile. A pattern that can never match (a bracket without its end, a backslash as its last byte, nothing at all)
 * compiles to the form IGNORE_NEVER: gitignore's rule.
 *
 * HAUL_BAD_VALUE  longer than IGNORE_PATTERN_MAX, a NUL in it, or more brackets than an expression may have.
 * HAUL_NO_MEMORY  On failure there is nothing to close.
 */
HAUL_MUST_USE haul_status ignore_pattern_open(struct ignore_pattern *ret, const char *text, size_t len);
void ignore_pattern_close(struct ignore_pattern *p);

/*
 * Whether the path matches.
 *
 * path, len   components below the anchor, joined by '/'; not empty
 * HAUL_OVERFLOW  it would have cost more than a match may: nothing is known.
 */
HAUL_MUST_USE haul_status ignore_pattern_match(const struct ignore_pattern *p, struct ignore_matcher *m,
					       const char *path, size_t len, bool is_directory, bool *ret_matches);

/* A line of a file of patterns: whether there is a pattern in it, and which part of the line it is. Lines end with LF,
 * which is not part of `len`; a CR before it, spaces at the end that no backslash protects, and comments are none. */
bool ignore_line(const char *line, size_t len, size_t *ret_len);

#endif
