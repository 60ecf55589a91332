/*
 * A control connection in use.
 *
 *   OPEN --finish()--> FINISHING --close_notify of the peer--> ENDED
 *    |  \--a broken rule, refuse()--> FAILING --the peer's end, or 1 s--> ENDED
 *    |   \--detach()--> DETACHING --LANE_OK is out--> (gone)
 *    +---- the connection's end ----> ENDED
 *
 * Messages to be sent gather in a queue and leave on the loop's next turn, so that a burst shares its records. Input is
 * always read; while FAILING it is dropped.
 */
#include "agent/control_link_impl.h"

#include "agent/thread_cpu.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFUSE_MS = 1000, FINISH_MS = 10000, DETACH_RETRY_MS = 5, BEATS = 4 };

static const char *peer_text(const struct control_link *l)
{
	return l->channel ? channel_address_text(l->channel) : "the other end";
}

/* The end */

void link_end(struct control_link *l, haul_status why, const struct haul_fault *fault)
{
	struct haul_fault copy = *fault;

	if (l->state == LINK_ENDED || l->state == LINK_CLOSED)
		return;
	l->state = LINK_ENDED;
	(void)uv_timer_stop(&l->timer);
	(void)uv_timer_stop(&l->beat);
	copy.status = why;
	l->end_fault = copy;
	l->cb->on_end(l->ctx, l, why, &copy);
}

static void on_failed_long_enough(uv_timer_t *timer)
{
	struct control_link *l = timer->data;

	link_end(l, l->end_fault.status, &l->end_fault);
}

/* What is queued (an ERROR as a rule) leaves, and the peer has a moment to read it. */
void link_fail(struct control_link *l, haul_status why, const struct haul_fault *fault)
{
	if (l->state != LINK_OPEN && l->state != LINK_FINISHING)
		return;
	l->state = LINK_FAILING;
	l->end_fault = fault ? *fault : (struct haul_fault){ 0 };
	l->end_fault.status = why;
	(void)uv_timer_start(&l->timer, on_failed_long_enough, REFUSE_MS, 0);
	link_soon(l);
}

static void on_finish_timeout(uv_timer_t *timer)
{
	struct control_link *l = timer->data;
	struct haul_fault fault = { .status = HAUL_OK };
	haul_status st = HAUL_OK;

	if (control_state(l->session) != CONTROL_CLOSED)
		st = haul_fault_set(&fault, HAUL_TIMED_OUT, "%s did not close the connection", peer_text(l));
	link_end(l, st, &fault);
}

void control_link_finish(struct control_link *l)
{
	if (l->state != LINK_OPEN)
		return;
	l->state = LINK_FINISHING;
	(void)uv_timer_start(&l->timer, on_finish_timeout, FINISH_MS, 0);
	link_soon(l);
}

/* Silence */

static void on_silence(uv_timer_t *timer)
{
	struct control_link *l = timer->data;
	struct haul_fault fault;
	haul_status st = haul_fault_set(&fault, HAUL_TIMED_OUT, "%s was silent for %u s",
					channel_address_text(l->channel), (unsigned)(l->wait_ms / 1000));

	link_fail(l, st, &fault);
}

void link_wait(struct control_link *l, uint32_t wait_ms)
{
	l->wait_ms = wait_ms;
	if (l->state != LINK_OPEN || l->is_paired) /* the other end of a pair is this process: it cannot be silent */
		return;
	if (wait_ms)
		(void)uv_timer_start(&l->timer, on_silence, wait_ms, 0);
	else
		(void)uv_timer_stop(&l->timer);
}

/* Each side says something four times in the time after which it would be taken for dead. A process that was asleep
 * itself finds one beat due, not many, and so hears first what has come meanwhile. */
static void on_beat(uv_timer_t *timer)
{
	const struct message m = { .type = MSG_ALIVE };
	struct control_link *l = timer->data;
	struct haul_fault fault;
	haul_status st;

	if (l->state != LINK_OPEN) {
		(void)uv_timer_stop(timer);
		return;
	}
	if (++l->silent_beats >= BEATS) {
		st = haul_fault_set(&fault, HAUL_TIMED_OUT, "%s was silent for %u s", peer_text(l),
				    channel_dead_peer_ms() / 1000);
		link_end(l, st, &fault);
		return;
	}
	if (!l->has_said)
		(void)link_say(l, &m, &fault);
	l->has_said = false;
}

