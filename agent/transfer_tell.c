/* What happened, in words: entries that failed or differ, the peer's refusals, the places they lie at. */
#include "agent/transfer_parts.h"

#include "agent/exit_class.h"
#include "agent/peer_error.h"
#include "certs/rights.h"
#include "engine/base/escape.h"
#include "engine/beneath.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *transfer_place(const struct place_spec *remote, const char *path, char *ret_text, size_t cap)
{
	const char *slash = *path ? "/" : "";

	if (!remote || !remote->is_remote)
		(void)snprintf(ret_text, cap, "%s", path);
	else if (remote->peer)
		(void)snprintf(ret_text, cap, "%s:%s%s%s", remote->peer, remote->share, slash, path);
	else
		(void)snprintf(ret_text, cap, "haul://%s%s%s:%u/%s%s%s", strchr(remote->host, ':') ? "[" : "",
			       remote->host, strchr(remote->host, ':') ? "]" : "", remote->port, remote->share, slash,
			       path);
	return ret_text;
}

/* A source's own name for something in it: the place as typed, and what follows the landing name. `e` says which
 * source, if it is known; NULL is fine. */
static const char *at_source_path(const struct transfer *t, const struct job_entry *e, const char *path, char *ret_text,
				  size_t cap)
{
	bool is_known = e && e->has_source && e->source < t->scan_source_count;

	for (size_t i = is_known ? t->scan_places[e->source] : 0; i < t->landing.count; i++) {
		const char *name = t->landing.landed[i].name, *text = t->sources[i].text;
		size_t len = name ? strlen(name) : 0, end = strlen(text);

		if (name && (strncmp(path, name, len) != 0 || (path[len] && path[len] != '/')))
			continue;
		while (end > 1 && text[end - 1] == '/')
			end--;
		(void)snprintf(ret_text, cap, "%.*s%s%s", (int)end, text, !name && *path ? "/" : "", path + len);
		return ret_text;
	}
	(void)snprintf(ret_text, cap, "%s", path);
	return ret_text;
}

const char *transfer_shown(const struct transfer *t, bool at_source, const char *path, char *ret_text, size_t cap)
{
	char raw[TRANSFER_SHOWN_MAX], *whole = NULL;
	const char *root = t->landing.root ? t->landing.root : "";

	if (at_source) {
		at_source_path(t, NULL, path, raw, sizeof(raw));
	} else {
		if (asprintf(&whole, "%s%s%s", root, *root && *path && root[strlen(root) - 1] != '/' ? "/" : "", path) <
		    0)
			whole = NULL;
		transfer_place(t->is_push ? t->req->destination : NULL, whole ? whole : path, raw, sizeof(raw));
		free(whole);
	}
	return haul_escape(raw, strlen(raw), ret_text, cap);
}

void transfer_explain(struct transfer *t, const char *fmt, ...)
{
	char text[HAUL_FAULT_TEXT_MAX];
	va_list args;

	if (!t->req->want_explain || !t->obs->on_explain)
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	t->obs->on_explain(t->obs->ctx, text);
}

/* A signal has a place of its own in the report. Without one nobody has asked for an end: it is our own failure. */
static unsigned reason_bit(const struct transfer *t, int exit_code)
{
	if (exit_code != EXIT_CLASS_INTERRUPTED)
		return 1u << exit_code;
	return t->report->signal_number ? 0 : 1u << EXIT_CLASS_BUG;
}

static void tell(struct transfer *t, const struct transfer_problem *p)
{
	t->reasons |= reason_bit(t, p->exit_code);
	if (p->path && transfer_was_told(t, p->path, TOLD_ERROR, (uint64_t)p->code))
		return;
	if (t->obs->on_error)
		t->obs->on_error(t->obs->ctx, p);
}

void transfer_error(struct transfer *t, int exit_code, haul_status code, const char *text, const char *remedy)
{
	const struct transfer_problem p = { .code = code.code,
					    .exit_code = exit_code,
					    .side = "local",
					    .text = text,
					    .remedy = remedy && *remedy ? remedy : NULL };

	tell(t, &p);
}

