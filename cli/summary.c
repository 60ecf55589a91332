/* Clauses are appended to a bounded text; each tells one kind of proof with its count. */
#include "cli/summary.h"

#include "cli/sizes.h"

#include "agent/exit_class.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text {
	char *at;
	size_t used, cap;
};

static void add(struct text *t, const char *fmt, ...) HAUL_PRINTF(2, 3);

static void add(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->at + t->used, t->cap - t->used, fmt, args);
	va_end(args);
	if (n > 0)
		t->used += (size_t)n < t->cap - t->used ? (size_t)n : t->cap - t->used - 1;
}

/* "412" with the separator that the clause needs: ": " first, then "; ". */
static void clause(struct text *t, bool *is_first, uint64_t count, const char *what)
{
	char number[SIZE_TEXT_MAX];

	add(t, "%s%s %s", *is_first ? ": " : "; ", count_text(count, number), what);
	*is_first = false;
}

/* Whether a comparison came to its end and looked at everything. */
static bool is_complete(const struct transfer_report *r)
{
	return (r->exit_code == EXIT_CLASS_OK || r->exit_code == EXIT_CLASS_DIFFERENT) && !r->files_failed;
}

/* What the text calls the rate: payload that crossed, or for a comparison what each side read. */
static double shown_rate(const struct summary_request *req, const struct transfer_report *r)
{
	if (req->verb == TRANSFER_VERIFY)
		return r->elapsed_s > 0 && is_complete(r) ? (double)r->bytes_total / r->elapsed_s : 0;
	return r->files_sent ? summary_rate(r) : 0;
}

static void add_totals(struct text *t, const struct summary_request *req, const struct transfer_report *r)
{
	char files[SIZE_TEXT_MAX], bytes[SIZE_TEXT_MAX], took[SIZE_TEXT_MAX], rate[SIZE_TEXT_MAX];

	add(t, "%s file%s, %s in %s", count_text(r->files_total, files), r->files_total == 1 ? "" : "s",
	    size_text(r->bytes_total, bytes), duration_text(r->elapsed_s, took));
	if (shown_rate(req, r) > 0)
		add(t, " (%s)", rate_text(shown_rate(req, r), rate));
}

static void add_sent(struct text *t, bool *is_first, const struct summary_request *req, const struct transfer_report *r)
{
	const char *how = req->is_local ? "hashed as it was read" : "checked on arrival";
	char checked[SIZE_TEXT_MAX], there[SIZE_TEXT_MAX];

	if (r->is_dry_run) {
		clause(t, is_first, r->files_sent,
		       req->is_local ? "would be copied, nothing was changed" : "would be sent, nothing was changed");
		return;
	}
	clause(t, is_first, r->files_sent, req->is_local ? "copied" : "sent");
	if (r->bytes_resumed)
		add(t, " (%s were there)", size_text(r->bytes_resumed, there));
	if (r->bytes_basis)
		add(t, " (%s taken from what was there)", size_text(r->bytes_basis, there));
	if (r->files_sent_again)
		add(t, " (%s changed while being read, sent again)", count_text(r->files_sent_again, checked));
	if (!r->files_sent)
		return;
	if (r->files_verified_transfer >= r->files_sent)
		add(t, ", every block %s", how);
	else
		add(t, ", %s of them with every block %s", count_text(r->files_verified_transfer, checked), how);
	add(t, r->is_durable ? ", durable" : req->no_sync ? ", not made durable (--no-sync)" : ", not all durable");
	if (!r->files_verified_disk)
		add(t, ", not read back from disk");
	else
		add(t, ", %s read back from disk", count_text(r->files_verified_disk, checked));
}

static void add_skipped(struct text *t, bool *is_first, const struct summary_request *req,
			const struct transfer_report *r)
{
	uint64_t unread = r->files_unread - (r->files_cloned < r->files_unread ? r->files_cloned : r->files_unread);

	if (unread > r->files_skipped)
		unread = r->files_skipped;
	unread -= r->files_stayed < unread ? r->files_stayed : unread;
	if (r->files_cloned)
		clause(t, is_first, r->files_cloned, "cloned: same extents on disk, not read");
	if (r->files_skipped > unread + r->files_stayed)
		clause(t, is_first, r->files_skipped - unread - r->files_stayed, "equal by hash tree, both sides read");
	if (unread)
		clause(t, is_first, unread,
		       req->size_only ? "unchanged by size, not read" : "unchanged by size and time, not read");
	if (r->files_stayed)
		clause(t, is_first, r->files_stayed,
		       req->only_existing ? "not there, or left as they are" : "already there, not compared");
	if (r->files_kept)
		clause(t, is_first, r->files_kept, "kept");
	if (req->is_sync && r->entries_deleted)
		clause(t, is_first, r->entries_deleted,
		       r->is_dry_run ? "entries would be deleted there" : "entries deleted there");
	else if (r->files_deleted)
		clause(t, is_first, r->files_deleted, req->is_move ? "moved, deleted at the source" : "deleted");
	if (r->files_failed)
		clause(t, is_first, r->files_failed, "failed, named above");
}