void link_beat(struct control_link *l, bool is_on)
{
	l->silent_beats = 0;
	if (l->is_paired) /* the other end is this process */
		return;
	if (is_on)
		(void)uv_timer_start(&l->beat, on_beat, channel_dead_peer_ms() / BEATS, channel_dead_peer_ms() / BEATS);
	else
		(void)uv_timer_stop(&l->beat);
}

void control_link_refuse(struct control_link *l, const struct msg_error *error)
{
	struct message m = { .type = MSG_ERROR, .error = *error };
	struct haul_fault fault;
	haul_status st;

	if (l->state != LINK_OPEN)
		return;
	st = haul_fault_set(&fault, haul_status_from_number(error->code), "%.*s", (int)error->text.len,
			    error->text.at ? error->text.at : "");
	(void)link_say(l, &m, NULL);
	link_fail(l, st, &fault);
}

/* Detaching */

static void on_detach_retry(uv_timer_t *timer)
{
	link_try_detach(timer->data);
}

/* The client waits for LANE_OK, so nothing of the lane can be here yet; if it did not, it is no client of ours. */
void link_try_detach(struct control_link *l)
{
	struct channel_parts *parts = NULL;
	struct haul_fault fault;
	haul_status st = HAUL_BUSY;

	if (l->input.len) {
		st = haul_fault_set(&fault, HAUL_BAD_MOVE, "%s sent data before its lane was accepted",
				    channel_address_text(l->channel));
		link_end(l, st, &fault);
		return;
	}
	if (!l->output.len)
		st = channel_detach(l->channel, &parts);
	if (st.code == HAUL_CODE_BUSY) {
		(void)uv_timer_start(&l->timer, on_detach_retry, DETACH_RETRY_MS, 0);
		return;
	}
	if (haul_failed(st)) {
		(void)haul_fault_set(&fault, st, "a lane was lost: %s", haul_status_text(st));
		link_end(l, st, &fault);
		return;
	}
	l->channel = NULL;
	l->on_detached(l->detached_ctx, parts);
	control_link_close(l, NULL, NULL);
}

haul_status control_link_detach(struct control_link *l, const struct msg_lane_ok *ok,
				void (*on_detached)(void *ctx, struct channel_parts *parts), void *ctx)
{
	struct message m = { .type = MSG_LANE_OK, .lane_ok = *ok };
	haul_status st;

	if (l->state != LINK_OPEN)
		return HAUL_LOST;
	st = link_say(l, &m, NULL);
	if (haul_failed(st))
		return st;
	(void)uv_timer_stop(&l->timer);
	l->state = LINK_DETACHING;
	l->on_detached = on_detached;
	l->detached_ctx = ctx;
	return HAUL_OK;
}

/* The channel's end */

static void on_channel_ready(void *ctx, struct channel *ch, const uint8_t device_id[32])
{
	(void)ctx;
	(void)ch;
	(void)device_id;
	assert(false && "a control link is given a channel that is ready");
}

/* The session knows whether the stream may end here; the channel knows why it did. */
void link_stream_ended(struct control_link *l, haul_status why, const struct haul_fault *why_fault)
{
	struct control_event ev = { .type = haul_ok(why) ? CONTROL_EV_EOF : CONTROL_EV_CUT };
	struct control_update update;
	struct haul_fault fault = { .status = HAUL_OK };
	haul_status st;

	if (l->state == LINK_FAILING) {
		link_end(l, l->end_fault.status, &l->end_fault);
		return;
	}
	st = control_step(l->session, &ev, &update, &fault);
	if (haul_failed(why) && (st.code == HAUL_CODE_LOST || why.code != HAUL_CODE_LOST))
		link_end(l, why, why_fault);
	else
		link_end(l, st, &fault);
}

static void on_channel_end(void *ctx, struct channel *ch, haul_status why, const struct haul_fault *fault)
{
	(void)ch;
	link_stream_ended(ctx, why, fault);
}

static const struct channel_callbacks link_channel_callbacks = {
	.on_ready = on_channel_ready,
	.on_readable = link_on_readable,
	.on_writable = link_on_writable,
	.on_end = on_channel_end,
};

/* Opening and closing */

void hello_fill(struct msg_hello *ret_hello, const char *your_name)
{
	*ret_hello = (struct msg_hello){
		.version_min = PROTOCOL_VERSION,
		.version_max = PROTOCOL_VERSION,
		.tree_version = TREE_VERSION,
		.digest_algorithms = 1u << DIGEST_XXH3_128,
		.digest_bytes = 16,
		.block_min = 1024 * 1024,
		.block_max = 16 * 1024 * 1024,
		.cores = own_cores(),
		.lanes_max = LANES_MAX,
		.software = { "haul " HAUL_VERSION, sizeof("haul " HAUL_VERSION) - 1 },
	};
	if (your_name)
		ret_hello->your_name = (struct text){ your_name, strnlen(your_name, MESSAGE_PEER_NAME_MAX) };
}