void transfer_problem_at(struct transfer *t, haul_status code, const char *path, const char *text)
{
	const struct transfer_problem p = {
		.code = code.code, .exit_code = EXIT_CLASS_ENTRIES, .side = "source", .path = path, .text = text
	};

	tell(t, &p);
}

void transfer_entry_error(struct transfer *t, const char *path, int exit_code, haul_status code, const char *text)
{
	const struct transfer_problem p = {
		.code = code.code, .exit_code = exit_code, .side = "source", .path = path, .text = text
	};

	tell(t, &p);
}

/* What ended the job or the way to it. */
void transfer_fault(struct transfer *t, haul_status st, const struct haul_fault *fault, const char *remedy)
{
	char text[HAUL_FAULT_TEXT_MAX + 160];
	const char *what = fault && fault->text[0] ? fault->text : haul_status_text(st);

	if (t->again.lost_ns && exit_class_of(st) == EXIT_CLASS_UNREACHABLE)
		(void)snprintf(text, sizeof(text), "%s: connection lost, and none made again in %u s: %s", t->peer_name,
			       t->req->timeout_ms / 1000, what);
	else if (t->peer_name[0] && exit_class_of(st) == EXIT_CLASS_UNREACHABLE)
		(void)snprintf(text, sizeof(text), "%s: %s", t->peer_name, what);
	else
		(void)snprintf(text, sizeof(text), "%s", what);
	if (!remedy && t->again.was_accepted && exit_class_of(st) == EXIT_CLASS_UNREACHABLE)
		remedy = "Run the same command again: what has arrived is kept";
	transfer_error(t, exit_class_of(st), st, text, remedy);
}

void transfer_refused(struct transfer *t, const struct msg_error *e)
{
	struct peer_error why;
	struct transfer_problem p;
	bool is_missing_source;

	if (t->was_refused || t->report->signal_number)
		return;
	t->was_refused = true;
	peer_error_explain(e, t->peer_name, &why);
	is_missing_source = !t->is_push && !t->again.was_accepted && why.exit_code == EXIT_CLASS_ENTRIES;
	p = (struct transfer_problem){ .code = why.status.code,
				       .exit_code = is_missing_source ? EXIT_CLASS_NO_SOURCE : why.exit_code,
				       .side = t->peer_name,
				       .text = why.text,
				       .remedy = why.remedy[0] ? why.remedy : NULL };
	tell(t, &p);
}

/* What this device may put there is used up: how much it is, and where more is given. */
static void tell_quota(struct transfer *t, const struct job_lack *lack)
{
	const struct msg_hello *hello = control_peer_hello(control_link_session(t->link));
	const struct msg_error why = { .code = HAUL_CODE_QUOTA,
				       .share = { t->remote->share, strlen(t->remote->share) },
				       .held_rights = t->rights,
				       .your_name = hello ? hello->your_name : (struct text){ "", 0 } };
	struct peer_error words;
	struct transfer_problem p = { .code = HAUL_CODE_QUOTA,
				      .exit_code = EXIT_CLASS_NO_SPACE,
				      .side = "destination" };

	peer_error_explain_quota(&why, lack, t->peer_name, &words);
	p.text = words.text;
	p.remedy = words.remedy;
	tell(t, &p);
}

void transfer_tell_lack(struct transfer *t)
{
	const struct job_lack *lack = &transfer_totals(t)->lack;
	const char *root = *t->landing.root ? t->landing.root : ".";
	char raw[TRANSFER_SHOWN_MAX], shown[TRANSFER_SHOWN_MAX], text[2 * TRANSFER_SHOWN_MAX], lacks[32], left[32];
	const struct transfer_problem p = {
		.code = HAUL_CODE_NO_SPACE, .exit_code = EXIT_CLASS_NO_SPACE, .side = "destination", .text = text
	};

	if (lack->need_bytes <= lack->free_bytes)
		return;
	if (lack->quota_bytes) {
		tell_quota(t, lack);
		return;
	}
	transfer_place(t->is_push ? t->req->destination : NULL, t->is_push && !t->is_local ? "" : root, raw,
		       sizeof(raw));
	(void)snprintf(text, sizeof(text), "%s lacks %s (%s free)", haul_escape(raw, strlen(raw), shown, sizeof(shown)),
		       peer_error_bytes(lack->need_bytes - lack->free_bytes, lacks, sizeof(lacks)),
		       peer_error_bytes(lack->free_bytes, left, sizeof(left)));
	tell(t, &p);
}

