/* A line is put together first and written with one call, so that lines of several threads do not mix. */
#include "engine/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1024 };

static enum haul_log_level max_level = HAUL_LOG_WARNING;
static const char *const level_names[] = { "error", "warning", "info", "debug" };

void haul_log_set_level(enum haul_log_level level)
{
	max_level = level;
}

void haul_log(enum haul_log_level level, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;
	size_t used;

	if (level > max_level)
		return;
	used = (size_t)snprintf(line, sizeof(line), "haul: %s: ", level_names[level]);
	va_start(args, fmt);
	(void)vsnprintf(line + used, sizeof(line) - used - 1, fmt, args);
	va_end(args);
	used = strlen(line);
	line[used] = '\n';
	if (write(STDERR_FILENO, line, used + 1) < 0)
		return; /* stderr is gone: there is nobody left to tell */
}
