/* From kinds of failures to exit codes: the one place where the command line decides it for what it does itself. */
#include "cli/problem.h"

#include <stdarg.h>
#include <stdio.h>

haul_status problem_usage(struct problem *p, const char *remedy, const char *fmt, ...)
{
	va_list args;

	p->code = HAUL_CODE_USAGE;
	p->exit_code = EXIT_CLASS_USAGE;
	va_start(args, fmt);
	(void)vsnprintf(p->text, sizeof(p->text), fmt, args);
	va_end(args);
	(void)snprintf(p->remedy, sizeof(p->remedy), "%s", remedy ? remedy : "");
	return HAUL_USAGE;
}

haul_status problem_from_fault(struct problem *p, const struct haul_fault *fault)
{
	p->code = fault->status.code;
	p->exit_code = exit_code_of(fault->status.code);
	(void)snprintf(p->text, sizeof(p->text), "%s", fault->text[0] ? fault->text : haul_status_text(fault->status));
	p->remedy[0] = '\0';
	return fault->status;
}

haul_status problem_no_memory(struct problem *p)
{
	struct haul_fault fault = { .status = HAUL_NO_MEMORY };

	return problem_from_fault(p, &fault);
}

int exit_code_of(enum haul_code code)
{
	int class = exit_class_of(haul_status_from_number((unsigned)code));

	switch (code) {
	case HAUL_CODE_BAD_VALUE:
	case HAUL_CODE_OVERFLOW:
	case HAUL_CODE_EXISTS:
	case HAUL_CODE_NOT_DIRECTORY:
	case HAUL_CODE_RESERVED_NAME:
	case HAUL_CODE_NAME_TOO_LONG:
	case HAUL_CODE_UNSUPPORTED:
		return EXIT_CLASS_USAGE;
	case HAUL_CODE_NOT_FOUND:
		return EXIT_CLASS_NO_SOURCE;
	case HAUL_CODE_DENIED:
		return EXIT_CLASS_NOT_ALLOWED;
	default:
		return class == EXIT_CLASS_ENTRIES ? EXIT_CLASS_BUG : class;
	}
}
