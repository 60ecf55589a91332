/*
 * Every option of docs/CLI.md as data, with what this version has of it. Parsing, refusals, help and the environment
 * (HAUL_OPTION_NAME) all follow this one table.
 */
#ifndef HAUL_CLI_OPTION_TABLE_H
#define HAUL_CLI_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Options that the code asks about; those of later versions need no name here. */
enum option_id {
	OPT_LATER,   /* on the page, not in this version */
	OPT_NOTHING, /* a letter that is accepted and changes nothing */
	OPT_HELP,
	OPT_VERSION,
	OPT_HOME,
	OPT_SYSTEM,
	OPT_JSON,
	OPT_QUIET,
	OPT_VERBOSE,
	OPT_PROGRESS,
	OPT_LOG_FILE,
	OPT_FAILED_TO,
	OPT_DRY_RUN,
	OPT_ITEMIZE,
	OPT_CHECKSUM,
	OPT_FOLLOW,
	OPT_AS,
	OPT_MODIFY_WINDOW,
	OPT_NO_SYNC,
	OPT_RESTART,
	OPT_NO_XATTRS,
	OPT_NO_OWNER,
	OPT_NUMERIC_IDS,
	OPT_SPARSE,
	OPT_INPLACE,
	OPT_STRICT,
	OPT_EXACT,
	OPT_ON_CONFLICT,
	OPT_ON_ERROR,
	OPT_PROOF, /* --verify= */
	OPT_DIRECT,
	OPT_LANES,
	OPT_BLOCK,
	OPT_DEVICE,
	OPT_BWLIMIT,
	OPT_CONNECT_TIMEOUT,
	OPT_TIMEOUT,
	OPT_EXPLAIN,
	OPT_YES,
	OPT_TRACE,
	OPT_NAME,
	OPT_ADDRESS,
	OPT_ALLOW,
	OPT_QUOTA,
	OPT_OWN,
	OPT_UMASK,
	OPT_KEEP_PARTIALS,
	OPT_PARTIALS,
	OPT_MAX_DELETE,
	OPT_NEST,
	OPT_NEW_SOURCE,
	OPT_EXCLUDE,
	OPT_INCLUDE,
	OPT_EXCLUDE_FROM,
	OPT_INCLUDE_FROM,
	OPT_ONLY,
	OPT_EXPLAIN_FILTER,
	OPT_FILES_FROM,
	OPT_NUL, /* -0 */
	OPT_MIN_SIZE,
	OPT_MAX_SIZE,
	OPT_MIN_AGE,
	OPT_MAX_AGE,
	OPT_SIZE_ONLY,
	OPT_UPDATE,
	OPT_EXISTING,
	OPT_IGNORE_EXISTING,
	OPT_IGNORE_TIMES,
};

enum option_value {
	VALUE_NONE,
	VALUE_TEXT, /* `--opt=value` or `--opt value` */
	VALUE_WORD, /* one of `words`; `--opt=word`, or `--opt word` when the next argument is one of them */
};

struct option_def {
	enum option_id id;
	const char *name; /* long, without the dashes; NULL: only a letter */
	char letter;      /* 0: only long */
	enum option_value value;
	unsigned verbs;    /* enum verb bits it belongs to in this version */
	bool is_flag_only; /* never from the environment: it destroys or skips */
	bool may_repeat;
	const char *words;    /* VALUE_WORD: "transfer|disk" */
	const char *later;    /* those of `words` that this version lacks, "disk|..." */
	unsigned later_verbs; /* the verbs it lacks them for; 0: all */
	const char *hint;     /* VALUE_TEXT: "RATE", for help */
	const char *help;     /* one line for `haul help VERB`; NULL: not shown */
};

const struct option_def *option_table(size_t *ret_count);
const struct option_def *option_find(const char *name, size_t len);
const struct option_def *option_find_letter(char letter);

/* Whether the `len` bytes at `word` are one of the words of "a|b|c". */
bool option_has_word(const char *words, const char *word, size_t len);

/* What to use instead of an option of rsync, scp or rclone: `name` without dashes, or one letter. NULL: unknown. */
const char *option_foreign(const char *name, size_t len);

/* The nearest option of this version to what was typed, or NULL. */
const char *option_suggest(const char *name);

#endif
