/*
 * What a person or a program sees of a transfer: the observer of transfer_run() that prints (docs/CLI.md "Output").
 *
 * Order on stderr: the landing, notes and problems as they come, the progress line, the summary last. Nothing here
 * decides what happens; the exit code is the report's, and 3 instead of 0 for warnings with --strict.
 */
#ifndef HAUL_CLI_TRANSFER_VIEW_H
#define HAUL_CLI_TRANSFER_VIEW_H

#include "cli/print.h"
#include "cli/progress.h"

#include "engine/base/output_file.h"

struct transfer_view {
	struct console *console; /* held */
	const char *verb_name;
	const struct transfer_request *request; /* held */
	const char *environment;                /* what it changed, "" when nothing; held */
	struct output_file *failed_to;          /* --failed-to, or NULL; held */
	bool itemize, strict, shows_progress;
	bool has_landed; /* the landing was told */
	char check_again[2048];
	struct progress progress;
};

/* The observer that prints through `v`, which is held. */
struct transfer_observer transfer_view_observer(struct transfer_view *v);

/* A landing's line on stderr; `environment`: what it changed, "" when nothing. */
void transfer_view_landing(struct console *c, const struct transfer_landing *l, const char *environment);

/* The parents that are made for it, if any, or with `dry_run` would be. */
void transfer_view_made(struct console *c, const struct transfer_landing *l, bool dry_run);

/* Tell the end: summary and `done`. May raise r->exit_code (--strict). Returns the exit code. */
int transfer_view_end(struct transfer_view *v, struct transfer_report *r);

#endif
