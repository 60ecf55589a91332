/*
 * Every connection until its first authenticated message: accepted, admitted (admission.c), shaken hands with, handed
 * to the owner, and then either lifted from the table by listener_authenticated() or ended by its deadline.
 *
 * Handshakes are computed on the loop, one step at a time, so never more than one at once.
 */
#include "agent/listener.h"

#include "agent/admission.h"
#include "agent/channel_impl.h"
#include "engine/base/list.h"
#include "engine/base/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_MESSAGE_MS = 10 * 1000, BACKLOG = 128, REFRESH_FROM = ADMISSION_PER_SOURCE };

struct newcomer {
	struct list link; /* in listener's newcomers, in order of arrival and so of deadlines */
	struct listener *listener;
	struct channel *channel;
	int slot;
	uint64_t deadline_ms;
	bool is_theirs; /* the owner has the channel, and closes it */
};

struct listener {
	struct listener_config cfg;
	uv_loop_t *loop;
	uv_tcp_t tcp;
	uv_timer_t timer; /* the first newcomer's deadline */
	struct admission admission;
	struct list newcomers;
	size_t newcomer_count;
	bool is_closing;
	unsigned open_parts; /* handles, and channels of ours that are closing */
	char address_text[64];
	void (*on_closed)(void *ctx);
	void *closed_ctx;
};

static void part_closed(void *ctx)
{
	struct listener *l = ctx;
	void (*on_closed)(void *ctx) = l->on_closed;
	void *closed_ctx = l->closed_ctx;

	if (--l->open_parts)
		return;
	free(l);
	if (on_closed)
		on_closed(closed_ctx);
}

static void on_handle_closed(uv_handle_t *handle)
{
	part_closed(handle->data);
}

/* Newcomers */

static void on_deadline(uv_timer_t *timer);

static void arm_deadline(struct listener *l)
{
	uint64_t now = uv_now(l->loop);
	const struct newcomer *first;

	if (l->is_closing || list_is_empty(&l->newcomers)) {
		(void)uv_timer_stop(&l->timer);
		return;
	}
	first = list_item(l->newcomers.next, struct newcomer, link);
	(void)uv_timer_start(&l->timer, on_deadline, first->deadline_ms > now ? first->deadline_ms - now : 0, 0);
}

static enum admission_outcome outcome_of(haul_status why)
{
	switch (why.code) {
	case HAUL_CODE_OK:
	case HAUL_CODE_LOST: /* a scan of the port, a client that gave up: harmless alone */
	case HAUL_CODE_CANCELLED:
	case HAUL_CODE_NO_MEMORY:
		return ADMISSION_DROPPED;
	case HAUL_CODE_TIMED_OUT:
		return ADMISSION_TOO_SLOW;
	default:
		return ADMISSION_FAILED;
	}
}

/* Out of the table; the channel lives on or is being closed. */
static void newcomer_unlink(struct newcomer *n)
{
	list_remove(&n->link);
	n->listener->newcomer_count--;
	arm_deadline(n->listener);
}

static void newcomer_leave(struct newcomer *n, enum admission_outcome outcome)
{
	admission_leave(&n->listener->admission, n->slot, outcome, uv_now(n->listener->loop));
	newcomer_unlink(n);
}

/* The channel has ended, or its new owner has closed or detached it. If it is ours still, on_end() follows. */
static void on_gone(void *ctx, struct channel *ch, haul_status why)
{
	struct newcomer *n = ctx;

	(void)ch;
	newcomer_leave(n, outcome_of(why));
	if (n->is_theirs)
		free(n);
}

static void drop_channel(struct listener *l, struct channel *ch)
{
	l->open_parts++;
	channel_close(ch, part_closed, l);
}

/* The table has given the slot away. One that is the owner's already is proven, and never chosen. */
static void evict(struct listener *l, int slot)
{
	list_each (link, &l->newcomers) {
		struct newcomer *n = list_item(link, struct newcomer, link);
		struct channel *ch = n->channel;

		if (n->slot != slot)
			continue;
		assert(!n->is_theirs);
		channel_set_gone(ch, NULL, NULL);
		newcomer_unlink(n);
		free(n);
		drop_channel(l, ch);
		return;
	}
	assert(false && "a victim is a newcomer");
}

