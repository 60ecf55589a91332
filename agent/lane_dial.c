/*
 *   CONNECTING --pin checked--> GREETING --HELLO, LANE_HELLO sent, LANE_OK--> (handed over)
 *     ^      +------------------------+------ any failure, cancel ------------> ENDING
 *     |      +-- lost, no HELLO yet --+
 *     +--- backoff -- WAITING <-------+
 *
 * One that is held stays in GREETING until lane_dial_join(). The peer waits 10 s for a first message, so hold_ms is
 * less.
 *
 * The session judges the messages; here they are cut out of the stream one by one: four bytes of length, then as many
 * as they say, and never more.
 */
#include "agent/lane_dial.h"

#include "agent/backoff.h"
#include "engine/base/escape.h"
#include "peer-protocol/control_session.h"

#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 4, GREETING_MAX = 16 * 1024 /* a HELLO or an ERROR; far below a frame's bound */ };

enum lane_dial_state { LANE_DIAL_CONNECTING, LANE_DIAL_GREETING, LANE_DIAL_WAITING, LANE_DIAL_ENDING };

struct lane_dial {
	void (*on_done)(void *ctx, struct channel *channel, haul_status why, const struct haul_fault *fault);
	void (*on_cancelled)(void *ctx); /* counts once on_done is NULL */
	void *ctx;
	enum lane_dial_state state;
	uv_loop_t *loop;
	struct tls_config *tls;
	struct sockaddr_storage address;
	uint8_t device_id[32];
	struct msg_lane_hello lane;
	struct channel *channel;
	struct control_session *session;
	struct haul_fault fault; /* of the failure to be told */
	uv_timer_t timer;        /* when it has to be joined; WAITING: when to dial again */
	uint64_t end_at_ms;
	uint32_t timeout_ms, hold_ms;
	struct backoff backoff;
	bool is_held, is_greeted; /* its lane is not known yet; HELLO has come */
	bool is_closing;          /* the channel of a try that is over */
	unsigned open_parts;
	uint8_t frame[LENGTH_BYTES + GREETING_MAX];
	size_t frame_len;
};

/* The end */

static void part_closed(struct lane_dial *d)
{
	if (--d->open_parts)
		return;
	control_session_free(d->session);
	if (d->on_done)
		d->on_done(d->ctx, NULL, d->fault.status, &d->fault);
	else if (d->on_cancelled)
		d->on_cancelled(d->ctx);
	free(d);
}

static void on_timer_closed(uv_handle_t *handle)
{
	part_closed(handle->data);
}

static void redial_soon(struct lane_dial *d);

static void on_channel_closed(void *ctx)
{
	struct lane_dial *d = ctx;

	if (d->state == LANE_DIAL_ENDING)
		part_closed(d);
	else
		redial_soon(d);
}

static void lane_dial_end(struct lane_dial *d)
{
	d->open_parts = d->is_closing ? 2 : 1; /* a lost connection may be on its way out */
	d->state = LANE_DIAL_ENDING;
	if (d->channel) {
		d->open_parts++;
		channel_close(d->channel, on_channel_closed, d);
	}
	uv_close((uv_handle_t *)&d->timer, on_timer_closed);
}

static void lane_dial_fail(struct lane_dial *d, haul_status why, const struct haul_fault *fault)
{
	if (d->state == LANE_DIAL_ENDING)
		return;
	d->fault = *fault;
	d->fault.status = why;
	lane_dial_end(d);
}

/* Nothing has been said: the next try starts once the channel is closed and the backoff is over. */
static void lose_connection(struct lane_dial *d, haul_status why, const struct haul_fault *fault)
{
	d->fault = *fault;
	d->fault.status = why;
	d->state = LANE_DIAL_WAITING;
	(void)uv_timer_stop(&d->timer);
	d->is_closing = true;
	channel_close(d->channel, on_channel_closed, d);
	d->channel = NULL;
}

static void on_timeout(uv_timer_t *timer)
{
	struct lane_dial *d = timer->data;
	struct haul_fault fault;
	haul_status st;

	if (d->is_held)
		st =
		    haul_fault_set(&fault, HAUL_TIMED_OUT, "no job wanted the connection in %g s", d->hold_ms / 1000.0);
	else
		st = haul_fault_set(&fault, HAUL_TIMED_OUT, "%s took a lane's connection, but did not answer in %g s",
				    channel_address_text(d->channel), d->timeout_ms / 1000.0);
	lane_dial_fail(d, st, &fault);
}

static void on_handed_over(uv_handle_t *handle)
{
	struct lane_dial *d = handle->data;

	control_session_free(d->session);
	free(d);
}

