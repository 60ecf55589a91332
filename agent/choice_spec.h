/*
 * Which entries a job takes, as its user said it: filters, limits, lists. Plain data, bounded: made from options
 * (choice_options.h), carried to a peer by CHOICE messages, compiled by each end (choice.h). docs/CLI.md "Filters".
 *
 * Rules of one group come from one option: of those that match the last decides, as in a file of gitignore. Of the
 * groups the first that decides wins.
 */
#ifndef HAUL_AGENT_CHOICE_SPEC_H
#define HAUL_AGENT_CHOICE_SPEC_H

#include "engine/base/entry.h"
#include "engine/base/status.h"

enum {
	CHOICE_RULES_MAX = 4096,
	CHOICE_RULE_BYTES_MAX = 128 * 1024, /* of all patterns together */
	CHOICE_PATHS_MAX = 1000 * 1000,
	CHOICE_PATH_BYTES_MAX = 64 * 1024 * 1024, /* of all listed paths together, each with its end */
};

enum filter_action { FILTER_EXCLUDE = 1, FILTER_INCLUDE = 2, FILTER_ONLY = 3 };

struct filter_rule {
	uint32_t group; /* never below that of the rule before it */
	enum filter_action action;
	char *pattern; /* owned; without `!`; NUL-terminated */
	char *origin;  /* owned: "--exclude=*.tmp", "list:12: *.tmp", raw; NULL: it came from a peer */
};

struct choice_spec {
	struct filter_rule *rules; /* owned */
	size_t rule_count, rule_cap, rule_bytes;
	bool has_paths; /* --files-from: nothing but what is listed, and all in it */
	char **paths;   /* owned; landing paths below the job's root */
	size_t path_count, path_cap, path_bytes;
	bool has_limits; /* the rest counts; of regular files alone */
	uint64_t size_min, size_max;
	struct entry_time oldest, newest; /* modification times, both included */
};

/* Takes everything. choice_spec_close() undoes whatever is there. */
void choice_spec_open(struct choice_spec *s);
void choice_spec_close(struct choice_spec *s);

/* Whether everything is taken. */
bool choice_spec_is_empty(const struct choice_spec *s);

/*
 * One more rule, or listed path; texts are copied. origin: NULL is fine.
 *
 * HAUL_OVERFLOW   more than the bounds above.
 * HAUL_BAD_VALUE  a group below the last one; a path that is none of components joined by '/'.
 * HAUL_NO_MEMORY
 */
HAUL_MUST_USE haul_status choice_spec_add_rule(struct choice_spec *s, uint32_t group, enum filter_action action,
					       const char *pattern, size_t len, const char *origin);
HAUL_MUST_USE haul_status choice_spec_add_path(struct choice_spec *s, const char *path, size_t len);

#endif
