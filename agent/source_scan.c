/* The thread fills whatever batch is posted to it; when none comes back it rests, which is the back-pressure. */
#include "agent/source_scan.h"

#include <stdlib.h>
#include <string.h>

static void scanned_clear(struct scanned *i)
{
	free(i->path);
	free(i->source_path);
	free(i->link_target);
	free(i->attributes);
	*i = (struct scanned){ 0 };
}

static haul_status copy_text(const char *from, char **ret_copy)
{
	if (!from)
		return HAUL_OK;
	*ret_copy = strdup(from);
	return *ret_copy ? HAUL_OK : HAUL_NO_MEMORY;
}

static haul_status copy_item(struct scan *scan, const struct scan_item *from, struct scanned *to)
{
	haul_status st;

	*to = (struct scanned){ .event = from->event,
				.index = from->index,
				.parent = from->parent,
				.facts = from->facts,
				.link_target_len = from->link_target_len,
				.source = from->source,
				.count = from->count,
				.is_complete = from->is_complete,
				.is_listing = from->is_listing,
				.attributes_left_out = from->attributes_left_out,
				.is_partial = from->is_partial,
				.owner = UINT32_MAX,
				.group = UINT32_MAX,
				.problem = from->problem };
	if (from->event == SCAN_DIR_END)
		return HAUL_OK;
	st = copy_text(from->path, &to->path);
	if (haul_ok(st) && from->event == SCAN_ENTRY)
		st = copy_text(from->source_path, &to->source_path);
	if (haul_ok(st) && from->event == SCAN_ENTRY && from->facts.kind == ENTRY_LINK)
		st = copy_text(from->link_target, &to->link_target);
	if (haul_ok(st) && from->attributes)
		to->attributes = scan_take_attributes(scan);
	return st;
}

static haul_status note_owners(struct source_scan *s, struct scan_batch *b, struct scanned *i)
{
	haul_status st;

	if (!s->reads_owners || i->event != SCAN_ENTRY)
		return HAUL_OK;
	st = owner_index_get(&s->owners, i->facts.uid, false, &b->owners, &i->owner);
	if (haul_ok(st))
		st = owner_index_get(&s->owners, i->facts.gid, true, &b->owners, &i->group);
	return haul_ok(st) ? owner_index_note_acls(&s->owners, i->attributes, &b->owners) : st;
}

/* What could be copied in part alone is not in the batch. */
static haul_status add_item(struct source_scan *s, struct scan_batch *b, const struct scan_item *item)
{
	struct scanned *to = &b->items[b->count];
	haul_status st = copy_item(s->scan, item, to);

	if (haul_ok(st))
		st = note_owners(s, b, to);
	if (haul_ok(st))
		b->count++;
	else
		scanned_clear(to);
	return st;
}

static void fill(struct source_scan *s, struct scan_batch *b)
{
	struct scan_item item;

	while (b->count < SOURCE_SCAN_BATCH && !b->is_last) {
		if (atomic_load(&s->is_cancelled))
			b->status = HAUL_CANCELLED;
		else
			b->status = scan_next(s->scan, &item);
		if (haul_failed(b->status) || item.event == SCAN_END)
			b->is_last = true;
		else
			b->status = add_item(s, b, &item);
		if (haul_failed(b->status))
			b->is_last = true;
	}
}

static void deliver_batch(struct mail *m, void *ctx)
{
	struct scan_batch *b = list_item(m, struct scan_batch, mail);

	(void)ctx;
	b->scan->in_main++;
	b->scan->on_batch(b->scan->owner, b);
}

static void deliver_fill(struct mail *m, void *ctx)
{
	struct scan_batch *b = list_item(m, struct scan_batch, mail);
	struct source_scan *s = ctx;

	if (s->is_over)
		return; /* the last batch is on its way: this one rests */
	fill(s, b);
	s->is_over = b->is_last;
	b->mail.deliver = deliver_batch;
	mail_post(b->scan->main, &b->mail);
}

static void batch_clear(struct scan_batch *b)
{
	for (unsigned i = 0; i < b->count; i++)
		scanned_clear(&b->items[i]);
	b->count = b->used = 0;
	new_owners_clear(&b->owners);
	b->owners_used = 0;
}

void source_scan_return(struct scan_batch *b)
{
	bool was_last = b->is_last;

	batch_clear(b);
	b->scan->in_main--;
	if (was_last)
		return;
	b->mail.deliver = deliver_fill;
	mail_post(&b->scan->worker.inbox, &b->mail);
}

haul_status source_scan_start(struct source_scan *s, const struct scan_source *sources, size_t count,
			      unsigned attribute_kinds, struct haul_fault *fault)
{
	haul_status st = scan_new(sources, count, &s->scan, fault);

	if (haul_failed(st))
		return st;
	scan_read_attributes(s->scan, attribute_kinds);
	scan_choose(s->scan, &s->choice);
	if (s->restores_aside)
		scan_restore_aside(s->scan);
	if (s->tells_root)
		scan_tell_root(s->scan);
	st = worker_start(&s->worker, "haul-scan", NULL, s, fault);
	if (haul_failed(st)) {
		scan_free(s->scan);
		s->scan = NULL;
		return st;
	}
	for (unsigned i = 0; i < SOURCE_SCAN_BATCHES; i++) {
		s->batches[i].scan = s;
		s->batches[i].mail.deliver = deliver_fill;
		mail_post(&s->worker.inbox, &s->batches[i].mail);
	}
	return HAUL_OK;
}

haul_status source_scan_probe(struct source_scan *s, uint64_t bytes)
{
	struct scan_batch *b = &s->batches[0];
	struct scanned *i = &b->items[0];

	*i = (struct scanned){ .event = SCAN_ENTRY,
			       .parent = HAUL_NO_INDEX,
			       .facts = { .kind = ENTRY_FILE, .size = bytes, .blocks = bytes / 512 + 1, .mode = 0600 },
			       .path = strdup("probe"),
			       .source_path = strdup("probe"),
			       .owner = UINT32_MAX,
			       .group = UINT32_MAX };
	b->count = 1;
	b->is_last = true;
	b->scan = s;
	b->mail.deliver = deliver_batch;
	if (!i->path || !i->source_path) {
		batch_clear(b);
		return HAUL_NO_MEMORY;
	}
	mail_post(s->main, &b->mail);
	return HAUL_OK;
}

void source_scan_stop(struct source_scan *s)
{
	if (!s->scan) {
		batch_clear(&s->batches[0]); /* a probe's */
		return;
	}
	atomic_store(&s->is_cancelled, true);
	worker_stop(&s->worker);
	for (unsigned i = 0; i < SOURCE_SCAN_BATCHES; i++)
		batch_clear(&s->batches[i]);
	scan_free(s->scan);
	s->scan = NULL;
	owner_index_close(&s->owners);
}
