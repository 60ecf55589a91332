/*
 * A session's job: checked against the rights, opened by a worker, admitted when its blocks fit into the budget, run as
 * a sender (pull) or a receiver (push), and reported.
 */
#include "agent/server_parts.h"

#include "agent/quota.h"
#include "certs/rights.h"
#include "engine/attribute_read.h"
#include "engine/beneath.h"
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	JOBS_PER_DEVICE = 8, /* that run: with LANES_MAX threads and JOB_OPEN_FILES big files each at most */
	WATCH_MS = 1000,
	PROBE_MS = 60 * 1000,
	SILENCE_MS = 10 * 60 * 1000, /* far beyond a client's own patience; a slow sync is not cut */
};

static void session_stop_job_for(struct server_session *s, const struct haul_fault *fault);
static void start_opening(struct server_session *s);

static void free_source(struct scan_source *s, int share_fd)
{
	if (s->root_fd >= 0 && s->root_fd != share_fd)
		(void)close(s->root_fd);
	free((void *)(uintptr_t)s->path);
	free((void *)(uintptr_t)s->landing);
}

void session_job_free(struct session_job *j)
{
	if (!j)
		return;
	sender_free(j->sender);
	receiver_free(j->receiver);
	for (size_t i = 0; i < j->source_count; i++)
		free_source(&j->sources[i], j->share_fd);
	for (size_t i = 0; j->source_specs && i < j->m.source_count; i++) {
		free((void *)(uintptr_t)j->source_specs[i].path.at);
		free((void *)(uintptr_t)j->source_specs[i].landing.at);
	}
	free(j->sources);
	free(j->source_specs);
	if (j->root_fd >= 0)
		(void)close(j->root_fd);
	if (j->share_fd >= 0)
		(void)close(j->share_fd);
	if (j->probe_fd >= 0)
		(void)close(j->probe_fd);
	free(j->share);
	free(j->root);
	free(j->found.name);
	free(j->found.path);
	choice_spec_close(&j->choice);
	free(j);
}

static bool copy_text(struct text *t)
{
	char *copy = strndup(t->len ? t->at : "", t->len);

	t->at = copy;
	return copy != NULL;
}

static bool copy_sources(struct session_job *j)
{
	const struct job_source *from = j->m.sources;

	j->source_specs = calloc(j->m.source_count ? j->m.source_count : 1, sizeof(*j->source_specs));
	j->sources = calloc(j->m.source_count ? j->m.source_count : 1, sizeof(*j->sources));
	if (!j->source_specs || !j->sources)
		return false;
	for (size_t i = 0; i < j->m.source_count; i++) {
		struct job_source *to = &j->source_specs[i];
		bool has_path, has_landing;

		*to = from[i];
		has_path = copy_text(&to->path); /* both in any case: neither is borrowed when it is freed */
		has_landing = copy_text(&to->landing);
		if (!has_path || !has_landing)
			return false;
	}
	j->m.sources = j->source_specs;
	return true;
}

static struct session_job *job_new(const struct msg_job *m, const struct share *share, uint64_t rights)
{
	struct session_job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->m = *m;
	j->rights = rights;
	j->share_fd = j->root_fd = j->probe_fd = -1;
	j->found = *share;
	j->found.name = strdup(share->name);
	j->found.path = strdup(share->path);
	j->share = strndup(m->share.at, m->share.len);
	j->root = strndup(m->root.len ? m->root.at : "", m->root.len);
	if (!copy_sources(j) || !j->found.name || !j->found.path || !j->share || !j->root) {
		session_job_free(j);
		return NULL;
	}
	j->m.share = (struct text){ j->share, m->share.len };
	j->m.root = (struct text){ j->root, m->root.len };
	return j;
}

/* What the job cannot do without; single files may still need more (overwrite). */
static uint64_t rights_needed(const struct msg_job *m)
{
	if (m->verb == JOB_PROBE && !(m->flags & JOB_TO_DISK))
		return 0; /* any right on the share: nothing of it is touched */
	if (m->direction == JOB_PULL && m->flags & JOB_MOVE)
		return RIGHT_LIST | RIGHT_READ | RIGHT_DELETE;
	if (m->direction == JOB_PULL || m->verb == JOB_VERIFY)
		return RIGHT_LIST | RIGHT_READ;
	return RIGHT_CREATE | (m->delete_rule ? RIGHT_LIST | RIGHT_DELETE : 0);
}

