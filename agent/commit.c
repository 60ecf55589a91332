/*
 * One group: finish what is open (cut, metadata, fsync of big files), sync small ones together, rename in order, set
 * directories' metadata, sync the names, report.
 *
 * When more small files have come by then, the names are not synced alone: the sync of the next group's contents does
 * both, and a stream of groups costs one syncfs each instead of two.
 *
 * A big file is synced by itself, its name by fsync of its directory; as soon as directories or small files are in the
 * group one syncfs does both for all. Errors belong to their entry; a failed sync fails every entry of the group that
 * relied on it, because nobody knows then what is on the medium.
 */
#include "agent/commit.h"

#include "agent/quota.h"
#include "agent/trace.h"
#include "certs/rights.h"

#include <stdlib.h>
#include <sys/stat.h>

static struct recv_entry *entry_at(struct list *pos)
{
	return list_item(pos, struct recv_entry, link);
}

static void failed(struct recv_entry *e, haul_status st)
{
	e->code = st;
	e->failed_here = true;
	partial_discard(&e->partial);
}

static void deliver_committed(struct mail *m, void *ctx)
{
	struct recv_entry *e = list_item(m, struct recv_entry, mail);
	struct commit *c = e->commit_thread;

	(void)ctx;
	c->cfg.on_committed(e);
}

/* As the end of the move will have to find it. What cannot be looked at is equal to nothing. */
static void see_landed(const struct commit *c, struct recv_entry *e)
{
	if (c->cfg.is_move && e->is_committed && haul_failed(place_stat(c->cfg.place, e->path, &e->seen)))
		e->seen = (struct entry_facts){ 0 };
}

/* The names are on the medium, or nobody knows whether they are. */
static void report_named(struct commit *c, haul_status st)
{
	struct list *item, mails;

	list_init(&mails);
	while ((item = list_pop_front(&c->named))) {
		struct recv_entry *e = entry_at(item);

		if (haul_failed(st))
			failed(e, st);
		e->is_committed = haul_ok(e->code) && e->commit != COMMIT_DISCARD && e->commit != COMMIT_PROBE;
		see_landed(c, e);
		e->commit_thread = c;
		e->mail.deliver = deliver_committed;
		list_push_back(&mails, &e->mail.link);
	}
	mailbox_post_all(c->cfg.main, &mails);
	c->named_count = 0;
}

/* What the entry gets. What of it is lost has to be added to e->lost. */
static struct place_meta meta_of(const struct recv_entry *e)
{
	return (struct place_meta){ .facts = &e->facts,
				    .attributes = e->attributes,
				    .kinds = e->attribute_kinds,
				    .keeps_owner = e->keeps_owner };
}

static haul_status finish_file(const struct commit *c, struct recv_entry *e)
{
	struct place_meta meta = meta_of(e);
	haul_status st = partial_finish(&e->partial, &meta, !c->cfg.no_sync, NULL);

	e->lost |= meta.lost;
	return st;
}

/* Before the names: contents to the medium, and with them the names of the group before. */
static void finish_contents(struct commit *c)
{
	haul_status all = HAUL_OK;

	if (c->small_count && !c->cfg.no_sync) {
		all = place_sync_all(c->cfg.place);
		report_named(c, all);
	}
	list_each (pos, &c->group) {
		struct recv_entry *e = entry_at(pos);
		haul_status st = HAUL_OK;

		if (e->commit == COMMIT_BIG || (e->commit == COMMIT_PROBE && e->partial.name[0]))
			st = finish_file(c, e);
		else if (e->commit == COMMIT_SMALL)
			st = all;
		if (haul_failed(st))
			failed(e, st);
	}
}

static haul_status finish_directory(struct commit *c, const struct recv_entry *e, struct place_meta *meta)
{
	struct entry_facts old = { .mtime = e->seen.mtime };

	if (!e->node->was_made && !e->may_replace) {
		/* Not ours to change: only what we opened up is put back. */
		if (!e->node->was_opened_up)
			return HAUL_OK;
		old.mode = e->node->old_mode;
		*meta = (struct place_meta){ .facts = &old };
	}
	return place_finish_directory(c->cfg.place, e->path, meta, false);
}

/* Rights may have been taken away while the content came. */
static bool still_may(const struct commit *c, const struct recv_entry *e)
{
	uint64_t rights = atomic_load(c->cfg.rights);

	switch (e->commit) {
	case COMMIT_SMALL:
	case COMMIT_BIG:
	case COMMIT_LINK:
		return rights & (e->has_seen ? RIGHT_OVERWRITE : RIGHT_CREATE);
	case COMMIT_META:
		return rights & RIGHT_META;
	case COMMIT_DIRECTORY:
	case COMMIT_DISCARD:
	case COMMIT_PROBE:
		return true;
	}
	return false;
}

