/*
 * The thread's steps: finish the batch that has come back, make the next one. The notes are gone through twice, in the
 * order in which their entries landed: files and links, then directories. One lands after all that is in it.
 */
#include "agent/move_eraser.h"

#include "agent/eraser_entry.h"
#include "agent/move_item.h"
#include "agent/note_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum phase { PHASE_FILES, PHASE_DIRECTORIES, PHASE_OVER };

static const uint64_t progress_ns = 1000000000;

struct move_eraser {
	struct move_eraser_config cfg;
	struct note_file *notes; /* owned */
	struct worker worker;
	bool has_thread;
	_Atomic bool is_stopping;
	struct move_batch batch;
	/* the thread's */
	struct move_work work;
	enum phase phase;
	off_t at, end;
	haul_status read_status;
	/* of what is read once more */
	struct mail progress;
	_Atomic bool progress_posted;
	_Atomic uint64_t leaves; /* not told yet */
	uint64_t told_ns;
};

haul_status move_eraser_new(const struct move_eraser_config *cfg, struct move_eraser **ret_eraser,
			    struct haul_fault *fault)
{
	struct move_eraser *e = calloc(1, sizeof(*e));
	haul_status st;

	if (!e)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for a move");
	e->cfg = *cfg;
	e->work =
	    (struct move_work){ .cfg = &e->cfg, .is_stopping = &e->is_stopping, .began = time(NULL), .eraser = e };
	e->batch.eraser = e;
	e->batch.items = calloc(MESSAGE_LOOK_MAX, sizeof(*e->batch.items));
	st = e->batch.items ? note_file_new(cfg->scratch_dir, &e->notes, fault)
			    : haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for a move");
	if (haul_failed(st)) {
		free(e->batch.items);
		free(e);
		return st;
	}
	*ret_eraser = e;
	return HAUL_OK;
}

static void clear_kept(struct move_batch *b)
{
	for (size_t i = 0; i < b->kept_count; i++) {
		free(b->kept[i].path);
		free(b->kept[i].text);
	}
	b->kept_count = 0;
}

void move_eraser_free(struct move_eraser *e)
{
	if (!e)
		return;
	if (e->has_thread)
		worker_stop(&e->worker);
	clear_kept(&e->batch);
	free(e->batch.kept);
	free(e->batch.items);
	free(e->work.dirty);
	note_file_free(e->notes);
	free(e);
}

void move_eraser_note(struct move_eraser *e, const struct move_landed *l)
{
	struct move_note n = { .entry = l->entry,
			       .source = l->source,
			       .is_new = l->is_new,
			       .was_told = l->was_told,
			       .lost = l->lost,
			       .facts = l->facts,
			       .root = l->root };

	(void)note_file_add(e->notes, &n, sizeof(n), l->source_path, l->path);
}

/* ---- what stays ---- */

static bool kept_has_room(struct move_batch *b)
{
	size_t cap = b->kept_cap ? 2 * b->kept_cap : 64;
	struct move_kept *kept;

	if (b->kept_count < b->kept_cap)
		return true;
	kept = realloc(b->kept, cap * sizeof(*kept));
	if (!kept)
		return false;
	b->kept = kept;
	b->kept_cap = cap;
	return true;
}

static void keep(struct move_eraser *e, const struct move_item *i, haul_status st, const struct haul_fault *fault)
{
	struct move_batch *b = &e->batch;
	struct move_kept k = { .entry = i->entry, .is_file = i->facts.kind == ENTRY_FILE, .code = st };

	if (!kept_has_room(b)) {
		e->read_status = HAUL_NO_MEMORY; /* it stays unnamed, and the end says that something does */
		return;
	}
	k.path = strdup(i->path);
	k.text = strdup(fault->text[0] ? fault->text : haul_status_text(st));
	b->kept[b->kept_count++] = k;
}

/* ---- the batch that has come back ---- */

static void count_gone(struct move_batch *b, const struct move_item *i)
{
	b->gone.entries++;
	b->gone.files += i->facts.kind == ENTRY_FILE;
	b->gone.bytes += i->facts.kind == ENTRY_FILE ? i->facts.size : 0;
}

