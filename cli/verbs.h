/* The verbs of docs/CLI.md as data: what exists, what this version has, how it is used. */
#ifndef HAUL_CLI_VERBS_H
#define HAUL_CLI_VERBS_H

#include <stdbool.h>
#include <stddef.h>

enum verb {
	VERB_COPY = 1 << 0,
	VERB_SYNC = 1 << 1,
	VERB_MOVE = 1 << 2,
	VERB_REMOVE = 1 << 3,
	VERB_VERIFY = 1 << 4,
	VERB_HASH = 1 << 5,
	VERB_LIST = 1 << 6,
	VERB_DIAGNOSE = 1 << 7,
	VERB_ID = 1 << 8,
	VERB_SHARE = 1 << 9,
	VERB_PEER = 1 << 10,
	VERB_HELP = 1 << 11,
	VERB_KEPT_FREE = 1 << 12, /* a name kept for later, without a meaning yet */
};

struct verb_def {
	const char *name;
	enum verb verb;
	bool is_built;        /* this version has it */
	unsigned min, max;    /* operands */
	const char *usage;    /* "haul copy [OPTION]... SRC... DST"; more lines follow newlines */
	const char *purpose;  /* what it does, for `haul help VERB`; lines of at most 80 columns */
	const char *examples; /* lines, each ended by a newline */
};

enum { OPERANDS_ANY = 1 << 30 };

/* All of them, in the order of the page. Static. */
const struct verb_def *verb_table(size_t *ret_count);

/* NULL: no such verb. Static. */
const struct verb_def *verb_find(const char *name);

/* The built verb that somebody who typed `name` most likely wanted, or NULL. Knows cp, ls, rsync and the like. */
const char *verb_suggest(const char *name);

#endif
