/*
 * The life of a transfer: one loop on the calling thread, from the first look at the places to the last callback.
 *
 * Happy path: transfer_look_local(), dial, transfer_look_remote(), transfer_land(), JOB, ACCEPT, the job's end, close.
 * A connection that is lost while the job runs leads back to the dial (transfer_again.c).
 * A signal cancels: what is committed stays, what is not is dropped, the exit code says which signal.
 */
#include "agent/transfer_parts.h"

#include "agent/exit_class.h"
#include "agent/loop_open.h"
#include "agent/stop_signals.h"
#include "engine/base/escape.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void close_handle(uv_handle_t *h)
{
	if (!uv_is_closing(h))
		uv_close(h, NULL);
}

/* The last step: every handle closes and the loop runs out. */
static void transfer_over(struct transfer *t)
{
	if (t->state == TRANSFER_OVER || t->job_runs)
		return;
	t->state = TRANSFER_OVER;
	close_handle((uv_handle_t *)&t->tick);
	close_handle((uv_handle_t *)&t->leave);
	close_handle((uv_handle_t *)&t->grow);
	close_handle((uv_handle_t *)&t->again_timer);
	close_handle((uv_handle_t *)&t->signals);
	mailbox_close(&t->mailbox, NULL);
	lanes_ahead_cancel(t->ahead);
	if (t->link)
		control_link_close(t->link, NULL, NULL);
	t->link = NULL;
	transfer_local_leave(t);
}

static void on_leave_timeout(uv_timer_t *timer)
{
	transfer_over(timer->data);
}

void transfer_leave(struct transfer *t)
{
	if (t->state == TRANSFER_LEAVING || t->state == TRANSFER_OVER)
		return;
	t->state = TRANSFER_LEAVING;
	if (t->dial) {
		dial_cancel(t->dial); /* its on_done ends us */
		return;
	}
	if (!t->link || t->link_has_ended) {
		transfer_over(t);
		return;
	}
	control_link_finish(t->link);
	(void)uv_timer_start(&t->leave, on_leave_timeout, TRANSFER_LEAVE_MS, 0);
}

void transfer_ask(struct transfer *t, const struct message *m)
{
	struct haul_fault fault = { 0 };
	haul_status st = control_link_send(t->link, m, &fault);

	if (haul_ok(st))
		return;
	transfer_fault(t, st, &fault, NULL);
	transfer_leave(t);
}

/* ---- the link ---- */

static void job_message(struct transfer *t, const struct message *m)
{
	if (t->sender)
		sender_message(t->sender, m);
	else if (t->receiver)
		receiver_message(t->receiver, m);
}

static void stop_job(struct transfer *t, haul_status why, const struct haul_fault *fault)
{
	if (!t->job_runs)
		return;
	if (t->sender)
		sender_stop(t->sender, why, fault);
	else
		receiver_stop(t->receiver, why, fault);
}

/* It stops, or a connection of its own was lost: that says nothing about the job. */
static void peer_lost(struct transfer *t, haul_status st, const struct msg_error *e)
{
	char words[HAUL_FAULT_TEXT_MAX / 2];
	struct haul_fault fault;

	(void)haul_fault_set(&fault, st, "%s",
			     e->text.len ? haul_escape(e->text.at, e->text.len, words, sizeof(words))
					 : haul_status_text(st));
	if (t->job_runs) {
		stop_job(t, st, &fault);
	} else if (!transfer_again(t, st, &fault)) {
		transfer_fault(t, st, &fault, NULL);
		transfer_leave(t);
	}
}

static void on_refused(struct transfer *t, const struct msg_error *e)
{
	haul_status st = haul_status_from_number(e->code);

	if (t->state == TRANSFER_AGAIN) {
		transfer_again_refused(t, e);
		return;
	}
	if (transfer_is_lost(t, st)) {
		peer_lost(t, st, e);
		return;
	}
	transfer_refused(t, e);
	if (t->job_runs)
		stop_job(t, st, NULL);
	else
		transfer_leave(t);
}

static void on_busy(struct transfer *t, const struct msg_busy *m)
{
	char text[128];

	if (t->again.count && m->place == 1)
		return; /* it is about to let go of what the lost connection has left there */
	(void)snprintf(text, sizeof(text), "%s is busy: this job is number %u in its queue", t->peer_name, m->place);
	if (t->obs->on_note)
		t->obs->on_note(t->obs->ctx, text);
}

static void on_message(void *ctx, struct control_link *l, const struct message *m)
{
	struct transfer *t = ctx;

	(void)l;
	switch (m->type) {
	case MSG_ERROR:
		on_refused(t, &m->error);
		return;
	case MSG_FOUND:
		if (t->state == TRANSFER_LOOKING)
			transfer_found(t, &m->found);
		else if (t->state == TRANSFER_NAMING)
			transfer_named(t, &m->found);
		return;
	case MSG_BUSY:
		on_busy(t, &m->busy);
		return;
	case MSG_ACCEPT:
		if (t->state == TRANSFER_STARTING)
			transfer_accepted(t, &m->accept);
		return;
	case MSG_NOTE:
		transfer_note(t, &m->note);
		return;
	case MSG_HELLO:
		if (t->is_local && t->state == TRANSFER_NAMING)
			transfer_send_job(t);
		return;
	default:
		job_message(t, m);
		return;
	}
}

