/*
 * One TLS 1.3 connection on one libuv loop: mutual, pinned, batched.
 *
 * Records are encrypted into a buffer of CHANNEL_BATCH_BYTES that leaves with one write; reads ask the socket for as
 * much. The pin is checked in the verify callback and again after the handshake (certs/tls_config.h); nothing is
 * delivered before. A stream that ends without close_notify is reported as cut. Callbacks never run inside a call to
 * the channel, except those that say so. Thread: the loop's.
 *
 * Life: channel_connect() or a listener makes it; on_ready; on_readable and on_writable as things move; exactly one
 * on_end; channel_close() at any time, after which only on_closed comes.
 */
#ifndef HAUL_AGENT_CHANNEL_H
#define HAUL_AGENT_CHANNEL_H

#include "agent/round_trip.h"
#include "certs/tls_config.h"
#include "engine/base/fault.h"

#include <netinet/in.h>
#include <uv.h>

enum {
	CHANNEL_BATCH_BYTES = 1024 * 1024,
	CHANNEL_SMALL_BYTES =
	    16 * 1024 + 1024, /* buffers before the peer is known, and of control connections' input */
};

struct channel;

struct channel_callbacks {
	/* Handshake done and the peer's pin checked: from now on it may be read and written. */
	void (*on_ready)(void *ctx, struct channel *ch, const uint8_t device_id[32]);
	/* Plaintext may be there: channel_read() until it returns 0. Comes again only after new input. */
	void (*on_readable)(void *ctx, struct channel *ch);
	/* channel_write() may take more, after it took less than asked. */
	void (*on_writable)(void *ctx, struct channel *ch);
	/*
	 * The stream is over, in both directions. HAUL_OK: close_notify came (and is answered). HAUL_LOST: cut or
	 * reset. HAUL_NOT_KNOWN: the peer refused our certificate. HAUL_WRONG_DEVICE: it is not who we expected.
	 * HAUL_REFUSED, HAUL_TIMED_OUT, HAUL_NO_ROUTE: never connected.
	 */
	void (*on_end)(void *ctx, struct channel *ch, haul_status why, const struct haul_fault *fault);
};

struct channel_connect_config {
	struct tls_config *tls;                 /* held until closed */
	const struct sockaddr_storage *address; /* borrowed */
	const uint8_t *expect_id; /* 32 bytes, borrowed: only this device is accepted; NULL: any known one */
	uint32_t timeout_ms;      /* for TCP and TLS together */
};

/* Connect. Failure to start is returned; everything later goes to on_end. `cb` and `ctx` are held. Given:
 * channel_close(). */
HAUL_MUST_USE haul_status channel_connect(uv_loop_t *loop, const struct channel_connect_config *cfg,
					  const struct channel_callbacks *cb, void *ctx, struct channel **ret_channel,
					  struct haul_fault *fault);

/* A new owner: called from now on; `cb` and `ctx` are held. */
void channel_set_callbacks(struct channel *ch, const struct channel_callbacks *cb, void *ctx);

/* Up to `cap` bytes of plaintext, straight out of TLS; 0 = nothing now. */
size_t channel_read(struct channel *ch, void *buf, size_t cap);

/*
 * Encrypt and queue. Returns the bytes taken: fewer than `len` when the socket is behind; on_writable follows.
 * A batch leaves when it is full or at channel_flush().
 */
size_t channel_write(struct channel *ch, const void *data, size_t len);
void channel_flush(struct channel *ch);

/* Stop asking the socket for input, and go on: back-pressure of a lane that has no free block. */
void channel_pause(struct channel *ch);
void channel_resume(struct channel *ch); /* on_readable follows from the loop, also for what TLS already holds */

/* After what is queued: close_notify, then shut down writing. Reading goes on until the peer's end. */
void channel_finish(struct channel *ch);

/* Drop it now. on_closed (may be NULL) comes from the loop when the memory is gone. */
void channel_close(struct channel *ch, void (*on_closed)(void *ctx), void *ctx);

/*
 * Take the connection off its loop, TLS state and undelivered input included, so that another thread's loop goes on
 * with it. Nothing may be queued for writing (flush and wait for on_writable first, or nothing written): HAUL_BUSY
 * otherwise. The channel object is gone afterwards; no callback follows.
 */
struct channel_parts;
HAUL_MUST_USE haul_status channel_detach(struct channel *ch, struct channel_parts **ret_parts);
HAUL_MUST_USE haul_status channel_attach(uv_loop_t *loop, struct channel_parts *parts /* taken */,
					 const struct channel_callbacks *cb, void *ctx, struct channel **ret_channel);
void channel_parts_free(struct channel_parts *parts); /* closes the connection; NULL is fine */

/* Switch to full-size buffers once the peer is known and bulk data is to come. */
HAUL_MUST_USE haul_status channel_grow(struct channel *ch);

/* TLS records so far, for retirement; and "192.168.1.20:42850" (given text lives as long as the channel). */
uint64_t channel_records_in(const struct channel *ch);
uint64_t channel_records_out(const struct channel *ch);
const char *channel_address_text(const struct channel *ch);
uv_loop_t *channel_loop(const struct channel *ch);
const uint8_t *channel_device_id(const struct channel *ch); /* 32 bytes; once ready */

/* After how long without a sign of life a peer is taken for dead: milliseconds, a multiple of 1,000. */
unsigned channel_dead_peer_ms(void);

/* As the kernel has measured it. */
struct round_trip channel_round_trip(const struct channel *ch);

/* Bytes queued and not yet taken by the kernel. */
size_t channel_queued(const struct channel *ch);

#endif
