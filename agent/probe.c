/*
 *   DIALING --HELLO--> ASKING (JOB) --ACCEPT--> RUNNING --job's end--> LEAVING --closed, or LEAVE_MS--> the loop ends
 *      +----------------- any failure, *stop --------------------------^
 *
 * The ends are the same as of any job; only where the bytes come from and go to differs.
 */
#include "agent/probe.h"

#include "agent/dial.h"
#include "agent/loop_open.h"
#include "agent/peer_error.h"
#include "agent/policy.h"
#include "agent/rate_limit.h"
#include "agent/receiver.h"
#include "agent/sender.h"
#include "agent/thread_cpu.h"
#include "engine/device.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
	LEAVE_MS = 1000,
	TICK_MS = 50,
	SILENCE_MS = 30 * 1000,
};

enum probe_state { PROBE_DIALING, PROBE_ASKING, PROBE_RUNNING, PROBE_LEAVING };

struct probe {
	const struct probe_config *cfg;
	struct probe_result *result;
	enum probe_state state;
	uv_loop_t loop;
	struct mailbox mailbox;
	uv_timer_t tick;
	struct dial *dial;
	struct dial_trust *trust;
	struct tls_config *tls;
	struct control_link *link; /* NULL once closed */
	bool link_has_ended;
	struct sockaddr_storage address;
	uint8_t device_id[32];
	struct block_budget budget;
	struct rate_limit limit;
	struct device_facts device; /* what our end lies on, if anything */
	uint8_t disk_id[DISK_ID_BYTES];
	struct policy policy;
	struct sender *sender;
	struct receiver *receiver;
	bool job_runs;
	uint64_t started_ns, moved_ns, left_ns, headway;
	bool has_begun; /* a lane is there */
	haul_status status;
	struct haul_fault fault;
};

static void close_all(struct probe *p)
{
	if (p->link)
		control_link_close(p->link, NULL, NULL);
	p->link = NULL;
	if (uv_is_closing((uv_handle_t *)&p->tick))
		return;
	uv_close((uv_handle_t *)&p->tick, NULL);
	mailbox_close(&p->mailbox, NULL);
}

static void leave(struct probe *p)
{
	if (p->state == PROBE_LEAVING || p->job_runs)
		return;
	p->state = PROBE_LEAVING;
	p->left_ns = uv_hrtime();
	if (p->dial)
		dial_cancel(p->dial);
	else if (!p->link || p->link_has_ended)
		close_all(p);
	else
		control_link_finish(p->link);
}

/* The first reason counts; of a running job it is what the job ends with, which may be well all the same. */
static void fail(struct probe *p, haul_status st, const struct haul_fault *fault)
{
	if (p->job_runs && p->sender) {
		sender_stop(p->sender, st, fault);
		return;
	}
	if (p->job_runs) {
		receiver_stop(p->receiver, st, fault);
		return;
	}
	if (haul_ok(p->status)) {
		p->status = st;
		if (fault && fault->text[0])
			p->fault = *fault;
		else
			(void)haul_fault_set(&p->fault, st, "%s", haul_status_text(st));
	}
	leave(p);
}

static const struct job_totals *totals(const struct probe *p)
{
	return p->sender ? sender_totals(p->sender) : receiver_totals(p->receiver);
}

static struct lane_set *lanes_of(const struct probe *p)
{
	return p->sender ? sender_lanes(p->sender) : receiver_lanes(p->receiver);
}

static void on_tick(uv_timer_t *timer)
{
	struct probe *p = timer->data;
	struct haul_fault fault = { 0 };
	uint64_t now = uv_hrtime();

	if (p->state == PROBE_LEAVING) {
		if (!p->dial && now - p->left_ns > LEAVE_MS * UINT64_C(1000000))
			close_all(p);
		return;
	}
	if (p->cfg->stop && atomic_load(p->cfg->stop)) {
		fail(p, HAUL_INTERRUPTED, NULL);
		return;
	}
	if (!p->job_runs)
		return;
	if (job_headway(totals(p)) != p->headway) {
		p->headway = job_headway(totals(p));
		p->moved_ns = now;
	}
	if (now - p->moved_ns > SILENCE_MS * UINT64_C(1000000))
		fail(p, haul_fault_set(&fault, HAUL_TIMED_OUT, "nothing has moved for %d s", SILENCE_MS / 1000),
		     &fault);
}