static void hand_over(struct lane_dial *d)
{
	struct channel *channel = d->channel;

	d->state = LANE_DIAL_ENDING;
	channel_pause(channel);
	(void)uv_timer_stop(&d->timer);
	d->on_done(d->ctx, channel, HAUL_OK, &d->fault);
	uv_close((uv_handle_t *)&d->timer, on_handed_over);
}

/* Messages */

static void say_lane_hello(struct lane_dial *d)
{
	struct message m = { .type = MSG_LANE_HELLO, .lane_hello = d->lane };
	struct control_event ev = { .type = CONTROL_EV_SEND, .message = &m };
	struct control_update update;
	struct haul_fault fault;
	haul_status st = control_step(d->session, &ev, &update, &fault);

	if (haul_ok(st) && channel_write(d->channel, update.send, update.send_len) < update.send_len)
		st = haul_fault_set(&fault, HAUL_LOST, "%s takes no data", channel_address_text(d->channel));
	channel_flush(d->channel);
	if (haul_failed(st))
		lane_dial_fail(d, st, &fault);
}

static void on_error_message(struct lane_dial *d, const struct msg_error *e)
{
	char text[HAUL_FAULT_TEXT_MAX / 2];
	struct haul_fault fault;
	haul_status st = haul_fault_set(&fault, haul_status_from_number(e->code), "%s",
					haul_escape(e->text.at, e->text.len, text, sizeof(text)));

	if (st.code == HAUL_CODE_NOT_ANNOUNCED) /* it has given up the job, and its own connection says so next */
		st = haul_fault_set(&fault, HAUL_LOST, "%s knows nothing of the job any more",
				    channel_address_text(d->channel));
	lane_dial_fail(d, haul_ok(st) ? HAUL_BUG : st, &fault);
}

static void on_frame(struct lane_dial *d)
{
	struct control_event ev = { .type = CONTROL_EV_RECEIVED, .data = d->frame, .len = d->frame_len };
	struct control_update update;
	struct haul_fault fault;
	haul_status st = control_step(d->session, &ev, &update, &fault);

	if (haul_ok(st) && !update.message)
		st = haul_fault_set(&fault, HAUL_BAD_FRAME, "%s greets with a frame that does not end",
				    channel_address_text(d->channel));
	if (haul_failed(st)) {
		lane_dial_fail(d, st, &fault);
		return;
	}
	d->frame_len = 0;
	switch (update.message->type) {
	case MSG_HELLO:
		d->is_greeted = true;
		if (!d->is_held)
			say_lane_hello(d);
		break;
	case MSG_LANE_OK:
		hand_over(d);
		break;
	default: /* the session lets nothing else through */
		on_error_message(d, &update.message->error);
		break;
	}
}

/* How many bytes of the frame are still missing, as far as is known yet. */
static size_t frame_missing(const struct lane_dial *d)
{
	uint32_t len = 0;

	if (d->frame_len < LENGTH_BYTES)
		return LENGTH_BYTES - d->frame_len;
	for (size_t i = 0; i < LENGTH_BYTES; i++)
		len = len << 8 | d->frame[i];
	return len > GREETING_MAX ? SIZE_MAX : LENGTH_BYTES + len - d->frame_len;
}

static void on_readable(void *ctx, struct channel *ch)
{
	struct lane_dial *d = ctx;
	size_t got = 1;

	while (got && d->state == LANE_DIAL_GREETING) {
		size_t missing = frame_missing(d);

		if (missing == SIZE_MAX) {
			struct haul_fault fault;
			haul_status st = haul_fault_set(&fault, HAUL_BAD_FRAME, "%s greets with too long a frame",
							channel_address_text(ch));

			lane_dial_fail(d, st, &fault);
			return;
		}
		got = channel_read(ch, d->frame + d->frame_len, missing);
		d->frame_len += got;
		if (d->frame_len >= LENGTH_BYTES && !frame_missing(d))
			on_frame(d);
	}
}

/* Channel */

static void on_ready(void *ctx, struct channel *ch, const uint8_t device_id[32])
{
	struct lane_dial *d = ctx;
	haul_status st = d->hold_ms ? HAUL_OK : channel_grow(ch); /* it may turn out not to be wanted */

	(void)device_id;
	d->state = LANE_DIAL_GREETING;
	if (haul_failed(st)) {
		(void)haul_fault_set(&d->fault, st, "no memory for a lane's buffers");
		lane_dial_end(d);
	}
}

static void on_writable(void *ctx, struct channel *ch)
{
	(void)ctx;
	(void)ch;
}

