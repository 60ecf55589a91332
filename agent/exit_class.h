/* Exit codes of docs/CLI.md, and which of them a failure belongs to. */
#ifndef HAUL_AGENT_EXIT_CLASS_H
#define HAUL_AGENT_EXIT_CLASS_H

#include "engine/base/status.h"

enum exit_class {
	EXIT_CLASS_OK = 0,
	EXIT_CLASS_USAGE = 1,
	EXIT_CLASS_NO_SOURCE = 2,
	EXIT_CLASS_ENTRIES = 3, /* some entries failed */
	EXIT_CLASS_DIFFERENT = 4,
	EXIT_CLASS_UNREACHABLE = 5,
	EXIT_CLASS_NOT_ALLOWED = 6,
	EXIT_CLASS_NO_SPACE = 7,
	EXIT_CLASS_CHANGED = 8, /* sources changed or vanished */
	EXIT_CLASS_GUARD = 9,
	EXIT_CLASS_BUG = 10, /* haul itself failed */
	EXIT_CLASS_RUNNING = 11,
	EXIT_CLASS_INTERRUPTED = 130,
};

/*
 * The class of a failure that ended a connection or hit one entry. What can only be told from the context (a missing
 * source: 2, a malformed option: 1) is the caller's to decide; here a failure of the file system is 3.
 */
int exit_class_of(haul_status st);

#endif