/* ---- the job ---- */

static void fill_result(struct probe *p)
{
	const struct job_totals *all = totals(p);

	p->result->seconds = (double)(uv_hrtime() - p->started_ns) / 1e9;
	p->result->bytes = all->bytes_sent;
	p->result->source = p->sender ? all->own : all->peer;
	p->result->destination = p->sender ? all->peer : all->own;
	if (p->link && !p->link_has_ended)
		p->result->round_trip_us = (uint32_t)(channel_round_trip(control_link_channel(p->link)).now_ns / 1000);
}

/* The first word of the lanes is that one of them has joined: the clock starts. */
static void on_explain(void *ctx, const char *text)
{
	struct probe *p = ctx;

	(void)text;
	if (!p->has_begun)
		p->started_ns = uv_hrtime();
	p->has_begun = true;
}

static void on_entry(void *ctx, const struct job_entry *e)
{
	struct probe *p = ctx;

	if (e->outcome == OUTCOME_PROVEN || haul_failed(p->status))
		return;
	p->status = haul_failed(e->code) ? e->code : HAUL_IO;
	(void)haul_fault_set(&p->fault, p->status, "%s", haul_status_text(p->status));
}

static void on_job_end(void *ctx, haul_status st, const struct haul_fault *fault)
{
	struct probe *p = ctx;

	p->job_runs = false;
	if (haul_ok(st)) {
		fill_result(p);
		leave(p);
	} else {
		fail(p, st, fault);
	}
}

/* The same choices as a transfer's. */
static void choose(struct probe *p, unsigned lanes, uint32_t block_bytes, enum device_kind peer_kind, bool is_same)
{
	const struct policy_end own = { p->device.kind, p->result->cores },
				other = { peer_kind, p->result->peer_cores };
	const struct policy_input in = { .source = p->cfg->is_push ? own : other,
					 .destination = p->cfg->is_push ? other : own,
					 .is_same_device = is_same,
					 .lanes = lanes,
					 .block_bytes = block_bytes,
					 .direct = p->cfg->direct,
					 .budget_bytes = POLICY_BUDGET_BYTES };

	policy_choose(&in, &p->policy);
}

static void job_config(struct probe *p, const struct msg_accept *m, struct job_config *cfg)
{
	choose(p, m->lanes, m->block_bytes, m->device, device_ids_equal(p->disk_id, m->disk_id));
	p->limit.bytes_per_s = p->cfg->bandwidth_bytes_per_s;
	block_budget_open(&p->budget, POLICY_BUDGET_BYTES);
	*cfg = (struct job_config){
		.loop = &p->loop,
		.mailbox = &p->mailbox,
		.link = p->link,
		.verb = JOB_PROBE,
		.lanes = m->lanes,
		.lane = { .is_client = true,
			  .block_bytes = m->block_bytes,
			  .backend = p->cfg->backend,
			  .budget = &p->budget,
			  .limit = &p->limit,
			  .trace = p->cfg->trace,
			  .records_max = LANE_RECORDS_MAX,
			  .tls = p->tls,
			  .address = p->address,
			  .connect_timeout_ms = p->cfg->connect_timeout_ms },
		.scratch_dir = p->cfg->home->state_dir,
		.probe = { .bytes = p->cfg->bytes, .fd = p->cfg->source_fd },
		.cb = { .on_entry = on_entry, .on_explain = on_explain, .on_end = on_job_end },
		.ctx = p,
	};
	job_follow_policy(cfg, &p->policy, p->cfg->is_push);
	memcpy(cfg->lane.session_id, m->session_id, sizeof(m->session_id));
	memcpy(cfg->lane.peer_id, p->device_id, sizeof(p->device_id));
}

