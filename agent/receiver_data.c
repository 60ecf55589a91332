/*
 * From a verdict to whole content: turns for big files, grants to every lane before the WANT leaves, and what the lanes
 * report. A wrong leaf is asked for again, alone; an entry that needs it more than RECEIVER_REPAIRS_MAX times fails.
 */
#include "agent/receiver_parts.h"

#include "engine/base/escape.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- turns ---- */

void receiver_next_files(struct receiver *r)
{
	while (r->open_files < JOB_OPEN_FILES && r->state == RECEIVER_RUNNING) {
		struct list *item = list_pop_front(&r->waiting);
		struct recv_entry *e;

		if (!item)
			return;
		e = list_item(item, struct recv_entry, link);
		e->phase = RECV_OPENING;
		e->counts_open = true;
		r->open_files++;
		r->in_threads++;
		store_open(&r->store, e);
	}
}

void receiver_grant_soon(struct recv_entry *e)
{
	e->phase = RECV_ARRIVING;
	list_push_back(&e->receiver->grants_due, &e->link);
}

static void want_small(struct recv_entry *e)
{
	e->receiver->small_due++;
	receiver_grant_soon(e);
}

void receiver_on_looked(struct recv_entry *e)
{
	struct receiver *r = e->receiver;

	r->in_threads--;
	if (r->state != RECEIVER_RUNNING) {
		receiver_check_end(r);
		return;
	}
	switch (e->verdict) {
	case VERDICT_RESULT:
		receiver_result(e);
		return;
	case VERDICT_SMALL:
		want_small(e);
		return;
	case VERDICT_BIG:
	case VERDICT_DIGESTS:
		e->phase = RECV_WAITING;
		list_push_back(&r->waiting, &e->link);
		receiver_next_files(r);
		return;
	case VERDICT_HELD:
		receiver_hold(e);
		return;
	case VERDICT_COMMIT:
		e->phase = RECV_WAITING;
		if (!e->node)
			receiver_commit(e, e->commit);
		else if (e->node->has_ended && !e->node->unsettled)
			receiver_commit(e, COMMIT_DIRECTORY);
		else
			receiver_await_contents(e, true);
		return;
	}
}

/* How a file is written, or read to compare, is said once for each way, and when one falls back. */
static void explain_mode(struct receiver *r, const struct recv_entry *e, enum buffered_reason reason, const char *how)
{
	bool is_old = e->verdict == VERDICT_DIGESTS;
	char shown[HAUL_ESCAPED_MAX / 4], text[HAUL_ESCAPED_MAX / 2];
	unsigned bit = 1u << (2 * reason + is_old);

	if (r->job->verb == JOB_PROBE || !r->job->cb.on_explain || r->modes_told & bit)
		return;
	r->modes_told |= bit;
	(void)snprintf(text, sizeof(text), "%s %s: %s", is_old ? "comparing" : "writing",
		       haul_escape(e->path, strlen(e->path), shown, sizeof(shown)), how);
	receiver_explain(r, text);
}

static void explain_open(struct receiver *r, const struct recv_entry *e)
{
	const struct disk_file *f = e->verdict == VERDICT_DIGESTS ? &e->old : &e->partial.file;
	char how[160];

	explain_mode(r, e, (enum buffered_reason)atomic_load(&f->reason), disk_file_text(f, how, sizeof(how)));
}

static void explain_report(struct receiver *r, const struct recv_entry *e, const struct lane_report *rep)
{
	enum buffered_reason reason = (enum buffered_reason)(rep->mode - 1);

	if (rep->mode)
		explain_mode(r, e, reason, buffered_reason_text(reason));
}

static void explain_clone(struct receiver *r)
{
	if (r->clones_told)
		return;
	r->clones_told = true;
	receiver_explain(r, "one file system that can share extents: files over 256 KiB are cloned, not read "
			    "(--verify=transfer reads them)");
}

