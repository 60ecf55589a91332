/*
 * From one loop to another: the descriptor is duplicated, the old handle closes its own copy, and everything else is
 * already apart from the handles (struct channel_parts).
 */
#include "agent/channel_impl.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

haul_status channel_detach(struct channel *ch, struct channel_parts **ret_parts)
{
	struct channel_parts *parts = ch->parts;
	int fd;

	if (ch->state != CHANNEL_READY || ch->is_end_due)
		return HAUL_LOST;
	if (!channel_output_is_empty(ch) || ch->finish != FINISH_NONE)
		return HAUL_BUSY;
	fd = fcntl(channel_socket(ch), F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return HAUL_TOO_MANY_OPEN;
	parts->fd = fd;
	mbedtls_ssl_set_bio(&parts->ssl, NULL, NULL, NULL, NULL);
	ch->parts = NULL;
	channel_gone(ch, HAUL_OK);
	channel_close(ch, NULL, NULL);
	*ret_parts = parts;
	return HAUL_OK;
}

haul_status channel_attach(uv_loop_t *loop, struct channel_parts *parts, const struct channel_callbacks *cb, void *ctx,
			   struct channel **ret_channel)
{
	struct channel *ch;
	haul_status st = channel_new(loop, cb, ctx, &ch);
	int err;

	if (haul_failed(st))
		return st;
	err = uv_tcp_open(&ch->tcp, parts->fd);
	if (err) {
		channel_close(ch, NULL, NULL);
		return haul_status_from_errno(-err);
	}
	parts->fd = -1;
	ch->parts = parts;
	ch->state = CHANNEL_READY;
	channel_tls_bind(ch);
	channel_input_update(ch);
	ch->is_readable_due = channel_tls_has_input(ch);
	if (ch->is_readable_due)
		channel_tell_soon(ch);
	*ret_channel = ch;
	return HAUL_OK;
}