bool commit_keeps(const struct recv_entry *e)
{
	switch (e->code.code) {
	case HAUL_CODE_NO_SPACE:
	case HAUL_CODE_QUOTA:
	case HAUL_CODE_NO_MEMORY:
	case HAUL_CODE_TOO_MANY_OPEN:
		return true;
	case HAUL_CODE_CORRUPT:
	case HAUL_CODE_CHANGED:
		return false;
	default:
		return haul_failed(e->code) && !e->failed_here; /* the sender could not read it */
	}
}

static void discard(struct recv_entry *e)
{
	if (commit_keeps(e))
		partial_keep(&e->partial);
	else
		partial_discard(&e->partial);
}

/* A file on its way to its name, and whose thread gives it. */
struct naming {
	struct commit *c;
	struct recv_entry *e;
	enum publish_rule rule;
};

static haul_status size_of_replaced(void *ctx, uint64_t *ret_size)
{
	const struct naming *n = ctx;
	struct entry_facts facts;
	haul_status st;

	if (n->e->partial.is_in_place) { /* it has its new size already */
		*ret_size = n->e->partial.old_size;
		return HAUL_OK;
	}
	st = n->e->has_seen ? place_stat(n->c->cfg.place, n->e->path, &facts) : HAUL_NOT_FOUND;

	*ret_size = haul_ok(st) && facts.kind == ENTRY_FILE ? facts.size : 0;
	return st.code == HAUL_CODE_NOT_FOUND ? HAUL_OK : st;
}

static haul_status publish(void *ctx)
{
	const struct naming *n = ctx;

	return partial_publish(n->c->cfg.place, &n->e->partial, n->e->path, n->rule);
}

static haul_status name_file(struct commit *c, struct recv_entry *e, enum publish_rule rule)
{
	struct naming naming = { c, e, rule };
	const struct quota_naming counted = { .size = e->facts.size,
					      .held = e->quota_held,
					      .replaced = size_of_replaced,
					      .give_name = publish,
					      .ctx = &naming };
	haul_status st = c->cfg.quota ? quota_name(c->cfg.quota, &counted) : publish(&naming);

	if (haul_ok(st))
		e->quota_held = 0;
	return st;
}

static haul_status do_commit(struct commit *c, struct recv_entry *e, struct place_meta *meta)
{
	enum publish_rule rule = e->may_replace ? PUBLISH_REPLACE : PUBLISH_NO_REPLACE;

	switch (e->commit) {
	case COMMIT_SMALL:
	case COMMIT_BIG:
		return name_file(c, e, rule);
	case COMMIT_LINK:
		return place_make_link(c->cfg.place, e->path, e->link_target, meta, rule);
	case COMMIT_DIRECTORY:
		return finish_directory(c, e, meta);
	case COMMIT_META:
		return place_set_meta(c->cfg.place, e->path, &e->seen, meta);
	case COMMIT_DISCARD:
		discard(e);
		return HAUL_OK;
	case COMMIT_PROBE:
		partial_discard(&e->partial);
		return HAUL_OK;
	}
	return HAUL_BUG;
}

static haul_status give_name(struct commit *c, struct recv_entry *e)
{
	struct place_meta meta = meta_of(e);
	haul_status st = still_may(c, e) ? do_commit(c, e, &meta) : HAUL_NO_RIGHT;

	e->lost |= meta.lost;
	return st;
}

static void give_names(struct commit *c)
{
	list_each (pos, &c->group) {
		struct recv_entry *e = entry_at(pos);
		haul_status st = haul_failed(e->code) && e->commit != COMMIT_DISCARD ? HAUL_OK : give_name(c, e);

		if (haul_failed(st))
			failed(e, st);
	}
}

/* Only big files whose directories existed before: their own directories are enough. */
static haul_status sync_parents(struct commit *c)
{
	haul_status st = HAUL_OK;

	list_each (pos, &c->named) {
		struct recv_entry *e = entry_at(pos);

		if (e->commit == COMMIT_BIG && haul_ok(e->code) && haul_ok(st))
			st = place_sync_parent(c->cfg.place, e->path);
	}
	return st;
}

static void sync_names(struct commit *c)
{
	bool all = false;

	if (c->cfg.no_sync) {
		report_named(c, HAUL_OK);
		return;
	}
	list_each (pos, &c->named) {
		enum commit_kind kind = entry_at(pos)->commit;

		all = all || (kind != COMMIT_BIG && kind != COMMIT_DISCARD && kind != COMMIT_PROBE) ||
		      entry_at(pos)->dir->is_fresh;
	}
	report_named(c, all ? place_sync_all(c->cfg.place) : sync_parents(c));
}

static uint64_t bytes_of(struct list *entries)
{
	uint64_t bytes = 0;

	list_each (pos, entries)
		bytes += entry_at(pos)->facts.size;
	return bytes;
}

