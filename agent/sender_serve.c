/*
 * From WANT to the block queue, and from the lanes' reports to roots.
 *
 * Small files are gathered into packs as they are wanted. A big file is opened by the thread pool, at most
 * JOB_OPEN_FILES at a time, checked against what was announced, and queued; the others wait in order.
 */
#include "agent/sender_parts.h"

#include "engine/base/escape.h"
#include "engine/file_place.h"
#include "engine/follow.h"
#include "peer-protocol/lane_frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PACK_ITEMS = 256,
	PACK_TARGET_BYTES = 1024 * 1024,
	WANTS_MAX = 64, /* of one entry at once; a receiver asks again only for what came wrong */
};

/* ---- failures: said to the receiver, whose RESULT ends the entry ---- */

void sender_flush_failures(struct sender *s)
{
	struct message m = { .type = MSG_FAILED, .failed = { s->failures, s->failure_count } };
	struct haul_fault fault = { 0 };
	haul_status st;

	if (!s->failure_count)
		return;
	st = control_link_send(s->cfg.link, &m, &fault);
	if (st.code == HAUL_CODE_BUSY)
		return;
	s->failure_count = 0;
	if (haul_failed(st))
		sender_fail(s, st, &fault);
}

void sender_entry_failed(struct sender *s, struct send_entry *e, haul_status st)
{
	if (e->has_failed || sender_is_put_off(e))
		return;
	sender_entry_closed(s, e);
	if (!sender_put_off(s, e, st))
		sender_entry_lost(s, e, st);
}

void sender_entry_lost(struct sender *s, struct send_entry *e, haul_status st)
{
	e->has_failed = true;
	if (s->failure_count == JOB_BATCH_RECORDS)
		return; /* the job has failed already */
	s->failures[s->failure_count++] =
	    (struct entry_failure){ .entry = e->index, .attempt = e->attempt, .code = (uint32_t)st.code };
	sender_flush_failures(s);
	if (s->failure_count == JOB_BATCH_RECORDS)
		sender_fail(s, HAUL_BUSY, NULL); /* a thousand failures and a peer that takes none of them */
}

/* ---- big files ---- */

/* A want with where its file lies. */
struct send_wish {
	const struct want *want;
	uint64_t inode;
};

void send_open_free(struct send_open *o)
{
	if (!o)
		return;
	if (o->file.fd >= 0)
		(void)disk_file_close(&o->file);
	free(o->ranges);
	free(o->path);
	free(o);
}

static bool is_as_announced(const struct entry_facts *now, const struct entry_facts *then)
{
	return now->inode == then->inode && now->size == then->size && entry_time_equal(&now->mtime, &then->mtime);
}

static haul_status open_announced(struct send_open *o)
{
	const struct source_place at = { o->root_fd, o->path, o->links };
	int fd = -1;
	haul_status st = follow_open(&at, O_RDONLY | O_NONBLOCK | O_NOATIME, &fd);

	if (st.code == HAUL_CODE_DENIED) /* O_NOATIME is for the owner alone */
		st = follow_open(&at, O_RDONLY | O_NONBLOCK, &fd);
	if (haul_failed(st))
		return st;
	st = disk_file_open(&o->file, fd, o->direct, o->facts.size, NULL);
	if (haul_failed(st)) {
		(void)close(fd);
		o->file.fd = -1;
		return st;
	}
	if (is_as_announced(&o->file.facts, &o->facts))
		return HAUL_OK;
	if (!o->is_other_state || o->file.facts.inode != o->facts.inode || o->file.facts.size < o->facts.size)
		return HAUL_CHANGED;
	o->file.facts = o->facts; /* it does not rest: the lane finds that when it has read it, see sender_again.c */
	return HAUL_OK;
}