void receiver_on_opened(struct recv_entry *e)
{
	struct receiver *r = e->receiver;

	r->in_threads--;
	if (r->state != RECEIVER_RUNNING) {
		receiver_check_end(r);
		return;
	}
	if (e->is_put_off) {
		receiver_rest(e);
		return;
	}
	if (haul_ok(e->code))
		e->code = e->peer_code;
	if (haul_ok(e->code) && e->was_cloned) {
		explain_clone(r);
		receiver_commit(e, COMMIT_BIG);
		return;
	}
	if (haul_ok(e->code) && !e->tree) { /* else it has what is there already */
		e->tree = hash_tree_new(leaf_count(e->facts.size));
		if (!e->tree)
			e->code = HAUL_NO_MEMORY;
	}
	if (haul_ok(e->code)) {
		explain_open(r, e);
		e->checkpoint_ns = uv_hrtime();
		if (e->have.count && !e->compares_kept)
			receiver_go_on(e);
		else
			receiver_grant_soon(e);
		return;
	}
	e->outcome = OUTCOME_FAILED;
	receiver_drop_content(e);
}

/* ---- grants and wants ---- */

static enum grant_mode mode_of(const struct recv_entry *e)
{
	if (e->verdict == VERDICT_SMALL)
		return GRANT_SMALL;
	if (e->compares_kept)
		return GRANT_DIGESTS;
	if (e->verdict == VERDICT_BIG)
		return e->partial.name[0] ? GRANT_WRITE : GRANT_DROP;
	return e->after == AFTER_BYTES ? GRANT_BYTES : GRANT_DIGESTS;
}

static struct grant *make_grant(struct recv_entry *e)
{
	struct grant *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	*g = (struct grant){ .entry = e->index,
			     .attempt = e->attempt,
			     .mode = mode_of(e),
			     .size = e->facts.size,
			     .end_leaf = leaf_count(e->facts.size),
			     .file = e->verdict == VERDICT_BIG ? &e->partial.file : &e->old,
			     .place = e->receiver->place,
			     .path = e->path,
			     .meta = e->facts,
			     .attributes = e->attributes,
			     .attribute_kinds = e->attribute_kinds,
			     .keeps_owner = e->keeps_owner,
			     .has_holes = e->is_sparse };
	if (e->compares_kept && e->has_basis && e->old.fd >= 0)
		g->basis = &e->old;
	if (g->mode == GRANT_BYTES) {
		g->first_leaf = e->first_bad;
		g->end_leaf = e->first_bad + 1;
	}
	if (g->mode == GRANT_WRITE && e->partial.is_kept && !leaf_claims_open(&g->claims, g->end_leaf, &e->have)) {
		free(g);
		return NULL;
	}
	return g;
}

static struct leaf_range *one_range(uint64_t first, uint64_t count)
{
	struct leaf_range *range = calloc(1, sizeof(*range));

	if (range)
		*range = (struct leaf_range){ first, count };
	return range;
}

static void want_granted(struct receiver *r, struct recv_entry *e)
{
	struct want w = { .entry = e->index, .attempt = e->attempt, .kind = WANT_WHOLE };

	if (e->grant->mode == GRANT_WRITE && e->have.count) {
		haul_status st = receiver_want_rest(e);

		if (haul_failed(st))
			receiver_fail(r, st, NULL);
		return;
	}
	if (e->grant->mode == GRANT_DIGESTS && e->has_basis && receiver_want_samples(e))
		return;
	if (e->grant->mode == GRANT_DIGESTS)
		w.kind = WANT_DIGESTS;
	if (e->grant->mode == GRANT_BYTES) {
		w.kind = WANT_RANGES;
		w.ranges = one_range(e->first_bad, 1);
		w.range_count = 1;
		if (!w.ranges) {
			receiver_fail(r, HAUL_NO_MEMORY, NULL);
			return;
		}
	}
	out_want(r, &w);
}

