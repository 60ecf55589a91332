/*
 * The end of a move whose other end is another machine's: both ends have agreed, and what has landed goes here.
 *
 *   agreed --> batch from the eraser --LOOK--> ... <--LOOKED-- --> back to the eraser --> ... --> its end --> DONE
 *
 * MOVED tells the other end what has gone and what stays: the user may be there. When the job stops, whatever was put
 * aside is put back before its end is told.
 */
#include "agent/sender_parts.h"

#include <string.h>

bool sender_is_move(const struct sender *s)
{
	return s->cfg.flags & JOB_MOVE && !(s->cfg.flags & JOB_DRY_RUN);
}

static void on_batch(void *ctx, struct move_batch *b);

static void on_progress(void *ctx, uint64_t leaves)
{
	struct sender *s = ctx;

	s->totals.leaves_moved += leaves;
	s->erase.leaves += leaves;
	if (s->state == SENDER_ERASING) {
		struct message m = { .type = MSG_MOVED, .moved = { .leaves = s->erase.leaves } };

		m.moved.files = s->totals.moved.files;
		m.moved.entries = s->totals.moved.entries;
		m.moved.bytes = s->totals.moved.bytes;
		(void)haul_ok(control_link_send(s->cfg.link, &m, NULL)); /* the next one says it too */
	}
}

haul_status sender_erase_open(struct sender *s, struct haul_fault *fault)
{
	const struct move_eraser_config cfg = { .scratch_dir = s->cfg.scratch_dir,
						.sources = s->sources,
						.source_count = s->source_count,
						.tops = s->cfg.move_tops,
						.main = s->cfg.mailbox,
						.on_batch = on_batch,
						.on_progress = on_progress,
						.ctx = s };

	return sender_is_move(s) ? move_eraser_new(&cfg, &s->erase.eraser, fault) : HAUL_OK;
}

/* A file is proven by the root alone that we have read ourselves, and durable, or there without having been written. */
static bool has_landed(const struct send_entry *e, const struct entry_result *r)
{
	bool is_written = r->changes & (CHANGE_CREATED | CHANGE_CONTENT);

	if (r->outcome != OUTCOME_PROVEN)
		return false;
	if (e->facts.kind == ENTRY_DIRECTORY)
		return true;
	if (is_written && !(r->flags & RESULT_COMMITTED))
		return false;
	return e->facts.kind == ENTRY_LINK || (e->facts.kind == ENTRY_FILE && e->has_root &&
					       r->flags & RESULT_HAS_ROOT && digest_equal(&r->root, &e->root));
}

void sender_erase_note(struct sender *s, const struct send_entry *e, const struct entry_result *r)
{
	const struct move_landed landed = { .entry = e->index,
					    .source = e->source,
					    .source_path = e->source_path,
					    .path = e->path,
					    .facts = e->facts,
					    .root = e->root,
					    .is_new = r->flags & RESULT_COMMITTED &&
						      r->changes & (CHANGE_CREATED | CHANGE_CONTENT),
					    .was_told = e->has_told,
					    .lost = r->lost & LOST_ALL };

	if (s->erase.eraser && has_landed(e, r))
		move_eraser_note(s->erase.eraser, &landed);
}

/* ---- to the other end ---- */

static bool say(struct sender *s, const struct message *m)
{
	struct haul_fault fault = { 0 };
	haul_status st = control_link_send(s->cfg.link, m, &fault);

	if (st.code == HAUL_CODE_BUSY)
		return false;
	if (haul_failed(st))
		sender_fail(s, st, &fault);
	return haul_ok(st);
}

/* A text that fits its field, and is not cut within a character. */
static struct text text_of(const char *words)
{
	size_t len = strlen(words);

	while (len > MESSAGE_TEXT_MAX || (len < strlen(words) && ((unsigned char)words[len] & 0xc0) == 0x80))
		len--;
	return (struct text){ words, len };
}

