/*
 * The life of a receiving job.
 *
 * Happy path: receiver_begin() grants credit; manifests come; entries go through store, lanes and commit to their
 * results; when the manifest has ended and no entry is left, the lanes finish; JOB_END both ways, equal roots, DONE
 * both ways. Any fault: lanes stop, the threads run empty, partials are kept or dropped with the place, then on_end.
 */
#include "agent/receiver_parts.h"

#include "agent/placed_files.h"
#include "agent/thread_cpu.h"
#include "engine/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void deliver_farewell(struct mail *m, void *ctx)
{
	struct receiver *r = list_item(m, struct receiver, farewell);

	(void)ctx;
	r->state = RECEIVER_ENDED;
	r->job->cb.on_end(r->job->ctx, r->why, &r->fault);
}

static void on_out_closed(uv_handle_t *handle)
{
	struct receiver *r = handle->data;

	r->farewell.deliver = deliver_farewell;
	mail_post(r->job->mailbox, &r->farewell);
}

static void stop_threads(struct receiver *r)
{
	if (!r->threads_run)
		return;
	r->threads_run = false;
	store_stop(&r->store);
	commit_stop(&r->commit);
}

/* Nothing of ours is with a lane or a thread any more. */
static void maybe_farewell(struct receiver *r)
{
	if (r->state != RECEIVER_STOPPING || r->in_threads || r->dir_ends || r->mirror_runs ||
	    r->lanes.ended != r->lanes.started || r->out_closed)
		return;
	receiver_keep_all(r);
	if (r->in_threads)
		return;
	stop_threads(r);
	r->out_closed = true;
	receiver_out_close(r, on_out_closed);
}

void receiver_fail(struct receiver *r, haul_status st, const struct haul_fault *fault)
{
	if (r->state == RECEIVER_STOPPING || r->state == RECEIVER_ENDED)
		return;
	r->why = st;
	if (fault)
		r->fault = *fault;
	r->state = RECEIVER_STOPPING;
	lane_set_stop(&r->lanes);
	if (r->mirror)
		mirror_stop(r->mirror);
	if (r->threads_run)
		commit_flush(&r->commit);
	maybe_farewell(r);
}

void receiver_stop(struct receiver *r, haul_status why, const struct haul_fault *fault)
{
	receiver_fail(r, why, fault);
}

static void on_lanes_joined(void *owner)
{
	struct receiver *r = owner;

	r->lanes_ready = true;
	receiver_check_end(r); /* with nothing to receive, this may be the last thing that was missing */
}

static void deliver_save(struct mail *m, void *ctx)
{
	struct receiver *r = list_item(m, struct receiver, save);

	(void)ctx;
	placed_files_save(r->placed);
}

/* The end waits for it only when the threads stop. */
static void note_placed(struct receiver *r)
{
	if (!r->placed || r->job->flags & JOB_DRY_RUN)
		return;
	r->save.deliver = deliver_save;
	worker_post(&r->store.worker, &r->save);
}

static void send_job_end(struct receiver *r)
{
	struct message m = { .type = MSG_JOB_END };
	struct haul_fault fault = { 0 };
	haul_status st = job_digest_root(r->digest, r->totals.entries, &r->totals.root);

	r->totals.is_durable = !(r->job->flags & JOB_NO_SYNC);
	store_room_lacks(&r->store, &r->totals.lack);
	if (haul_ok(st)) {
		r->totals.has_root = true;
		m.job_end = (struct msg_job_end){ .entries = r->totals.entries,
						  .files = r->totals.files,
						  .bytes = r->totals.bytes,
						  .proven = r->totals.proven,
						  .unchanged = r->totals.unchanged,
						  .failed = r->totals.failed,
						  .root = r->totals.root,
						  .is_durable = r->totals.is_durable,
						  .times = job_times_say(&r->totals.own, r->totals.cpu_ms),
						  .lack = r->totals.lack,
						  .delete_refusal = r->totals.mirror.refusal,
						  .surplus = r->totals.mirror.surplus,
						  .there = r->totals.mirror.there,
						  .deleted = r->totals.mirror.deleted,
						  .deleted_files = r->totals.mirror.deleted_files };
		st = control_link_send(r->job->link, &m, &fault);
	}
	if (haul_failed(st)) {
		receiver_fail(r, st, &fault);
		return;
	}
	r->own_end_sent = true;
	note_placed(r);
	receiver_check_end(r);
}