static void on_writable(void *ctx, struct control_link *l)
{
	struct transfer *t = ctx;

	(void)l;
	if (t->choice_waits)
		transfer_send_job(t);
	else if (t->sender)
		sender_writable(t->sender);
	else if (t->receiver)
		receiver_writable(t->receiver);
}

static void on_link_end(void *ctx, struct control_link *l, haul_status why, const struct haul_fault *fault)
{
	struct transfer *t = ctx;

	(void)l;
	t->link_has_ended = true;
	if (t->job_runs) {
		stop_job(t, haul_ok(why) ? HAUL_LOST : why, fault);
		return;
	}
	if (t->state == TRANSFER_AGAIN && (haul_ok(why) || transfer_is_lost(t, why)))
		return; /* that is why it is tried again */
	if (transfer_is_asking(t) && transfer_again(t, haul_ok(why) ? HAUL_LOST : why, fault))
		return;
	if (haul_failed(why) && !t->was_refused && t->state != TRANSFER_LEAVING)
		transfer_fault(t, why, fault, NULL);
	t->state = TRANSFER_LEAVING;
	transfer_over(t);
}

const struct control_link_callbacks transfer_link_callbacks = {
	.on_message = on_message,
	.on_writable = on_writable,
	.on_end = on_link_end,
};

static void on_dialled(void *ctx, struct dial_result *result, const struct haul_fault *fault, const char *remedy)
{
	struct transfer *t = ctx;
	uint8_t before_id[32];

	t->dial = NULL;
	if (!result->link) {
		if (transfer_again(t, fault->status, fault))
			return;
		if (t->state != TRANSFER_LEAVING)
			transfer_fault(t, fault->status, fault, remedy);
		t->state = TRANSFER_LEAVING;
		transfer_over(t);
		return;
	}
	dial_trust_free(t->trust); /* of a connection that was lost, and is closed since before this one was begun */
	t->trust = result->trust;
	t->link = result->link;
	t->tls = result->tls;
	t->address = result->address;
	memcpy(t->peer_name, result->peer_name, sizeof(t->peer_name));
	memcpy(before_id, t->device_id, sizeof(before_id));
	memcpy(t->device_id, result->device_id, sizeof(t->device_id));
	control_link_set_callbacks(t->link, &transfer_link_callbacks, t);
	if (t->state == TRANSFER_LEAVING) {
		transfer_over(t);
		return;
	}
	if (t->again.was_dialled) {
		transfer_again_dialled(t, before_id);
		return;
	}
	t->again.was_dialled = true;
	t->state = TRANSFER_LOOKING;
	transfer_look_remote(t);
	if (t->state == TRANSFER_LOOKING)
		transfer_lanes_ahead(t);
}

/* ---- signals and time ---- */

static void on_signal(struct transfer *t, int number)
{
	struct message m = { .type = MSG_CANCEL, .cancel = { HAUL_CODE_INTERRUPTED } };
	struct haul_fault fault = { 0 };

	t->report->signal_number = number;
	if (!t->job_runs) {
		transfer_leave(t);
		return;
	}
	if (haul_ok(control_link_send(t->link, &m, &fault)))
		control_link_finish(t->link);
	stop_job(t, HAUL_INTERRUPTED, NULL);
}

static void look_for_signals(uv_timer_t *timer)
{
	struct transfer *t = timer->data;
	int number = stop_signals_number();

	if (!number)
		return;
	(void)uv_timer_stop(timer);
	on_signal(t, number);
}

static void on_tick(uv_timer_t *timer)
{
	struct transfer *t = timer->data;
	struct haul_fault fault = { 0 };

	transfer_tick(t);
	transfer_lanes_tick(t);
	if (!t->job_runs || uv_hrtime() - t->moved_ns < (uint64_t)t->req->timeout_ms * 1000000)
		return;
	(void)haul_fault_set(&fault, HAUL_TIMED_OUT, "nothing has moved for %u s", t->req->timeout_ms / 1000);
	t->again.is_over = true; /* the connection is there: another one would bring no more */
	stop_job(t, HAUL_TIMED_OUT, &fault);
}

void transfer_close_job(struct transfer *t)
{
	if (t->is_local && !(t->own_end_is_over && transfer_local_is_over(t)))
		return;
	t->job_runs = false;
	if (t->state == TRANSFER_RUNNING)
		transfer_leave(t);
}

