/*
 * Where the command line's output goes: stdout for what was asked for, stderr for everything else, a log file for a
 * copy of the latter, JSON events instead of text on stdout. Names of files are escaped before they come here.
 *
 * One per process, on the main thread.
 */
#ifndef HAUL_CLI_PRINT_H
#define HAUL_CLI_PRINT_H

#include "cli/json.h"
#include "cli/options.h"
#include "cli/problem.h"

#include "agent/transfer.h"

struct console {
	FILE *out, *err; /* stdout and stderr, or a test's; held */
	FILE *log;       /* --log-file, or NULL; owned */
	bool is_json, is_quiet, is_verbose;
	bool is_terminal;  /* stderr is one */
	bool has_color;    /* stderr is a terminal that wants it */
	bool has_progress; /* a progress line stands on stderr and must be wiped first */
	int exit_code;     /* of the worst problem printed so far, EXIT_CLASS_OK when none */
	uint64_t warnings;
};

/* From the options and NO_COLOR. HAUL_USAGE: the log file cannot be opened. Given: console_close(). */
HAUL_MUST_USE haul_status console_open(struct console *c, const struct invocation *inv, struct problem *problem);

/* Before there are options: stdout and stderr, JSON or not. */
void console_plain(struct console *c, bool is_json);

/* Flushes. HAUL_IO: what was asked for could not be written to stdout (told on stderr); a closed pipe is fine. */
HAUL_MUST_USE haul_status console_close(struct console *c);

/* A line on stderr, not with -q. The newline is added. */
void console_note(struct console *c, const char *fmt, ...) HAUL_PRINTF(2, 3);

/* A line on stderr in any case. */
void console_line(struct console *c, const char *fmt, ...) HAUL_PRINTF(2, 3);

/* A piece of stdout; nothing with --json. */
void console_out(struct console *c, const char *fmt, ...) HAUL_PRINTF(2, 3);

/* An error or a warning: one line on stderr, `text. remedy`, and an `error` or `warning` event. */
void console_error(struct console *c, const struct transfer_problem *p);
void console_warning(struct console *c, const struct transfer_problem *p);

/* As console_error() for a problem of our own; side "local". Returns its exit code. */
int console_problem(struct console *c, const struct problem *p);

/* As above for a fault of the agent. */
int console_fault(struct console *c, const struct haul_fault *fault);

/* `text. remedy` without a doubled stop; remedy NULL or "": text alone. Returns ret_text. */
const char *problem_line(const char *text, const char *remedy, char *ret_text, size_t cap);

/*
 * A word that can be pasted into a shell: itself when nothing in it is special, else quoted; what cannot be shown comes
 * as $'...'. Returns ret_text.
 */
const char *shell_word(const char *word, char *ret_text, size_t cap);

/* Draw or wipe the progress line on stderr; "" wipes. */
void console_progress(struct console *c, const char *text);

/* Columns of the terminal on stderr, 80 when it does not say. */
size_t console_columns(const struct console *c);

#endif