/* ---- entries ---- */

static bool is_special(enum entry_kind kind)
{
	return kind == ENTRY_FIFO || kind == ENTRY_SOCKET || kind == ENTRY_CHAR_DEVICE || kind == ENTRY_BLOCK_DEVICE;
}

static void count_special(struct transfer *t, enum entry_kind kind)
{
	t->report->specials[kind == ENTRY_FIFO ? 0 : kind == ENTRY_SOCKET ? 1 : 2]++;
}

/* Whether the peer does not let us see what is in a file there, so that a move cannot tell whether it is the same. */
static bool is_unseen(const struct transfer *t, const struct job_entry *e)
{
	return transfer_is_far_move(t) && t->is_push && !(e->changes & (CHANGE_CREATED | CHANGE_SIZE | CHANGE_KIND)) &&
	       ~t->rights & (RIGHT_LIST | RIGHT_READ);
}

static uint64_t missing_right(const struct transfer *t, const struct job_entry *e)
{
	if (is_unseen(t, e))
		return t->rights & RIGHT_READ ? RIGHT_LIST : RIGHT_READ;
	return e->changes & CHANGE_CREATED ? RIGHT_CREATE : RIGHT_OVERWRITE;
}

/* The receiving side misses a right: which, and on whose machine it is given. */
static void explain_right(const struct transfer *t, const struct job_entry *e, struct peer_error *ret_words)
{
	const struct msg_hello *hello = control_peer_hello(control_link_session(t->link));
	struct msg_error why = { .code = HAUL_CODE_NO_RIGHT,
				 .share = { t->remote->share, strlen(t->remote->share) },
				 .missing_right = missing_right(t, e),
				 .held_rights = t->rights };

	if (hello)
		why.your_name = hello->your_name;
	peer_error_explain(&why, t->peer_name, ret_words);
}

/* Several sources merge, and nobody says which one it was. */
static bool is_ambiguous(const struct transfer *t, const struct job_entry *e)
{
	size_t merged = 0;

	for (size_t i = 0; i < t->landing.count; i++)
		merged += !t->landing.landed[i].name;
	return merged && t->landing.count > 1 && !e->has_source;
}

/* The entry as the end where it failed has it: a source's as typed, unless several may be meant. */
static const char *shown_at(const struct transfer *t, const struct job_entry *e, bool at_source, char *ret_text,
			    size_t cap)
{
	char raw[TRANSFER_SHOWN_MAX];

	if (!at_source || is_ambiguous(t, e))
		return transfer_shown(t, false, e->path, ret_text, cap);
	at_source_path(t, e, e->path, raw, sizeof(raw));
	return haul_escape(raw, strlen(raw), ret_text, cap);
}

/* A name that an earlier source has taken: the one that is not written is named. */
static void tell_clash(struct transfer *t, const struct job_entry *e)
{
	char raw[TRANSFER_SHOWN_MAX], shown[TRANSFER_SHOWN_MAX], text[2 * TRANSFER_SHOWN_MAX];
	bool is_known = !is_ambiguous(t, e);
	const struct transfer_problem p = { .code = HAUL_CODE_EXISTS,
					    .exit_code = EXIT_CLASS_ENTRIES,
					    .side = "source",
					    .path =
						is_known ? at_source_path(t, e, e->path, raw, sizeof(raw)) : e->path,
					    .text = text,
					    .remedy = "Copy it by itself, with --as NAME" };

	(void)snprintf(text, sizeof(text),
		       is_known ? "%s is not written: an earlier source has put another thing under that name"
				: "%s is that of the first source which has it: the others' is not written",
		       shown_at(t, e, true, shown, sizeof(shown)));
	tell(t, &p);
}

