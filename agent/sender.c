/*
 * The life of a sending job.
 *
 * Happy path: the scan's batches are announced as credit comes; WANTs become reads; RESULTs empty the window; when the
 * scan is over, MANIFEST_END is out and the window is empty, the lanes are told to finish; when they have ended JOB_END
 * goes out, the peer's comes, the roots are equal, DONE both ways, the link is finished. Any fault: the lanes stop, the
 * scan thread is joined, and when nothing of ours is in a pool or mailbox on_end is called.
 */
#include "agent/sender_parts.h"

#include "agent/thread_cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void deliver_farewell(struct mail *m, void *ctx)
{
	struct sender *s = list_item(m, struct sender, farewell);

	(void)ctx;
	s->state = SENDER_ENDED;
	s->cfg.cb.on_end(s->cfg.ctx, s->why, &s->fault);
}

/* Everything that could still post to the main loop is gone: one more turn through the mailbox clears what is in it. */
void sender_maybe_farewell(struct sender *s)
{
	if (s->state != SENDER_STOPPING || s->in_pool || s->lanes.ended != s->lanes.started || s->farewell.deliver ||
	    !sender_erase_is_over(s))
		return;
	source_scan_stop(&s->scan);
	s->farewell.deliver = deliver_farewell;
	mail_post(s->cfg.mailbox, &s->farewell);
}

void sender_fail(struct sender *s, haul_status st, const struct haul_fault *fault)
{
	if (s->state == SENDER_STOPPING || s->state == SENDER_ENDED)
		return;
	s->why = st;
	if (fault)
		s->fault = *fault;
	s->state = SENDER_STOPPING;
	lane_set_stop(&s->lanes);
	sender_maybe_farewell(s);
}

void sender_stop(struct sender *s, haul_status why, const struct haul_fault *fault)
{
	sender_fail(s, why, fault);
}

static void on_lanes_joined(void *owner)
{
	struct sender *s = owner;

	s->lanes_ready = true;
	lane_set_wake(&s->lanes);
	sender_check_end(s); /* with nothing to send, this may be the last thing that was missing */
}

/* The scan is over. A client that receives is told; what we took for our own end, or a push, it knows. */
static haul_status tell_left(struct sender *s, struct haul_fault *fault)
{
	struct message m = { .type = MSG_LEFT };
	struct choice_counts counts;
	size_t bytes;

	if (!s->choice)
		return HAUL_OK;
	counts = choice_left(s->choice);
	bytes = choice_matched(s->choice, s->totals.rules_matched, sizeof(s->totals.rules_matched));
	s->totals.left_entries = counts.entries;
	s->totals.left_files = counts.files;
	if (s->cfg.lane.is_client)
		return HAUL_OK;
	m.left = (struct msg_left){ counts.entries, counts.files, { (const char *)s->totals.rules_matched, bytes } };
	return control_link_send(s->cfg.link, &m, fault);
}

static void send_job_end(struct sender *s)
{
	struct message m = { .type = MSG_JOB_END };
	struct haul_fault fault = { 0 };
	haul_status st = job_digest_root(s->digest, s->totals.entries, &s->totals.root);

	if (haul_ok(st))
		st = tell_left(s, &fault);
	if (haul_ok(st)) {
		s->totals.has_root = true;
		m.job_end = (struct msg_job_end){ .entries = s->totals.entries,
						  .files = s->totals.files,
						  .bytes = s->totals.bytes,
						  .proven = s->totals.proven,
						  .unchanged = s->totals.unchanged,
						  .failed = s->totals.failed,
						  .root = s->totals.root,
						  .is_durable = true,
						  .times = job_times_say(&s->totals.own, s->totals.cpu_ms) };
		st = control_link_send(s->cfg.link, &m, &fault);
	}
	if (haul_failed(st)) {
		sender_fail(s, st, &fault);
		return;
	}
	s->own_end_sent = true;
	sender_check_end(s);
}

static void on_lanes_ended(void *owner)
{
	struct sender *s = owner;

	s->totals.own = s->lanes.times;
	s->totals.cpu_ms = process_cpu_ms() - s->cpu_at_start_ms;
	if (s->state == SENDER_STOPPING) {
		sender_maybe_farewell(s);
		return;
	}
	s->state = SENDER_AGREEING;
	send_job_end(s);
}

static void on_lane_failed(void *owner, haul_status st, const struct haul_fault *fault)
{
	sender_fail(owner, st, fault);
}

/* What it had taken and not sent is in the queue again. */
static void on_lane_lost(void *owner, const struct lane_loss *loss)
{
	struct sender *s = owner;

	lane_set_wake(&s->lanes);
	if (s->cfg.cb.on_lane_lost)
		s->cfg.cb.on_lane_lost(s->cfg.ctx, loss);
}

static void on_say_lost(void *owner, unsigned number, uint32_t epoch)
{
	struct message m = { .type = MSG_LANE_LOST, .lane_lost = { number, epoch } };
	struct haul_fault fault = { 0 };
	struct sender *s = owner;
	haul_status st = control_link_send(s->cfg.link, &m, &fault);

	if (haul_failed(st))
		sender_fail(s, st, &fault);
}