/* What a probe reads is longer than what it announces, as a rule: only that it stays as it is counts. */
static haul_status open_probe(struct send_open *o)
{
	int fd;
	haul_status st;

	if (o->probe_fd < 0)
		return HAUL_OK;
	fd = fcntl(o->probe_fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return haul_status_from_errno(errno);
	st = disk_file_open(&o->file, fd, o->direct, o->facts.size, NULL);
	if (haul_failed(st)) {
		(void)close(fd);
		o->file.fd = -1;
		return st;
	}
	return o->file.facts.size >= o->facts.size ? HAUL_OK : HAUL_CHANGED;
}

static void open_in_pool(uv_work_t *work)
{
	struct send_open *o = work->data;

	o->status = o->is_probe ? open_probe(o) : open_announced(o);
	if (haul_ok(o->status) && o->by_place && o->file.fd >= 0)
		o->place = file_place(o->file.fd, o->facts.inode);
}

/* One descriptor for all ranges: a peer that wishes for a thousand of them does not use up ours. */
static haul_status queue_file(struct sender *s, struct send_open *o)
{
	struct send_file *f = send_file_new(&o->file);
	haul_status st;

	if (!f)
		return HAUL_NO_MEMORY;
	o->file.fd = -1;
	f->is_made_up = o->is_probe && o->probe_fd < 0;
	f->entry = o->entry;
	f->attempt = o->attempt;
	f->is_digests_only = o->is_digests_only;
	f->is_repair = o->is_repair && !o->is_digests_only;
	f->is_again = o->is_again;
	f->place = o->place;
	f->is_sparse = !o->is_probe && o->facts.blocks * 512 < o->facts.size;
	f->size = o->facts.size;
	st = send_file_set_ranges(f, o->ranges, o->range_count);
	if (haul_failed(st)) {
		send_file_drop(f);
		return st;
	}
	block_queue_add_file(&s->queue, f);
	lane_set_wake(&s->lanes);
	return HAUL_OK;
}

/* How a file is read is said once for each way: for the first one of its kind, and when one falls back. */
static void explain_mode(struct sender *s, const char *path, enum buffered_reason reason, const char *how)
{
	char shown[HAUL_ESCAPED_MAX / 4], text[HAUL_ESCAPED_MAX / 2];

	if (s->cfg.verb == JOB_PROBE || !s->cfg.cb.on_explain || s->modes_told & 1u << reason)
		return;
	s->modes_told |= 1u << reason;
	(void)snprintf(text, sizeof(text), "reading %s: %s", haul_escape(path, strlen(path), shown, sizeof(shown)),
		       how);
	sender_explain(s, text);
}

static void explain_open(struct sender *s, const struct send_open *o)
{
	char how[160];

	explain_mode(s, o->path, (enum buffered_reason)atomic_load(&o->file.reason),
		     disk_file_text(&o->file, how, sizeof(how)));
}

static void explain_report(struct sender *s, const struct send_entry *e, const struct lane_report *r)
{
	enum buffered_reason reason = (enum buffered_reason)(r->mode - 1);

	if (r->mode)
		explain_mode(s, e->source_path, reason, buffered_reason_text(reason));
}

static void on_opened(uv_work_t *work, int status)
{
	struct send_open *o = work->data;
	struct sender *s = o->sender;
	struct send_entry *e = index_map_get(&s->window, o->entry);
	haul_status st = o->status;

	(void)status;
	s->in_pool--;
	if (e && sender_is_over(e, o->attempt))
		e = NULL;
	if (haul_ok(st) && e && (!o->is_repair || !e->was_opened)) {
		e->opened_ctime = o->file.facts.ctime;
		e->was_opened = true;
	} else if (haul_ok(st) && e && !entry_time_equal(&e->opened_ctime, &o->file.facts.ctime))
		st = HAUL_CHANGED; /* a repaired leaf must be of the same state as its neighbours */
	if (haul_ok(st) && e && e->has_told && !entry_time_equal(&e->facts.ctime, &o->file.facts.ctime))
		st = HAUL_CHANGED; /* and so must what is there since an earlier job */
	if (haul_ok(st) && s->state == SENDER_RUNNING && e) {
		explain_open(s, o);
		st = queue_file(s, o);
	}
	if (haul_failed(st) && e && s->state == SENDER_RUNNING)
		sender_entry_failed(s, e, st);
	send_open_free(o);
	sender_maybe_farewell(s);
	sender_serve_more(s);
	sender_again(s);
}

void sender_entry_closed(struct sender *s, struct send_entry *e)
{
	if (!e->is_open)
		return;
	e->is_open = false;
	s->open_files--;
}

void sender_serve_more(struct sender *s)
{
	while (s->open_files < JOB_OPEN_FILES && s->state == SENDER_RUNNING) {
		struct list *item = list_pop_front(&s->opens);
		struct send_open *o = item ? list_item(item, struct send_open, link) : NULL;
		struct send_entry *e = o ? index_map_get(&s->window, o->entry) : NULL;

		if (!o)
			return;
		if (!e || sender_is_over(e, o->attempt)) {
			send_open_free(o);
			continue;
		}
		o->pool.data = o;
		if (uv_queue_work(s->cfg.loop, &o->pool, open_in_pool, on_opened)) {
			send_open_free(o);
			sender_fail(s, HAUL_NO_MEMORY, NULL);
			return;
		}
		s->open_files += !e->is_open;
		e->is_open = true;
		s->in_pool++;
	}
}

static struct send_open *send_open_new(struct sender *s, const struct send_entry *e, const struct want *w)
{
	const struct leaf_range whole = { 0, leaf_count(e->facts.size) };
	size_t count = want_has_ranges(w) ? w->range_count : 1;
	struct send_open *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	*o = (struct send_open){ .sender = s,
				 .entry = e->index,
				 .attempt = w->attempt,
				 .is_digests_only = w->kind == WANT_DIGESTS || w->kind == WANT_DIGEST_RANGES,
				 .is_repair = want_has_ranges(w),
				 .is_other_state = sender_states(e) > 0,
				 .range_count = count,
				 .root_fd = s->sources[e->source].root_fd,
				 .links = s->sources[e->source].links,
				 .facts = e->facts,
				 .direct = s->cfg.direct,
				 .by_place = s->cfg.order == ORDER_PHYSICAL,
				 .is_probe = s->cfg.verb == JOB_PROBE,
				 .probe_fd = s->cfg.probe.fd,
				 .file = { .fd = -1 } };
	list_init(&o->link);
	o->ranges = calloc(count, sizeof(*o->ranges));
	o->path = strdup(e->source_path);
	if (o->ranges && o->path) {
		memcpy(o->ranges, want_has_ranges(w) ? w->ranges : &whole, count * sizeof(*o->ranges));
		return o;
	}
	send_open_free(o);
	return NULL;
}

static haul_status ranges_check(const struct want *w, const struct send_entry *e, uint64_t *ret_leaves)
{
	uint64_t leaves = leaf_count(e->facts.size), sum = 0;

	if (!want_has_ranges(w)) {
		*ret_leaves = leaves;
		return HAUL_OK;
	}
	for (size_t i = 0; i < w->range_count; i++) {
		if (w->ranges[i].first >= leaves || w->ranges[i].count > leaves - w->ranges[i].first)
			return HAUL_BAD_FRAME;
		sum += w->ranges[i].count;
	}
	*ret_leaves = sum;
	return HAUL_OK;
}

/* begins: the first of its attempt, and nothing of it was told before. */
static haul_status want_big(struct sender *s, struct send_entry *e, const struct want *w, bool begins)
{
	struct send_open *o;
	uint64_t leaves = 0;
	haul_status st = ranges_check(w, e, &leaves);

	if (haul_failed(st))
		return st;
	if (!want_has_ranges(w) || (w->kind == WANT_DIGEST_RANGES && begins)) {
		hash_tree_free(e->tree);
		e->has_root = false;
		e->tree = hash_tree_new(leaf_count(e->facts.size));
		if (!e->tree)
			return HAUL_NO_MEMORY;
	}
	e->leaves_left += leaves;
	o = send_open_new(s, e, w);
	if (!o)
		return HAUL_NO_MEMORY;
	list_push_back(&s->opens, &o->link);
	return HAUL_OK;
}

haul_status sender_want_again(struct sender *s, struct send_entry *e, const struct leaf_range *ranges, size_t count,
			      bool is_digests)
{
	const struct want w = {
		.entry = e->index, .attempt = e->attempt, .kind = WANT_RANGES, .ranges = ranges, .range_count = count
	};
	struct send_open *o = send_open_new(s, e, &w);

	if (!o)
		return HAUL_NO_MEMORY;
	o->is_again = true;
	o->is_digests_only = is_digests;
	for (size_t i = 0; i < count; i++)
		e->leaves_left += ranges[i].count;
	list_push_back(&s->opens, &o->link);
	return HAUL_OK;
}

/* ---- small files ---- */

haul_status sender_want_small(struct sender *s, struct send_entry *e, struct send_pack **pack)
{
	struct send_pack_item *item;

	if (!*pack)
		*pack = send_pack_new(PACK_ITEMS);
	if (!*pack)
		return HAUL_NO_MEMORY;
	item = &(*pack)->items[(*pack)->count];
	*item = (struct send_pack_item){ .entry = e->index,
					 .attempt = e->attempt,
					 .root_fd = s->sources[e->source].root_fd,
					 .links = s->sources[e->source].links,
					 .path = strdup(e->source_path),
					 .facts = e->facts };
	if (!item->path)
		return HAUL_NO_MEMORY;
	(*pack)->bytes += e->facts.size;
	(*pack)->count++;
	if ((*pack)->count == PACK_ITEMS || (*pack)->bytes + LANE_PACK_FILE_MAX > PACK_TARGET_BYTES) {
		block_queue_add_pack(&s->queue, *pack);
		*pack = NULL;
		lane_set_wake(&s->lanes);
	}
	return HAUL_OK;
}

static haul_status want_one(struct sender *s, const struct want *w, struct send_pack **pack)
{
	struct send_entry *e = index_map_get(&s->window, w->entry);
	bool begins;

	if (!e || w->kind == WANT_CLONE)
		return HAUL_NOT_ANNOUNCED;
	if (w->kind == WANT_NOTHING)
		return HAUL_OK;
	if (e->facts.kind != ENTRY_FILE)
		return HAUL_BAD_MOVE;
	if (sender_is_over(e, w->attempt))
		return HAUL_OK; /* crossed with our FAILED, PUT_OFF or CHANGED */
	if (++e->wants_due > WANTS_MAX)
		return HAUL_BAD_MOVE;
	begins = !e->is_telling && (e->attempt != w->attempt || !e->tree);
	if (e->attempt != w->attempt) {
		e->leaves_left = 0; /* reports of the last one count no more */
		sender_owes_no_more(s, e);
	}
	e->attempt = w->attempt;
	e->was_sent = e->was_sent || w->kind == WANT_WHOLE;
	e->is_telling = false;
	sender_is_wanted(s, e, true);
	if (w->kind == WANT_WHOLE && e->facts.size <= LANE_PACK_FILE_MAX)
		return sender_want_small(s, e, pack);
	return want_big(s, e, w, begins);
}

static int by_place(const void *a, const void *b)
{
	const struct send_wish *x = a, *y = b;

	return (x->inode > y->inode) - (x->inode < y->inode);
}

/* Small files are read in the order of their inodes, which is about the order in which they lie. */
static haul_status want_by_place(struct sender *s, const struct msg_want *m, struct send_pack **pack)
{
	struct send_wish *wishes = calloc(m->want_count, sizeof(*wishes));
	haul_status st = HAUL_OK;

	if (!wishes)
		return HAUL_NO_MEMORY;
	for (size_t i = 0; i < m->want_count; i++) {
		const struct send_entry *e = index_map_get(&s->window, m->wants[i].entry);

		wishes[i] = (struct send_wish){ &m->wants[i], e ? e->facts.inode : 0 };
	}
	qsort(wishes, m->want_count, sizeof(*wishes), by_place);
	for (size_t i = 0; i < m->want_count && haul_ok(st); i++)
		st = want_one(s, wishes[i].want, pack);
	free(wishes);
	return st;
}

static haul_status want_all(struct sender *s, const struct msg_want *m, struct send_pack **pack)
{
	haul_status st = HAUL_OK;

	if (s->cfg.order == ORDER_PHYSICAL)
		return want_by_place(s, m, pack);
	for (size_t i = 0; i < m->want_count && haul_ok(st); i++)
		st = want_one(s, &m->wants[i], pack);
	return st;
}

void sender_wants(struct sender *s, const struct msg_want *m)
{
	struct send_pack *pack = NULL;
	struct haul_fault fault = { 0 };
	haul_status st = want_all(s, m, &pack);

	if (haul_ok(st) && pack) {
		block_queue_add_pack(&s->queue, pack);
		pack = NULL;
		lane_set_wake(&s->lanes);
	}
	send_pack_free(pack);
	if (haul_failed(st)) {
		sender_fail(s, haul_fault_set(&fault, st, "the peer wants what it was not offered"), &fault);
		return;
	}
	sender_serve_more(s);
}

/* ---- reports of the lanes ---- */

static void leaves_are_sent(struct sender *s, const struct lane_report *r)
{
	struct send_entry *e = index_map_get(&s->window, r->entry);

	s->totals.bytes_sent += r->bytes;
	s->totals.bytes_holes += r->hole_bytes;
	s->totals.leaves_moved += r->leaf_count;
	if (e && (sender_is_put_off(e) || sender_is_attempt_before(e, r->attempt)))
		s->totals.bytes_again += r->bytes + r->hole_bytes;
	if (!e || e->attempt != r->attempt || sender_is_over(e, r->attempt))
		return;
	sender_owes_leaves(s, e, r);
	e->moved_bytes += r->bytes + r->hole_bytes;
	explain_report(s, e, r);
	for (uint32_t i = 0; i < r->leaf_count && e->tree; i++) {
		haul_status st = r->is_again ? hash_tree_put_again(e->tree, r->first_leaf + i, &r->digests[i])
					     : hash_tree_put(e->tree, r->first_leaf + i, &r->digests[i]);

		if (haul_failed(st)) {
			sender_entry_failed(s, e, st);
			return;
		}
	}
	e->leaves_left -= r->leaf_count < e->leaves_left ? r->leaf_count : e->leaves_left;
	if (e->tree && hash_tree_is_full(e->tree) && !e->has_root) {
		hash_tree_root(e->tree, &e->root);
		e->has_root = true;
	}
	if (e->leaves_left == 0) {
		e->wants_due = 0;
		sender_entry_closed(s, e);
		sender_serve_more(s);
	}
}

static void file_failed(struct sender *s, const struct lane_report *r)
{
	struct send_entry *e = index_map_get(&s->window, r->entry);

	if (e && e->attempt == r->attempt && !sender_is_over(e, r->attempt))
		sender_entry_failed(s, e, r->status);
	sender_serve_more(s);
}

static void pack_is_sent(struct sender *s, const struct lane_report *r)
{
	s->totals.bytes_sent += r->bytes;
	for (unsigned i = 0; i < r->item_count; i++) {
		const struct lane_pack_entry *item = &r->items[i];
		struct send_entry *e = index_map_get(&s->window, item->entry);

		if (!e || sender_is_over(e, item->attempt))
			continue;
		e->wants_due = 0;
		if (e->attempt != item->attempt)
			continue;
		if (haul_failed(item->status)) {
			sender_entry_failed(s, e, item->status);
			continue;
		}
		e->root = item->digest;
		e->has_root = true;
		sender_owes_small(s, e, lane_number(r->lane));
	}
}

void sender_on_report(void *owner, struct lane_report *r)
{
	struct sender *s = owner;

	if (s->state == SENDER_RUNNING) {
		if (r->type == LANE_SENT)
			leaves_are_sent(s, r);
		else if (r->type == LANE_SENT_PACK)
			pack_is_sent(s, r);
		else if (r->type == LANE_FILE_FAILED)
			file_failed(s, r);
		sender_again(s);
	}
	lane_report_free(r);
}
