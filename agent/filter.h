/* The rules of a choice, compiled: what they say of a path, and which of them ever said something. One thread. */
#ifndef HAUL_AGENT_FILTER_H
#define HAUL_AGENT_FILTER_H

#include "agent/choice_spec.h"
#include "engine/base/fault.h"
#include "engine/scan_choice.h"

struct filter;

struct filter_question {
	const char *path; /* below the directory copied; the source itself: its name */
	size_t len;
	bool is_top; /* the source itself: nothing is anchored at it */
	bool is_directory;
	bool is_within; /* something it lies in was chosen by --only or --include: what no rule speaks of is taken */
};

struct filter_answer {
	enum scan_take take; /* TAKE, ON_WAY or LEAVE */
	bool is_within;      /* for what lies in it */
	size_t rule;         /* that decided; SIZE_MAX: none */
};

/*
 * spec   borrowed
 * HAUL_BAD_VALUE, with the pattern named: it cannot be compiled (ignore_pattern_open()). HAUL_NO_MEMORY
 */
HAUL_MUST_USE haul_status filter_new(const struct choice_spec *spec, struct filter **ret_filter,
				     struct haul_fault *fault);
void filter_free(struct filter *f);

/*
 * What the rules say. Every rule that matches is remembered, also one that comes too late to decide.
 * HAUL_OVERFLOW  a match would cost too much. HAUL_NO_MEMORY
 */
HAUL_MUST_USE haul_status filter_ask(struct filter *f, const struct filter_question *q,
				     struct filter_answer *ret_answer);

/* Whether rule `i` of the spec has matched anything. */
bool filter_has_matched(const struct filter *f, size_t i);

#endif