static void on_lane_vacant(void *owner, unsigned number)
{
	struct sender *s = owner;

	sender_lane_vacant(s, number);
	if (s->state == SENDER_RUNNING && s->cfg.cb.on_lane_vacant)
		s->cfg.cb.on_lane_vacant(s->cfg.ctx, number);
}

static void peer_lost_lane(struct sender *s, const struct msg_lane_lost *m)
{
	struct haul_fault fault = { 0 };
	haul_status st = lane_set_heard_lost(&s->lanes, m->lane, m->epoch, &fault);

	if (haul_failed(st))
		sender_fail(s, st, &fault);
}

/* Both ends are known: the same root means that both speak of the same bytes. */
static void agree(struct sender *s)
{
	struct message done = { .type = MSG_DONE };
	struct haul_fault fault = { 0 };
	haul_status st;

	if (!digest_equal(&s->peer_end.root, &s->totals.root) || s->peer_end.entries != s->totals.entries) {
		sender_fail(
		    s, haul_fault_set(&fault, HAUL_ROOT_MISMATCH, "the two ends do not agree on what was transferred"),
		    &fault);
		return;
	}
	s->totals.is_durable = s->peer_end.is_durable;
	s->totals.peer = job_times_heard(&s->peer_end.times);
	s->totals.peer_cpu_ms = s->peer_end.times.process_cpu_ms;
	s->totals.mirror = (struct mirror_totals){ .refusal = s->peer_end.delete_refusal,
						   .surplus = s->peer_end.surplus,
						   .there = s->peer_end.there,
						   .deleted = s->peer_end.deleted,
						   .deleted_files = s->peer_end.deleted_files };
	s->totals.lack = s->peer_end.lack;
	s->totals.has_agreed = true;
	if (s->erase.eraser && s->totals.is_durable) {
		sender_erase_start(s);
		return;
	}
	st = control_link_send(s->cfg.link, &done, &fault);
	if (haul_failed(st))
		sender_fail(s, st, &fault);
	else
		s->done_sent = true;
}

void sender_check_end(struct sender *s)
{
	if (s->state == SENDER_RUNNING && s->end_announced && s->window.count == 0 && s->lanes_ready) {
		s->state = SENDER_CLOSING;
		s->closing_ns = uv_hrtime();
		lane_set_finish(&s->lanes);
	}
	if (s->state == SENDER_AGREEING && s->own_end_sent && s->peer_end_seen && !s->totals.has_agreed)
		agree(s);
}

static void on_done(struct sender *s)
{
	if (!s->done_sent) {
		sender_fail(s, HAUL_BAD_MOVE, NULL);
		return;
	}
	control_link_finish(s->cfg.link);
	s->state = SENDER_STOPPING;
	sender_maybe_farewell(s);
}

void sender_message(struct sender *s, const struct message *m)
{
	if (s->state == SENDER_STOPPING || s->state == SENDER_ENDED)
		return;
	switch (m->type) {
	case MSG_CREDIT:
		sender_announce(s);
		sender_again(s);
		break;
	case MSG_WANT:
		sender_wants(s, &m->want);
		break;
	case MSG_RESULT:
		sender_results(s, &m->result);
		break;
	case MSG_HAVE:
	case MSG_BASIS:
		sender_have(s, &m->digests, m->type == MSG_BASIS);
		break;
	case MSG_ACK:
		sender_acks(s, &m->ack);
		break;
	case MSG_ALIVE:
		sender_alive(s, m->alive.lanes);
		break;
	case MSG_LANE_LOST:
		peer_lost_lane(s, &m->lane_lost);
		break;
	case MSG_JOB_END:
		s->peer_end = m->job_end;
		s->peer_end_seen = true;
		sender_check_end(s);
		break;
	case MSG_DONE:
		on_done(s);
		break;
	case MSG_LOOKED:
		sender_looked(s, &m->looked);
		break;
	default:
		sender_fail(s, HAUL_UNSUPPORTED, NULL); /* BASIS: not offered in HELLO by this version */
		break;
	}
}

void sender_writable(struct sender *s)
{
	sender_erase_writable(s);
	if (s->state != SENDER_RUNNING)
		return;
	sender_flush_failures(s);
	sender_announce(s);
	sender_again(s);
}

static haul_status copy_sources(struct sender *s, const struct scan_source *sources, size_t count)
{
	s->sources = calloc(count ? count : 1, sizeof(*s->sources)); /* a probe has none, and asks nothing of it */
	if (!s->sources)
		return HAUL_NO_MEMORY;
	if (count)
		memcpy(s->sources, sources, count * sizeof(*sources));
	s->source_count = count;
	return HAUL_OK;
}

void sender_explain(void *owner, const char *text)
{
	struct sender *s = owner;

	if (s->cfg.cb.on_explain)
		s->cfg.cb.on_explain(s->cfg.ctx, text);
}