static void on_lanes_ended(void *owner)
{
	struct receiver *r = owner;

	r->totals.own = r->lanes.times;
	r->totals.own.sync = commit_sync_ns(&r->commit);
	r->totals.cpu_ms = process_cpu_ms() - r->cpu_at_start_ms;
	if (r->state == RECEIVER_STOPPING) {
		maybe_farewell(r);
		return;
	}
	r->state = RECEIVER_AGREEING;
	send_job_end(r);
}

static void on_lane_failed(void *owner, haul_status st, const struct haul_fault *fault)
{
	receiver_fail(owner, st, fault);
}

static void agree(struct receiver *r)
{
	struct message done = { .type = MSG_DONE };
	struct haul_fault fault = { 0 };
	haul_status st;

	if (!digest_equal(&r->peer_end.root, &r->totals.root) || r->peer_end.entries != r->totals.entries) {
		st = haul_fault_set(&fault, HAUL_ROOT_MISMATCH, "the two ends do not agree on what was transferred");
		receiver_fail(r, st, &fault);
		return;
	}
	r->totals.peer = job_times_heard(&r->peer_end.times);
	r->totals.peer_cpu_ms = r->peer_end.times.process_cpu_ms;
	r->has_agreed = r->totals.has_agreed = true;
	if (receiver_is_move(r))
		return; /* the sender's DONE comes first, when it has deleted */
	st = control_link_send(r->job->link, &done, &fault);
	if (haul_failed(st))
		receiver_fail(r, st, &fault);
	else
		r->done_sent = true;
}

/* Whatever is left waits for the deletions of a sync, or for what does. */
static bool is_quiet(const struct receiver *r)
{
	return r->entries.count == r->held_count + (r->held_count ? r->waiting_dirs : 0);
}

void receiver_check_end(struct receiver *r)
{
	if (r->state == RECEIVER_STOPPING)
		maybe_farewell(r);
	if (r->state == RECEIVER_RUNNING && r->manifest_ended && is_quiet(r) && !r->dir_ends && r->lanes_ready &&
	    !receiver_mirror_holds(r) && !r->entries.count && receiver_out_is_empty(r)) {
		r->state = RECEIVER_CLOSING;
		r->closing_ns = uv_hrtime();
		lane_set_finish(&r->lanes);
	}
	if (r->state == RECEIVER_AGREEING && r->own_end_sent && r->peer_end_seen && !r->has_agreed)
		agree(r);
}

static void on_done(struct receiver *r)
{
	struct message done = { .type = MSG_DONE };
	struct haul_fault fault = { 0 };
	haul_status st = r->has_agreed ? HAUL_OK : HAUL_BAD_MOVE;

	if (haul_ok(st) && !r->done_sent)
		st = control_link_send(r->job->link, &done, &fault);
	if (haul_failed(st)) {
		receiver_fail(r, st, &fault);
		return;
	}
	r->done_sent = true;
	control_link_finish(r->job->link);
	r->state = RECEIVER_STOPPING;
	maybe_farewell(r);
}

static void on_left(struct receiver *r, const struct msg_left *m)
{
	r->totals.left_entries = m->entries;
	r->totals.left_files = m->files;
	memcpy(r->totals.rules_matched, m->matched.at, m->matched.len);
}

