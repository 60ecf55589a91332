/*
 * A file that goes on where an earlier job stood: what is there is told (HAVE), the rest is wanted; and what arrives of
 * a kept partial is synced and recorded about once a second, so that the next job can go on from there.
 *
 *   opened, same source ────────────────────────────────────► tell HAVE ► want the rest
 *   opened, other source ► want digests ► compare all leaves ► tell HAVE ► want the rest (another attempt)
 *   opened, with a basis ► the same with the version that is there, whose equal leaves are written ► tell BASIS ► …
 *
 * After the last HAVE or BASIS the digests are let go; the receiver's own tree has them.
 */
#include "agent/receiver_parts.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	CHECKPOINT_LEAVES = 256, /* written since the last one: 256 MiB */
};

static const uint64_t checkpoint_ns = 1000000000;

/* ---- what is there ---- */

static void explain_kept(struct receiver *r, const struct recv_entry *e)
{
	char text[160];

	if (r->kept_told)
		return;
	r->kept_told = true;
	(void)snprintf(text, sizeof(text), "going on with a file: %llu of %llu MiB are there since an earlier run",
		       (unsigned long long)e->have.count, (unsigned long long)e->have.leaves);
	receiver_explain(r, text);
}

void receiver_go_on(struct recv_entry *e)
{
	struct receiver *r = e->receiver;
	uint64_t bytes = leaf_map_bytes(&e->have, e->facts.size);

	e->phase = RECV_ARRIVING;
	if (e->has_basis) {
		e->reused_bytes = bytes;
		r->totals.bytes_reused += bytes;
	} else {
		e->resumed_bytes = bytes;
		r->totals.bytes_resumed += bytes;
		explain_kept(r, e);
	}
	list_push_back(&r->haves_due, &e->link);
}

/* False: the link is full. */
static bool tell_have(struct recv_entry *e)
{
	uint64_t first, count;

	while (leaf_map_run(&e->have, true, e->told_to, &first, &count)) {
		for (uint64_t end = first + count; first < end; first = e->told_to) {
			struct message m = { .type = e->has_basis ? MSG_BASIS : MSG_HAVE };

			count = end - first < MESSAGE_DIGESTS_MAX ? end - first : MESSAGE_DIGESTS_MAX;
			m.digests = (struct msg_digests){ e->index, first, e->digests + first, (size_t)count };
			if (!out_say(e->receiver, &m))
				return false;
			e->told_to = first + count;
		}
	}
	return true;
}

/* Nothing may be missing: then only its name was. */
static void all_told(struct recv_entry *e)
{
	if (!hash_tree_is_full(e->tree)) {
		receiver_grant_soon(e);
		return;
	}
	recv_entry_drop_have(e);
	receiver_tree_is_full(e);
	receiver_commit(e, e->commit);
}

void receiver_tell_haves(struct receiver *r)
{
	while (r->state == RECEIVER_RUNNING && !list_is_empty(&r->haves_due)) {
		struct recv_entry *e = list_item(r->haves_due.next, struct recv_entry, link);

		if (!tell_have(e))
			return;
		list_remove(&e->link);
		all_told(e);
	}
}

static haul_status want_ranges(struct recv_entry *e, uint64_t *at)
{
	struct want w = { .entry = e->index, .attempt = e->attempt, .kind = WANT_RANGES };
	struct leaf_range *ranges = calloc(MESSAGE_RANGES_MAX, sizeof(*ranges));
	uint64_t first, count;

	if (!ranges)
		return HAUL_NO_MEMORY;
	while (w.range_count < MESSAGE_RANGES_MAX && leaf_map_run(&e->have, false, *at, &first, &count)) {
		ranges[w.range_count++] = (struct leaf_range){ first, count };
		*at = first + count;
	}
	w.ranges = ranges;
	if (w.range_count)
		out_want(e->receiver, &w);
	else
		free(ranges);
	return HAUL_OK;
}

haul_status receiver_want_rest(struct recv_entry *e)
{
	uint64_t at = 0, before;
	haul_status st;

	do {
		before = at;
		st = want_ranges(e, &at);
	} while (haul_ok(st) && at != before);
	recv_entry_drop_have(e);
	return st;
}

/* ---- of another source ---- */

void receiver_compared_kept(struct recv_entry *e, const struct lane_report *rep)
{
	for (uint32_t i = 0; e->compares_kept && i < rep->leaf_count; i++) {
		if (rep->bad_leaves & 1u << i)
			continue;
		leaf_map_set(&e->have, rep->first_leaf + i);
		e->digests[rep->first_leaf + i] = rep->digests[i];
	}
}