/* Nothing is to be replaced, and there is something else. */
static bool is_taken(const struct transfer *t, const struct job_entry *e)
{
	return t->req->no_replace && !(e->changes & CHANGE_CREATED) && !is_unseen(t, e);
}

static void tell_failed(struct transfer *t, const struct job_entry *e)
{
	bool at_source = e->failed_here == t->is_push;
	haul_status code = haul_failed(e->code) ? e->code : HAUL_IO; /* a peer that gives no reason */
	char shown[TRANSFER_SHOWN_MAX], text[2 * TRANSFER_SHOWN_MAX];
	struct peer_error words;
	struct transfer_problem p = { .code = code.code,
				      .exit_code = exit_class_of(code),
				      .side = at_source ? "source" : "destination",
				      .path = e->path,
				      .text = text };

	if (transfer_was_moved(t, e->path, code))
		return;
	if (at_source && code.code == HAUL_CODE_EXISTS) {
		tell_clash(t, e);
		return;
	}
	shown_at(t, e, at_source, shown, sizeof(shown));
	if (at_source && code.code == HAUL_CODE_NOT_FOUND)
		p.exit_code = EXIT_CLASS_CHANGED;
	if (!at_source && code.code == HAUL_CODE_NO_RIGHT && (t->is_local || is_taken(t, e))) {
		(void)snprintf(text, sizeof(text), "%s: the name is taken, by other content", shown);
	} else if (!at_source &&
		   (code.code == HAUL_CODE_NO_RIGHT || (code.code == HAUL_CODE_EXISTS && is_unseen(t, e)))) {
		explain_right(t, e, &words);
		(void)snprintf(text, sizeof(text), "%s: %s", shown, words.text);
		p.remedy = t->no_right_count++ ? NULL : words.remedy;
	} else if (code.code == HAUL_CODE_CHANGED && e->states) {
		(void)snprintf(text, sizeof(text), "%s: %s, and each of %u times that it was sent again", shown,
			       haul_status_text(code), e->states);
	} else {
		(void)snprintf(text, sizeof(text), "%s: %s", shown, haul_status_text(code));
	}
	if (p.exit_code == EXIT_CLASS_NOT_ALLOWED || p.exit_code == EXIT_CLASS_OK ||
	    p.exit_code == EXIT_CLASS_INTERRUPTED) /* EINTR of a file system over a network */
		p.exit_code = EXIT_CLASS_ENTRIES;
	tell(t, &p);
}

static void count_compared(struct transfer *t, const struct job_entry *e)
{
	struct transfer_report *r = t->report;

	if (e->changes & CHANGE_SURPLUS)
		r->files_surplus++;
	else if (e->changes & CHANGE_MISSING)
		r->files_missing++;
	else if (e->changes & CHANGE_CONTENT)
		r->files_different++;
	else if (e->kind == ENTRY_FILE && e->outcome == OUTCOME_PROVEN)
		r->files_equal++;
	if (e->changes & CHANGE_META && !(e->changes & (CHANGE_MISSING | CHANGE_SURPLUS)))
		r->meta_different++;
	if (e->changes & (CHANGE_MISSING | CHANGE_CONTENT))
		t->reasons |= 1u << EXIT_CLASS_DIFFERENT;
	if (t->req->exact && e->changes)
		t->reasons |= 1u << EXIT_CLASS_DIFFERENT;
}