static haul_status open_loop(struct transfer *t)
{
	if (loop_open(&t->loop))
		return HAUL_NO_MEMORY;
	if (haul_failed(mailbox_open(&t->mailbox, &t->loop, mail_deliver_all, t))) {
		(void)uv_loop_close(&t->loop);
		return HAUL_NO_MEMORY;
	}
	(void)uv_timer_init(&t->loop, &t->tick);
	(void)uv_timer_init(&t->loop, &t->leave);
	(void)uv_timer_init(&t->loop, &t->grow);
	(void)uv_timer_init(&t->loop, &t->again_timer);
	(void)uv_timer_init(&t->loop, &t->signals);
	t->tick.data = t->leave.data = t->grow.data = t->again_timer.data = t->signals.data = t;
	(void)uv_timer_start(&t->signals, look_for_signals, TRANSFER_SIGNAL_MS, TRANSFER_SIGNAL_MS);
	(void)uv_timer_start(&t->tick, on_tick, TRANSFER_TICK_MS, TRANSFER_TICK_MS);
	return HAUL_OK;
}

void transfer_dial(struct transfer *t, uint32_t most_ms)
{
	const struct dial_config cfg = { .home = t->home,
					 .place = t->remote,
					 .timeout_ms = t->req->connect_timeout_ms < most_ms ? t->req->connect_timeout_ms
											    : most_ms };
	struct haul_fault fault = { 0 };
	haul_status st = dial_start(&t->loop, &cfg, on_dialled, t, &t->dial, &fault);

	t->state = TRANSFER_DIALING;
	if (haul_ok(st))
		return;
	transfer_fault(t, st, &fault, NULL);
	transfer_leave(t);
}

static void start(struct transfer *t)
{
	transfer_restore_aside(t);
	if (!transfer_look_local(t)) {
		transfer_leave(t);
		return;
	}
	if (t->is_local) {
		transfer_land(t);
		return;
	}
	transfer_dial(t, UINT32_MAX);
}

static void free_sources(struct transfer *t)
{
	for (size_t i = 0; i < t->scan_source_count; i++) {
		if (t->scan_sources[i].root_fd >= 0)
			(void)close(t->scan_sources[i].root_fd);
		free((void *)(uintptr_t)t->scan_sources[i].path);
		free((void *)(uintptr_t)t->scan_sources[i].landing);
	}
	free(t->scan_sources);
	free(t->scan_places);
	free(t->move_tops);
	free(t->sources);
	free((void *)t->source_specs);
}

static void transfer_close(struct transfer *t)
{
	lanes_ahead_free(t->ahead);
	sender_free(t->sender);
	receiver_free(t->receiver);
	transfer_local_free(t);
	eraser_free(t->eraser);
	landing_close(&t->landing);
	free_sources(t);
	free(t->local_destination);
	free(t->suggestion);
	free(t->doomed);
	if (t->root_fd >= 0)
		(void)close(t->root_fd);
	dial_trust_free(t->trust);
	device_book_close(&t->book);
	told_set_close(&t->again.told);
	copy_lock_close(&t->lock);
}

/* A trace that cannot be made is told before anything is touched. */
static bool open_trace(struct transfer *t)
{
	struct haul_fault fault = { 0 };

	if (!t->req->trace || haul_ok(trace_open(t->req->trace, &t->trace, &fault)))
		return true;
	transfer_error(t, EXIT_CLASS_USAGE, fault.status, fault.text, NULL);
	return false;
}

/* A trace that broke off (a full disk) is a warning: what was asked for is the transfer. */
static void close_trace(struct transfer *t)
{
	struct haul_fault fault = { 0 };
	haul_status st = trace_close(t->trace, &fault);
	const struct transfer_problem p = { .code = st.code,
					    .exit_code = EXIT_CLASS_ENTRIES,
					    .side = "local",
					    .path = t->req->trace,
					    .text = fault.text };

	if (haul_failed(st) && t->obs->on_warning)
		t->obs->on_warning(t->obs->ctx, &p);
}

static void run(const struct home *h, const struct transfer_request *req, const struct transfer_observer *obs,
		struct transfer_report *ret_report)
{
	struct transfer t = { .home = h, .req = req, .obs = obs, .report = ret_report, .root_fd = -1, .lock = { -1 } };

	*ret_report = (struct transfer_report){ .is_dry_run = req->dry_run };
	t.is_local = !req->destination->is_remote && !req->sources[0].is_remote;
	t.is_push = req->destination->is_remote || t.is_local;
	t.remote = t.is_push ? req->destination : &req->sources[0];
	t.started_ns = t.last_ns = t.moved_ns = uv_hrtime();
	if (haul_failed(open_loop(&t))) {
		transfer_error(&t, EXIT_CLASS_BUG, HAUL_NO_MEMORY, "out of memory", NULL);
		transfer_fill_report(&t);
		return;
	}
	device_book_open(&t.book);
	if (open_trace(&t))
		start(&t);
	else
		transfer_leave(&t);
	(void)uv_run(&t.loop, UV_RUN_DEFAULT);
	close_trace(&t);
	transfer_erase(&t);
	transfer_fill_report(&t);
	transfer_close(&t);
	if (uv_loop_close(&t.loop))
		(void)haul_bug("a transfer left a handle open");
}

void transfer_run(const struct home *h, const struct transfer_request *req, const struct transfer_observer *obs,
		  struct transfer_report *ret_report)
{
	stop_signals_begin();
	run(h, req, obs, ret_report);
	stop_signals_end();
}