/* Those that the job makes use of. */
static uint64_t rights_used(const struct msg_job *m, uint64_t rights)
{
	return m->flags & JOB_NO_REPLACE ? rights & ~RIGHT_OVERWRITE : rights;
}

/* The one to name: reading before listing, because that is what was asked for. */
static uint64_t first_missing(uint64_t missing)
{
	return missing & RIGHT_READ ? RIGHT_READ : missing & (~missing + 1);
}

/* ---- running ---- */

static void on_job_end(void *ctx, haul_status st, const struct haul_fault *fault)
{
	session_job_ended(ctx, st, fault);
}

static void on_explain(void *ctx, const char *text)
{
	session_note(ctx, text);
}

static void job_config(struct server_session *s, struct job_config *cfg)
{
	struct session_job *j = s->job;

	*cfg = (struct job_config){
		.loop = s->server->loop,
		.mailbox = &s->mailbox,
		.link = s->control,
		.verb = j->m.verb,
		.flags = j->m.flags,
		.modify_window_ns = j->m.modify_window_ns,
		.attribute_kinds = j->m.flags & JOB_NO_ATTRIBUTES ? 0 : attribute_kinds_of_process(),
		.choice = choice_spec_is_empty(&j->choice) ? NULL : &j->choice,
		.choice_flags = j->choice_flags,
		.lanes = j->policy.lanes,
		.lanes_most = j->policy.lanes + j->policy.more_lanes,
		.lane = { .block_bytes = j->policy.block_bytes,
			  .backend = engine_backend_of(s->server->backend),
			  .budget = &s->server->budget,
			  .trace = s->server->trace,
			  .records_max = LANE_RECORDS_MAX,
			  .connect_timeout_ms = 10000 },
		.scratch_dir = s->server->home->state_dir,
		.probe = { .bytes = j->m.probe_bytes, .fd = j->probe_fd, .is_to_disk = j->m.flags & JOB_TO_DISK },
		.cb = { .on_end = on_job_end, .on_explain = j->m.flags & JOB_NOTES ? on_explain : NULL },
		.ctx = s,
	};
	job_follow_policy(cfg, &j->policy, j->m.direction == JOB_PULL);
	memcpy(cfg->lane.session_id, j->session_id, sizeof(j->session_id));
}

/* A share's top is its owner's. */
static enum root_rule root_rule(const struct session_job *j)
{
	if (!j->m.root.len)
		return ROOT_AS_IT_IS;
	if (!j->root_existed)
		return ROOT_IS_NEW;
	return ROOT_FOLLOWS;
}

static haul_status make_end(struct server_session *s, struct haul_fault *fault)
{
	struct session_job *j = s->job;
	struct receiver_config cfg = { .root_fd = j->root_fd,
				       .private_fd = j->share_fd,
				       .rights = j->rights,
				       .peer_id = s->device_id,
				       .root_name = j->root,
				       .keep_days = j->found.keep_days,
				       .quota = j->quota,
				       .owner = { j->found.own_uid, j->found.own_gid },
				       .umask = j->found.umask,
				       .root_rule = root_rule(j),
				       .mirror = { .asked = { j->m.delete_rule, j->m.delete_most },
						   .home = s->server->home,
						   .covers_root = j->m.deletes_at_root } };

	job_config(s, &cfg.job);
	if (j->m.direction == JOB_PULL)
		return sender_new(&cfg.job, j->sources, j->source_count, &j->sender, fault);
	return receiver_new(&cfg, &j->receiver, fault);
}

/* Whether this device has as many jobs running as one may; the next waits like one that finds no memory. */
static bool has_its_share(const struct server_session *s)
{
	unsigned running = 0;

	list_each (pos, &s->server->sessions) {
		const struct server_session *other = list_item(pos, struct server_session, link);

		running +=
		    other->state == SESSION_RUNNING && !memcmp(other->device_id, s->device_id, sizeof(s->device_id));
	}
	return running >= JOBS_PER_DEVICE;
}

