/*
 * One attempt after the other, never two at once:
 *
 *   RESOLVING --addresses--> CONNECTING --pin checked--> GREETING --HELLO--> ENDING (success)
 *      ^  |                      |                           |
 *      |  +-- next host <--------+--- next address <---------+ any failure; the best reason is kept
 *      +------ no host left, an answer that settles it, the deadline, or dial_cancel() --> ENDING
 *      +--<-- backoff -- WAITING: no host left, and the best reason is a connection that was lost
 *
 * Each attempt gets its share of the time that is left, so that a black hole in front does not hide what follows.
 */
#include "agent/dial.h"

#include "agent/backoff.h"
#include "agent/dial_fault.h"
#include "agent/peer_address.h"
#include "engine/base/escape.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ATTEMPT_MIN_MS = 250, ADDRESSES_PER_HOST_MAX = 16 };

enum dial_state { DIAL_RESOLVING, DIAL_CONNECTING, DIAL_GREETING, DIAL_WAITING, DIAL_ENDING };

struct dial {
	uv_loop_t *loop;
	struct dial_config cfg;
	void (*on_done)(void *ctx, struct dial_result *result, const struct haul_fault *fault, const char *remedy);
	void *ctx;
	enum dial_state state;
	struct dial_result result;
	const struct peer *peer; /* NULL: haul://, any device we know */

	struct peer_address *hosts; /* owned */
	size_t host_count, host;    /* `host`: the one being tried */
	uv_getaddrinfo_t resolve_req;
	bool is_resolving;
	struct addrinfo *found, *next; /* addresses of the host; `next` is tried next */

	struct channel *channel; /* of this attempt, until a link has it */
	struct control_link *link;
	uint64_t end_at_ms;
	uv_timer_t timer; /* starts, retries and ends the dial */
	struct backoff backoff;
	struct dial_fault best;
};

static void dial_advance(struct dial *d);

/* The end */

static void dial_free(struct dial *d)
{
	uv_freeaddrinfo(d->found);
	free(d->hosts);
	free(d);
}

static void on_failed_closed(uv_handle_t *handle)
{
	struct dial *d = handle->data;

	dial_trust_free(d->result.trust);
	d->result.trust = NULL;
	d->result.tls = NULL;
	d->on_done(d->ctx, &d->result, &d->best.fault, d->best.remedy[0] ? d->best.remedy : NULL);
	dial_free(d);
}

static void on_succeeded_closed(uv_handle_t *handle)
{
	dial_free(handle->data);
}

static void dial_end(struct dial *d)
{
	d->state = DIAL_ENDING;
	if (!d->is_resolving && !uv_is_closing((uv_handle_t *)&d->timer))
		uv_close((uv_handle_t *)&d->timer, on_failed_closed);
}

static void on_attempt_closed(void *ctx)
{
	struct dial *d = ctx;

	if (d->state == DIAL_ENDING)
		dial_end(d);
	else
		dial_advance(d);
}

/* Undo what this attempt has open; on_attempt_closed() goes on from there. */
static void attempt_close(struct dial *d)
{
	struct channel *channel = d->channel;
	struct control_link *link = d->link;

	d->channel = NULL;
	d->link = NULL;
	if (link)
		control_link_close(link, on_attempt_closed, d);
	else if (channel)
		channel_close(channel, on_attempt_closed, d);
	else
		dial_end(d);
}

/* This settles it, whatever other addresses there are. */
static void dial_settle(struct dial *d, const struct dial_fault *f)
{
	if (d->state == DIAL_ENDING)
		return;
	d->best = *f;
	d->state = DIAL_ENDING;
	(void)uv_timer_stop(&d->timer);
	attempt_close(d);
}