static void finish_item(struct move_eraser *e, const struct move_item *i, uint32_t code)
{
	bool is_directory = i->facts.kind == ENTRY_DIRECTORY;
	struct haul_fault fault = { 0 };
	haul_status st;

	if (atomic_load(&e->is_stopping))
		code = HAUL_CODE_CANCELLED;
	st = is_directory ? move_item_remove(&e->work, i, code, &fault) : move_item_finish(&e->work, i, code, &fault);
	if (haul_ok(st))
		count_gone(&e->batch, i);
	else if (st.code != HAUL_CODE_CANCELLED && st.code != HAUL_CODE_NOT_FOUND &&
		 !(is_directory && eraser_is_not_empty(st)))
		keep(e, i, st, &fault);
}

static void finish(struct move_eraser *e)
{
	struct move_batch *b = &e->batch;

	for (size_t i = 0; i < b->count; i++) {
		finish_item(e, &b->items[i], b->codes[i]);
		free(b->items[i].source_path);
		free(b->items[i].path);
	}
	b->count = 0;
	move_dirs_close(&e->work);
}

/* ---- the next one ---- */

/* False: the notes are at their end, or cannot be read. */
static bool next_note(struct move_eraser *e, struct move_note *ret_note, struct move_item *ret_item)
{
	const char *source_path = NULL, *path = NULL;
	haul_status st;

	if (e->at == e->end)
		return false;
	st = note_file_read(e->notes, e->at, ret_note, sizeof(*ret_note), &source_path, &path, &e->at);
	if (haul_ok(st) && ret_note->source >= e->cfg.source_count)
		st = HAUL_IO;
	if (haul_failed(st)) {
		e->read_status = st;
		return false;
	}
	*ret_item = (struct move_item){ .entry = ret_note->entry,
					.source = ret_note->source,
					.source_path = strdup(source_path),
					.path = strdup(path),
					.facts = ret_note->facts,
					.is_new = ret_note->is_new };
	return true;
}

/* HAUL_BUSY: not in this batch. */
static haul_status take(struct move_eraser *e, const struct move_note *n, struct move_item *item)
{
	struct move_batch *b = &e->batch;
	struct haul_fault fault = { 0 };
	haul_status st;

	if (!item->source_path || !item->path) {
		st = HAUL_NO_MEMORY;
		e->read_status = st;
		return st;
	}
	st = e->phase == PHASE_DIRECTORIES ? move_item_mark(&e->work, n, item, &fault)
					   : move_item_take(&e->work, n, item, &fault);
	if (haul_ok(st)) {
		b->items[b->count] = *item;
		b->entries[b->count] = n->entry;
		b->codes[b->count++] = HAUL_CODE_CANCELLED;
		return HAUL_OK;
	}
	if (st.code != HAUL_CODE_BUSY && st.code != HAUL_CODE_NOT_FOUND && st.code != HAUL_CODE_CANCELLED &&
	    !(e->phase == PHASE_DIRECTORIES && eraser_is_not_empty(st)))
		keep(e, item, st, &fault);
	return st;
}

/* A batch is as long as a LOOK may be, or ends where there are too many directories, or too much that stays. */
static void fill(struct move_eraser *e)
{
	bool wants_directories = e->phase == PHASE_DIRECTORIES;
	struct move_batch *b = &e->batch;
	off_t before = e->at;
	struct move_note n;
	struct move_item item;

	while (b->count < MESSAGE_LOOK_MAX && b->kept_count < MESSAGE_LOOK_MAX && !atomic_load(&e->is_stopping)) {
		haul_status st = HAUL_NOT_FOUND;

		before = e->at;
		if (!next_note(e, &n, &item))
			return;
		if ((n.facts.kind == ENTRY_DIRECTORY) == wants_directories)
			st = take(e, &n, &item);
		if (haul_failed(st)) {
			free(item.source_path);
			free(item.path);
		}
		if (st.code == HAUL_CODE_BUSY) {
			e->at = before;
			return;
		}
	}
}

