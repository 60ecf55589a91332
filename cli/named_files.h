/*
 * Files that options name (--trace, --failed-to, --log-file) are none of what the command works on: looked at before
 * anything is opened, so that a slip of the hand never writes into a source or into what arrives.
 */
#ifndef HAUL_CLI_NAMED_FILES_H
#define HAUL_CLI_NAMED_FILES_H

#include "cli/options.h"

/*
 * HAUL_USAGE: a file is a source or lies in one, is or lies in what lands at the destination (verify: in all of it), or
 * is named by two options. Pipes and devices may be named anywhere. `inv` is borrowed; nothing is opened or made.
 */
HAUL_MUST_USE haul_status named_files_check(const struct invocation *inv, struct problem *problem);

#endif
