/*
 * One line per event, to stderr or to a sink of the program's choice. Logging never blocks data: lanes do not log per
 * block.
 */
#ifndef HAUL_BASE_LOG_H
#define HAUL_BASE_LOG_H

#include "engine/base/status.h"

enum haul_log_level { HAUL_LOG_ERROR, HAUL_LOG_WARNING, HAUL_LOG_INFO, HAUL_LOG_DEBUG };

/* Lines above `level` are dropped. Default: HAUL_LOG_WARNING. Call before threads start. */
void haul_log_set_level(enum haul_log_level level);

/* Print one line, at most 1 KiB, with level and newline added. Any thread. Peer text must have been escaped before. */
void haul_log(enum haul_log_level level, const char *fmt, ...) HAUL_PRINTF(2, 3);

#endif