static void say_end(struct move_eraser *e)
{
	struct move_batch *b = &e->batch;

	e->phase = PHASE_OVER;
	parent_cache_close(&e->work.parents);
	b->is_over = true;
	b->status = HAUL_OK;
	if (atomic_load(&e->is_stopping))
		b->status = HAUL_CANCELLED;
	else if (haul_failed(e->work.synced))
		b->status = haul_fault_set(&b->fault, e->work.synced, "what was deleted could not be made durable: %s",
					   haul_status_text(e->work.synced));
	else if (haul_failed(e->read_status))
		b->status = haul_fault_set(&b->fault, e->read_status,
					   "the notes of what has landed could not be read: what is left stays. Run "
					   "the same command again");
}

static haul_status begin_batch(struct move_eraser *e)
{
	struct move_batch *b = &e->batch;

	if (getrandom(b->token, sizeof(b->token), 0) != (ssize_t)sizeof(b->token))
		return HAUL_CRYPTO;
	aside_name(b->token, e->work.aside);
	return HAUL_OK;
}

/* Until there is something to ask or to tell. */
static void prepare(struct move_eraser *e)
{
	struct move_batch *b = &e->batch;

	while (!b->count && !b->kept_count) {
		if (e->at == e->end && e->phase == PHASE_FILES) {
			e->phase = PHASE_DIRECTORIES;
			e->at = 0;
		}
		if (haul_ok(e->read_status) && e->at != e->end && !atomic_load(&e->is_stopping)) {
			e->read_status = begin_batch(e);
			if (haul_ok(e->read_status))
				fill(e);
			if (!b->count)
				move_dirs_close(
				    &e->work); /* what could not be set aside has its directory all the same */
			continue;
		}
		say_end(e);
		return;
	}
}

static void deliver_batch(struct mail *m, void *ctx)
{
	struct move_batch *b = list_item(m, struct move_batch, mail);

	(void)ctx;
	b->eraser->cfg.on_batch(b->eraser->cfg.ctx, b);
}

static void deliver_step(struct mail *m, void *ctx)
{
	struct move_batch *b = list_item(m, struct move_batch, mail);
	struct move_eraser *e = ctx;

	clear_kept(b);
	finish(e);
	if (atomic_load(&e->is_stopping))
		say_end(e);
	else
		prepare(e);
	m->deliver = deliver_batch;
	mail_post(e->cfg.main, m);
}

/* ---- reading once more takes its time, and is told ---- */

static void deliver_progress(struct mail *m, void *ctx)
{
	struct move_eraser *e = list_item(m, struct move_eraser, progress);

	(void)ctx;
	atomic_store(&e->progress_posted, false);
	e->cfg.on_progress(e->cfg.ctx, atomic_exchange(&e->leaves, 0));
}

static void on_leaf(void *eraser)
{
	struct move_eraser *e = eraser;
	uint64_t now = uv_hrtime();

	atomic_fetch_add(&e->leaves, 1);
	if (now - e->told_ns < progress_ns || atomic_exchange(&e->progress_posted, true))
		return;
	e->told_ns = now;
	e->progress.deliver = deliver_progress;
	mail_post(e->cfg.main, &e->progress);
}

/* ---- the main loop's side ---- */

haul_status move_eraser_start(struct move_eraser *e, struct haul_fault *fault)
{
	haul_status st = note_file_end(e->notes, &e->end);

	if (haul_failed(st))
		return haul_fault_set(fault, st, "the notes of what has landed could not be written: all stays");
	st = worker_start(&e->worker, "haul-erase", NULL, e, fault);
	if (haul_failed(st))
		return st;
	e->has_thread = true;
	e->work.on_leaf = on_leaf;
	e->told_ns = uv_hrtime();
	move_eraser_go_on(&e->batch);
	return HAUL_OK;
}

void move_eraser_go_on(struct move_batch *b)
{
	b->mail.deliver = deliver_step;
	worker_post(&b->eraser->worker, &b->mail);
	worker_send(&b->eraser->worker);
}

void move_eraser_stop(struct move_eraser *e)
{
	atomic_store(&e->is_stopping, true);
}
