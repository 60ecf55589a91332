/*
 * The other end of a transfer with both ends here: the receiving one, behind an in-memory link, in the place where a
 * peer's hauld would be. Our own end sends, as in a push.
 *
 * Happy path: the link's greeting brings JOB, the destination is opened and a receiver made, ACCEPT leads to the
 * sender and to lanes that belong to both (lane_copy.c), both ends agree and finish. An end that fails stops the other
 * with the same reason; the transfer leaves when both are over.
 */
#include "agent/transfer_parts.h"

#include "certs/rights.h"
#include "engine/base/escape.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SUGGEST_NAMES = 16 }; /* names of the source that are looked for at the destination */

struct transfer_local {
	struct transfer *transfer;
	struct control_link *link; /* its end; NULL once closed */
	struct receiver *receiver;
	bool runs;           /* the receiver's on_end is still to come */
	bool link_has_ended; /* ours has finished or failed: this one is closed when nothing runs */
};

static void close_link(struct transfer_local *l)
{
	if (l->link)
		control_link_close(l->link, NULL, NULL);
	l->link = NULL;
}

static void stop(struct transfer_local *l, haul_status why, const struct haul_fault *fault)
{
	if (l->runs)
		receiver_stop(l->receiver, why, fault);
}

static void on_end(void *ctx, haul_status st, const struct haul_fault *fault)
{
	struct transfer_local *l = ctx;
	struct transfer *t = l->transfer;

	l->runs = false;
	if (haul_failed(st) && t->sender && !t->own_end_is_over) /* it may fail before there is one */
		sender_stop(t->sender, st, fault);
	if (l->link_has_ended)
		close_link(l);
	transfer_close_job(t);
}

static void on_explain(void *ctx, const char *text)
{
	if (*text)
		transfer_explain(((struct transfer_local *)ctx)->transfer, "%s", text);
}

static bool origin_of(void *ctx, uint64_t index, struct entry_origin *ret_origin)
{
	const struct transfer_local *l = ctx;

	return sender_origin(l->transfer->sender, index, ret_origin);
}

static haul_status accept_job(struct transfer_local *l, const struct msg_job *job, struct haul_fault *fault)
{
	struct transfer *t = l->transfer;
	uint64_t rights = t->req->no_replace ? UINT64_MAX & ~(uint64_t)RIGHT_OVERWRITE : UINT64_MAX;
	struct receiver_config cfg = { .rights = rights, .owner = OWNER_NONE, .umask = UINT32_MAX };
	struct message m = { .type = MSG_ACCEPT };
	haul_status st = transfer_open_destination(t, fault);

	if (haul_failed(st))
		return st;
	transfer_answer(t, job, &m.accept);
	transfer_agree(t, &m.accept);
	transfer_fill_config(t, &m.accept, &cfg.job);
	cfg.root_fd = cfg.private_fd = t->root_fd;
	cfg.root_rule = transfer_root_rule(t);
	cfg.job.link = l->link;
	job_follow_policy(&cfg.job, &t->policy, false);
	cfg.job.cb = (struct job_callbacks){ .on_explain = on_explain, .on_end = on_end };
	cfg.job.ctx = l;
	transfer_mirror_setup(t, &cfg.mirror);
	cfg.may_clone = t->req->proof == TRANSFER_PROOF_ANY;
	cfg.origin_of = origin_of;
	cfg.origin_ctx = l;
	st = receiver_new(&cfg, &l->receiver, fault);
	if (haul_failed(st))
		return st;
	l->runs = true;
	st = control_link_send(l->link, &m, fault);
	if (haul_ok(st))
		receiver_begin(l->receiver);
	return st;
}

static void on_job(struct transfer_local *l, const struct msg_job *job)
{
	struct haul_fault fault = { 0 };
	haul_status st = accept_job(l, job, &fault);

	if (haul_ok(st))
		return;
	transfer_fault(l->transfer, st, &fault, NULL);
	stop(l, st, &fault);
	transfer_leave(l->transfer);
}

static void on_message(void *ctx, struct control_link *link, const struct message *m)
{
	struct transfer_local *l = ctx;

	(void)link;
	if (m->type == MSG_JOB)
		on_job(l, &m->job);
	else if (m->type == MSG_CANCEL)
		stop(l, haul_status_from_number(m->cancel.code), NULL);
	else if (m->type != MSG_HELLO && l->runs)
		receiver_message(l->receiver, m);
}

static void on_writable(void *ctx, struct control_link *link)
{
	struct transfer_local *l = ctx;

	(void)link;
	if (l->runs)
		receiver_writable(l->receiver);
}

