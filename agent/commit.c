/*
 * One group: finish what is open (cut, metadata, fsync of big files), sync small ones together, rename in order, set
 * directories' metadata, sync the names, report.
 *
 * A big file is synced by itself, its name by fsync of its directory; as soon as directories or small files are in the
 * group one syncfs does both for all. Errors belong to their entry; a failed sync fails every entry of the group that
 * relied on it, because nobody knows then what is on the medium.
 */
#include "agent/commit.h"

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

/* Before the names: contents to the medium. */
static void finish_contents(struct commit *c)
{
	haul_status all = HAUL_OK;

	if (c->small_count && !c->cfg.no_sync)
		all = place_sync_all(c->cfg.place);
	list_each (pos, &c->group) {
		struct recv_entry *e = entry_at(pos);
		haul_status st = HAUL_OK;

		if (e->commit == COMMIT_BIG || (e->commit == COMMIT_PROBE && e->partial.name[0]))
			st = partial_finish(&e->partial, &e->facts, !c->cfg.no_sync, NULL);
		else if (e->commit == COMMIT_SMALL)
			st = all;
		if (haul_failed(st))
			failed(e, st);
	}
}

static haul_status finish_directory(struct commit *c, const struct recv_entry *e)
{
	struct entry_facts meta = e->facts;

	if (!e->node->was_made && !e->may_replace) {
		/* Not ours to change: only what we opened up is put back. */
		if (!e->node->was_opened_up)
			return HAUL_OK;
		meta.mode = e->node->old_mode;
		meta.mtime = e->seen.mtime;
	}
	return place_finish_directory(c->cfg.place, e->path, &meta, false);
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

static haul_status give_name(struct commit *c, struct recv_entry *e)
{
	enum publish_rule rule = e->may_replace ? PUBLISH_REPLACE : PUBLISH_NO_REPLACE;

	if (!still_may(c, e))
		return HAUL_NO_RIGHT;
	switch (e->commit) {
	case COMMIT_SMALL:
	case COMMIT_BIG:
		return partial_publish(c->cfg.place, &e->partial, e->path, rule);
	case COMMIT_LINK:
		return place_make_link(c->cfg.place, e->path, e->link_target, &e->facts, rule);
	case COMMIT_DIRECTORY:
		return finish_directory(c, e);
	case COMMIT_META:
		return place_set_meta(c->cfg.place, e->path, &e->seen, &e->facts);
	case COMMIT_DISCARD:
	case COMMIT_PROBE:
		partial_discard(&e->partial);
		return HAUL_OK;
	}
	return HAUL_BUG;
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

	list_each (pos, &c->group) {
		struct recv_entry *e = entry_at(pos);

		if (e->commit == COMMIT_BIG && haul_ok(e->code) && haul_ok(st))
			st = place_sync_parent(c->cfg.place, e->path);
	}
	return st;
}

static void sync_names(struct commit *c)
{
	bool all = false;
	haul_status st;

	if (c->cfg.no_sync)
		return;
	list_each (pos, &c->group) {
		enum commit_kind kind = entry_at(pos)->commit;

		all = all || (kind != COMMIT_BIG && kind != COMMIT_DISCARD && kind != COMMIT_PROBE) ||
		      entry_at(pos)->dir->is_fresh;
	}
	st = all ? place_sync_all(c->cfg.place) : sync_parents(c);
	if (haul_ok(st))
		return;
	list_each (pos, &c->group)
		failed(entry_at(pos), st);
}

static void deliver_committed(struct mail *m, void *ctx)
{
	struct recv_entry *e = list_item(m, struct recv_entry, mail);
	struct commit *c = e->commit_thread;

	(void)ctx;
	c->cfg.on_committed(e);
}

static void report_group(struct commit *c)
{
	struct list *item, mails;

	list_init(&mails);
	while ((item = list_pop_front(&c->group))) {
		struct recv_entry *e = entry_at(item);

		e->is_committed = haul_ok(e->code) && e->commit != COMMIT_DISCARD && e->commit != COMMIT_PROBE;
		e->commit_thread = c;
		e->mail.deliver = deliver_committed;
		list_push_back(&mails, &e->mail.link);
	}
	mailbox_post_all(c->cfg.main, &mails);
	c->count = c->small_count = 0;
}

static uint64_t group_bytes(struct commit *c)
{
	uint64_t bytes = 0;

	list_each (pos, &c->group)
		bytes += entry_at(pos)->facts.size;
	return bytes;
}

/* One step for the whole group, in the trace; how long it took. */
static uint64_t run_step(struct commit *c, void (*step)(struct commit *), enum trace_stage stage)
{
	struct trace_span span = { .stage = stage, .leaves = c->count, .start_ns = uv_hrtime() };

	if (c->cfg.track) {
		span.entry = list_is_empty(&c->group) ? 0 : entry_at(c->group.next)->index;
		span.bytes = group_bytes(c);
	}
	step(c);
	span.end_ns = uv_hrtime();
	span.busy_ns = span.end_ns - span.start_ns;
	trace_put(c->cfg.track, &span);
	return span.busy_ns;
}

/* What writes back and syncs is on the account; names are not. */
static void run_group(struct commit *c)
{
	uint64_t sync_ns = run_step(c, finish_contents, TRACE_SYNC);

	(void)run_step(c, give_names, TRACE_COMMIT);
	sync_ns += run_step(c, sync_names, TRACE_SYNC);
	atomic_fetch_add(&c->sync_ns, sync_ns);
	report_group(c);
}

uint64_t commit_sync_ns(struct commit *c)
{
	return atomic_load(&c->sync_ns);
}

/* The inbox is empty: is the group worth its syncs? A flush is for all that was posted, in however many groups. */
static void on_idle(void *ctx)
{
	struct commit *c = ctx;

	if (c->count && (c->flush_asked || c->small_count == 0 || c->small_count >= COMMIT_GROUP_MIN))
		run_group(c);
	c->flush_asked = false;
}

static void deliver_commit(struct mail *m, void *ctx)
{
	struct recv_entry *e = list_item(m, struct recv_entry, mail);
	struct commit *c = ctx;

	list_push_back(&c->group, &e->link);
	c->count++;
	c->small_count += e->commit == COMMIT_SMALL;
	if (c->count >= COMMIT_GROUP_MAX)
		run_group(c);
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
	mail_post(&c->worker.inbox, &e->mail);
}

void commit_flush(struct commit *c)
{
	if (!atomic_exchange(&c->flush_posted, true))
		mail_post(&c->worker.inbox, &c->flush);
}

haul_status commit_start(struct commit *c, const struct commit_config *cfg, struct haul_fault *fault)
{
	c->cfg = *cfg;
	list_init(&c->group);
	c->flush.deliver = deliver_flush;
	return worker_start(&c->worker, "haul-commit", on_idle, c, fault);
}

void commit_stop(struct commit *c)
{
	worker_stop(&c->worker);
	c->flush_asked = true;
	if (c->count)
		run_group(c); /* what was complete is put in place rather than thrown away */
	trace_track_close(c->cfg.track);
	c->cfg.track = NULL;
}
