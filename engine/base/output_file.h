/*
 * A file that a user names for what is written beside the work: a trace, a list of what failed. Opened so that a slip
 * of the hand costs nothing: what another program wrote is refused instead of emptied, and what is there stays as it is
 * until there is something to put in its place. A link is followed only if it is root's or our own.
 */
#ifndef HAUL_BASE_OUTPUT_FILE_H
#define HAUL_BASE_OUTPUT_FILE_H

#include "engine/base/fault.h"

#include <stdbool.h>
#include <stdio.h>

/* By what a file is known that the same option wrote before; it may be written anew, as an empty one may. */
enum output_mark {
	OUTPUT_TRACE,    /* it begins as a trace does: {"job": */
	OUTPUT_NUL_LIST, /* it ends with something and one NUL */
};

struct output_file {
	FILE *file;    /* owned; NULL: closed */
	bool is_begun; /* what was there before is gone */
	bool is_ours;  /* made by the open: goes again if nothing is begun */
	char *path;    /* owned */
};

/*
 * Open or make `path` for writing without changing what it holds; pipes and devices are taken as they are. Given:
 * output_file_close(). HAUL_USAGE: something else is there already; HAUL_DENIED and the like; the fault begins with the
 * option's name, escaped path after it. May block on a pipe without reader. Thread: any.
 */
HAUL_MUST_USE haul_status output_file_open(struct output_file *f, const char *option, const char *path,
					   enum output_mark mark, struct haul_fault *fault);

/* Before the first write, and for an empty result: what was there goes. Again: nothing. errno as status. */
HAUL_MUST_USE haul_status output_file_begin(struct output_file *f);

/* 0, or the errno of a write that failed. Closed already: 0. */
int output_file_close(struct output_file *f);

#endif