static void on_deadline(uv_timer_t *timer)
{
	struct listener *l = timer->data;
	uint64_t now = uv_now(l->loop);

	while (!list_is_empty(&l->newcomers)) {
		struct newcomer *n = list_item(l->newcomers.next, struct newcomer, link);
		struct channel *ch = n->channel;

		if (n->deadline_ms > now)
			break;
		channel_set_gone(ch, NULL, NULL);
		channel_expire(ch, l->cfg.first_message_ms);
		if (!n->is_theirs)
			drop_channel(l, ch);
		newcomer_leave(n, ADMISSION_TOO_SLOW);
		free(n);
	}
	arm_deadline(l);
}

/* Channels until they are ready */

static void on_ready(void *ctx, struct channel *ch, const uint8_t device_id[32])
{
	struct newcomer *n = ctx;
	struct listener *l = n->listener;

	n->is_theirs = true;
	admission_prove(&l->admission, n->slot);
	l->cfg.on_channel(l->cfg.ctx, ch, device_id);
}

static void on_readable(void *ctx, struct channel *ch)
{
	(void)ctx;
	(void)ch;
	assert(false && "the owner has set its callbacks before anything can be read");
}

static void on_writable(void *ctx, struct channel *ch)
{
	(void)ctx;
	(void)ch;
}

static void on_end(void *ctx, struct channel *ch, haul_status why, const struct haul_fault *fault)
{
	struct newcomer *n = ctx;
	struct listener *l = n->listener;

	(void)why;
	haul_log(HAUL_LOG_INFO, "%s", fault->text);
	free(n); /* on_gone() has taken it out of the table */
	drop_channel(l, ch);
}

static const struct channel_callbacks newcomer_callbacks = {
	.on_ready = on_ready,
	.on_readable = on_readable,
	.on_writable = on_writable,
	.on_end = on_end,
};

/* Accepting */

static void refresh_spoken(struct listener *l)
{
	if (l->newcomer_count < REFRESH_FROM)
		return;
	list_each (link, &l->newcomers) {
		struct newcomer *n = list_item(link, struct newcomer, link);

		if (channel_has_spoken(n->channel))
			admission_spoke(&l->admission, n->slot);
	}
}

/* A connection that is not wanted has to be accepted first, to be rid of it. */
static void turn_away(struct listener *l)
{
	uv_tcp_t *tcp = malloc(sizeof(*tcp));

	if (!tcp || uv_tcp_init(l->loop, tcp)) {
		free(tcp);
		return;
	}
	(void)uv_accept((uv_stream_t *)&l->tcp, (uv_stream_t *)tcp);
	uv_close((uv_handle_t *)tcp, (uv_close_cb)free);
}

static bool peek_address(const struct channel *ch, struct sockaddr_storage *ret_address)
{
	int len = sizeof(*ret_address);

	return !uv_tcp_getpeername(&ch->tcp, (struct sockaddr *)ret_address, &len);
}

static void admit(struct newcomer *n)
{
	struct listener *l = n->listener;
	struct sockaddr_storage from;
	int victim = ADMISSION_NONE;

	refresh_spoken(l);
	n->slot = ADMISSION_NONE;
	if (peek_address(n->channel, &from))
		n->slot = admission_enter(&l->admission, (const struct sockaddr *)&from, uv_now(l->loop), &victim);
	if (victim != ADMISSION_NONE)
		evict(l, victim);
	if (n->slot == ADMISSION_NONE) {
		drop_channel(l, n->channel);
		free(n);
		return;
	}
	n->deadline_ms = uv_now(l->loop) + l->cfg.first_message_ms;
	list_push_back(&l->newcomers, &n->link);
	l->newcomer_count++;
	channel_set_gone(n->channel, on_gone, n);
	arm_deadline(l);
}