/* What stays, some at a time. False: the link is full. */
static bool tell_moved(struct sender *s, const struct move_batch *b)
{
	struct moved_kept kept[MESSAGE_KEPT_MAX];
	struct message m = { .type = MSG_MOVED };

	while (!s->erase.moved_is_told) {
		size_t left = b->kept_count - s->erase.kept_told;

		m.moved = (struct msg_moved){ .kept = kept,
					      .kept_count = left < MESSAGE_KEPT_MAX ? left : MESSAGE_KEPT_MAX,
					      .files = b->gone.files,
					      .entries = b->gone.entries,
					      .bytes = b->gone.bytes,
					      .leaves = s->erase.leaves };
		for (size_t i = 0; i < m.moved.kept_count; i++) {
			const struct move_kept *k = &b->kept[s->erase.kept_told + i];

			kept[i] =
			    (struct moved_kept){ k->entry, (uint32_t)k->code.code, text_of(k->text ? k->text : "") };
		}
		if (!say(s, &m))
			return false;
		s->erase.kept_told += m.moved.kept_count;
		s->erase.moved_is_told = s->erase.kept_told == b->kept_count;
	}
	return true;
}

static void finish(struct sender *s)
{
	struct message done = { .type = MSG_DONE };

	if (!say(s, &done))
		return; /* the link is full: once more when it is not */
	s->state = SENDER_AGREEING;
	s->done_sent = true;
}

/* As far as the link takes it. */
static void pump(struct sender *s)
{
	struct move_batch *b = s->erase.batch;
	struct message m = { .type = MSG_LOOK };

	if (s->state != SENDER_ERASING || !b || s->erase.is_asked)
		return;
	if (!tell_moved(s, b))
		return;
	if (b->is_over && haul_failed(b->status)) {
		sender_fail(s, b->status, &b->fault);
		return;
	}
	if (b->is_over) {
		finish(s);
		return;
	}
	if (b->count) {
		memcpy(m.look.token, b->token, sizeof(m.look.token));
		m.look.entries = b->entries;
		m.look.entry_count = b->count;
		s->erase.is_asked = say(s, &m);
		return;
	}
	s->erase.batch = NULL;
	move_eraser_go_on(b);
}

/* ---- from the eraser ---- */

static void take_outcome(struct sender *s, const struct move_batch *b)
{
	s->totals.moved.files = b->gone.files;
	s->totals.moved.entries = b->gone.entries;
	s->totals.moved.bytes = b->gone.bytes;
	for (size_t i = 0; i < b->kept_count; i++) {
		const struct move_kept *k = &b->kept[i];

		s->totals.moved.kept_files += k->is_file;
		if (s->cfg.cb.on_kept && k->path)
			s->cfg.cb.on_kept(s->cfg.ctx, k->path, k->is_file, k->code, k->text ? k->text : "");
	}
}

static void on_batch(void *ctx, struct move_batch *b)
{
	struct sender *s = ctx;

	take_outcome(s, b);
	s->erase.batch = b;
	s->erase.kept_told = 0;
	s->erase.moved_is_told = false;
	if (s->state == SENDER_ERASING)
		pump(s);
	else
		sender_maybe_farewell(s);
}

void sender_erase_start(struct sender *s)
{
	struct haul_fault fault = { 0 };
	haul_status st;

	s->state = SENDER_ERASING;
	st = move_eraser_start(s->erase.eraser, &fault);
	s->erase.has_started = haul_ok(st);
	if (haul_failed(st))
		sender_fail(s, st, &fault);
}

void sender_erase_writable(struct sender *s)
{
	pump(s);
}

void sender_looked(struct sender *s, const struct msg_looked *m)
{
	struct move_batch *b = s->erase.batch;

	if (s->state != SENDER_ERASING || !b || !s->erase.is_asked || m->code_count != b->count) {
		sender_fail(s, HAUL_BAD_MOVE, NULL);
		return;
	}
	memcpy(b->codes, m->codes, m->code_count * sizeof(*m->codes));
	s->erase.is_asked = false;
	s->erase.batch = NULL;
	move_eraser_go_on(b);
}

/* ---- the end ---- */

bool sender_erase_is_over(struct sender *s)
{
	struct move_batch *b = s->erase.batch;

	if (!s->erase.has_started)
		return true;
	move_eraser_stop(s->erase.eraser);
	if (!b || b->is_over)
		return b != NULL;
	s->erase.batch = NULL;
	move_eraser_go_on(b); /* with what codes it has: all of it is put back */
	return false;
}
