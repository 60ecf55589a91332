/* How a channel comes to be: connected by us, or accepted from a listening socket. */
#include "agent/channel_impl.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

void channel_address_format(const struct sockaddr_storage *address, char *ret_text, size_t cap)
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (address->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;

		(void)uv_ip6_name(in6, host, sizeof(host));
		(void)snprintf(ret_text, cap, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		const struct sockaddr_in *in4 = (const struct sockaddr_in *)address;

		(void)uv_ip4_name(in4, host, sizeof(host));
		(void)snprintf(ret_text, cap, "%s:%u", host, ntohs(in4->sin_port));
	}
}

static void on_connect_timeout(uv_timer_t *timer)
{
	struct channel *ch = timer->data;
	const char *port = strrchr(ch->parts->address_text, ':');

	channel_end_soon(ch, HAUL_TIMED_OUT,
			 "no answer in %g s: machine off, other address, or a firewall drops TCP %s",
			 ch->timeout_ms / 1000.0, port ? port + 1 : "");
}

static void connect_failed(struct channel *ch, int err)
{
	const char *address = ch->parts->address_text;

	switch (err) {
	case UV_ECONNREFUSED:
		channel_end_soon(ch, HAUL_REFUSED, "%s refused the connection: hauld is not running there", address);
		break;
	case UV_ETIMEDOUT:
		on_connect_timeout(&ch->deadline);
		break;
	case UV_ENETUNREACH:
	case UV_EHOSTUNREACH:
	case UV_ENETDOWN:
	case UV_EADDRNOTAVAIL:
	case UV_EINVAL:
	case UV_EACCES:
	case UV_EPERM:
		channel_end_soon(ch, HAUL_NO_ROUTE, "%s cannot be reached: %s", address, uv_strerror(err));
		break;
	default:
		channel_end_soon(ch, HAUL_LOST, "connecting to %s: %s", address, uv_strerror(err));
		break;
	}
}

static void on_connected(uv_connect_t *req, int err)
{
	struct channel *ch = req->data;

	if (ch->state != CHANNEL_CONNECTING || ch->is_end_due)
		return;
	if (err) {
		connect_failed(ch, err);
		return;
	}
	channel_tune_socket(ch);
	ch->state = CHANNEL_SHAKING; /* the deadline goes on */
	channel_input_update(ch);
	channel_tls_shake(ch);
}

haul_status channel_connect(uv_loop_t *loop, const struct channel_connect_config *cfg,
			    const struct channel_callbacks *cb, void *ctx, struct channel **ret_channel,
			    struct haul_fault *fault)
{
	struct channel_parts *parts;
	struct channel *ch;
	haul_status st = channel_parts_new(cfg->tls, false, cfg->expect_id, &parts);
	int err;

	if (haul_failed(st))
		return haul_fault_set(fault, st, "a TLS connection cannot be made: %s", haul_status_text(st));
	st = channel_new(loop, cb, ctx, &ch);
	if (haul_failed(st)) {
		channel_parts_free(parts);
		return haul_fault_set(fault, st, "a connection cannot be made: %s", haul_status_text(st));
	}
	ch->parts = parts;
	ch->timeout_ms = cfg->timeout_ms;
	channel_tls_bind(ch);
	channel_address_format(cfg->address, parts->address_text, sizeof(parts->address_text));
	ch->connect_req.data = ch;
	(void)uv_timer_start(&ch->deadline, on_connect_timeout, cfg->timeout_ms, 0);
	err = uv_tcp_connect(&ch->connect_req, &ch->tcp, (const struct sockaddr *)cfg->address, on_connected);
	if (err)
		connect_failed(ch, err);
	*ret_channel = ch;
	return HAUL_OK;
}

haul_status channel_accept(uv_stream_t *server, struct tls_config *tls, const struct channel_callbacks *cb, void *ctx,
			   struct channel **ret_channel)
{
	struct sockaddr_storage peer = { .ss_family = AF_UNSPEC };
	int len = sizeof(peer);
	struct channel *ch;
	haul_status st = channel_new(server->loop, cb, ctx, &ch);

	if (haul_failed(st))
		return st;
	ch->state = CHANNEL_SHAKING;
	if (uv_accept(server, (uv_stream_t *)&ch->tcp))
		st = HAUL_LOST;
	if (haul_ok(st))
		st = channel_parts_new(tls, true, NULL, &ch->parts);
	if (haul_failed(st)) {
		channel_close(ch, NULL, NULL);
		return st;
	}
	channel_tls_bind(ch);
	channel_tune_socket(ch);
	(void)uv_tcp_getpeername(&ch->tcp, (struct sockaddr *)&peer, &len);
	channel_address_format(&peer, ch->parts->address_text, sizeof(ch->parts->address_text));
	channel_input_update(ch);
	*ret_channel = ch;
	return HAUL_OK;
}
