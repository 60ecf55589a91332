/*
 * Inside of a channel, for channel*.c and the listener.
 *
 *   CONNECTING --tcp--> SHAKING --pin checked--> READY --peer's end--> ENDED
 *        |                 |  \                    |                     ^
 *        |                 |   `--refused--> REFUSING (server: alert sent, drains up to 1 s)
 *        +-----------------+-----------------------+---- any fault ------+
 *   channel_close() leads from each of them to CLOSED.
 *
 * channel.c          life, and the one place that calls the owner about the end
 * channel_connect.c  how one comes to be
 * channel_io.c       bytes between the socket and the buffers
 * channel_tls.c      bytes between the buffers and mbedTLS
 * channel_move.c     from one loop to another
 */
#ifndef HAUL_AGENT_CHANNEL_IMPL_H
#define HAUL_AGENT_CHANNEL_IMPL_H

#include "agent/channel.h"

#include <mbedtls/ssl.h>

enum channel_state {
	CHANNEL_CONNECTING,
	CHANNEL_SHAKING,
	CHANNEL_READY,
	CHANNEL_REFUSING,
	CHANNEL_ENDED,
	CHANNEL_CLOSED,
};

enum channel_finish_state {
	FINISH_NONE,
	FINISH_WANTED, /* close_notify as soon as there is room */
	FINISH_QUEUED, /* the write side is shut down once all is with the kernel */
	FINISH_SHUT,
};

enum {
	/* The largest record: header 5, payload 16384, type 1, padding 15, tag 16, and some air. */
	CHANNEL_RECORD_ROOM = 16384 + 512,
	CHANNEL_REFUSING_MS = 1000,
	CHANNEL_DEAD_PEER_MS = 30000,
	CHANNEL_HANDLES = 3,
};

/* Ciphertext from the socket that TLS has not taken yet: data[start .. end). */
struct channel_input {
	uint8_t *data;
	size_t cap, start, end;
};

/* Ciphertext on its way to the socket. */
struct channel_batch {
	uint8_t *data;
	size_t cap, len;
};

/* What moves from loop to loop. While it belongs to a channel, `fd` is -1. */
struct channel_parts {
	int fd;
	mbedtls_ssl_context ssl;
	struct tls_peer peer;
	struct channel_input input;
	struct channel_batch batches[2]; /* one is filled while the kernel takes the other */
	unsigned filling;                /* index of the one being filled */
	size_t batch_bytes;              /* capacity a batch gets when it is next empty */
	bool is_server;
	bool has_read;                      /* plaintext has come: an alert is no refusal any more */
	uint8_t device_id[DEVICE_ID_BYTES]; /* after READY */
	char address_text[64];
};

struct channel {
	uv_loop_t *loop;
	struct channel_parts *parts; /* owned; NULL after detaching */
	const struct channel_callbacks *cb;
	void *ctx;
	enum channel_state state;
	enum channel_finish_state finish;

	uv_tcp_t tcp;
	uv_timer_t deadline; /* of connecting and shaking (client), of refusing (server) */
	uv_idle_t soon;      /* runs channel_tell() on the loop's next turn */
	unsigned open_handles;
	uv_connect_t connect_req;
	uv_write_t write_req;
	uv_shutdown_t shutdown_req;
	uint32_t timeout_ms;

	bool has_spoken;      /* input has come */
	bool is_reading;      /* uv is asked for input */
	bool is_paused;       /* by channel_pause() */
	bool is_writing;      /* write_req is with the loop: the batch not being filled */
	bool is_flush_wanted; /* the batch being filled leaves when the other one is done */
	bool is_write_dead;   /* the socket takes no more; input may still say why */
	bool is_input_over;   /* end of file or an error of the socket; input_errno */
	int input_errno;      /* 0: end of file */
	bool is_readable_due; /* to be told */
	bool is_write_wanted; /* a write was cut short */
	bool is_end_due;      /* to be told: end_fault */
	struct haul_fault end_fault;

	void (*on_closed)(void *ctx);
	void *closed_ctx;

	/* The listener's: told once, when the channel ends, closes or is detached. */
	void (*on_gone)(void *ctx, struct channel *ch, haul_status why);
	void *gone_ctx;
};

/* channel.c */
HAUL_MUST_USE haul_status channel_new(uv_loop_t *loop, const struct channel_callbacks *cb, void *ctx,
				      struct channel **ret_channel);
/* "127.0.0.1:42850", "[::1]:42850" */
void channel_address_format(const struct sockaddr_storage *address, char *ret_text, size_t cap);
void channel_move_to(struct channel *ch, enum channel_state next);
void channel_tell_soon(struct channel *ch);
/* Server: the handshake has failed; the end is told when the peer has closed, or after CHANNEL_REFUSING_MS. */
void channel_refuse(struct channel *ch);
/* Remember the end; the owner is told from the loop. The first one counts. */
void channel_end_soon(struct channel *ch, haul_status why, const char *fmt, ...) HAUL_PRINTF(3, 4);
/* A TLS server's connection from `server` (its on_connection callback). on_gone and `gone_ctx` are held. */
HAUL_MUST_USE haul_status channel_accept(uv_stream_t *server, struct tls_config *tls,
					 const struct channel_callbacks *cb, void *ctx, struct channel **ret_channel);
void channel_set_gone(struct channel *ch, void (*on_gone)(void *ctx, struct channel *ch, haul_status why), void *ctx);
void channel_gone(struct channel *ch, haul_status why);
/* Whether anything has come from the peer, be it unread. */
bool channel_has_spoken(const struct channel *ch);
/* The listener's deadline passed: ends with HAUL_TIMED_OUT. */
void channel_expire(struct channel *ch, uint32_t waited_ms);

/* channel_io.c */
void channel_tune_socket(struct channel *ch);
void channel_input_update(struct channel *ch); /* ask the socket for input, or stop asking */
/* on_readable; then the end is looked for, in case the owner had no use for more bytes and did not read up to it. */
void channel_tell_readable(struct channel *ch);
bool channel_output_room(struct channel *ch); /* whether one more record fits; makes room if it can */
void channel_output_pump(struct channel *ch);
bool channel_output_is_empty(const struct channel *ch);
int channel_socket(const struct channel *ch);

/* channel_tls.c */
HAUL_MUST_USE haul_status channel_parts_new(struct tls_config *tls, bool is_server, const uint8_t *expect_id,
					    struct channel_parts **ret_parts);
void channel_tls_bind(struct channel *ch);
void channel_tls_shake(struct channel *ch);
bool channel_tls_close_notify(struct channel *ch); /* false: no room yet */
void channel_tls_probe(struct channel *ch);        /* notice the end of the stream, if nothing stands before it */
bool channel_tls_has_input(const struct channel *ch);

#endif