static haul_status note(struct recv_entry *e, uint64_t first, uint32_t count, const struct haul_digest *digests)
{
	struct leaf_piece *piece;

	e->noted_ever += count;
	if (e->noted_ever / 2 > leaf_count(e->facts.size))
		return HAUL_OK; /* over and over the same leaves: what is not noted is fetched again */
	if (e->note_count == e->note_cap) {
		size_t cap = e->note_cap ? e->note_cap * 2 : 16;
		struct leaf_piece *more = realloc(e->notes, cap * sizeof(*more));

		if (!more)
			return HAUL_NO_MEMORY;
		e->notes = more;
		e->note_cap = cap;
	}
	piece = &e->notes[e->note_count++];
	piece->first = first;
	piece->count = count;
	for (uint32_t i = 0; i < count; i++)
		piece->digests[i] = digests[i];
	e->noted_leaves += count;
	return HAUL_OK;
}

void receiver_fetch_rest(struct recv_entry *e)
{
	struct receiver *r = e->receiver;

	e->compares_kept = false;
	if (e->has_basis)
		receiver_basis_done(e);
	e->attempt++;
	hash_tree_free(e->tree);
	e->tree = NULL;
	e->phase = RECV_OPENING;
	r->in_threads++;
	store_open(&r->store, e);
}

/* ---- checkpoints ---- */

/* Main loop: the entry may have gone its way meanwhile. */
static void deliver_done(struct mail *m, void *ctx)
{
	struct checkpoint *c = list_item(m, struct checkpoint, mail);
	struct receiver *r = c->receiver;
	struct recv_entry *e = index_map_get(&r->entries, c->index);

	(void)ctx;
	if (e) {
		e->checkpoint_runs = false;
		for (size_t i = 0; haul_ok(c->status) && r->state == RECEIVER_RUNNING && i < c->count; i++) {
			const struct ack a = { c->index, c->attempt, ACK_DURABLE, c->pieces[i].first,
					       c->pieces[i].count };

			out_ack(r, &a);
		}
	}
	if (e && haul_failed(c->status) && e->phase == RECV_ARRIVING && r->state == RECEIVER_RUNNING)
		receiver_entry_failed(e, c->status, true);
	if (c->is_last)
		r->in_threads--;
	if (e && c->is_last && e->is_put_off && r->state == RECEIVER_RUNNING)
		receiver_has_rested(e);
	free(c->pieces);
	free(c);
	receiver_check_end(r);
}

static haul_status post_checkpoint(struct recv_entry *e, bool is_last)
{
	struct receiver *r = e->receiver;
	struct checkpoint *c = calloc(1, sizeof(*c));

	if (!c)
		return HAUL_NO_MEMORY;
	*c = (struct checkpoint){ .receiver = r,
				  .partial = &e->partial,
				  .index = e->index,
				  .attempt = e->attempt,
				  .is_last = is_last,
				  .pieces = e->notes,
				  .count = e->note_count,
				  .done = deliver_done };
	e->notes = NULL;
	e->note_count = e->note_cap = 0;
	e->noted_leaves = 0;
	e->checkpoint_ns = uv_hrtime();
	e->checkpoint_runs = true;
	commit_checkpoint(&r->commit, c);
	return HAUL_OK;
}

haul_status receiver_keep(struct recv_entry *e)
{
	return post_checkpoint(e, true);
}

/* What came again is recorded with whoever wrote it; and only what is never written twice is recorded at all. */
static bool is_recorded(const struct recv_entry *e, const struct lane_report *rep)
{
	return e->partial.is_kept && e->grant && e->grant->claims.words && !rep->again_leaves;
}

void receiver_written(struct recv_entry *e, const struct lane_report *rep)
{
	haul_status st;

	if (!is_recorded(e, rep) || e->phase != RECV_ARRIVING)
		return;
	st = note(e, rep->first_leaf, rep->leaf_count, rep->digests);
	if (haul_ok(st) && !e->checkpoint_runs &&
	    (e->noted_leaves >= CHECKPOINT_LEAVES || uv_hrtime() - e->checkpoint_ns >= checkpoint_ns))
		st = post_checkpoint(e, false);
	if (haul_failed(st))
		receiver_entry_failed(e, st, true);
}

void receiver_note_late(struct recv_entry *e, const struct lane_report *rep)
{
	/* Without memory it is fetched again. */
	if (is_recorded(e, rep) && e->verdict == VERDICT_BIG && !e->compares_kept && haul_ok(e->code))
		(void)haul_ok(note(e, rep->first_leaf, rep->leaf_count, rep->digests));
}

void receiver_keep_all(struct receiver *r)
{
	struct recv_entry *e;
	size_t at = 0;

	if (r->has_kept || !r->threads_run)
		return;
	r->has_kept = true;
	while ((e = index_map_next(&r->entries, &at))) {
		if (!e->partial.is_kept || !e->partial.name[0])
			continue;
		if (haul_failed(e->code) && !commit_keeps(e))
			receiver_commit(e, COMMIT_DISCARD); /* it failed, and would have been discarded next */
		else if (haul_ok(post_checkpoint(e, true)))
			r->in_threads++;
	}
}