struct lane_set *session_job_lanes(const struct session_job *j)
{
	return j->sender ? sender_lanes(j->sender) : receiver_lanes(j->receiver);
}

static bool has_queue(const struct server *server)
{
	list_each (pos, &server->sessions) {
		if (list_item(pos, struct server_session, link)->state == SESSION_QUEUED)
			return true;
	}
	return false;
}

/* A lane that joins later brings its need with it; who waits for memory to begin at all goes first. */
static bool reserve_lane(struct server_session *owner, unsigned number)
{
	struct session_job *j = owner->job;
	struct server *server = owner->server;
	uint64_t need = block_cost(j->policy.block_bytes) * j->policy.blocks_per_lane;

	if (number >= j->policy.lanes + j->policy.more_lanes || j->lanes_paid & 1u << number)
		return true;
	if (has_queue(server) || need > server->budget_bytes - server->reserved_bytes)
		return false;
	server->reserved_bytes += need;
	j->reserved_bytes += need;
	j->lanes_paid |= 1u << number;
	return true;
}

bool session_claim_lane(struct server_session *owner, const struct msg_lane_hello *m, struct haul_fault *fault)
{
	if (!reserve_lane(owner, m->lane)) {
		(void)haul_fault_set(fault, HAUL_BUSY, "no memory for another lane now");
		return false;
	}
	return lane_set_claim(session_job_lanes(owner->job), m->lane, m->epoch);
}

static const struct job_totals *session_totals(const struct session_job *j)
{
	return j->sender ? sender_totals(j->sender) : receiver_totals(j->receiver);
}

/* A job holds memory that others wait for: a client that brings no lanes, or with which nothing moves, loses it. */
static void on_watch(uv_timer_t *timer)
{
	struct server_session *s = timer->data;
	const struct lane_set *lanes = s->job_runs ? session_job_lanes(s->job) : NULL;
	uint64_t now_ms = uv_now(s->server->loop);
	struct haul_fault fault = { 0 };
	char text[160];

	if (!lanes) {
		(void)uv_timer_stop(timer);
		return;
	}
	if (s->job->sender)
		sender_tick(s->job->sender);
	else
		receiver_tick(s->job->receiver);
	if (job_headway(session_totals(s->job)) != s->headway) {
		s->headway = job_headway(session_totals(s->job));
		s->moved_ms = now_ms;
	}
	if (!lanes->is_stopping && lanes->first_joined < lanes->count &&
	    now_ms - s->running_since_ms >= s->server->join_ms)
		(void)haul_fault_set(&fault, HAUL_TIMED_OUT, "%u of %u lanes did not come",
				     lanes->count - lanes->first_joined, lanes->count);
	else if (s->job->m.verb == JOB_PROBE && now_ms - s->running_since_ms >= PROBE_MS)
		(void)haul_fault_set(&fault, HAUL_TIMED_OUT, "a measurement may take %d s", PROBE_MS / 1000);
	else if (now_ms - s->moved_ms >= SILENCE_MS)
		(void)haul_fault_set(&fault, HAUL_TIMED_OUT, "nothing has moved: %s",
				     s->job->sender ? sender_describe(s->job->sender, text, sizeof(text))
						    : receiver_describe(s->job->receiver, text, sizeof(text)));
	if (haul_failed(fault.status))
		session_stop_job_for(s, &fault);
}

static void start_watch(struct server_session *s)
{
	s->running_since_ms = s->moved_ms = uv_now(s->server->loop);
	(void)uv_timer_start(&s->watch, on_watch, WATCH_MS, WATCH_MS);
}

