/*
 * The life of a channel, and the one place that calls its owner back about the end.
 *
 * Whatever a call finds out (an alert while reading, no memory while writing) is remembered and told from the loop's
 * next turn, so the owner is never called inside its own call.
 */
#include "agent/channel_impl.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TO(state) (1u << CHANNEL_##state)

static const unsigned channel_moves[] = {
	[CHANNEL_CONNECTING] = TO(SHAKING) | TO(ENDED) | TO(CLOSED),
	[CHANNEL_SHAKING] = TO(READY) | TO(REFUSING) | TO(ENDED) | TO(CLOSED),
	[CHANNEL_READY] = TO(ENDED) | TO(CLOSED),
	[CHANNEL_REFUSING] = TO(ENDED) | TO(CLOSED),
	[CHANNEL_ENDED] = TO(CLOSED),
	[CHANNEL_CLOSED] = 0,
};

void channel_move_to(struct channel *ch, enum channel_state next)
{
	assert(channel_moves[ch->state] & (1u << next));
	ch->state = next;
	if (next != CHANNEL_REFUSING)
		(void)uv_timer_stop(&ch->deadline);
	channel_input_update(ch);
}

/* Telling the owner */

/* A peer that closed properly gets our close_notify in return, so that it does not take the end for a cut. */
static void tell_end(struct channel *ch)
{
	struct haul_fault fault = ch->end_fault;

	if (haul_ok(fault.status) && ch->finish == FINISH_NONE)
		ch->finish = FINISH_WANTED;
	ch->is_flush_wanted = true;
	channel_output_pump(ch);
	channel_move_to(ch, CHANNEL_ENDED);
	channel_gone(ch, fault.status);
	if (ch->state == CHANNEL_ENDED)
		ch->cb->on_end(ch->ctx, ch, fault.status, &fault);
}

static void on_soon(uv_idle_t *idle)
{
	struct channel *ch = idle->data;
	bool is_readable = ch->is_readable_due;

	(void)uv_idle_stop(idle);
	ch->is_readable_due = false;
	if (ch->state == CHANNEL_CLOSED || ch->state == CHANNEL_ENDED)
		return;
	if (ch->is_end_due) {
		if (ch->state != CHANNEL_REFUSING || ch->is_input_over)
			tell_end(ch);
		return;
	}
	if (is_readable && ch->state == CHANNEL_READY && !ch->is_paused)
		channel_tell_readable(ch);
}

void channel_tell_soon(struct channel *ch)
{
	if (ch->state != CHANNEL_CLOSED)
		(void)uv_idle_start(&ch->soon, on_soon);
}

void channel_end_soon(struct channel *ch, haul_status why, const char *fmt, ...)
{
	va_list args;

	if (ch->state == CHANNEL_CLOSED || ch->state == CHANNEL_ENDED)
		return;
	if (!ch->is_end_due) {
		ch->is_end_due = true;
		ch->end_fault = (struct haul_fault){ .status = why };
		va_start(args, fmt);
		(void)vsnprintf(ch->end_fault.text, sizeof(ch->end_fault.text), fmt, args);
		va_end(args);
		channel_input_update(ch);
	}
	channel_tell_soon(ch);
}

void channel_set_gone(struct channel *ch, void (*on_gone)(void *ctx, struct channel *ch, haul_status why), void *ctx)
{
	ch->on_gone = on_gone;
	ch->gone_ctx = ctx;
}

void channel_gone(struct channel *ch, haul_status why)
{
	void (*on_gone)(void *ctx, struct channel *channel, haul_status st) = ch->on_gone;

	ch->on_gone = NULL;
	if (on_gone)
		on_gone(ch->gone_ctx, ch, why);
}

/* Deadlines */

static void on_refused_long_enough(uv_timer_t *timer)
{
	struct channel *ch = timer->data;

	ch->is_input_over = true;
	channel_tell_soon(ch);
}

void channel_refuse(struct channel *ch)
{
	channel_move_to(ch, CHANNEL_REFUSING);
	ch->finish = FINISH_QUEUED;
	(void)uv_timer_start(&ch->deadline, on_refused_long_enough, CHANNEL_REFUSING_MS, 0);
	channel_input_update(ch);
}

