/* The events of a transfer as JSON lines (docs/CLI.md "Output"); nothing is written unless the console wants JSON. */
#ifndef HAUL_CLI_EVENTS_H
#define HAUL_CLI_EVENTS_H

#include "cli/print.h"

/* `start`; environment as invocation_environment() told it. */
void event_start(struct console *c, const char *verb, const char *environment, const struct transfer_landing *landings,
		 size_t count);
void event_progress(struct console *c, const struct transfer_progress *p);
void event_file(struct console *c, const struct transfer_entry *e);
/* `reconnected`: the `count`th time, `after_s` seconds after the connection was lost. */
void event_reconnected(struct console *c, unsigned count, double after_s);

/* `file` of an entry that was removed, or would be; path as a user would type it. */
void event_deleted(struct console *c, const char *path, enum entry_kind kind);

/* `file` of an entry that was renamed, or would be; paths as above. */
void event_moved(struct console *c, const char *from, const char *to, enum entry_kind kind);

/* `done`, with every field, always the last line. */
void event_done(struct console *c, const struct transfer_report *r);

/* `done` for what never became a transfer: the exit code and zeros. */
void event_done_plain(struct console *c, int exit_code);

#endif