static void run_job(struct server_session *s)
{
	struct session_job *j = s->job;
	struct message m = { .type = MSG_ACCEPT };
	struct haul_fault fault = { 0 };
	haul_status st;

	if (getrandom(j->session_id, sizeof(j->session_id), 0) != (ssize_t)sizeof(j->session_id)) {
		session_refuse_status(s, HAUL_CRYPTO, "no random numbers");
		return;
	}
	st = make_end(s, &fault);
	if (haul_failed(st)) {
		session_refuse_status(s, st, fault.text[0] ? fault.text : haul_status_text(st));
		return;
	}
	s->job_runs = true;
	s->state = SESSION_RUNNING;
	start_watch(s);
	m.accept = (struct msg_accept){ .root_exists = j->root_existed };
	memcpy(m.accept.source_fs, j->source_fs, sizeof(m.accept.source_fs));
	session_fill_accept(j, &m.accept);
	st = control_link_send(s->control, &m, &fault);
	if (haul_failed(st)) {
		session_stop_job(s, st);
		return;
	}
	session_tell_policy(s);
	if (j->receiver)
		receiver_begin(j->receiver);
}

static unsigned place_in_queue(struct server *server, const struct server_session *of)
{
	unsigned place = 1;

	list_each (pos, &server->sessions) {
		const struct server_session *s = list_item(pos, struct server_session, link);

		if (s == of)
			break;
		place += s->state == SESSION_QUEUED;
	}
	return place;
}

static void wait_in_queue(struct server_session *s)
{
	struct message m = { .type = MSG_BUSY };
	struct haul_fault fault = { 0 };

	s->state = SESSION_QUEUED;
	m.busy.place = place_in_queue(s->server, s);
	if (haul_failed(control_link_send(s->control, &m, &fault)))
		session_refuse_status(s, fault.status, fault.text);
}

static void admit_or_queue(struct server_session *s)
{
	if (!session_has_predecessor(s) && !has_its_share(s) && session_admit(s)) {
		run_job(s);
		return;
	}
	wait_in_queue(s);
}

void server_admit_next(struct server *server)
{
	list_each (pos, &server->sessions) {
		struct server_session *s = list_item(pos, struct server_session, link);

		if (s->state != SESSION_QUEUED || s->said_error || session_has_predecessor(s) || has_its_share(s))
			continue;
		if (!s->job->is_opened) {
			start_opening(s);
			continue;
		}
		if (!session_admit(s))
			return;
		run_job(s);
	}
}

/* Of a measurement that may write: how much others on its file system will have written by their end. */
static uint64_t written_beside(const struct server_session *s)
{
	uint64_t bytes = 0;

	list_each (pos, &s->server->sessions) {
		const struct server_session *other = list_item(pos, struct server_session, link);

		if (other != s && (other->state == SESSION_QUEUED || other->job_runs) && other->job->disk_bytes &&
		    other->job->device.dev == s->job->device.dev)
			bytes += other->job->m.probe_bytes;
	}
	return bytes;
}

/* No two are promised the same room. What is asked for has no sum that overflows: sessions are few, each bounded. */
static void check_room(struct server_session *s)
{
	struct session_job *j = s->job;

	if (j->m.verb != JOB_PROBE || j->m.direction != JOB_PUSH || !(j->m.flags & JOB_TO_DISK) ||
	    haul_failed(j->status))
		return;
	if (j->m.probe_bytes + written_beside(s) <= j->disk_bytes)
		return;
	j->status = haul_fault_set(&j->fault, HAUL_NO_SPACE,
				   "measurements may take a quarter of what is free, and at most %u GiB",
				   (unsigned)(MESSAGE_PROBE_DISK_MAX >> 30));
	j->bad_path = (struct text){ "", 0 };
}

static void refuse_opening(struct server_session *s)
{
	struct session_job *j = s->job;
	const struct peer *peer = session_peer(s);
	const struct msg_error e = { .code = (uint32_t)j->status.code,
				     .text = { j->fault.text, strlen(j->fault.text) },
				     .share = j->m.share,
				     .path = j->bad_path,
				     .your_name = { peer ? peer->name : "", peer ? strlen(peer->name) : 0 } };

	session_refuse(s, &e);
}

static void open_in_pool(uv_work_t *work)
{
	session_job_open(((struct server_session *)work->data)->job);
}

static void on_opened(uv_work_t *work, int status)
{
	struct server_session *s = work->data;

	(void)status;
	s->job->is_opened = true;
	session_opened(s);
	if (s->state != SESSION_OPENING)
		return;
	check_room(s);
	if (haul_failed(s->job->status))
		refuse_opening(s);
	else {
		session_choose(s->server, s->job);
		admit_or_queue(s);
	}
}

