/* Lines for people. Whoever prints wipes the progress line first, so that the two never share a line. */
#include "cli/print.h"

#include "engine/base/escape.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096 };

static bool wants_color(FILE *err)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(fileno(err)) && (!no_color || !*no_color) && term && strcmp(term, "dumb");
}

void console_plain(struct console *c, bool is_json)
{
	*c = (struct console){ .out = stdout, .err = stderr, .is_json = is_json };
	c->is_terminal = isatty(STDERR_FILENO);
	c->has_color = wants_color(stderr);
}

haul_status console_open(struct console *c, const struct invocation *inv, struct problem *problem)
{
	const char *log = invocation_value(inv, OPT_LOG_FILE);
	char escaped[HAUL_ESCAPED_MAX / 8];

	console_plain(c, invocation_has(inv, OPT_JSON));
	c->is_quiet = invocation_has(inv, OPT_QUIET);
	c->is_verbose = invocation_has(inv, OPT_VERBOSE);
	if (!log)
		return HAUL_OK;
	c->log = fopen(log, "ae");
	if (!c->log)
		return problem_usage(problem, NULL, "--log-file %s cannot be opened: %s",
				     haul_escape(log, strlen(log), escaped, sizeof(escaped)), strerror(errno));
	return HAUL_OK;
}

/* A pipe whose reader has had enough (`| head`): nothing to complain about. */
static bool is_reader_gone(FILE *out)
{
	struct pollfd p = { .fd = fileno(out) };

	return errno == EPIPE || (poll(&p, 1, 0) == 1 && p.revents & POLLERR);
}

haul_status console_close(struct console *c)
{
	haul_status st = HAUL_OK;

	console_progress(c, "");
	errno = 0;
	if ((fflush(c->out) || ferror(c->out)) && !is_reader_gone(c->out)) {
		console_line(c, "stdout could not be written: %s", strerror(errno ? errno : EIO));
		st = HAUL_IO;
	}
	if (c->log && fclose(c->log))
		(void)fprintf(c->err, "the log file could not be written: %s\n", strerror(errno));
	c->log = NULL;
	return st;
}

static void put_line(struct console *c, bool on_terminal, const char *color, const char *text)
{
	if (on_terminal) {
		(void)fflush(c->out); /* where both go to one place, what was said first stands first */
		console_progress(c, "");
		if (c->has_color && *color)
			(void)fprintf(c->err, "%s%s\x1b[0m\n", color, text);
		else
			(void)fprintf(c->err, "%s\n", text);
	}
	if (c->log) {
		(void)fprintf(c->log, "%s\n", text);
		(void)fflush(c->log);
	}
}

void console_note(struct console *c, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	put_line(c, !c->is_quiet, "", text);
}

void console_line(struct console *c, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	put_line(c, true, "", text);
}

void console_out(struct console *c, const char *fmt, ...)
{
	va_list args;

	if (c->is_json)
		return;
	console_progress(c, "");
	va_start(args, fmt);
	(void)vfprintf(c->out, fmt, args);
	va_end(args);
}

const char *problem_line(const char *text, const char *remedy, char *ret_text, size_t cap)
{
	size_t len = strlen(text);

	if (!remedy || !*remedy) {
		(void)snprintf(ret_text, cap, "%s", text);
		return ret_text;
	}
	while (len && (text[len - 1] == '.' || text[len - 1] == ' '))
		len--;
	(void)snprintf(ret_text, cap, "%.*s. %s", (int)len, text, remedy);
	return ret_text;
}

static void problem_event(struct console *c, const char *event, const struct transfer_problem *p)
{
	struct json j;

	if (!c->is_json)
		return;
	json_open(&j, c->out, event);
	json_int(&j, "code", p->exit_code);
	json_text(&j, "kind", haul_status_text(haul_status_from_number((unsigned)p->code)));
	json_text(&j, "side", p->side);
	if (p->path)
		json_path(&j, "path", p->path, strlen(p->path));
	else
		json_text(&j, "path", NULL);
	json_text(&j, "text", p->text);
	json_text(&j, "remedy", p->remedy && *p->remedy ? p->remedy : NULL);
	json_close(&j);
}

void console_error(struct console *c, const struct transfer_problem *p)
{
	char line[LINE_MAX_BYTES];

	problem_event(c, "error", p);
	put_line(c, true, "\x1b[31m", problem_line(p->text, p->remedy, line, sizeof(line)));
	if (!c->exit_code)
		c->exit_code = p->exit_code;
}

void console_warning(struct console *c, const struct transfer_problem *p)
{
	char line[LINE_MAX_BYTES];

	problem_event(c, "warning", p);
	put_line(c, true, "\x1b[33m", problem_line(p->text, p->remedy, line, sizeof(line)));
	c->warnings++;
}

int console_problem(struct console *c, const struct problem *p)
{
	struct transfer_problem tp = {
		.code = p->code, .exit_code = p->exit_code, .side = "local", .text = p->text, .remedy = p->remedy
	};

	console_error(c, &tp);
	return p->exit_code;
}

int console_fault(struct console *c, const struct haul_fault *fault)
{
	struct problem p;

	(void)problem_from_fault(&p, fault);
	return console_problem(c, &p);
}

static bool is_plain(const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";

	return *word && !word[strspn(word, safe)];
}

/* In single quotes; a quote itself is written '\''. */
static void quote(const char *word, char *ret_text, size_t cap)
{
	static const char inner[] = "'\\''";
	size_t used = (size_t)snprintf(ret_text, cap, "'");

	for (; *word && used + sizeof(inner) + 1 < cap; word++) {
		char one[2] = { *word, '\0' };

		used += (size_t)snprintf(ret_text + used, cap - used, "%s", *word == '\'' ? inner : one);
	}
	(void)snprintf(ret_text + used, cap - used, "'");
}

const char *shell_word(const char *word, char *ret_text, size_t cap)
{
	char escaped[HAUL_ESCAPED_MAX];

	if (is_plain(word)) {
		(void)snprintf(ret_text, cap, "%s", word);
		return ret_text;
	}
	haul_escape(word, strlen(word), escaped, sizeof(escaped));
	if (strcmp(escaped, word))
		(void)snprintf(ret_text, cap, "%s", escaped);
	else
		quote(word, ret_text, cap);
	return ret_text;
}

void console_progress(struct console *c, const char *text)
{
	if (!*text && !c->has_progress)
		return;
	if (c->is_terminal)
		(void)fprintf(c->err, "\r%s\x1b[K", text);
	else if (*text)
		(void)fprintf(c->err, "%s\n", text);
	(void)fflush(c->err);
	c->has_progress = *text != '\0';
}

size_t console_columns(const struct console *c)
{
	struct winsize size;

	if (!ioctl(fileno(c->err), TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return 80;
}