static void on_deadline(uv_timer_t *timer)
{
	struct dial *d = timer->data;
	struct dial_fault f;

	dial_fault_no_answer(&f, d->cfg.timeout_ms, d->hosts[d->host].port);
	if (d->state == DIAL_RESOLVING)
		dial_fault_unresolved(&f, d->hosts[d->host].host, "no name server answered in time");
	if (d->state == DIAL_GREETING)
		(void)haul_fault_set(&f.fault, HAUL_TIMED_OUT, "%s took the connection, but did not answer in %g s",
				     d->result.peer_name, d->cfg.timeout_ms / 1000.0);
	dial_fault_keep_better(&f, &d->best);
	dial_settle(d, &f);
}

void dial_cancel(struct dial *d)
{
	struct dial_fault f = { .remedy = "" };

	(void)haul_fault_set(&f.fault, HAUL_CANCELLED, "cancelled");
	dial_settle(d, &f);
}

/* One attempt */

static void attempt_failed(struct dial *d, haul_status why, const struct haul_fault *fault)
{
	const char *host = d->hosts[d->host].host, *name = d->peer ? d->peer->name : NULL;
	struct dial_fault f = { .fault = *fault };

	if (d->state == DIAL_ENDING)
		return;
	if (why.code == HAUL_CODE_NOT_KNOWN && d->state == DIAL_GREETING) {
		dial_fault_unknown_here(&f, d->result.peer_name, d->cfg.home, d->cfg.place->share);
		dial_settle(d, &f);
		return;
	}
	if (why.code == HAUL_CODE_NOT_KNOWN || why.code == HAUL_CODE_WRONG_DEVICE)
		dial_fault_other_device(&f, host, name);
	else if (why.code == HAUL_CODE_TIMED_OUT)
		dial_fault_no_answer(&f, d->cfg.timeout_ms, d->hosts[d->host].port);
	dial_fault_keep_better(&d->best, &f);
	attempt_close(d);
}

static void on_link_end(void *ctx, struct control_link *l, haul_status why, const struct haul_fault *fault)
{
	struct dial *d = ctx;
	struct haul_fault lost;

	(void)l;
	if (haul_ok(why)) {
		why = haul_fault_set(&lost, HAUL_LOST, "%s closed the connection at once", d->result.peer_name);
		fault = &lost;
	}
	attempt_failed(d, why, fault);
}

/* The peer says why it does not want us, in its own words. */
static void on_error_message(struct dial *d, const struct msg_error *e)
{
	struct dial_fault f = { .remedy = "" };
	char text[HAUL_FAULT_TEXT_MAX / 2];

	(void)haul_fault_set(&f.fault, haul_status_from_number(e->code), "%s: %s", d->result.peer_name,
			     haul_escape(e->text.at, e->text.len, text, sizeof(text)));
	dial_settle(d, &f);
}

static void on_link_message(void *ctx, struct control_link *l, const struct message *m)
{
	struct dial *d = ctx;

	(void)l;
	if (d->state == DIAL_ENDING)
		return;
	if (m->type == MSG_ERROR) {
		on_error_message(d, &m->error);
		return;
	}
	assert(m->type == MSG_HELLO);
	d->state = DIAL_ENDING;
	d->result.link = d->link;
	d->best.fault = (struct haul_fault){ .status = HAUL_OK };
	/* Now and not later: the link's next word is for its new owner. */
	d->on_done(d->ctx, &d->result, &d->best.fault, NULL);
	uv_close((uv_handle_t *)&d->timer, on_succeeded_closed);
}

static void on_link_writable(void *ctx, struct control_link *l)
{
	(void)ctx;
	(void)l;
}

static const struct control_link_callbacks dial_link_callbacks = {
	.on_message = on_link_message,
	.on_writable = on_link_writable,
	.on_end = on_link_end,
};

