/* The ends of an entry: released by the lanes, committed, failed, reported. */
#include "agent/receiver_parts.h"

#include "agent/placed_files.h"

#include <stdlib.h>
#include <string.h>

void receiver_close_slot(struct recv_entry *e)
{
	struct receiver *r = e->receiver;

	if (!e->counts_open)
		return;
	e->counts_open = false;
	r->open_files--;
	receiver_next_files(r);
}

void receiver_commit(struct recv_entry *e, enum commit_kind kind)
{
	struct receiver *r = e->receiver;

	e->commit = kind;
	e->phase = RECV_COMMITTING;
	r->in_threads++;
	commit_post(&r->commit, e);
	receiver_settle(e); /* only now: its directory's commit has to come behind it */
}

/* A failed entry whose grant is gone: what has arrived of it goes too. */
void receiver_drop_content(struct recv_entry *e)
{
	if (e->partial.name[0])
		receiver_commit(e, COMMIT_DISCARD);
	else
		receiver_result(e);
}

void receiver_entry_failed(struct recv_entry *e, haul_status st, bool here)
{
	struct receiver *r = e->receiver;

	if (haul_failed(e->code))
		return;
	e->code = st;
	e->failed_here = here;
	e->outcome = OUTCOME_FAILED;
	if (e->phase == RECV_RELEASING) {
		e->after = AFTER_FAILURE;
		return;
	}
	if (e->verdict == VERDICT_SMALL)
		r->small_due--;
	if (e->grant) {
		receiver_release_failed(e);
		return;
	}
	list_remove(&e->link); /* its grant was due and has not gone out */
	receiver_drop_content(e);
}

static void close_old(struct recv_entry *e)
{
	if (e->old.fd >= 0) {
		e->seen = e->old.facts; /* what has been compared */
		(void)disk_file_close(&e->old);
	}
	e->old.fd = -1;
}

/* Content again, or after all: another attempt, so that blocks of the old one are told apart. */
static void fetch_content(struct recv_entry *e)
{
	struct receiver *r = e->receiver;
	bool is_small = e->facts.size <= LANE_PACK_FILE_MAX;

	close_old(e);
	e->is_unlike = !e->equal_leaves;
	if (!e->may_replace && e->has_seen) {
		e->code = HAUL_NO_RIGHT;
		e->failed_here = true;
		e->outcome = OUTCOME_FAILED;
		receiver_result(e);
		return;
	}
	e->attempt++;
	e->has_root = false;
	hash_tree_free(e->tree);
	e->tree = NULL;
	e->verdict = is_small ? VERDICT_SMALL : VERDICT_BIG;
	e->commit = is_small ? COMMIT_SMALL : COMMIT_BIG;
	if (is_small) {
		receiver_close_slot(e);
		r->small_due++;
		e->phase = RECV_ARRIVING;
		list_push_back(&r->grants_due, &e->link);
		return;
	}
	e->phase = RECV_OPENING;
	r->in_threads++;
	store_open(&r->store, e);
}

static void after_compare(struct recv_entry *e)
{
	close_old(e);
	if (e->receiver->job->verb == JOB_COPY && !(e->receiver->job->flags & JOB_DRY_RUN) &&
	    e->outcome != OUTCOME_FAILED && e->changes & CHANGE_META && e->may_set_meta)
		receiver_commit(e, COMMIT_META);
	else
		receiver_result(e);
}

void receiver_released(struct recv_entry *e)
{
	switch (e->after) {
	case AFTER_COMMIT:
		receiver_commit(e, e->commit);
		return;
	case AFTER_FAILURE:
		close_old(e);
		receiver_drop_content(e);
		return;
	case AFTER_CONTENT:
		fetch_content(e);
		return;
	case AFTER_BYTES:
		e->attempt++;
		e->phase = RECV_ARRIVING;
		list_push_back(&e->receiver->grants_due, &e->link);
		return;
	case AFTER_RESULT:
		after_compare(e);
		return;
	case AFTER_KEPT:
		receiver_fetch_rest(e);
		return;
	case AFTER_PUT_OFF:
		receiver_rest(e);
		return;
	}
}

static bool was_received(const struct recv_entry *e)
{
	return e->is_committed && (e->commit == COMMIT_SMALL || e->commit == COMMIT_BIG);
}