static void on_owners(struct receiver *r, const struct msg_owners *m)
{
	haul_status st = store_take_owners(&r->store, m);

	if (haul_failed(st))
		receiver_fail(r, st, NULL);
}

void receiver_message(struct receiver *r, const struct message *m)
{
	if (r->state == RECEIVER_STOPPING || r->state == RECEIVER_ENDED)
		return;
	switch (m->type) {
	case MSG_MANIFEST:
		receiver_manifest(r, &m->manifest);
		break;
	case MSG_MANIFEST_END:
		r->manifest_ended = true;
		r->totals.scan_is_complete = true;
		break;
	case MSG_FAILED:
		receiver_failures(r, &m->failed);
		break;
	case MSG_PUT_OFF:
		receiver_put_off(r, &m->put_off);
		break;
	case MSG_CHANGED:
		receiver_changed(r, &m->changed);
		break;
	case MSG_OWNERS:
		on_owners(r, &m->owners);
		break;
	case MSG_LEFT:
		on_left(r, &m->left);
		break;
	case MSG_LANE_LOST:
		receiver_peer_lost_lane(r, &m->lane_lost);
		break;
	case MSG_ALIVE:
		break;
	case MSG_JOB_END:
		r->peer_end = m->job_end;
		r->peer_end_seen = true;
		receiver_check_end(r);
		break;
	case MSG_DONE:
		on_done(r);
		break;
	case MSG_LOOK:
		receiver_look(r, &m->look);
		break;
	case MSG_MOVED:
		receiver_moved(r, &m->moved);
		break;
	default:
		receiver_fail(r, HAUL_UNSUPPORTED, NULL);
		break;
	}
}

void receiver_writable(struct receiver *r)
{
	if (r->state == RECEIVER_RUNNING)
		receiver_flush(r);
	else
		receiver_look_writable(r);
}

void receiver_begin(struct receiver *r)
{
	struct message m = { .type = MSG_CREDIT, .credit = { JOB_WINDOW_RECORDS, JOB_WINDOW_BYTES } };
	struct haul_fault fault = { 0 };
	haul_status st = control_link_send(r->job->link, &m, &fault);

	if (haul_failed(st))
		receiver_fail(r, st, &fault);
}

void receiver_set_rights(struct receiver *r, uint64_t rights)
{
	atomic_store(&r->store.rights, rights);
}

void receiver_explain(void *owner, const char *text)
{
	struct receiver *r = owner;

	if (r->job->cb.on_explain)
		r->job->cb.on_explain(r->job->ctx, text);
}

static void set_up_lanes(struct receiver *r)
{
	r->lanes.job = r->job->lane;
	r->lanes.job.role = LANE_RECEIVES;
	r->lanes.job.main = r->job->mailbox;
	r->lanes.job.trace_job = job_trace(r->job, false);
	r->lanes.count = r->job->lanes;
	r->lanes.most = r->job->lanes_most;
	r->lanes.owner = r;
	r->lanes.on_report = receiver_on_report;
	r->lanes.on_joined = on_lanes_joined;
	r->lanes.on_ended = on_lanes_ended;
	r->lanes.on_failed = on_lane_failed;
	r->lanes.on_started = receiver_on_lane_started;
	r->lanes.on_lost = receiver_on_lane_lost;
	r->lanes.on_say_lost = receiver_on_say_lost;
	r->lanes.on_vacant = receiver_on_lane_vacant;
	r->lanes.renews = r->job->renews_lanes;
	r->lanes.on_explain = receiver_explain;
	lane_set_open(&r->lanes);
}

static haul_status open_root(struct receiver *r)
{
	r->above = dir_node_new(NULL, HAUL_NO_INDEX, "");
	r->root = dir_node_new(NULL, HAUL_NO_INDEX, "");
	r->open_dirs = calloc(16, sizeof(struct dir_node *));
	r->open_cap = 16;
	if (!r->above || !r->root || !r->open_dirs)
		return HAUL_NO_MEMORY;
	r->above->is_missing = r->root->is_missing = !r->place;
	r->root->refs++; /* the stack's */
	r->open_dirs[r->open_count++] = r->root;
	return HAUL_OK;
}