static void set_up_lanes(struct sender *s, const struct job_config *cfg)
{
	s->lanes.job = cfg->lane;
	s->lanes.job.role = LANE_SENDS;
	s->lanes.job.queue = &s->queue;
	s->lanes.job.makes_up = cfg->verb == JOB_PROBE && cfg->probe.fd < 0;
	s->lanes.job.main = cfg->mailbox;
	s->lanes.job.trace_job = job_trace(cfg, true);
	s->lanes.count = cfg->lanes;
	s->lanes.most = cfg->lanes_most;
	s->lanes.owner = s;
	s->lanes.on_report = sender_on_report;
	s->lanes.on_joined = on_lanes_joined;
	s->lanes.on_ended = on_lanes_ended;
	s->lanes.on_failed = on_lane_failed;
	s->lanes.on_lost = on_lane_lost;
	s->lanes.on_say_lost = on_say_lost;
	s->lanes.on_vacant = on_lane_vacant;
	s->lanes.renews = cfg->renews_lanes;
	s->lanes.on_explain = sender_explain;
	lane_set_open(&s->lanes);
}

haul_status sender_new(const struct job_config *cfg, const struct scan_source *sources, size_t count,
		       struct sender **ret_sender, struct haul_fault *fault)
{
	struct sender *s = calloc(1, sizeof(*s));
	haul_status st;

	if (!s)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for a job");
	s->cfg = *cfg;
	s->cpu_at_start_ms = process_cpu_ms();
	list_init(&s->opens);
	list_init(&s->put_offs_due);
	list_init(&s->put_off);
	list_init(&s->changes_due);
	set_up_lanes(s, cfg);
	st = block_queue_open(&s->queue, cfg->lane.block_bytes);
	block_queue_set_order(&s->queue, cfg->order == ORDER_PHYSICAL, cfg->run_bytes);
	if (haul_failed(st))
		goto free_sender;
	st = job_digest_new(cfg->scratch_dir, &s->digest, fault);
	if (haul_failed(st))
		goto close_queue;
	st = copy_sources(s, sources, count);
	if (haul_failed(st))
		goto free_digest;
	st = sender_erase_open(s, fault);
	if (haul_failed(st))
		goto free_sources;
	s->scan.main = cfg->mailbox;
	s->scan.on_batch = sender_on_batch;
	s->scan.owner = s;
	s->scan.restores_aside = sender_is_move(s);
	s->scan.tells_root = cfg->flags & JOB_ROOT_TOO;
	if (cfg->choice) {
		st = choice_new(cfg->choice, &s->choice, fault);
		if (haul_failed(st))
			goto free_sources;
		s->scan.choice = choice_scan(s->choice);
	}
	s->scan.reads_owners = !(cfg->flags & JOB_NO_OWNERS);
	st = cfg->verb == JOB_PROBE ? source_scan_probe(&s->scan, cfg->probe.bytes)
				    : source_scan_start(&s->scan, sources, count, cfg->attribute_kinds, fault);
	if (haul_failed(st))
		goto free_sources;
	*ret_sender = s;
	return HAUL_OK;

free_sources:
	move_eraser_free(s->erase.eraser);
	choice_free(s->choice);
	free(s->sources);
free_digest:
	job_digest_free(s->digest);
close_queue:
	block_queue_close(&s->queue);
free_sender:
	free(s);
	return st;
}

void sender_free(struct sender *s)
{
	struct send_entry *e;
	struct list *item;

	if (!s)
		return;
	while ((e = index_map_remove_any(&s->window)))
		send_entry_free(e);
	while ((item = list_pop_front(&s->opens)))
		send_open_free(list_item(item, struct send_open, link));
	index_map_close(&s->window);
	block_queue_close(&s->queue);
	job_digest_free(s->digest);
	move_eraser_free(s->erase.eraser);
	choice_free(s->choice);
	free(s->sources);
	free(s);
}

const char *sender_next_missing(const struct sender *s, size_t *at)
{
	return s->choice ? choice_next_missing(s->choice, at) : NULL;
}

bool sender_origin(const struct sender *s, uint64_t index, struct entry_origin *ret_origin)
{
	const struct send_entry *e = index_map_get(&s->window, index);
	const struct scan_source *from = e ? &s->sources[e->source] : NULL;

	if (!e)
		return false;
	*ret_origin = (struct entry_origin){ .at = { from->root_fd, e->source_path, from->links }, .facts = &e->facts };
	return true;
}

void sender_each_sent(const struct sender *s, void (*each)(void *ctx, const char *path), void *ctx)
{
	const struct send_entry *e;
	size_t at = 0;

	while ((e = index_map_next(&s->window, &at))) {
		if (e->was_sent && e->facts.kind == ENTRY_FILE)
			each(ctx, e->path);
	}
}

struct lane_set *sender_lanes(struct sender *s)
{
	return &s->lanes;
}

const struct job_totals *sender_totals(const struct sender *s)
{
	return &s->totals;
}

const char *sender_describe(const struct sender *s, char *ret_text, size_t cap)
{
	static const char *const names[] = { "running", "closing", "agreeing", "erasing", "stopping", "ended" };

	(void)snprintf(ret_text, cap, "sender %s: %zu entries without result, %u files open, %u of %u lanes joined",
		       names[s->state], s->window.count, s->open_files, s->lanes.joined, s->lanes.count);
	return ret_text;
}