static void on_ready(void *ctx, struct channel *ch, const uint8_t device_id[32])
{
	struct dial *d = ctx;
	const struct peer *peer = peers_find_id(&d->result.trust->peers, device_id);
	struct haul_fault fault;
	struct msg_hello hello;
	haul_status st;

	assert(peer);
	d->state = DIAL_GREETING;
	memcpy(d->result.device_id, device_id, sizeof(d->result.device_id));
	(void)snprintf(d->result.peer_name, sizeof(d->result.peer_name), "%s", peer->name);
	hello_fill(&hello, NULL);
	st = control_link_open(ch, CONTROL_CLIENT, &hello, &dial_link_callbacks, d, &d->link, &fault);
	if (haul_failed(st))
		attempt_failed(d, st, &fault);
	else
		d->channel = NULL;
}

static void on_readable(void *ctx, struct channel *ch)
{
	(void)ctx;
	(void)ch;
	assert(false && "the link has taken the channel before anything can be read");
}

static void on_writable(void *ctx, struct channel *ch)
{
	(void)ctx;
	(void)ch;
}

static void on_channel_end(void *ctx, struct channel *ch, haul_status why, const struct haul_fault *fault)
{
	(void)ch;
	attempt_failed(ctx, why, fault);
}

static const struct channel_callbacks dial_channel_callbacks = {
	.on_ready = on_ready,
	.on_readable = on_readable,
	.on_writable = on_writable,
	.on_end = on_channel_end,
};

static uint64_t left_ms(const struct dial *d)
{
	uint64_t now = uv_now(d->loop);

	return d->end_at_ms > now ? d->end_at_ms - now : 0;
}

static uint32_t attempt_ms(const struct dial *d)
{
	uint64_t left = left_ms(d);
	uint64_t ways = d->host_count - d->host;
	uint64_t share;

	for (const struct addrinfo *a = d->next ? d->next->ai_next : NULL; a; a = a->ai_next)
		ways++;
	share = left / ways;
	return (uint32_t)(share < ATTEMPT_MIN_MS ? ATTEMPT_MIN_MS : share);
}

static void attempt_start(struct dial *d)
{
	struct channel_connect_config cfg = {
		.tls = d->result.tls,
		.address = &d->result.address,
		.expect_id = d->peer ? d->peer->device_id : NULL,
		.timeout_ms = attempt_ms(d),
	};
	struct haul_fault fault;
	haul_status st;

	d->state = DIAL_CONNECTING;
	memset(&d->result.address, 0, sizeof(d->result.address));
	memcpy(&d->result.address, d->next->ai_addr, d->next->ai_addrlen);
	d->next = d->next->ai_next;
	st = channel_connect(d->loop, &cfg, &dial_channel_callbacks, d, &d->channel, &fault);
	if (haul_failed(st)) {
		struct dial_fault f = { .fault = fault };

		dial_settle(d, &f);
	}
}

/* Hosts and their addresses */

static void on_resolved(uv_getaddrinfo_t *req, int err, struct addrinfo *found)
{
	struct dial *d = req->data;
	struct dial_fault f;

	d->is_resolving = false;
	if (d->state == DIAL_ENDING) {
		uv_freeaddrinfo(found);
		dial_end(d);
		return;
	}
	if (err) {
		dial_fault_unresolved(&f, d->hosts[d->host].host, uv_strerror(err));
		dial_fault_keep_better(&d->best, &f);
	}
	d->found = d->next = err ? NULL : found;
	dial_advance(d);
}

static void resolve(struct dial *d)
{
	const struct peer_address *host = &d->hosts[d->host];
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP };
	struct dial_fault f;
	char port[8];
	int err;

	d->state = DIAL_RESOLVING;
	(void)snprintf(port, sizeof(port), "%u", host->port);
	d->resolve_req.data = d;
	err = uv_getaddrinfo(d->loop, &d->resolve_req, on_resolved, host->host, port, &hints);
	d->is_resolving = !err;
	if (err) {
		dial_fault_unresolved(&f, host->host, uv_strerror(err));
		dial_settle(d, &f);
	}
}

static void on_again(uv_timer_t *timer)
{
	struct dial *d = timer->data;

	(void)uv_timer_start(timer, on_deadline, left_ms(d), 0);
	d->host = 0;
	resolve(d);
}