/* Only files that are put there count. False: no memory. */
static bool join_quota(struct server_session *s, const struct peer *peer)
{
	struct session_job *j = s->job;
	const struct quota_limit limit = peer_quota_on(peer, j->share, strlen(j->share));

	if (j->m.verb != JOB_COPY || j->m.direction != JOB_PUSH)
		return true;
	j->quota = quota_join(&s->server->quotas, s->server->home->state_dir, s->device_id, j->share, &limit);
	return j->quota != NULL;
}

static void start_opening(struct server_session *s)
{
	s->pool.data = s;
	if (uv_queue_work(s->server->loop, &s->pool, open_in_pool, on_opened)) {
		session_refuse_status(s, HAUL_NO_MEMORY, "");
		return;
	}
	s->in_pool = true;
	s->state = SESSION_OPENING;
}

void session_start_job(struct server_session *s, const struct msg_job *m)
{
	const struct peer *peer = session_peer(s);
	const struct share *share = shares_find(&s->server->shares, m->share.at, m->share.len);
	uint64_t rights = peer ? peer_rights_on(peer, m->share.at, m->share.len) : 0;
	uint64_t missing = rights_needed(m) & ~rights;

	if (!peer || !share || !rights) {
		struct text offered[MESSAGE_SHARES_MAX];
		struct msg_error e = { .code = HAUL_CODE_NOT_KNOWN };

		if (peer)
			serve_no_share(&s->server->shares, peer, m->share, offered, &e);
		session_refuse(s, &e);
		return;
	}
	if (missing) {
		session_missing_right(s, m->share, first_missing(missing), rights);
		return;
	}
	s->job = job_new(m, share, rights_used(m, rights));
	if (s->job) {
		s->job->choice = s->choice;
		s->job->choice_flags = s->choice_flags;
		choice_spec_open(&s->choice);
		s->job->book = &s->server->book;
		s->job->peer_cores = control_peer_hello(control_link_session(s->control))->cores;
	}
	if (!s->job || !join_quota(s, peer)) {
		session_refuse_status(s, HAUL_NO_MEMORY, "");
		return;
	}
	session_take_over(s);
	/* What a move has put aside is back only when its first attempt is gone. */
	if (m->flags & JOB_MOVE && session_has_predecessor(s))
		wait_in_queue(s);
	else
		start_opening(s);
}

void session_job_message(struct server_session *s, const struct message *m)
{
	if (!s->job_runs)
		return;
	if (s->job->sender)
		sender_message(s->job->sender, m);
	else
		receiver_message(s->job->receiver, m);
}

static void session_stop_job_for(struct server_session *s, const struct haul_fault *fault)
{
	if (!s->job_runs)
		return;
	if (s->job->sender)
		sender_stop(s->job->sender, fault->status, fault);
	else
		receiver_stop(s->job->receiver, fault->status, fault);
}

void session_stop_job(struct server_session *s, haul_status why)
{
	const struct haul_fault fault = { .status = why };

	session_stop_job_for(s, &fault);
}

void session_recheck_rights(struct server_session *s)
{
	struct session_job *j = s->job;
	const struct peer *peer = session_peer(s);
	struct quota_limit limit;
	uint64_t rights, missing;

	if (!j || !peer || s->said_error)
		return;
	limit = peer_quota_on(peer, j->share, strlen(j->share));
	if (j->quota)
		quota_set(j->quota, &limit);
	rights = shares_find(&s->server->shares, j->share, strlen(j->share))
		     ? peer_rights_on(peer, j->share, strlen(j->share))
		     : 0;
	j->rights = rights_used(&j->m, rights);
	missing = rights ? rights_needed(&j->m) & ~rights : rights_needed(&j->m) | RIGHT_LIST;
	if (j->receiver)
		receiver_set_rights(j->receiver, j->rights);
	if (!missing)
		return;
	session_missing_right(s, j->m.share, first_missing(missing), rights);
	session_stop_job(s, HAUL_NO_RIGHT);
}
