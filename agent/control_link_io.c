/*
 * Messages to bytes and back: what a control link wants to say gathers in a queue that is written on the loop's next
 * turn; what arrives is cut into frames by the session.
 */
#include "agent/control_link_impl.h"

#include <assert.h>

enum {
	READ_BYTES = 16 * 1024,
	INPUT_MAX = 4 + MESSAGE_BYTES_MAX + READ_BYTES,
	BUSY_BYTES = 4 * 1024 * 1024,
	WRITABLE_BYTES = 1024 * 1024,
};

static void on_soon(uv_idle_t *idle);

void link_soon(struct control_link *l)
{
	if (l->state != LINK_CLOSED)
		(void)uv_idle_start(&l->soon, on_soon);
}

/* Output */

static haul_status link_queue(struct control_link *l, const struct control_update *update)
{
	if (!update->send_len)
		return HAUL_OK;
	link_soon(l);
	return byte_queue_put(&l->output, update->send, update->send_len);
}

haul_status link_say(struct control_link *l, const struct message *m, struct haul_fault *fault)
{
	struct control_event ev = { .type = CONTROL_EV_SEND, .message = m };
	struct control_update update;
	haul_status st = control_step(l->session, &ev, &update, fault);

	if (st.code == HAUL_CODE_OVER_CREDIT || st.code == HAUL_CODE_OVERFLOW)
		return st;
	if (haul_failed(link_queue(l, &update)))
		st = haul_fault_set(fault, HAUL_NO_MEMORY, "no memory to send %s", message_name(m->type));
	if (haul_failed(st)) {
		link_fail(l, st, fault);
		return st;
	}
	link_wait(l, update.wait_ms);
	l->has_said = true;
	if (m->type == MSG_ACCEPT || m->type == MSG_DONE)
		link_beat(l, m->type == MSG_ACCEPT);
	return st;
}

static bool is_always_taken(enum message_type type)
{
	return type == MSG_ERROR || type == MSG_JOB_END || type == MSG_DONE || type == MSG_CANCEL ||
	       type == MSG_ACCEPT || type == MSG_LANE_LOST;
}

haul_status control_link_send(struct control_link *l, const struct message *m, struct haul_fault *fault)
{
	struct haul_fault own;

	if (!fault)
		fault = &own;
	if (l->state != LINK_OPEN)
		return haul_fault_set(fault, HAUL_LOST, "the control connection has ended");
	if (l->output.len > BUSY_BYTES && !is_always_taken(m->type)) {
		l->is_busy = true;
		return HAUL_BUSY;
	}
	return link_say(l, m, fault);
}

static void link_write(struct control_link *l)
{
	if (l->is_paired) {
		pair_write(l);
		return;
	}
	while (l->output.len) {
		size_t taken = channel_write(l->channel, byte_queue_front(&l->output), l->output.len);

		byte_queue_drop(&l->output, taken);
		if (!taken)
			break;
	}
	channel_flush(l->channel);
	if (!l->output.len && !l->is_shut && (l->state == LINK_FINISHING || l->state == LINK_FAILING)) {
		l->is_shut = true;
		channel_finish(l->channel);
	}
}

static void on_soon(uv_idle_t *idle)
{
	struct control_link *l = idle->data;

	(void)uv_idle_stop(idle);
	if (l->state == LINK_CLOSED || l->state == LINK_ENDED)
		return;
	link_write(l);
	if (l->state == LINK_DETACHING) {
		link_try_detach(l);
	} else if (l->is_busy && l->state == LINK_OPEN && l->output.len < WRITABLE_BYTES) {
		l->is_busy = false;
		l->cb->on_writable(l->ctx, l);
	}
}

/* Input */

static void greet_back(struct control_link *l)
{
	struct message m = { .type = MSG_HELLO, .hello = l->own.hello };

	(void)link_say(l, &m, NULL);
}

/* Sending from on_message() leaves the message alone: it lies in the decoder and in our input. */
static void link_deliver(struct control_link *l, const struct control_update *update)
{
	const struct message *m = update->message;

	link_wait(l, update->wait_ms);
	if (m->type == MSG_HELLO && l->role == CONTROL_CLIENT)
		greet_back(l);
	if (m->type == MSG_ACCEPT)
		link_beat(l, true);
	if (m->type == MSG_ALIVE && !m->alive.lanes)
		return;
	if (l->state == LINK_OPEN || l->state == LINK_FINISHING)
		l->cb->on_message(l->ctx, l, m);
}

void link_parse(struct control_link *l)
{
	struct control_update update = { .consumed = 0 };
	struct haul_fault fault;
	haul_status st = HAUL_OK;

	while (l->input.len && (l->state == LINK_OPEN || l->state == LINK_FINISHING)) {
		struct control_event ev = { .type = CONTROL_EV_RECEIVED,
					    .data = byte_queue_front(&l->input),
					    .len = l->input.len };

		st = control_step(l->session, &ev, &update, &fault);
		if (haul_failed(st) || !update.message)
			break;
		link_deliver(l, &update);
		byte_queue_drop(&l->input, update.consumed);
	}
	if (l->state == LINK_FAILING || l->state == LINK_ENDED)
		byte_queue_drop(&l->input, l->input.len);
	if (haul_ok(st))
		return;
	if (haul_failed(link_queue(l, &update)))
		st = haul_fault_set(&fault, HAUL_NO_MEMORY, "out of memory");
	link_fail(l, st, &fault);
}

static void link_fail_memory(struct control_link *l)
{
	struct haul_fault fault;
	haul_status st =
	    haul_fault_set(&fault, HAUL_NO_MEMORY, "no memory for a message of %s", channel_address_text(l->channel));

	link_fail(l, st, &fault);
}

void link_on_readable(void *ctx, struct channel *ch)
{
	struct control_link *l = ctx;
	size_t got = 1;

	while (got && (l->state == LINK_OPEN || l->state == LINK_FINISHING || l->state == LINK_FAILING)) {
		uint8_t *at;

		assert(l->input.len + READ_BYTES <= INPUT_MAX);
		if (haul_failed(byte_queue_reserve(&l->input, READ_BYTES, &at))) {
			link_fail_memory(l);
			return;
		}
		got = channel_read(ch, at, READ_BYTES);
		byte_queue_added(&l->input, got);
		if (got) {
			l->silent_beats = 0;
			link_parse(l);
		}
	}
}

void link_on_writable(void *ctx, struct channel *ch)
{
	(void)ch;
	link_soon(ctx);
}