/* A connection that was lost before anything was said is worth another round; every other reason is final. */
static bool wait_to_retry(struct dial *d)
{
	uint64_t wait_ms;

	if (d->best.fault.status.code != HAUL_CODE_LOST || !backoff_next(&d->backoff, left_ms(d), &wait_ms))
		return false;
	d->state = DIAL_WAITING;
	(void)uv_timer_start(&d->timer, on_again, wait_ms, 0);
	return true;
}

/* The next address of this host, else the next host, else the end of this round. */
static void dial_advance(struct dial *d)
{
	if (d->next) {
		attempt_start(d);
		return;
	}
	uv_freeaddrinfo(d->found);
	d->found = NULL;
	if (d->host + 1 >= d->host_count) {
		if (!wait_to_retry(d))
			dial_end(d);
		return;
	}
	d->host++;
	resolve(d);
}

/* Starting */

static haul_status hosts_of_place(struct dial *d)
{
	const struct place_spec *place = d->cfg.place;

	d->hosts = calloc(1, sizeof(*d->hosts));
	if (!d->hosts)
		return HAUL_NO_MEMORY;
	(void)snprintf(d->hosts[0].host, sizeof(d->hosts[0].host), "%s", place->host);
	d->hosts[0].port = place->port;
	d->host_count = 1;
	return HAUL_OK;
}

static haul_status hosts_of_peer(struct dial *d)
{
	const struct peer *peer = d->peer;

	d->hosts = calloc(peer->address_count ? peer->address_count : 1, sizeof(*d->hosts));
	if (!d->hosts)
		return HAUL_NO_MEMORY;
	for (size_t i = 0; i < peer->address_count; i++) {
		if (haul_ok(peer_address_parse(peer->addresses[i], &d->hosts[d->host_count], NULL)))
			d->host_count++;
	}
	if (!d->host_count)
		dial_fault_no_address(&d->best, peer);
	return HAUL_OK;
}

static haul_status find_hosts(struct dial *d)
{
	const struct place_spec *place = d->cfg.place;
	const struct peer_list *peers = &d->result.trust->peers;

	if (!place->peer)
		return hosts_of_place(d);
	d->peer = peers_find(peers, place->peer, strlen(place->peer));
	if (d->peer)
		return hosts_of_peer(d);
	dial_fault_no_peer(&d->best, place->peer, peers);
	return HAUL_OK;
}

static void on_start(uv_timer_t *timer)
{
	struct dial *d = timer->data;

	if (!d->host_count) {
		dial_end(d);
		return;
	}
	(void)uv_timer_start(timer, on_deadline, d->cfg.timeout_ms, 0);
	resolve(d);
}

haul_status dial_start(uv_loop_t *loop, const struct dial_config *cfg,
		       void (*on_done)(void *ctx, struct dial_result *result, const struct haul_fault *fault,
				       const char *remedy),
		       void *ctx, struct dial **ret_dial, struct haul_fault *fault)
{
	struct dial *d = calloc(1, sizeof(*d));
	haul_status st = HAUL_NO_MEMORY;

	if (!d)
		return haul_fault_set(fault, st, "out of memory");
	*d = (struct dial){ .loop = loop, .cfg = *cfg, .on_done = on_done, .ctx = ctx };
	st = dial_trust_new(cfg->home, &d->result.trust, fault);
	if (haul_failed(st))
		goto free_dial;
	d->result.tls = d->result.trust->tls;
	st = find_hosts(d);
	if (haul_failed(st)) {
		(void)haul_fault_set(fault, st, "out of memory");
		goto free_trust;
	}
	d->end_at_ms = uv_now(loop) + cfg->timeout_ms;
	(void)uv_timer_init(loop, &d->timer);
	d->timer.data = d;
	(void)uv_timer_start(&d->timer, on_start, 0, 0);
	*ret_dial = d;
	return HAUL_OK;

free_trust:
	dial_trust_free(d->result.trust);
free_dial:
	free(d->hosts);
	free(d);
	return st;
}