void channel_expire(struct channel *ch, uint32_t waited_ms)
{
	channel_end_soon(ch, HAUL_TIMED_OUT, "%s said nothing valid in %g s", ch->parts->address_text,
			 waited_ms / 1000.0);
}

/* Making one */

haul_status channel_new(uv_loop_t *loop, const struct channel_callbacks *cb, void *ctx, struct channel **ret_channel)
{
	struct channel *ch = calloc(1, sizeof(*ch));
	int err;

	if (!ch)
		return HAUL_NO_MEMORY;
	ch->loop = loop;
	ch->cb = cb;
	ch->ctx = ctx;
	err = uv_tcp_init(loop, &ch->tcp);
	if (err) {
		free(ch);
		return haul_status_from_errno(-err);
	}
	(void)uv_timer_init(loop, &ch->deadline);
	(void)uv_idle_init(loop, &ch->soon);
	ch->open_handles = CHANNEL_HANDLES;
	ch->tcp.data = ch->deadline.data = ch->soon.data = ch;
	*ret_channel = ch;
	return HAUL_OK;
}

/* Owner's small calls */

void channel_set_callbacks(struct channel *ch, const struct channel_callbacks *cb, void *ctx)
{
	ch->cb = cb;
	ch->ctx = ctx;
}

void channel_pause(struct channel *ch)
{
	ch->is_paused = true;
	channel_input_update(ch);
}

void channel_resume(struct channel *ch)
{
	ch->is_paused = false;
	if (ch->state != CHANNEL_READY)
		return;
	channel_input_update(ch);
	ch->is_readable_due = true;
	channel_tell_soon(ch);
}

void channel_finish(struct channel *ch)
{
	if (ch->state != CHANNEL_READY || ch->finish != FINISH_NONE)
		return;
	ch->finish = FINISH_WANTED;
	channel_output_pump(ch);
}

haul_status channel_grow(struct channel *ch)
{
	struct channel_input *in = &ch->parts->input;
	uint8_t *data;

	if (in->cap >= CHANNEL_BATCH_BYTES)
		return HAUL_OK;
	data = realloc(in->data, CHANNEL_BATCH_BYTES);
	if (!data)
		return HAUL_NO_MEMORY;
	in->data = data;
	in->cap = CHANNEL_BATCH_BYTES;
	ch->parts->batch_bytes = CHANNEL_BATCH_BYTES; /* each batch follows when it is next empty */
	channel_input_update(ch);
	return HAUL_OK;
}

const char *channel_address_text(const struct channel *ch)
{
	return ch->parts->address_text;
}

uv_loop_t *channel_loop(const struct channel *ch)
{
	return ch->loop;
}

const uint8_t *channel_device_id(const struct channel *ch)
{
	return ch->parts->device_id;
}

/* The end of one */

void channel_parts_free(struct channel_parts *parts)
{
	if (!parts)
		return;
	if (parts->fd >= 0)
		(void)close(parts->fd);
	mbedtls_ssl_free(&parts->ssl);
	free(parts->input.data);
	free(parts->batches[0].data);
	free(parts->batches[1].data);
	free(parts);
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct channel *ch = handle->data;
	void (*on_closed)(void *ctx) = ch->on_closed;
	void *ctx = ch->closed_ctx;

	if (--ch->open_handles)
		return;
	channel_parts_free(ch->parts);
	free(ch);
	if (on_closed)
		on_closed(ctx);
}

void channel_close(struct channel *ch, void (*on_closed)(void *ctx), void *ctx)
{
	assert(ch->state != CHANNEL_CLOSED);
	ch->state = CHANNEL_CLOSED;
	channel_gone(ch, HAUL_CANCELLED);
	ch->on_closed = on_closed;
	ch->closed_ctx = ctx;
	uv_close((uv_handle_t *)&ch->tcp, on_handle_closed);
	uv_close((uv_handle_t *)&ch->deadline, on_handle_closed);
	uv_close((uv_handle_t *)&ch->soon, on_handle_closed);
}
