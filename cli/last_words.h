/*
 * `done` also when a signal ends the command outside a transfer (transfer_run() answers for its own time).
 */
#ifndef HAUL_CLI_LAST_WORDS_H
#define HAUL_CLI_LAST_WORDS_H

#include <stdbool.h>

/*
 * From now on SIGHUP, SIGINT and SIGTERM end the process with 129, 130 or 143; with has_done the `done` event is
 * written to stdout before. Call once, from main().
 */
void last_words_arm(bool has_done);

#endif