/* A move leaves it where it is, and says so of each. */
static void tell_special(struct transfer *t, const struct job_entry *e)
{
	char shown[TRANSFER_SHOWN_MAX], text[2 * TRANSFER_SHOWN_MAX];
	const struct transfer_problem p = { .code = HAUL_CODE_UNSUPPORTED,
					    .exit_code = EXIT_CLASS_ENTRIES,
					    .side = "source",
					    .path = e->path,
					    .text = text };

	(void)snprintf(text, sizeof(text), "%s stays: it is no file, directory or link",
		       transfer_shown(t, true, e->path, shown, sizeof(shown)));
	tell(t, &p);
}

/* What only the destination has is told by its path alone; here it can be looked at, at a peer its kind is not known.
 */
static enum entry_kind surplus_kind(const struct transfer *t, const struct job_entry *e)
{
	struct entry_facts facts;

	if (t->root_fd < 0 || haul_failed(beneath_stat_at(t->root_fd, e->path, &facts)))
		return e->kind;
	return facts.kind;
}

static bool is_only_looking(const struct transfer_request *req)
{
	return req->verb == TRANSFER_VERIFY || req->dry_run;
}

/* Sent over a connection that was lost before the result came. What is sent once more is forgotten. */
static bool is_file_of_before(struct transfer *t, const struct job_entry *e)
{
	return e->kind == ENTRY_FILE && !is_only_looking(t->req) && transfer_was_sent(t, e->path) &&
	       e->outcome == OUTCOME_UNCHANGED;
}

void transfer_on_entry(void *ctx, const struct job_entry *e)
{
	struct transfer *t = ctx;
	const struct transfer_entry te = { .path = e->path,
					   .kind = e->changes & CHANGE_SURPLUS ? surplus_kind(t, e) : e->kind,
					   .size = e->size,
					   .outcome = e->outcome,
					   .is_cloned = e->is_cloned,
					   .changes = e->changes,
					   .has_offset = e->has_offset,
					   .offset = e->offset };

	if (e->changes & CHANGE_DELETED) {
		transfer_mirror_entry(t, e);
		return;
	}
	/* One thing against one thing: what else lies beside it is not compared. */
	if (t->req->verb == TRANSFER_VERIFY && e->changes & CHANGE_SURPLUS && t->landing.landed[0].name)
		return;
	if (is_special(e->kind)) {
		count_special(t, e->kind);
		if (t->req->is_move)
			tell_special(t, e);
		return;
	}
	transfer_count_lost(t, e->lost);
	/* Without a code: verify tells a difference so; from a copy it is a failure all the same. */
	if (e->outcome == OUTCOME_FAILED && e->code.code == HAUL_CODE_GUARD && transfer_is_sync(t))
		return; /* what stands in its way stays with all else: one line says so */
	if (e->outcome == OUTCOME_FAILED && (haul_failed(e->code) || t->req->verb == TRANSFER_COPY)) {
		t->files_told += e->kind == ENTRY_FILE;
		tell_failed(t, e);
		return;
	}
	if (e->changes & CHANGE_STAYS) {
		t->report->files_stayed += e->kind == ENTRY_FILE;
		return;
	}
	if (t->eraser)
		transfer_erase_note(t, e);
	if (t->req->verb == TRANSFER_VERIFY)
		count_compared(t, e);
	if (t->req->dry_run && e->kind == ENTRY_FILE && e->changes & (CHANGE_CREATED | CHANGE_CONTENT))
		t->report->files_sent++; /* would be sent */
	if (is_file_of_before(t, e))
		t->again.files_sent++;
	if (!t->req->want_entries || !t->obs->on_entry || !e->changes)
		return;
	/* What was written is unchanged when it comes again. What was only looked at is not. */
	if (is_only_looking(t->req) && transfer_was_told(t, e->path, TOLD_ENTRY, 0))
		return;
	t->obs->on_entry(t->obs->ctx, &te);
}

void transfer_on_problem(void *ctx, const char *path, unsigned source, haul_status code)
{
	struct transfer *t = ctx;
	const struct job_entry e = { .path = path,
				     .outcome = OUTCOME_FAILED,
				     .code = code,
				     .failed_here = true,
				     .has_source = true,
				     .source = source };

	tell_failed(t, &e);
}