static void on_end(void *ctx, struct channel *ch, haul_status why, const struct haul_fault *fault)
{
	struct lane_dial *d = ctx;

	(void)ch;
	if (haul_ok(why))
		why = HAUL_LOST;
	if (why.code == HAUL_CODE_LOST && !d->is_greeted && !d->is_held && d->state != LANE_DIAL_ENDING)
		lose_connection(d, why, fault);
	else
		lane_dial_fail(d, why, fault);
}

static const struct channel_callbacks lane_dial_callbacks = {
	.on_ready = on_ready,
	.on_readable = on_readable,
	.on_writable = on_writable,
	.on_end = on_end,
};

static haul_status dial(struct lane_dial *d, uint32_t timeout_ms, struct haul_fault *fault)
{
	struct channel_connect_config connect = {
		.tls = d->tls,
		.address = &d->address,
		.expect_id = d->device_id,
		.timeout_ms = timeout_ms,
	};
	haul_status st = HAUL_NO_MEMORY;

	d->frame_len = 0;
	d->session = control_session_new(&(struct control_config){ .role = CONTROL_CLIENT });
	if (!d->session)
		return haul_fault_set(fault, st, "no memory for a lane");
	st = channel_connect(d->loop, &connect, &lane_dial_callbacks, d, &d->channel, fault);
	if (haul_failed(st)) {
		control_session_free(d->session);
		d->session = NULL;
		return st;
	}
	d->state = LANE_DIAL_CONNECTING;
	return HAUL_OK;
}

static uint64_t left_ms(const struct lane_dial *d)
{
	uint64_t now = uv_now(d->loop);

	return d->end_at_ms > now ? d->end_at_ms - now : 0;
}

static void on_redial(uv_timer_t *timer)
{
	struct lane_dial *d = timer->data;
	uint64_t left = left_ms(d);
	struct haul_fault fault;
	haul_status st = dial(d, (uint32_t)left, &fault);

	if (haul_failed(st))
		lane_dial_fail(d, st, &fault);
	else
		(void)uv_timer_start(timer, on_timeout, left, 0);
}

static void redial_soon(struct lane_dial *d)
{
	uint64_t wait_ms;

	d->is_closing = false;
	control_session_free(d->session);
	d->session = NULL;
	if (backoff_next(&d->backoff, left_ms(d), &wait_ms))
		(void)uv_timer_start(&d->timer, on_redial, wait_ms, 0);
	else
		lane_dial_end(d); /* the fault is there since the loss */
}

haul_status lane_dial_start(uv_loop_t *loop, const struct lane_dial_config *cfg,
			    void (*on_done)(void *ctx, struct channel *channel, haul_status why,
					    const struct haul_fault *fault),
			    void *ctx, struct lane_dial **ret_dial, struct haul_fault *fault)
{
	struct lane_dial *d = calloc(1, sizeof(*d));
	haul_status st;

	if (!d)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for a lane");
	d->on_done = on_done;
	d->ctx = ctx;
	d->loop = loop;
	d->tls = cfg->tls;
	d->address = *cfg->address;
	memcpy(d->device_id, cfg->device_id, sizeof(d->device_id));
	d->lane = cfg->lane;
	d->timeout_ms = cfg->timeout_ms;
	d->hold_ms = cfg->hold_ms;
	d->is_held = cfg->hold_ms > 0;
	d->end_at_ms = uv_now(loop) + cfg->timeout_ms;
	st = dial(d, cfg->timeout_ms, fault);
	if (haul_failed(st)) {
		free(d);
		return st;
	}
	(void)uv_timer_init(loop, &d->timer);
	d->timer.data = d;
	(void)uv_timer_start(&d->timer, on_timeout, d->is_held ? d->hold_ms : d->timeout_ms, 0);
	*ret_dial = d;
	return HAUL_OK;
}

void lane_dial_join(struct lane_dial *d, const struct msg_lane_hello *lane)
{
	d->is_held = false;
	d->lane = *lane;
	if (d->state == LANE_DIAL_ENDING)
		return; /* it has just failed: on_done says so */
	d->end_at_ms = uv_now(d->loop) + d->timeout_ms;
	(void)uv_timer_start(&d->timer, on_timeout, d->timeout_ms, 0);
	if (d->is_greeted)
		say_lane_hello(d);
}

void lane_dial_cancel(struct lane_dial *d, void (*on_cancelled)(void *ctx), void *ctx)
{
	d->on_done = NULL;
	d->on_cancelled = on_cancelled;
	d->ctx = ctx;
	if (d->state != LANE_DIAL_ENDING)
		lane_dial_end(d);
}