static void on_link_end(void *ctx, struct control_link *link, haul_status why, const struct haul_fault *fault)
{
	struct transfer_local *l = ctx;

	(void)link;
	l->link_has_ended = true;
	if (l->runs)
		stop(l, haul_ok(why) ? HAUL_LOST : why, fault);
	else
		close_link(l); /* as a peer does: our own end waits for it */
}

static const struct control_link_callbacks link_callbacks = { on_message, on_writable, on_link_end };

static haul_status open_pair(struct transfer *t, struct haul_fault *fault)
{
	struct control_pair_end own = { .cb = &transfer_link_callbacks, .ctx = t }, other = { .cb = &link_callbacks };
	struct transfer_local *l = calloc(1, sizeof(*l));
	haul_status st;

	if (!l)
		return HAUL_NO_MEMORY;
	l->transfer = t;
	other.ctx = l;
	st = control_link_pair(&t->loop, &own, &other, fault);
	if (haul_failed(st)) {
		free(l);
		return st;
	}
	l->link = other.link;
	t->link = own.link;
	t->local = l;
	return HAUL_OK;
}

void transfer_local_open(struct transfer *t)
{
	struct haul_fault fault = { 0 };
	haul_status st = transfer_open_sources(t);

	t->state = TRANSFER_NAMING;
	if (haul_ok(st))
		st = transfer_erase_open(t, &fault);
	if (haul_ok(st))
		st = open_pair(t, &fault);
	if (haul_ok(st))
		return;
	if (st.code != HAUL_CODE_CANCELLED) /* else told: no source is left */
		transfer_fault(t, st, &fault, NULL);
	transfer_leave(t);
}

haul_status transfer_local_start_lanes(struct transfer *t, struct haul_fault *fault)
{
	return lane_set_start_copying(sender_lanes(t->sender), receiver_lanes(t->local->receiver), fault);
}

void transfer_local_other_ended(struct transfer *t, haul_status st, const struct haul_fault *fault)
{
	if (haul_failed(st))
		stop(t->local, st, fault);
}

bool transfer_local_is_over(const struct transfer *t)
{
	return !t->local || !t->local->runs;
}

void transfer_local_leave(struct transfer *t)
{
	if (t->local)
		close_link(t->local);
}

void transfer_local_free(struct transfer *t)
{
	if (t->local)
		receiver_free(t->local->receiver);
	free(t->local);
	t->local = NULL;
}

/* ---- verify: is what is meant perhaps one level further down? ---- */

static bool has_some_of(const char *dir_path, const char *source_path)
{
	DIR *dir = opendir(source_path);
	struct dirent *de;
	bool found = false;
	unsigned seen = 0;

	while (dir && !found && seen < SUGGEST_NAMES && (de = readdir(dir))) {
		struct stat st;
		char *path = NULL;

		if (haul_failed(haul_component_check(de->d_name, strlen(de->d_name))))
			continue;
		seen++;
		if (asprintf(&path, "%s/%s", dir_path, de->d_name) < 0)
			break;
		found = lstat(path, &st) == 0;
		free(path);
	}
	if (dir)
		(void)closedir(dir);
	return found || !seen;
}

/* A source that is no directory, against one: only a mistake. What a remote directory holds is not looked at. */
static bool may_be_meant_deeper(const struct transfer *t)
{
	if (t->sources[0].kind != ENTRY_DIRECTORY)
		return t->destination.kind == ENTRY_DIRECTORY;
	return t->is_local && !has_some_of(t->local_destination, t->sources[0].path);
}

void transfer_local_suggest(struct transfer *t)
{
	const char *dst = t->local_destination;
	bool is_directory = t->sources[0].kind == ENTRY_DIRECTORY;
	size_t len;
	const char *base = landing_base_name(t->sources[0].path, &len);
	char *path = NULL;
	struct stat st;

	if (t->sources[0].kind == ENTRY_LINK && t->sources[0].has_slash)
		return; /* what it leads to is meant */
	if (t->req->verb != TRANSFER_VERIFY || !t->destination.is_there ||
	    haul_failed(haul_component_check(base, len)) || !may_be_meant_deeper(t))
		return;
	if (asprintf(&path, "%s%s%.*s", dst, dst[strlen(dst) - 1] == '/' ? "" : "/", (int)len, base) < 0)
		return;
	if (lstat(path, &st) == 0 && is_directory == S_ISDIR(st.st_mode))
		t->suggestion = path;
	else
		free(path);
}