/* A batch goes to the lanes whole, then its wants follow: nothing can arrive that no lane knows of. */
static haul_status grant_batch(struct receiver *r)
{
	struct recv_entry *entries[JOB_BATCH_RECORDS];
	struct grant *grants[JOB_BATCH_RECORDS];
	size_t count = 0;
	struct list *item;
	haul_status st;

	while (count < JOB_BATCH_RECORDS && (item = list_pop_front(&r->grants_due))) {
		struct recv_entry *e = list_item(item, struct recv_entry, link);

		e->grant = make_grant(e);
		if (!e->grant)
			return HAUL_NO_MEMORY;
		entries[count] = e;
		grants[count++] = e->grant;
	}
	st = lane_set_grant(&r->lanes, grants, count);
	for (size_t i = 0; i < count && haul_ok(st); i++)
		want_granted(r, entries[i]);
	return st;
}

void receiver_grant_due(struct receiver *r)
{
	while (r->lanes_ready && r->state == RECEIVER_RUNNING && !list_is_empty(&r->grants_due)) {
		haul_status st = grant_batch(r);

		if (haul_failed(st))
			receiver_fail(r, st, NULL);
	}
}

/* No lane holds it any more. */
void receiver_all_released(struct recv_entry *e)
{
	leaf_claims_close(&e->grant->claims);
	free(e->grant);
	e->grant = NULL;
	receiver_released(e);
}

/* Every lane lets go of it, with the next flush; what follows is in e->after. */
static void release(struct recv_entry *e, enum after_release after)
{
	e->after = after;
	e->phase = RECV_RELEASING;
	out_release(e->receiver, e->grant);
}

/* ---- reports ---- */

static struct recv_entry *entry_of(struct receiver *r, uint64_t index, uint32_t attempt)
{
	struct recv_entry *e = index_map_get(&r->entries, index);

	if (!e || e->attempt != attempt || (e->phase != RECV_ARRIVING && e->phase != RECV_RELEASING))
		return NULL;
	return e;
}

/* It owes nothing any more, whatever follows from it. */
static void acknowledge(struct receiver *r, const struct lane_report *rep, enum ack_level level)
{
	const struct ack a = { rep->entry, rep->attempt, level, rep->first_leaf, rep->leaf_count };

	out_ack(r, &a);
}

/* Ask for the wrong leaves of one block again. */
static void repair(struct recv_entry *e, const struct lane_report *rep)
{
	struct want w = { .entry = e->index, .attempt = e->attempt, .kind = WANT_RANGES };
	struct leaf_range *ranges = calloc(rep->leaf_count, sizeof(*ranges));

	if (!ranges) {
		receiver_fail(e->receiver, HAUL_NO_MEMORY, NULL);
		return;
	}
	for (uint32_t i = 0; i < rep->leaf_count; i++) {
		if (rep->bad_leaves & 1u << i)
			ranges[w.range_count++] = (struct leaf_range){ rep->first_leaf + i, 1 };
	}
	w.ranges = ranges;
	out_want(e->receiver, &w);
}

static haul_status put_leaves(struct recv_entry *e, const struct lane_report *rep, uint32_t skip)
{
	haul_status st = HAUL_OK;

	for (uint32_t i = 0; i < rep->leaf_count && haul_ok(st); i++) {
		if (!(skip & 1u << i))
			st = hash_tree_put(e->tree, rep->first_leaf + i, &rep->digests[i]);
	}
	return st;
}

void receiver_tree_is_full(struct recv_entry *e)
{
	hash_tree_root(e->tree, &e->root);
	e->has_root = true;
}

static void leaves_written(struct receiver *r, const struct lane_report *rep)
{
	struct recv_entry *e = entry_of(r, rep->entry, rep->attempt);
	haul_status st;

	r->totals.bytes_sent += rep->bytes;
	r->totals.bytes_holes += rep->hole_bytes;
	if (e) {
		e->moved_bytes += rep->bytes + rep->hole_bytes;
		acknowledge(r, rep, rep->bad_leaves || rep->again_leaves ? ACK_RECEIVED : ACK_WRITTEN);
	}
	if (!e || haul_failed(e->code) || e->is_put_off)
		return;
	explain_report(r, e, rep);
	st = put_leaves(e, rep, rep->bad_leaves);
	if (haul_failed(st)) {
		receiver_entry_failed(e, st, false);
		return;
	}
	if (rep->bad_leaves) {
		if (e->phase != RECV_ARRIVING)
			return; /* all of it has arrived already */
		if (++e->repairs > RECEIVER_REPAIRS_MAX)
			receiver_entry_failed(e, HAUL_CORRUPT, true);
		else
			repair(e, rep);
		return;
	}
	receiver_written(e, rep);
	if (e->phase == RECV_ARRIVING && hash_tree_is_full(e->tree)) {
		receiver_tree_is_full(e);
		release(e, AFTER_COMMIT);
	}
}