static haul_status start_threads(struct receiver *r, struct haul_fault *fault)
{
	struct store_config store = { .place = r->place,
				      .root_fd = r->cfg.root_fd,
				      .verb = r->job->verb,
				      .flags = r->job->flags,
				      .time_window_ns = r->job->modify_window_ns,
				      .direct = r->job->direct,
				      .may_clone = r->cfg.may_clone,
				      .has_far_source = !r->cfg.origin_of,
				      .placed = r->placed,
				      .private_fd = r->cfg.private_fd,
				      .quota = r->cfg.quota,
				      .has_owner = owner_is_set(&r->cfg.owner),
				      .umask = r->cfg.umask == UINT32_MAX ? 0 : r->cfg.umask,
				      .drops = r->job->verb == JOB_PROBE && !r->job->probe.is_to_disk,
				      .mirror = r->mirror,
				      .mirrors_root = r->cfg.mirror.covers_root,
				      .root_rule = r->cfg.root_rule,
				      .choice_flags = r->job->choice_flags,
				      .main = r->job->mailbox };
	struct commit_config commit = { .place = r->place,
					.no_sync = r->job->flags & JOB_NO_SYNC,
					.is_move = receiver_is_move(r),
					.rights = &r->store.rights,
					.quota = r->cfg.quota,
					.main = r->job->mailbox,
					.on_committed = receiver_on_committed };
	haul_status st;

	if (r->place && place_time_step_ns(r->place) > store.time_window_ns)
		store.time_window_ns = place_time_step_ns(r->place);
	r->store.on_looked = receiver_on_looked;
	r->store.on_opened = receiver_on_opened;
	r->store.on_dir_end = receiver_on_dir_end;
	if (r->job->choice && (r->job->verb == JOB_VERIFY || r->mirror)) {
		st = choice_new(r->job->choice, &r->store_choice, fault);
		if (haul_failed(st))
			return st;
		store.choice = r->store_choice;
	}
	st = store_start(&r->store, &store, r->cfg.rights, fault);
	if (haul_failed(st))
		return st;
	commit.track = trace_track_new(r->lanes.job.trace, r->lanes.job.trace_job, false, TRACE_NO_LANE);
	st = commit_start(&r->commit, &commit, fault);
	if (haul_failed(st)) {
		trace_track_close(commit.track);
		store_stop(&r->store);
	}
	r->threads_run = haul_ok(st);
	return st;
}

/* What this job leaves unfinished is kept for the next. */
static bool keeps(const struct receiver *r)
{
	return r->cfg.peer_id && r->job->verb == JOB_COPY && !(r->job->flags & (JOB_DRY_RUN | JOB_NO_SYNC));
}