static haul_status make_end(struct probe *p, const struct msg_accept *m, struct haul_fault *fault)
{
	struct receiver_config cfg = {
		.root_fd = -1, .private_fd = -1, .rights = UINT64_MAX, .owner = OWNER_NONE, .umask = UINT32_MAX
	};

	job_config(p, m, &cfg.job);
	if (p->cfg->is_push)
		return sender_new(&cfg.job, NULL, 0, &p->sender, fault);
	return receiver_new(&cfg, &p->receiver, fault);
}

static void on_accept(struct probe *p, const struct msg_accept *m)
{
	struct haul_fault fault = { 0 };
	haul_status st;

	if (p->state != PROBE_ASKING) {
		fail(p, HAUL_BAD_FRAME, NULL);
		return;
	}
	st = make_end(p, m, &fault);
	if (haul_failed(st)) {
		fail(p, st, &fault);
		return;
	}
	p->state = PROBE_RUNNING;
	p->job_runs = true;
	p->result->lanes = m->lanes;
	p->started_ns = p->moved_ns = uv_hrtime();
	if (p->receiver)
		receiver_begin(p->receiver);
	st = lane_set_start(lanes_of(p), &fault);
	if (haul_failed(st))
		fail(p, st, &fault);
}

/* ---- the link ---- */

static void on_refused(struct probe *p, const struct msg_error *e)
{
	struct haul_fault fault = { 0 };
	struct peer_error why;

	peer_error_explain(e, p->result->peer_name, &why);
	(void)haul_fault_set(&fault, why.status, "%s", why.text);
	if (haul_ok(p->status))
		(void)snprintf(p->result->remedy, sizeof(p->result->remedy), "%s", why.remedy);
	fail(p, why.status, &fault);
}

static void on_message(void *ctx, struct control_link *l, const struct message *m)
{
	struct probe *p = ctx;
	struct haul_fault fault = { 0 };

	(void)l;
	switch (m->type) {
	case MSG_ERROR:
		on_refused(p, &m->error);
		return;
	case MSG_BUSY: /* a queue is no place to measure from */
		fail(p, haul_fault_set(&fault, HAUL_BUSY, "%s is busy with other transfers", p->result->peer_name),
		     &fault);
		return;
	case MSG_ACCEPT:
		on_accept(p, &m->accept);
		return;
	case MSG_HELLO:
	case MSG_NOTE:
		return;
	default:
		if (p->sender)
			sender_message(p->sender, m);
		else if (p->receiver)
			receiver_message(p->receiver, m);
		return;
	}
}

static void on_writable(void *ctx, struct control_link *l)
{
	struct probe *p = ctx;

	(void)l;
	if (p->sender)
		sender_writable(p->sender);
	else if (p->receiver)
		receiver_writable(p->receiver);
}

static void on_link_end(void *ctx, struct control_link *l, haul_status why, const struct haul_fault *fault)
{
	struct probe *p = ctx;

	(void)l;
	p->link_has_ended = true;
	if (p->state == PROBE_LEAVING)
		close_all(p);
	else
		fail(p, haul_ok(why) ? HAUL_LOST : why, fault);
}

static const struct control_link_callbacks link_callbacks = {
	.on_message = on_message,
	.on_writable = on_writable,
	.on_end = on_link_end,
};

