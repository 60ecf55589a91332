/* A file that an option names, read whole. */
#ifndef HAUL_CLI_READ_FILE_H
#define HAUL_CLI_READ_FILE_H

#include "cli/problem.h"

#include <stddef.h>

/*
 * Read FILE, or standard input for "-".
 *
 * option     "--exclude-from", for the message
 * most       bytes; more is refused
 * ret_data   given: free(); a NUL follows the `ret_len` bytes
 * HAUL_USAGE: it cannot be read, or is longer. HAUL_NO_MEMORY. Both as a problem.
 */
HAUL_MUST_USE haul_status read_file(const char *option, const char *path, size_t most, char **ret_data, size_t *ret_len,
				    struct problem *problem);

#endif