static haul_status open_all(struct receiver *r, struct haul_fault *fault)
{
	bool is_writing = r->job->verb == JOB_PROBE ? r->job->probe.is_to_disk
						    : r->job->verb == JOB_COPY && !(r->job->flags & JOB_DRY_RUN);
	haul_status st = HAUL_OK;

	if (r->cfg.root_fd >= 0)
		st = place_open_keeping(r->cfg.root_fd, is_writing ? r->cfg.private_fd : -1,
					r->cfg.keep_days ? r->cfg.keep_days : PLACE_KEEP_DAYS, &r->place, fault);
	if (haul_ok(st) && r->place)
		place_set_owner(r->place, &r->cfg.owner);
	if (haul_ok(st) && r->place && keeps(r)) {
		place_name_root(r->place, r->cfg.root_name);
		place_keep(r->place, r->cfg.peer_id);
	}
	if (haul_ok(st) && r->place && r->cfg.peer_id && r->job->verb == JOB_COPY && r->job->flags & JOB_DRY_RUN)
		place_look_kept(r->place, r->cfg.private_fd, r->cfg.peer_id);
	if (haul_ok(st) && r->job->choice && r->job->choice->has_paths && r->job->lane.is_client)
		st = choice_new(r->job->choice, &r->choice, fault);
	if (haul_ok(st))
		st = open_root(r);
	if (haul_ok(st))
		st = job_digest_new(r->job->scratch_dir, &r->digest, fault);
	if (haul_ok(st))
		st = receiver_mirror_open(r, fault);
	if (haul_ok(st))
		st = receiver_look_open(r, fault);
	if (haul_ok(st) && r->cfg.peer_id && r->job->verb == JOB_COPY && r->place && !r->cfg.origin_of)
		r->placed = placed_files_new(r->job->scratch_dir, r->cfg.peer_id, r->cfg.root_fd);
	if (haul_ok(st))
		st = start_threads(r, fault);
	if (haul_ok(st))
		st = receiver_out_open(r);
	return st;
}

haul_status receiver_new(const struct receiver_config *cfg, struct receiver **ret_receiver, struct haul_fault *fault)
{
	struct receiver *r = calloc(1, sizeof(*r));
	haul_status st;

	if (!r)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for a job");
	r->cfg = *cfg;
	r->job = &r->cfg.job;
	r->cpu_at_start_ms = process_cpu_ms();
	list_init(&r->waiting);
	list_init(&r->held);
	list_init(&r->grants_due);
	list_init(&r->haves_due);
	set_up_lanes(r);
	st = open_all(r, fault);
	if (haul_failed(st)) {
		stop_threads(r);
		receiver_free(r);
		return st;
	}
	*ret_receiver = r;
	return HAUL_OK;
}

/* A directory that was opened up for a job that did not come to its end. */
static void put_back_mode(struct receiver *r, const struct recv_entry *e)
{
	struct entry_facts old = { .mtime.nsec = PARTIAL_KEEP_TIME };
	struct place_meta meta = { .facts = &old };

	if (!e->node || !e->node->was_opened_up)
		return;
	old.mode = e->node->old_mode;
	if (haul_failed(place_finish_directory(r->place, e->path, &meta, false)))
		haul_log(HAUL_LOG_WARNING, "a directory keeps the write permission it was given for a job");
}

void receiver_free(struct receiver *r)
{
	struct recv_entry *e;

	if (!r)
		return;
	while ((e = index_map_remove_any(&r->entries))) {
		put_back_mode(r, e);
		partial_keep(&e->partial);
		recv_entry_free(e);
	}
	while (r->open_count)
		dir_node_drop(r->open_dirs[--r->open_count]);
	dir_node_drop(r->root);
	dir_node_drop(r->above);
	free(r->open_dirs);
	index_map_close(&r->entries);
	mirror_free(r->mirror);
	receiver_out_free(r);
	job_digest_free(r->digest);
	receiver_look_free(r);
	free(r->renamed);
	placed_files_free(r->placed);
	place_close(r->place);
	choice_free(r->choice);
	choice_free(r->store_choice);
	free(r);
}

const char *receiver_next_missing(const struct receiver *r, size_t *at)
{
	return r->choice ? choice_next_missing(r->choice, at) : NULL;
}

struct lane_set *receiver_lanes(struct receiver *r)
{
	return &r->lanes;
}

const struct job_totals *receiver_totals(const struct receiver *r)
{
	return &r->totals;
}

const char *receiver_describe(const struct receiver *r, char *ret_text, size_t cap)
{
	static const char *const names[] = { "running", "closing", "agreeing", "stopping", "ended" };

	(void)snprintf(ret_text, cap, "receiver %s: %zu entries without result, %u files open, %u with threads",
		       names[r->state], r->entries.count, r->open_files, r->in_threads);
	return ret_text;
}