static void small_written(struct receiver *r, struct lane_pack_entry *item)
{
	struct recv_entry *e = entry_of(r, item->entry, item->attempt);
	const struct ack a = { item->entry, item->attempt, ACK_WRITTEN, 0, 1 };

	if (!e || e->phase != RECV_ARRIVING || haul_failed(e->code)) {
		partial_discard(&item->partial);
		return;
	}
	r->totals.bytes_sent += item->bytes;
	out_ack(r, &a);
	if (haul_ok(item->status)) {
		r->small_due--;
		e->partial = item->partial;
		e->lost |= item->lost;
		e->root = item->digest;
		e->has_root = true;
		release(e, AFTER_COMMIT);
	} else if (item->status.code == HAUL_CODE_CORRUPT && ++e->repairs <= RECEIVER_REPAIRS_MAX) {
		r->small_due--;
		release(e, AFTER_CONTENT);
	} else {
		receiver_entry_failed(e, item->status, true);
	}
}

/* Every leaf has been compared: equal, different (copy: fetch it), or different (verify: where?). */
static void all_compared(struct recv_entry *e)
{
	bool is_verify = e->receiver->job->verb == JOB_VERIFY;
	bool differs = e->first_bad != UINT64_MAX;

	if (e->compares_kept) {
		release(e, AFTER_KEPT);
		return;
	}
	receiver_tree_is_full(e);
	if (!differs && e->seen.size == e->facts.size && e->old.facts.size == e->facts.size) {
		e->outcome = OUTCOME_PROVEN;
		release(e, AFTER_RESULT);
		return;
	}
	e->changes |= CHANGE_CONTENT;
	if (!is_verify && e->receiver->job->flags & JOB_DRY_RUN) {
		e->outcome = OUTCOME_UNCHANGED; /* a dry run: it would be sent */
		release(e, AFTER_RESULT);
		return;
	}
	if (!is_verify) {
		release(e, AFTER_CONTENT);
		return;
	}
	e->outcome = OUTCOME_FAILED;
	if (!differs) {
		e->has_offset = true;
		e->offset = e->facts.size;
		release(e, AFTER_RESULT);
		return;
	}
	release(e, AFTER_BYTES);
}

static void leaves_compared(struct receiver *r, const struct lane_report *rep)
{
	struct recv_entry *e = entry_of(r, rep->entry, rep->attempt);
	haul_status st;

	r->totals.leaves_moved += rep->leaf_count;
	if (e)
		acknowledge(r, rep, ACK_RECEIVED);
	if (!e || haul_failed(e->code) || e->phase != RECV_ARRIVING)
		return;
	explain_report(r, e, rep);
	st = put_leaves(e, rep, 0);
	if (haul_failed(st)) {
		receiver_entry_failed(e, st, false);
		return;
	}
	receiver_compared_kept(e, rep);
	e->equal_leaves += rep->leaf_count - (unsigned)__builtin_popcount(rep->bad_leaves);
	if (receiver_samples_differ(e, rep)) {
		release(e, AFTER_KEPT);
		return;
	}
	for (uint32_t i = 0; i < rep->leaf_count; i++) {
		if (rep->bad_leaves & 1u << i && rep->first_leaf + i < e->first_bad)
			e->first_bad = rep->first_leaf + i;
	}
	if (hash_tree_is_full(e->tree))
		all_compared(e);
}

