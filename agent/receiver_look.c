/*
 * The receiver's part of the end of a move: the sender has put its entries aside and asks whether what has landed is
 * there all the same. The store thread looks: by the entry's number alone, only at what this job has put or found
 * there.
 *
 * Whoever asks has made a private name in the source's directory. Where it shows up in the landing's, both are one
 * directory: it is a new name, about which no cache of a file system over a network knows anything. What was only found
 * equal is synced first.
 */
#include "agent/receiver_parts.h"

#include "agent/eraser_entry.h"
#include "engine/aside.h"
#include "engine/base/escape.h"
#include "engine/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A LOOK on its way through the store thread, and its answer until the link takes it. */
struct receiver_look {
	struct mail mail;
	struct receiver *receiver;
	char aside[ASIDE_NAME_BYTES];
	size_t count;
	uint64_t entries[MESSAGE_LOOK_MAX];
	uint32_t codes[MESSAGE_LOOK_MAX];
};

bool receiver_is_move(const struct receiver *r)
{
	return r->job->flags & JOB_MOVE && !(r->job->flags & JOB_DRY_RUN);
}

haul_status receiver_look_open(struct receiver *r, struct haul_fault *fault)
{
	return receiver_is_move(r) ? landing_notes_new(r->job->scratch_dir, &r->move.landings, fault) : HAUL_OK;
}

void receiver_look_free(struct receiver *r)
{
	landing_notes_free(r->move.landings);
	free(r->move.look);
}

void receiver_note_landing(struct receiver *r, const struct recv_entry *e)
{
	bool is_new = e->is_committed && e->changes & (CHANGE_CREATED | CHANGE_CONTENT);

	if (r->move.landings && e->outcome == OUTCOME_PROVEN)
		landing_notes_put(r->move.landings, e->index, e->path, &e->seen, is_new);
}

/* ---- the store thread ---- */