void receiver_on_committed(struct recv_entry *e)
{
	struct receiver *r = e->receiver;

	r->in_threads--;
	if (e->is_put_off && r->state == RECEIVER_RUNNING) {
		receiver_has_rested(e);
		return;
	}
	if (haul_failed(e->code))
		e->outcome = OUTCOME_FAILED;
	else if (e->commit != COMMIT_META && e->commit != COMMIT_DISCARD)
		e->outcome = e->was_cloned ? OUTCOME_UNCHANGED : OUTCOME_PROVEN; /* nobody has read it */
	if (r->state != RECEIVER_RUNNING) {
		r->totals.files_sent += was_received(e) && e->facts.kind == ENTRY_FILE; /* there all the same */
		receiver_check_end(r);
		return;
	}
	receiver_result(e);
}

static haul_status settle(struct receiver *r, const struct recv_entry *e)
{
	bool was_sent = was_received(e);
	struct entry_record rec = { .kind = e->facts.kind,
				    .outcome = e->outcome,
				    .path = e->path,
				    .path_len = strlen(e->path),
				    .size = e->facts.size,
				    .link_target = e->link_target,
				    .link_target_len = e->link_target_len };

	if (e->outcome == OUTCOME_PROVEN && e->has_root)
		rec.root = e->root;
	return job_settle(&r->totals, r->digest, e->index, &rec, was_sent);
}

static void tell(struct receiver *r, const struct recv_entry *e)
{
	const struct job_entry je = { .path = e->path,
				      .kind = e->facts.kind,
				      .size = e->facts.size,
				      .outcome = e->outcome,
				      .code = e->code,
				      .failed_here = e->failed_here,
				      .changes = e->changes,
				      .lost = e->lost,
				      .states = e->states,
				      .has_offset = e->has_offset,
				      .offset = e->offset };
	struct entry_result result = { .entry = e->index,
				       .attempt = e->attempt,
				       .outcome = e->outcome,
				       .code = (uint32_t)e->code.code,
				       .changes = e->changes,
				       .offset = e->offset,
				       .root = e->root,
				       .lost = e->lost };

	if (e->is_committed)
		result.flags |= RESULT_COMMITTED;
	if (e->has_root && e->outcome == OUTCOME_PROVEN)
		result.flags |= RESULT_HAS_ROOT;
	if (e->has_offset)
		result.flags |= RESULT_HAS_OFFSET;
	out_result(r, &result, NULL);
	if (r->job->cb.on_entry)
		r->job->cb.on_entry(r->job->ctx, &je);
}

/* What they took of the credit, unless it came back at once. */
static void give_back_attributes(struct recv_entry *e)
{
	if (!e->attributes)
		return;
	e->receiver->attribute_bytes -= e->attributes->bytes;
	if (e->facts.kind != ENTRY_DIRECTORY)
		e->receiver->out.credit_bytes += e->attributes->bytes;
}

void receiver_await_contents(struct recv_entry *e, bool waits)
{
	if (e->waits_for_contents != waits)
		e->receiver->waiting_dirs += waits ? 1 : (size_t)-1;
	e->waits_for_contents = waits;
}

void receiver_result(struct recv_entry *e)
{
	struct receiver *r = e->receiver;
	haul_status st = settle(r, e);

	if (e->failed_here)
		receiver_mirror_doubt(r, e->code);

	if (haul_failed(st)) {
		receiver_fail(r, st, NULL);
		return;
	}
	e->phase = RECV_DONE;
	receiver_await_contents(e, false);
	r->totals.files_again += e->outcome == OUTCOME_PROVEN && e->states;
	receiver_settle(e);
	receiver_close_slot(e);
	receiver_note_landing(r, e);
	if (r->mirror && e->is_renamed && e->outcome != OUTCOME_FAILED)
		receiver_mirror_renamed(r, e->basis_path);
	if (r->placed && e->facts.kind == ENTRY_FILE && haul_ok(e->code) && e->outcome != OUTCOME_FAILED)
		placed_files_put(r->placed, e->path, e->facts.size, &e->facts.mtime);
	tell(r, e);
	r->out.credit_records++;
	give_back_attributes(e);
	(void)index_map_remove(&r->entries, e->index);
	if (e->node)
		e->node->entry = NULL;
	recv_entry_free(e);
}