static struct text keep(char *to, size_t cap, struct text from)
{
	size_t len = from.len < cap ? from.len : cap;

	if (len)
		memcpy(to, from.at, len);
	return (struct text){ to, len };
}

static void own_hello_keep(struct own_hello *own, const struct msg_hello *hello)
{
	own->hello = *hello;
	own->hello.software = keep(own->software, sizeof(own->software), hello->software);
	own->hello.your_name = keep(own->your_name, sizeof(own->your_name), hello->your_name);
}

static struct control_link *link_alloc(uv_loop_t *loop, enum control_role role)
{
	struct control_link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->session = control_session_new(&(struct control_config){ .role = role });
	if (!l->session) {
		free(l);
		return NULL;
	}
	(void)uv_idle_init(loop, &l->soon);
	(void)uv_timer_init(loop, &l->timer);
	(void)uv_timer_init(loop, &l->beat);
	l->soon.data = l->timer.data = l->beat.data = l;
	l->role = role;
	return l;
}

haul_status link_new(uv_loop_t *loop, struct channel *channel, enum control_role role, const struct msg_hello *hello,
		     struct control_link **ret_link, struct haul_fault *fault)
{
	struct message m = { .type = MSG_HELLO, .hello = *hello };
	struct control_link *l = link_alloc(loop, role);
	haul_status st = HAUL_OK;

	if (!l)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for a control connection");
	l->is_paired = !channel;
	own_hello_keep(&l->own, hello);
	if (role == CONTROL_SERVER)
		st = link_say(l, &m, fault);
	if (haul_failed(st)) {
		control_link_close(l, NULL, NULL);
		return st;
	}
	l->channel = channel;
	*ret_link = l;
	return HAUL_OK;
}

haul_status control_link_open(struct channel *channel, enum control_role role, const struct msg_hello *hello,
			      const struct control_link_callbacks *cb, void *ctx, struct control_link **ret_link,
			      struct haul_fault *fault)
{
	struct control_link *l;
	haul_status st = link_new(channel_loop(channel), channel, role, hello, &l, fault);

	if (haul_failed(st))
		return st;
	control_link_set_callbacks(l, cb, ctx);
	channel_set_callbacks(channel, &link_channel_callbacks, l);
	channel_resume(channel); /* what came before we did is read too */
	*ret_link = l;
	return HAUL_OK;
}

static void part_closed(struct control_link *l)
{
	void (*on_closed)(void *ctx) = l->on_closed;
	void *ctx = l->closed_ctx;

	if (--l->open_parts)
		return;
	control_session_free(l->session);
	byte_queue_close(&l->input);
	byte_queue_close(&l->output);
	free(l);
	if (on_closed)
		on_closed(ctx);
}

static void on_handle_closed(uv_handle_t *handle)
{
	part_closed(handle->data);
}

static void on_channel_closed(void *ctx)
{
	part_closed(ctx);
}

void control_link_close(struct control_link *l, void (*on_closed)(void *ctx), void *ctx)
{
	assert(l->state != LINK_CLOSED);
	l->state = LINK_CLOSED;
	l->on_closed = on_closed;
	l->closed_ctx = ctx;
	l->open_parts = 3;
	pair_leave(l);
	if (l->channel) {
		l->open_parts++;
		channel_close(l->channel, on_channel_closed, l);
	}
	uv_close((uv_handle_t *)&l->soon, on_handle_closed);
	uv_close((uv_handle_t *)&l->timer, on_handle_closed);
	uv_close((uv_handle_t *)&l->beat, on_handle_closed);
}

/* Owner's small calls */

void control_link_set_callbacks(struct control_link *l, const struct control_link_callbacks *cb, void *ctx)
{
	l->cb = cb;
	l->ctx = ctx;
}

const struct haul_fault *control_link_failure(const struct control_link *l)
{
	bool is_over = l->state == LINK_FAILING || l->state == LINK_ENDED;

	return is_over && haul_failed(l->end_fault.status) ? &l->end_fault : NULL;
}

struct control_session *control_link_session(struct control_link *l)
{
	return l->session;
}

struct channel *control_link_channel(struct control_link *l)
{
	return l->channel;
}

const uint8_t *control_link_device(const struct control_link *l)
{
	return channel_device_id(l->channel);
}