static void ask(struct probe *p)
{
	const struct probe_config *cfg = p->cfg;
	const char *path = cfg->path ? cfg->path : "";
	const struct job_source source = { .path = { path, strlen(path) } };
	struct message m = { .type = MSG_JOB };
	struct haul_fault fault = { 0 };
	haul_status st;

	if (cfg->source_fd >= 0 && haul_ok(device_facts_of(NULL, cfg->source_fd, &p->device)))
		device_facts_id(&p->device, p->disk_id);
	choose(p, cfg->lanes, cfg->block_bytes, DEVICE_UNKNOWN, false);
	m.job =
	    (struct msg_job){ .verb = JOB_PROBE,
			      .direction = cfg->is_push ? JOB_PUSH : JOB_PULL,
			      .flags = cfg->is_to_disk ? JOB_TO_DISK : 0,
			      .share = { cfg->place->share, strlen(cfg->place->share) },
			      .sources = cfg->is_push ? NULL : &source,
			      .source_count = !cfg->is_push,
			      .lanes = p->policy.lanes,
			      .block_bytes = p->policy.block_most,
			      .device = p->device.kind,
			      .fixed = (cfg->lanes ? JOB_FIXED_LANES : 0) | (cfg->block_bytes ? JOB_FIXED_BLOCK : 0),
			      .probe_bytes = cfg->bytes };
	memcpy(m.job.disk_id, p->disk_id, sizeof(p->disk_id));
	if (getrandom(m.job.job_id, sizeof(m.job.job_id), 0) != (ssize_t)sizeof(m.job.job_id)) {
		fail(p, HAUL_CRYPTO, NULL);
		return;
	}
	p->state = PROBE_ASKING;
	st = control_link_send(p->link, &m, &fault);
	if (haul_failed(st))
		fail(p, st, &fault);
}

static void on_dialled(void *ctx, struct dial_result *result, const struct haul_fault *fault, const char *remedy)
{
	struct probe *p = ctx;
	const struct msg_hello *hello;

	p->dial = NULL;
	p->trust = result->trust;
	if (!result->link) {
		if (haul_ok(p->status) && remedy)
			(void)snprintf(p->result->remedy, sizeof(p->result->remedy), "%s", remedy);
		fail(p, fault->status, fault);
		close_all(p);
		return;
	}
	p->link = result->link;
	p->tls = result->tls;
	p->address = result->address;
	memcpy(p->result->peer_name, result->peer_name, sizeof(p->result->peer_name));
	memcpy(p->device_id, result->device_id, sizeof(p->device_id));
	control_link_set_callbacks(p->link, &link_callbacks, p);
	if (p->state == PROBE_LEAVING) {
		close_all(p);
		return;
	}
	hello = control_peer_hello(control_link_session(p->link));
	p->result->peer_cores = hello ? hello->cores : 1;
	ask(p);
}

static haul_status open_loop(struct probe *p)
{
	if (loop_open(&p->loop))
		return HAUL_NO_MEMORY;
	if (haul_failed(mailbox_open(&p->mailbox, &p->loop, mail_deliver_all, p))) {
		(void)uv_loop_close(&p->loop);
		return HAUL_NO_MEMORY;
	}
	(void)uv_timer_init(&p->loop, &p->tick);
	p->tick.data = p;
	(void)uv_timer_start(&p->tick, on_tick, TICK_MS, TICK_MS);
	return HAUL_OK;
}

haul_status probe_run(const struct probe_config *cfg, struct probe_result *ret_result, struct haul_fault *fault)
{
	const struct dial_config dial = { .home = cfg->home,
					  .place = cfg->place,
					  .timeout_ms = cfg->connect_timeout_ms };
	struct probe p = { .cfg = cfg, .result = ret_result, .status = HAUL_OK };
	haul_status st;
	int err;

	*ret_result = (struct probe_result){ .cores = own_cores() };
	st = open_loop(&p);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "out of memory");
	st = dial_start(&p.loop, &dial, on_dialled, &p, &p.dial, &p.fault);
	if (haul_failed(st)) {
		p.status = st;
		close_all(&p);
	}
	(void)uv_run(&p.loop, UV_RUN_DEFAULT);
	sender_free(p.sender);
	receiver_free(p.receiver);
	dial_trust_free(p.trust);
	err = uv_loop_close(&p.loop);
	assert(!err);
	if (haul_failed(p.status) && fault)
		*fault = p.fault;
	return p.status;
}
