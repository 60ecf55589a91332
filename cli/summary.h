/*
 * The last line of a transfer: how much, by which proof, what limited it, and how to check again; and the same facts
 * as the `done` event. Nothing is claimed that the report does not hold.
 */
#ifndef HAUL_CLI_SUMMARY_H
#define HAUL_CLI_SUMMARY_H

#include "agent/transfer.h"

enum { SUMMARY_TEXT_MAX = 4096 };

/* What was asked for, as far as the line speaks of it. */
struct summary_request {
	enum transfer_verb verb;
	bool no_sync;
	bool only_existing;      /* nothing new was made */
	bool size_only;          /* what is unchanged was not told by its time */
	bool is_sync;            /* what was deleted, was at the destination */
	bool is_move;            /* what was deleted has moved */
	bool is_local;           /* nothing has travelled */
	const char *check_again; /* "haul verify A B", or NULL */
	const char *unmatched;   /* patterns that matched nothing, "" or NULL: none */
};

/* Returns ret_text, of SUMMARY_TEXT_MAX bytes. */
const char *summary_text(const struct summary_request *req, const struct transfer_report *r, char *ret_text);

/* "destination disk", or NULL for LIMIT_NONE; the JSON form has a dash: "destination-disk". */
const char *summary_limit(enum transfer_limit limit);
const char *summary_limit_word(enum transfer_limit limit);

/* Bytes that crossed per second of the whole run, 0 when there were none. */
double summary_rate(const struct transfer_report *r);

/* "transfer", "disk", or NULL unless it holds for every file. */
const char *summary_verified(const struct transfer_report *r);

#endif
