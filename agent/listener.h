/*
 * Accepts connections and brings them to the point where a known device has finished its handshake.
 *
 * What a stranger can cost is bounded (docs/SECURITY.md): CHANNEL_SMALL_BYTES of buffers each, 64 at once, 8 per source
 * (/24, /64), one absolute deadline of 10 s from accept to the first authenticated message; a full source or table
 * drops its oldest silent one. Penalties per source after failures. The owner calls listener_authenticated() when that
 * first message came.
 */
#ifndef HAUL_AGENT_LISTENER_H
#define HAUL_AGENT_LISTENER_H

#include "agent/channel.h"

struct listener;

struct listener_config {
	struct tls_config *tls;          /* held */
	struct sockaddr_storage address; /* port 0: any free one */
	uint32_t first_message_ms;       /* from accept to the first authenticated message; 0: 10 s */
	/* A known device has shaken hands. The callee sets the channel's callbacks with channel_set_callbacks() at
	 * once. */
	void (*on_channel)(void *ctx, struct channel *ch, const uint8_t device_id[32]);
	void *ctx;
};

/* ret_listener is given: listener_close(). After a failure the loop has handles to close, so run it before closing it.
 */
HAUL_MUST_USE haul_status listener_open(uv_loop_t *loop, const struct listener_config *cfg,
					struct listener **ret_listener, struct haul_fault *fault);

/* "127.0.0.1:42850" or "[::1]:42850", with the real port. Lives as long as the listener. */
const char *listener_address_text(const struct listener *l);

/* The first authenticated message of this channel came: its deadline and its place in the table are lifted. */
void listener_authenticated(struct listener *l, struct channel *ch);

/* Stop accepting and drop what has not authenticated; on_closed comes from the loop. */
void listener_close(struct listener *l, void (*on_closed)(void *ctx), void *ctx);

#endif