static void leaf_differs(struct receiver *r, const struct lane_report *rep)
{
	struct recv_entry *e = entry_of(r, rep->entry, rep->attempt);

	if (!e || e->phase != RECV_ARRIVING)
		return;
	acknowledge(r, rep, ACK_RECEIVED);
	if (haul_failed(rep->status)) {
		receiver_entry_failed(e, rep->status, true);
		return;
	}
	e->has_offset = true;
	e->offset = rep->offset;
	release(e, AFTER_RESULT);
}

static void file_failed(struct receiver *r, const struct lane_report *rep)
{
	struct recv_entry *e = entry_of(r, rep->entry, rep->attempt);

	if (e && !e->is_put_off)
		receiver_entry_failed(e, rep->status, true);
}

static void grant_released(struct receiver *r, struct grant *g, unsigned lane)
{
	struct recv_entry *e;

	g->holders &= ~(1u << lane);
	if (g->holders)
		return;
	e = index_map_get(&r->entries, g->entry);
	assert(e && e->grant == g);
	receiver_all_released(e);
}

static void lane_released(struct receiver *r, const struct lane_report *rep)
{
	for (size_t i = 0; i < rep->grant_count && r->state == RECEIVER_RUNNING; i++)
		grant_released(r, rep->grants[i], lane_number(rep->lane));
}

static void packs_written(struct receiver *r, struct lane_report *rep)
{
	for (unsigned i = 0; i < rep->item_count; i++) {
		if (r->state == RECEIVER_RUNNING)
			small_written(r, &rep->items[i]);
		else
			partial_discard(&rep->items[i].partial);
	}
}

/* The job stops: what has been written is kept with the rest of its file. */
static void written_late(struct receiver *r, const struct lane_report *rep)
{
	struct recv_entry *e = entry_of(r, rep->entry, rep->attempt);

	r->totals.bytes_sent += rep->bytes;
	r->totals.bytes_holes += rep->hole_bytes;
	if (e && !rep->bad_leaves)
		receiver_note_late(e, rep);
}

static void on_running_report(struct receiver *r, struct lane_report *rep)
{
	if (r->state == RECEIVER_STOPPING && rep->type == LANE_WRITTEN)
		written_late(r, rep);
	if (r->state != RECEIVER_RUNNING)
		return;
	switch (rep->type) {
	case LANE_WRITTEN:
		leaves_written(r, rep);
		return;
	case LANE_COMPARED:
		leaves_compared(r, rep);
		return;
	case LANE_DIFFERS:
		leaf_differs(r, rep);
		return;
	case LANE_FILE_FAILED:
		file_failed(r, rep);
		return;
	case LANE_RELEASED:
		lane_released(r, rep);
		return;
	case LANE_JOINED:
	case LANE_SENT:
	case LANE_SENT_PACK:
	case LANE_WRITTEN_PACK:
	case LANE_ENDED:
		return;
	}
}

void receiver_on_report(void *owner, struct lane_report *rep)
{
	if (rep->type == LANE_WRITTEN_PACK)
		packs_written(owner, rep);
	else
		on_running_report(owner, rep);
	lane_report_free(rep);
}

void receiver_failures(struct receiver *r, const struct msg_failed *m)
{
	for (size_t i = 0; i < m->failure_count && r->state == RECEIVER_RUNNING; i++) {
		struct recv_entry *e = index_map_get(&r->entries, m->failures[i].entry);

		if (e && receiver_put_off_failed(e, haul_status_from_number(m->failures[i].code)))
			continue;
		if (e && e->phase == RECV_OPENING)
			e->peer_code = haul_status_from_number(m->failures[i].code);
		if (e && (e->phase == RECV_ARRIVING || e->phase == RECV_RELEASING))
			receiver_entry_failed(e, haul_status_from_number(m->failures[i].code), false);
	}
}

void receiver_release_failed(struct recv_entry *e)
{
	release(e, AFTER_FAILURE);
}

void receiver_release_put_off(struct recv_entry *e)
{
	release(e, AFTER_PUT_OFF);
}
