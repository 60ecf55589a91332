/* Faults are plain text in a fixed buffer: they are made on failing paths, where allocation may be what failed. */
#include "engine/base/fault.h"

#include "engine/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fault_text(struct haul_fault *fault, const char *fmt, va_list args)
{
	(void)vsnprintf(fault->text, sizeof(fault->text), fmt, args);
}

haul_status haul_fault_set(struct haul_fault *fault, haul_status st, const char *fmt, ...)
{
	va_list args;

	if (!fault)
		return st;
	fault->status = st;
	fault->os_errno = 0;
	va_start(args, fmt);
	fault_text(fault, fmt, args);
	va_end(args);
	return st;
}

haul_status haul_fault_errno(struct haul_fault *fault, int err, const char *fmt, ...)
{
	haul_status st = haul_status_from_errno(err);
	va_list args;
	size_t used;

	if (!fault)
		return st;
	fault->status = st;
	fault->os_errno = err;
	va_start(args, fmt);
	fault_text(fault, fmt, args);
	va_end(args);
	used = strlen(fault->text);
	(void)snprintf(fault->text + used, sizeof(fault->text) - used, ": %s", strerror(err));
	return st;
}

haul_status haul_bug(const char *fmt, ...)
{
	char text[HAUL_FAULT_TEXT_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	haul_log(HAUL_LOG_ERROR, "internal fault: %s", text);
	return HAUL_BUG;
}