static void on_connection(uv_stream_t *server, int err)
{
	struct listener *l = server->data;
	struct newcomer *n;

	if (err)
		return;
	n = calloc(1, sizeof(*n));
	if (!n) {
		turn_away(l);
		return;
	}
	n->listener = l;
	if (haul_failed(channel_accept(server, l->cfg.tls, &newcomer_callbacks, n, &n->channel))) {
		free(n);
		return;
	}
	admit(n);
}

void listener_authenticated(struct listener *l, struct channel *ch)
{
	list_each (link, &l->newcomers) {
		struct newcomer *n = list_item(link, struct newcomer, link);

		if (n->channel != ch)
			continue;
		channel_set_gone(ch, NULL, NULL);
		newcomer_leave(n, ADMISSION_GOOD);
		free(n);
		return;
	}
}

/* Opening and closing */

static haul_status listener_bind(struct listener *l, struct haul_fault *fault)
{
	struct sockaddr_storage address = l->cfg.address;
	unsigned flags = address.ss_family == AF_INET6 ? UV_TCP_IPV6ONLY : 0; /* 0.0.0.0 has a listener of its own */
	int len = sizeof(address);
	int err = uv_tcp_bind(&l->tcp, (const struct sockaddr *)&address, flags);

	channel_address_format(&address, l->address_text, sizeof(l->address_text));
	if (!err)
		err = uv_listen((uv_stream_t *)&l->tcp, BACKLOG, on_connection);
	if (!err)
		err = uv_tcp_getsockname(&l->tcp, (struct sockaddr *)&address, &len);
	if (err)
		return haul_fault_set(fault, haul_status_from_errno(-err), "cannot listen on %s: %s%s", l->address_text,
				      uv_strerror(err),
				      err == UV_EADDRINUSE ? " (by another hauld? else see --listen)" : "");
	channel_address_format(&address, l->address_text, sizeof(l->address_text));
	return HAUL_OK;
}

haul_status listener_open(uv_loop_t *loop, const struct listener_config *cfg, struct listener **ret_listener,
			  struct haul_fault *fault)
{
	struct listener *l = calloc(1, sizeof(*l));
	haul_status st;
	int err;

	if (!l)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory to listen");
	l->cfg = *cfg;
	if (!l->cfg.first_message_ms)
		l->cfg.first_message_ms = FIRST_MESSAGE_MS;
	l->loop = loop;
	admission_init(&l->admission);
	list_init(&l->newcomers);
	err = uv_tcp_init(loop, &l->tcp);
	if (err) {
		free(l);
		return haul_fault_set(fault, haul_status_from_errno(-err), "cannot listen: %s", uv_strerror(err));
	}
	(void)uv_timer_init(loop, &l->timer);
	l->tcp.data = l->timer.data = l;
	l->open_parts = 2;
	st = listener_bind(l, fault);
	if (haul_failed(st)) {
		l->is_closing = true;
		uv_close((uv_handle_t *)&l->tcp, on_handle_closed);
		uv_close((uv_handle_t *)&l->timer, on_handle_closed);
		return st;
	}
	*ret_listener = l;
	return HAUL_OK;
}

const char *listener_address_text(const struct listener *l)
{
	return l->address_text;
}

/* Channels that are the owner's stay; they are only forgotten here. */
void listener_close(struct listener *l, void (*on_closed)(void *ctx), void *ctx)
{
	struct list *link;

	assert(!l->is_closing);
	l->is_closing = true;
	l->on_closed = on_closed;
	l->closed_ctx = ctx;
	while ((link = list_pop_front(&l->newcomers))) {
		struct newcomer *n = list_item(link, struct newcomer, link);

		channel_set_gone(n->channel, NULL, NULL);
		if (!n->is_theirs)
			drop_channel(l, n->channel);
		free(n);
	}
	uv_close((uv_handle_t *)&l->tcp, on_handle_closed);
	uv_close((uv_handle_t *)&l->timer, on_handle_closed);
}