/* One step for all `entries` (`count`), in the trace; how long it took. */
static uint64_t run_step(struct commit *c, struct list *entries, unsigned count, void (*step)(struct commit *),
			 enum trace_stage stage)
{
	struct trace_span span = { .stage = stage, .leaves = count, .start_ns = uv_hrtime() };

	if (c->cfg.track) {
		span.entry = list_is_empty(entries) ? 0 : entry_at(entries->next)->index;
		span.bytes = bytes_of(entries);
	}
	step(c);
	span.end_ns = uv_hrtime();
	span.busy_ns = span.end_ns - span.start_ns;
	trace_put(c->cfg.track, &span);
	return span.busy_ns;
}

/* What writes back and syncs is on the account; giving names is not. */
static void run_names(struct commit *c)
{
	atomic_fetch_add(&c->sync_ns, run_step(c, &c->named, c->named_count, sync_names, TRACE_SYNC));
}

/* may_wait: its names, when they are small files' alone, may wait for the next group's sync. */
static void run_group(struct commit *c, bool may_wait)
{
	atomic_fetch_add(&c->sync_ns, run_step(c, &c->group, c->count, finish_contents, TRACE_SYNC));
	(void)run_step(c, &c->group, c->count, give_names, TRACE_COMMIT);
	list_splice_back(&c->named, &c->group);
	c->named_count += c->count;
	may_wait = may_wait && c->small_count >= COMMIT_GROUP_MIN && !c->cfg.no_sync;
	c->count = c->small_count = 0;
	if (!may_wait)
		run_names(c);
}

/*
 * The inbox is empty: is the group worth its syncs? A flush is for all that was posted, in however many groups. True:
 * time has passed, there may be more by now.
 */
static bool on_idle(void *ctx)
{
	struct commit *c = ctx;

	if (c->count && (c->flush_asked || c->small_count == 0 || c->small_count >= COMMIT_GROUP_MIN)) {
		run_group(c, !c->flush_asked);
		return true;
	}
	if (!list_is_empty(&c->named) && (c->flush_asked || c->count == 0)) {
		run_names(c);
		return true;
	}
	c->flush_asked = false;
	return false;
}

static void deliver_commit(struct mail *m, void *ctx)
{
	struct recv_entry *e = list_item(m, struct recv_entry, mail);
	struct commit *c = ctx;

	list_push_back(&c->group, &e->link);
	c->count++;
	c->small_count += e->commit == COMMIT_SMALL;
	if (c->count >= COMMIT_GROUP_MAX)
		run_group(c, true);
}

static void deliver_flush(struct mail *m, void *ctx)
{
	struct commit *c = ctx;

	(void)m;
	atomic_store(&c->flush_posted, false);
	c->flush_asked = true;
}

void commit_post(struct commit *c, struct recv_entry *e)
{
	e->mail.deliver = deliver_commit;
	worker_post(&c->worker, &e->mail);
}

static void deliver_checkpoint(struct mail *m, void *ctx)
{
	struct checkpoint *cp = list_item(m, struct checkpoint, mail);
	struct commit *c = ctx;
	uint64_t since_ns = uv_hrtime();

	if (cp->count)
		cp->status = partial_checkpoint(cp->partial, cp->pieces, cp->count);
	if (cp->is_last && haul_failed(cp->partial->lost))
		partial_discard(cp->partial); /* a failed sync: nothing of it can be trusted */
	else if (cp->is_last)
		partial_keep(cp->partial);
	atomic_fetch_add(&c->sync_ns, uv_hrtime() - since_ns);
	cp->mail.deliver = cp->done;
	mail_post(c->cfg.main, &cp->mail);
}

void commit_checkpoint(struct commit *c, struct checkpoint *cp)
{
	cp->mail.deliver = deliver_checkpoint;
	worker_post(&c->worker, &cp->mail);
}

void commit_flush(struct commit *c)
{
	if (!atomic_exchange(&c->flush_posted, true))
		worker_post(&c->worker, &c->flush);
}

haul_status commit_start(struct commit *c, const struct commit_config *cfg, struct haul_fault *fault)
{
	c->cfg = *cfg;
	list_init(&c->group);
	list_init(&c->named);
	c->flush.deliver = deliver_flush;
	return worker_start(&c->worker, "haul-commit", on_idle, c, fault);
}

void commit_stop(struct commit *c)
{
	worker_stop(&c->worker);
	if (c->count)
		run_group(c, false); /* what was complete is put in place rather than thrown away */
	else if (!list_is_empty(&c->named))
		run_names(c);
	trace_track_close(c->cfg.track);
	c->cfg.track = NULL;
}

uint64_t commit_sync_ns(struct commit *c)
{
	return atomic_load(&c->sync_ns);
}