static void add_specials(struct text *t, bool *is_first, const struct transfer_report *r)
{
	static const char *const kinds[][2] = { { "fifo left out", "fifos left out" },
						{ "socket left out", "sockets left out" },
						{ "device left out", "devices left out" } };

	for (size_t i = 0; i < 3; i++)
		if (r->specials[i])
			clause(t, is_first, r->specials[i], kinds[i][r->specials[i] != 1]);
}

static void add_compared(struct text *t, bool *is_first, const struct transfer_report *r)
{
	clause(t, is_first, r->files_equal, "equal");
	if (is_complete(r))
		add(t, ", every byte of both sides read");
	if (r->files_different)
		clause(t, is_first, r->files_different, "different");
	if (r->files_missing)
		clause(t, is_first, r->files_missing, "missing at the destination");
	if (r->files_surplus)
		clause(t, is_first, r->files_surplus, "only at the destination");
	if (r->meta_different)
		clause(t, is_first, r->meta_different, "with other metadata");
	if (r->files_failed)
		clause(t, is_first, r->files_failed, "not compared, named above");
}

static const char *signal_text(int number)
{
	return number == SIGINT ? "interrupted" : number == SIGHUP ? "hung up" : "terminated";
}

/* Nothing has arrived: nothing can be checked. */
static bool is_only_specials(const struct transfer_report *r)
{
	uint64_t specials = r->specials[0] + r->specials[1] + r->specials[2];

	return specials && r->entries_total <= specials;
}

const char *summary_text(const struct summary_request *req, const struct transfer_report *r, char *ret_text)
{
	struct text t = { .at = ret_text, .cap = SUMMARY_TEXT_MAX };
	bool is_first = true;

	ret_text[0] = '\0';
	add_totals(&t, req, r);
	if (req->verb == TRANSFER_VERIFY)
		add_compared(&t, &is_first, r);
	else
		add_sent(&t, &is_first, req, r);
	if (req->verb == TRANSFER_COPY)
		add_skipped(&t, &is_first, req, r);
	add_specials(&t, &is_first, r);
	if (r->entries_left && !r->files_kept)
		clause(&t, &is_first, r->entries_left, r->entries_left == 1 ? "entry left out" : "entries left out");
	add(&t, ".");
	if (req->unmatched && *req->unmatched)
		add(&t, " Matched nothing: %s.", req->unmatched);
	if (r->signal_number)
		add(&t, " Stopped, %s: the same command %s.", signal_text(r->signal_number),
		    req->is_move ? "goes on" : "sends what is missing");
	if (summary_limit(r->limited_by))
		add(&t, " Limited by: %s.", summary_limit(r->limited_by));
	if (req->check_again && !r->exit_code && !r->is_dry_run && !is_only_specials(r))
		add(&t, " Check again: %s", req->check_again);
	return ret_text;
}

static const struct {
	const char *text, *word;
} limits[] = {
	[LIMIT_NONE] = { NULL, NULL },
	[LIMIT_SOURCE_DISK] = { "source disk", "source-disk" },
	[LIMIT_SOURCE_CPU] = { "source CPU", "source-cpu" },
	[LIMIT_NETWORK] = { "network", "network" },
	[LIMIT_DESTINATION_CPU] = { "destination CPU", "destination-cpu" },
	[LIMIT_DESTINATION_DISK] = { "destination disk", "destination-disk" },
	[LIMIT_FILES] = { "number of files", "files" },
	[LIMIT_RATE] = { "--bwlimit", "rate-limit" },
};

const char *summary_limit(enum transfer_limit limit)
{
	return limits[limit].text;
}

const char *summary_limit_word(enum transfer_limit limit)
{
	return limits[limit].word;
}

double summary_rate(const struct transfer_report *r)
{
	return r->elapsed_s > 0 ? (double)r->bytes_sent / r->elapsed_s : 0;
}

const char *summary_verified(const struct transfer_report *r)
{
	if (!r->files_total || r->is_dry_run)
		return NULL;
	if (r->files_verified_disk == r->files_total)
		return "disk";
	return r->files_verified_transfer == r->files_total ? "transfer" : NULL;
}
