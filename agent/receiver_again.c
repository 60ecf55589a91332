/*
 * Files that the sender puts off because they changed, and tells anew later (sender_again.c has the other half).
 *
 *   wanted ──PUT_OFF──► the lanes let go, the partial is left ──► PUT_OFF (phase) ──CHANGED──► LOOKING, as if announced
 * now └──FAILED──► RESULT
 *
 * Until it is at rest the entry remembers what comes meanwhile. What had arrived is kept where partials are, and
 * compared like that of an earlier job, so that a file which only grew sends what is new. A peer that puts off what was
 * never wanted, or tells a file anew more than MESSAGE_STATES_MAX times, ends the job.
 */
#include "agent/receiver_parts.h"

#include <stdlib.h>
#include <string.h>

/* The lanes have let go, no thread has it: begin anew, fail, or wait for one of the two. */
static void rest(struct recv_entry *e);

static void forget_attempt(struct recv_entry *e)
{
	struct receiver *r = e->receiver;

	hash_tree_free(e->tree);
	e->tree = NULL;
	store_give_back(e);
	store_leave_quota(e);
	recv_entry_drop_have(e);
	e->compares_kept = e->has_basis = e->is_unlike = e->is_renamed = false;
	e->samples_left = 0;
	e->equal_leaves = 0;
	free(e->notes);
	e->notes = NULL;
	e->note_count = e->note_cap = 0;
	e->noted_leaves = e->noted_ever = 0;
	r->totals.bytes_again += e->moved_bytes;
	r->totals.bytes_resumed -= e->resumed_bytes;
	r->totals.bytes_reused -= e->reused_bytes;
	e->moved_bytes = e->resumed_bytes = e->reused_bytes = 0;
	e->has_root = e->has_offset = e->has_seen = e->may_replace = e->may_set_meta = false;
	e->first_bad = UINT64_MAX;
	e->repairs = 0;
	e->changes = 0;
	e->outcome = OUTCOME_PROVEN;
}

void receiver_set_sparse(struct recv_entry *e, uint32_t entry_flags)
{
	e->is_sparse = entry_flags & ENTRY_SPARSE || e->receiver->job->flags & JOB_SPARSE;
}

static void set_state(struct recv_entry *e)
{
	const struct changed_entry *c = &e->next;
	struct receiver *r = e->receiver;

	r->totals.bytes = r->totals.bytes - e->facts.size + c->size;
	e->facts.size = c->size;
	e->facts.mtime = c->mtime;
	e->facts.mode = c->mode;
	receiver_set_sparse(e, c->flags);
	memset(e->source_id, 0, sizeof(e->source_id));
	if (c->flags & ENTRY_HAS_SOURCE_ID)
		memcpy(e->source_id, c->source_id, sizeof(e->source_id));
	e->attempt = c->attempt;
	e->is_put_off = e->has_next = false;
}

static void begin_anew(struct recv_entry *e)
{
	struct receiver *r = e->receiver;

	set_state(e);
	e->phase = RECV_LOOKING;
	r->in_threads++;
	store_look(&r->store, e);
}

static void rest(struct recv_entry *e)
{
	e->phase = RECV_PUT_OFF;
	forget_attempt(e);
	receiver_close_slot(e);
	if (haul_ok(e->code) && haul_failed(e->peer_code)) {
		e->code = e->peer_code;
		e->failed_here = false;
	}
	if (haul_failed(e->code)) {
		e->outcome = OUTCOME_FAILED;
		receiver_result(e);
	} else if (e->has_next) {
		begin_anew(e);
	}
}

void receiver_rest(struct recv_entry *e)
{
	struct receiver *r = e->receiver;

	if (e->old.fd >= 0)
		(void)disk_file_close(&e->old);
	e->old.fd = -1;
	if (!e->partial.name[0]) {
		rest(e);
		return;
	}
	/* Not receiver_commit(): its directory goes on waiting for it. */
	e->commit = COMMIT_DISCARD;
	e->phase = RECV_COMMITTING;
	r->in_threads++;
	if (!e->partial.is_kept)
		commit_post(&r->commit, e);
	else if (haul_failed(receiver_keep(e))) {
		r->in_threads--;
		receiver_fail(r, HAUL_NO_MEMORY, NULL);
	}
}

void receiver_has_rested(struct recv_entry *e)
{
	rest(e);
}

/* What is to come of a grant that is being released is not decided by the file's content any more. */
static bool is_ending(const struct recv_entry *e)
{
	bool is_released_to_end = e->phase == RECV_RELEASING &&
				  (e->after == AFTER_COMMIT || e->after == AFTER_FAILURE || e->after == AFTER_RESULT);

	return haul_failed(e->code) || e->phase == RECV_COMMITTING || is_released_to_end;
}

static haul_status put_off(struct recv_entry *e)
{
	if (e->is_put_off || e->facts.kind != ENTRY_FILE || e->receiver->job->verb == JOB_PROBE)
		return HAUL_BAD_MOVE;
	if (is_ending(e))
		return HAUL_OK; /* crossed with its RESULT */
	if (e->phase != RECV_OPENING && e->phase != RECV_ARRIVING && e->phase != RECV_RELEASING)
		return HAUL_BAD_MOVE;
	e->is_put_off = true;
	if (e->phase == RECV_RELEASING) {
		e->after = AFTER_PUT_OFF;
	} else if (e->phase == RECV_ARRIVING) {
		if (e->verdict == VERDICT_SMALL)
			e->receiver->small_due--;
		if (e->grant) {
			receiver_release_put_off(e);
		} else {
			list_remove(&e->link); /* its grant was due, or what is there of it was to be told */
			receiver_rest(e);
		}
	}
	return HAUL_OK;
}

void receiver_put_off(struct receiver *r, const struct msg_put_off *m)
{
	struct haul_fault fault = { 0 };

	for (size_t i = 0; i < m->entry_count && r->state == RECEIVER_RUNNING; i++) {
		struct recv_entry *e = index_map_get(&r->entries, m->entries[i]);
		haul_status st = e ? put_off(e) : HAUL_OK; /* crossed with its RESULT */

		if (haul_failed(st))
			receiver_fail(r, haul_fault_set(&fault, st, "the peer puts off what was not wanted"), &fault);
	}
}

static haul_status changed(struct recv_entry *e, const struct changed_entry *c)
{
	if (!e->is_put_off)
		return is_ending(e) ? HAUL_OK : HAUL_BAD_MOVE;
	if (e->has_next || haul_failed(e->peer_code) || e->states == MESSAGE_STATES_MAX || c->attempt <= e->attempt)
		return HAUL_BAD_MOVE;
	e->states++;
	e->has_next = true;
	e->next = *c;
	if (e->phase == RECV_PUT_OFF)
		begin_anew(e);
	return HAUL_OK;
}

void receiver_changed(struct receiver *r, const struct msg_changed *m)
{
	struct haul_fault fault = { 0 };

	for (size_t i = 0; i < m->entry_count && r->state == RECEIVER_RUNNING; i++) {
		struct recv_entry *e = index_map_get(&r->entries, m->entries[i].entry);
		haul_status st = e ? changed(e, &m->entries[i]) : HAUL_OK;

		if (haul_failed(st))
			receiver_fail(r, haul_fault_set(&fault, st, "the peer tells a file anew that it may not"),
				      &fault);
	}
}

bool receiver_put_off_failed(struct recv_entry *e, haul_status st)
{
	if (!e->is_put_off)
		return false;
	if (haul_ok(e->peer_code))
		e->peer_code = st;
	if (e->phase == RECV_PUT_OFF)
		rest(e);
	return true;
}
