/*
 * A choice (choice_spec.h) made ready for one end of a job: asked by the sender's scan what it takes, by the receiver
 * what of its own was left out at the source and is no surplus, by the command line why.
 *
 * One thread asks; what it counted is read when it has ended, or by itself.
 */
#ifndef HAUL_AGENT_CHOICE_H
#define HAUL_AGENT_CHOICE_H

#include "agent/choice_spec.h"
#include "engine/base/fault.h"
#include "engine/scan_choice.h"

struct choice;

/* How the sources of a job land below its root: where patterns are anchored there. */
enum choice_landing { CHOICE_LANDS_AS_CONTENTS = 1 << 0, CHOICE_LANDS_BY_NAME = 1 << 1 };

/* spec: borrowed. HAUL_BAD_VALUE: a pattern that cannot be compiled, named. HAUL_NO_MEMORY */
HAUL_MUST_USE haul_status choice_new(const struct choice_spec *spec, struct choice **ret_choice,
				     struct haul_fault *fault);
void choice_free(struct choice *c);

/* For scan_choose(); the choice is held. HAUL_OVERFLOW ends the scan: a match would cost too much. */
struct scan_choice choice_scan(struct choice *c);

/*
 * Whether what lies at the destination alone stays out of the comparison, and of deletions, because the source would
 * have left it out by its path: matched by a filter, or beside what a list names. Limits cannot be told here: the
 * sender says so of the directory.
 *
 * path     below the job's root
 * landing  bits of enum choice_landing
 * When it cannot be decided: true.
 */
bool choice_protects(struct choice *c, const char *path, bool is_directory, unsigned landing);

/* The listed path, or what lies in it, was met. By the sender's scan this is done on its way. */
void choice_note_met(struct choice *c, const char *path);

/* The next listed path at or after `*at` (0 at first) that was not met, or NULL; borrowed. */
const char *choice_next_missing(const struct choice *c, size_t *at);

/* Rules that matched something, as bits, the first in the lowest bit of the first byte; (rule_count + 7) / 8 bytes. */
size_t choice_matched(const struct choice *c, uint8_t *ret_bits, size_t cap);

/* What was left out, as far as it was met: what lies in a directory that is left is not looked at. */
struct choice_counts {
	uint64_t entries, files; /* left; a directory is one entry */
};
struct choice_counts choice_left(const struct choice *c);

/* Why a path is taken or not. */
struct choice_reason {
	bool is_taken;
	bool is_on_way;  /* a directory that is looked into, and made if something in it is taken */
	size_t rule;     /* that decided; SIZE_MAX: none */
	size_t part_len; /* bytes of the path that it decided of: less than the whole: a directory above */
};

/*
 * Go down to a path as a scan would.
 *
 * path   below the directory copied
 * HAUL_OVERFLOW, HAUL_NO_MEMORY
 */
HAUL_MUST_USE haul_status choice_explain(struct choice *c, const char *path, bool is_directory,
					 struct choice_reason *ret_reason);

#endif
