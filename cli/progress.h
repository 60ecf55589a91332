/*
 * The progress line: bytes, files, rate, time left. Provisional until the scan has ended, never backwards, never over
 * 100 %, and 100 % only when everything is done.
 */
#ifndef HAUL_CLI_PROGRESS_H
#define HAUL_CLI_PROGRESS_H

#include "agent/transfer.h"

enum { PROGRESS_TEXT_MAX = 512 };

/* What has been shown so far; zero it to begin. */
struct progress {
	uint64_t bytes, files; /* the most shown */
	unsigned percent;      /* the most shown */
	double last_shown_s;   /* elapsed time at the last line */
	double last_event_s;   /* and at the last JSON event */
};

/* The next line, at most `columns` - 1 characters wide. Returns ret_text. */
const char *progress_text(struct progress *p, const struct transfer_progress *now, size_t columns,
			  char ret_text[PROGRESS_TEXT_MAX]);

/* Whether `interval_s` has passed since *last_s; moves it on if so. The first time is due at once. */
bool progress_is_due(double *last_s, double now_s, double interval_s);

#endif