static haul_status check_apart(int dir_fd, const char *aside)
{
	struct stat st;

	if (fstatat(dir_fd, aside, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return HAUL_SAME_FILE;
	return errno == ENOENT ? HAUL_OK : haul_status_from_errno(errno);
}

static haul_status look_directory(const struct receiver *r, const char *path, const struct entry_facts *landed,
				  const char *aside)
{
	struct entry_facts now;
	int fd = -1;
	haul_status st = beneath_open(r->cfg.root_fd, path, O_PATH | O_DIRECTORY, 0, &fd);

	if (haul_failed(st))
		return HAUL_CHANGED;
	st = check_apart(fd, aside);
	if (haul_ok(st))
		st = beneath_stat_handle(fd, &now);
	if (haul_ok(st) && !entry_is_same(&now, landed))
		st = HAUL_CHANGED;
	(void)close(fd);
	return st;
}

static haul_status look_file(struct receiver *r, const char *path, const struct entry_facts *landed, bool is_new,
			     const char *aside)
{
	struct entry_facts now, dir;
	struct haul_fault fault;
	const char *name;
	int fd = -1;
	haul_status st = parent_cache_get(&r->move.parents, r->cfg.root_fd, path, &fd, &name);

	if (haul_failed(st))
		return HAUL_CHANGED;
	if (r->move.apart_of != r->move.parents.opened) {
		r->move.apart_of = r->move.parents.opened;
		r->move.apart = check_apart(fd, aside);
	}
	if (haul_failed(r->move.apart))
		return r->move.apart;
	if (haul_failed(beneath_stat_at(fd, name, &now)) || !eraser_is_unchanged(landed, &now))
		return HAUL_CHANGED;
	if (is_new)
		return HAUL_OK;
	st = beneath_stat_handle(fd, &dir);
	return haul_ok(st) ? eraser_sync(&r->move.synced, fd, name, dir.device, &fault) : st;
}

static haul_status look_at(struct receiver *r, uint64_t entry, const char *aside)
{
	struct entry_facts landed;
	char *path = NULL;
	bool is_new = false;
	haul_status st = landing_notes_get(r->move.landings, entry, &path, &landed, &is_new);

	if (haul_failed(st))
		return st.code == HAUL_CODE_NOT_FOUND ? HAUL_CHANGED : st;
	st = landed.kind == ENTRY_DIRECTORY ? look_directory(r, path, &landed, aside)
					    : look_file(r, path, &landed, is_new, aside);
	free(path);
	return st;
}

static void flush(struct receiver *r);

static void deliver_looked(struct mail *m, void *ctx)
{
	struct receiver_look *l = list_item(m, struct receiver_look, mail);
	struct receiver *r = l->receiver;

	(void)ctx;
	r->in_threads--;
	r->move.is_looked = true;
	flush(r);
	receiver_check_end(r);
}

static void deliver_look(struct mail *m, void *ctx)
{
	struct receiver_look *l = list_item(m, struct receiver_look, mail);
	struct receiver *r = l->receiver;
	struct store *store = ctx;

	r->move.apart_of = 0; /* another name */
	for (size_t i = 0; i < l->count; i++)
		l->codes[i] = (uint32_t)look_at(r, l->entries[i], l->aside).code;
	parent_cache_close(&r->move.parents);
	m->deliver = deliver_looked;
	worker_answer(&store->worker, r->job->mailbox, m);
}

/* ---- the main loop ---- */

static haul_status begin_look(struct receiver *r, const struct msg_look *m)
{
	struct receiver_look *l;
	haul_status st = HAUL_OK;

	if (!r->move.landings || r->state != RECEIVER_AGREEING || r->move.look || r->cfg.root_fd < 0)
		return HAUL_BAD_MOVE;
	if (!r->move.has_ended)
		st = landing_notes_end(r->move.landings);
	if (haul_failed(st))
		return st;
	r->move.has_ended = true;
	l = calloc(1, sizeof(*l));
	if (!l)
		return HAUL_NO_MEMORY;
	l->receiver = r;
	aside_name(m->token, l->aside);
	l->count = m->entry_count;
	memcpy(l->entries, m->entries, m->entry_count * sizeof(*m->entries));
	l->mail.deliver = deliver_look;
	r->move.look = l;
	r->move.is_looked = false;
	r->in_threads++;
	worker_post(&r->store.worker, &l->mail);
	return HAUL_OK;
}

void receiver_look(struct receiver *r, const struct msg_look *m)
{
	struct haul_fault fault = { 0 };
	haul_status st = begin_look(r, m);

	if (haul_failed(st))
		receiver_fail(r,
			      haul_fault_set(&fault, st, "what has landed could not be looked at again: %s",
					     haul_status_text(st)),
			      &fault);
}

static void flush(struct receiver *r)
{
	struct receiver_look *l = r->move.look;
	struct message m = { .type = MSG_LOOKED };

	if (!l || !r->move.is_looked || r->state != RECEIVER_AGREEING)
		return;
	m.looked = (struct msg_looked){ l->codes, l->count };
	if (!out_say(r, &m))
		return;
	r->move.look = NULL;
	free(l);
}

void receiver_look_writable(struct receiver *r)
{
	flush(r);
}

static void tell_kept(struct receiver *r, const struct moved_kept *k)
{
	struct entry_facts facts = { 0 };
	char words[MESSAGE_TEXT_MAX + 1];
	char *path = NULL;
	bool is_new;
	haul_status code = haul_status_from_number(k->code);

	(void)snprintf(words, sizeof(words), "%.*s", (int)k->text.len, k->text.len ? k->text.at : "");
	if (haul_failed(landing_notes_get(r->move.landings, k->entry, &path, &facts, &is_new)))
		return;
	r->totals.moved.kept_files += facts.kind == ENTRY_FILE;
	if (r->job->cb.on_kept)
		r->job->cb.on_kept(r->job->ctx, path, facts.kind == ENTRY_FILE, code, words);
	free(path);
}

/* The notes are the store thread's while it looks, but then the sender has nothing to tell. */
void receiver_moved(struct receiver *r, const struct msg_moved *m)
{
	if (!r->move.landings || (m->kept_count && r->move.look)) {
		receiver_fail(r, HAUL_BAD_MOVE, NULL);
		return;
	}
	if (m->kept_count && !r->move.has_ended) {
		haul_status st = landing_notes_end(r->move.landings);

		if (haul_failed(st)) {
			receiver_fail(r, st, NULL);
			return;
		}
		r->move.has_ended = true;
	}
	r->totals.moved.files = m->files;
	r->totals.moved.entries = m->entries;
	r->totals.moved.bytes = m->bytes;
	r->totals.leaves_moved += m->leaves > r->move.leaves ? m->leaves - r->move.leaves : 0;
	r->move.leaves = m->leaves;
	for (size_t i = 0; i < m->kept_count; i++)
		tell_kept(r, &m->kept[i]);
}
