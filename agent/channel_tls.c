/*
 * Bytes between a channel's buffers and mbedTLS: handshake, records, alerts.
 *
 * mbedTLS asks for input and offers output through two callbacks that only move bytes between it and the buffers, so
 * its would-block answers never reach the socket.
 */
#include "agent/channel_impl.h"

#include <assert.h>
#include <mbedtls/net_sockets.h>
#include <stdlib.h>
#include <string.h>

static int bio_send(void *ctx, const unsigned char *data, size_t len)
{
	struct channel *ch = ctx;
	struct channel_batch *b;
	size_t room;

	if (ch->is_write_dead)
		return MBEDTLS_ERR_NET_CONN_RESET;
	if (!channel_output_room(ch))
		return MBEDTLS_ERR_SSL_WANT_WRITE;
	b = &ch->parts->batches[ch->parts->filling];
	room = b->cap - b->len;
	if (len > room)
		len = room;
	memcpy(b->data + b->len, data, len);
	b->len += len;
	return (int)len;
}

static int bio_recv(void *ctx, unsigned char *buf, size_t cap)
{
	struct channel *ch = ctx;
	struct channel_input *in = &ch->parts->input;
	size_t len = in->end - in->start;

	if (!len)
		return MBEDTLS_ERR_SSL_WANT_READ;
	if (len > cap)
		len = cap;
	memcpy(buf, in->data + in->start, len);
	in->start += len;
	return (int)len;
}

void channel_tls_bind(struct channel *ch)
{
	mbedtls_ssl_set_bio(&ch->parts->ssl, ch, bio_send, bio_recv, NULL);
}

haul_status channel_parts_new(struct tls_config *tls, bool is_server, const uint8_t *expect_id,
			      struct channel_parts **ret_parts)
{
	struct channel_parts *p = calloc(1, sizeof(*p));
	haul_status st = HAUL_NO_MEMORY;

	if (!p)
		return HAUL_NO_MEMORY;
	mbedtls_ssl_init(&p->ssl);
	p->fd = -1;
	p->is_server = is_server;
	p->batch_bytes = CHANNEL_SMALL_BYTES;
	p->input.cap = CHANNEL_SMALL_BYTES;
	p->input.data = malloc(p->input.cap);
	if (p->input.data)
		st = tls_peer_start(tls, is_server ? TLS_SERVER : TLS_CLIENT, &p->ssl, &p->peer, expect_id, NULL);
	if (haul_failed(st)) {
		channel_parts_free(p);
		return st;
	}
	*ret_parts = p;
	return HAUL_OK;
}

/* Handshake */

/*
 * After its Finished a server speaks under the application keys, alerts included (RFC 8446, section 2), but mbedTLS 3.6
 * goes on with the handshake keys until the client's Finished is in. The client, which has switched, could not read why
 * it is refused. Nothing but an alert can leave in between, and the wrap-up sets the same keys and counter again.
 */
static void use_application_keys(mbedtls_ssl_context *ssl)
{
	if (ssl->MBEDTLS_PRIVATE(state) != MBEDTLS_SSL_CLIENT_CERTIFICATE ||
	    !ssl->MBEDTLS_PRIVATE(transform_application) ||
	    ssl->MBEDTLS_PRIVATE(transform_out) == ssl->MBEDTLS_PRIVATE(transform_application) ||
	    ssl->MBEDTLS_PRIVATE(out_left))
		return;
	ssl->MBEDTLS_PRIVATE(transform_out) = ssl->MBEDTLS_PRIVATE(transform_application);
	memset(ssl->MBEDTLS_PRIVATE(cur_out_ctr), 0, sizeof(ssl->MBEDTLS_PRIVATE(cur_out_ctr)));
}

/* What a failure of mbedTLS means for the owner. */
static void end_for(struct channel *ch, int err)
{
	struct channel_parts *p = ch->parts;
	haul_status st = tls_failure(&p->ssl, &p->peer, err, NULL);

	switch (st.code) {
	case HAUL_CODE_OK:
		if (ch->state == CHANNEL_READY)
			channel_end_soon(ch, HAUL_OK, "%s closed the connection", p->address_text);
		else
			channel_end_soon(ch, HAUL_LOST, "%s closed the connection before saying who it is",
					 p->address_text);
		break;
	case HAUL_CODE_NOT_KNOWN:
		/* Once data has come, an alert about certificates is a fault of the peer, not its answer. */
		if (p->has_read)
			channel_end_soon(ch, HAUL_LOST, "%s broke the connection off", p->address_text);
		else if (haul_failed(p->peer.verdict))
			channel_end_soon(ch, st, "%s is not a known device", p->address_text);
		else
			channel_end_soon(ch, st, "%s does not know this device", p->address_text);
		break;
	case HAUL_CODE_WRONG_DEVICE:
		channel_end_soon(ch, st, "%s answers as another device; nothing was sent", p->address_text);
		break;
	case HAUL_CODE_CRYPTO:
		/* A record that does not hold, or the peer's alert about one. What came before it was whole. */
		channel_end_soon(ch, HAUL_LOST, "what passed between here and %s was changed on the way",
				 p->address_text);
		break;
	default:
		channel_end_soon(ch, st, "connection to %s: %s", p->address_text, haul_status_text(st));
		break;
	}
}

/* A server lets its alert reach the client: it shuts down writing and reads until the end, at most 1 s. */
static void shake_failed(struct channel *ch)
{
	if (ch->parts->is_server)
		channel_refuse(ch);
	channel_output_pump(ch);
}

static void shake_done(struct channel *ch)
{
	struct channel_parts *p = ch->parts;
	struct haul_fault fault;
	haul_status st = tls_check_peer(&p->ssl, &p->peer, p->device_id, &fault);

	if (haul_failed(st)) {
		channel_end_soon(ch, st, "%s: %s", p->address_text, fault.text);
		shake_failed(ch);
		return;
	}
	channel_move_to(ch, CHANNEL_READY);
	ch->cb->on_ready(ch->ctx, ch, p->device_id);
	if (ch->state == CHANNEL_READY && ch->parts && channel_tls_has_input(ch)) {
		ch->is_readable_due = true;
		channel_tell_soon(ch);
	}
}

void channel_tls_shake(struct channel *ch)
{
	mbedtls_ssl_context *ssl = &ch->parts->ssl;
	int err = 0;

	while (!err && !mbedtls_ssl_is_handshake_over(ssl)) {
		if (ch->parts->is_server)
			use_application_keys(ssl);
		err = mbedtls_ssl_handshake_step(ssl);
	}
	ch->is_flush_wanted = true;
	channel_output_pump(ch);
	if (err == MBEDTLS_ERR_SSL_WANT_READ || err == MBEDTLS_ERR_SSL_WANT_WRITE)
		return;
	if (err) {
		end_for(ch, err);
		shake_failed(ch);
	} else {
		shake_done(ch);
	}
}

/* Records */

bool channel_tls_has_input(const struct channel *ch)
{
	const struct channel_parts *p = ch->parts;

	return p->input.start < p->input.end || mbedtls_ssl_get_bytes_avail(&p->ssl) > 0;
}

bool channel_tls_close_notify(struct channel *ch)
{
	if (!channel_output_room(ch))
		return false;
	(void)mbedtls_ssl_close_notify(&ch->parts->ssl);
	return true;
}

/* Nothing more can be read: is that the end of the stream? */
static void note_cut(struct channel *ch)
{
	if (!ch->is_input_over)
		return;
	if (ch->input_errno)
		channel_end_soon(ch, HAUL_LOST, "connection to %s was lost: %s", ch->parts->address_text,
				 strerror(ch->input_errno));
	else
		channel_end_soon(ch, HAUL_LOST, "%s closed the connection too early", ch->parts->address_text);
}

size_t channel_read(struct channel *ch, void *buf, size_t cap)
{
	size_t done = 0;
	int got = 1;

	if (ch->state != CHANNEL_READY || ch->is_end_due)
		return 0;
	while (done < cap && got > 0) {
		got = mbedtls_ssl_read(&ch->parts->ssl, (uint8_t *)buf + done, cap - done);
		if (got > 0)
			done += (size_t)got;
	}
	if (done)
		ch->parts->has_read = true;
	if (got == MBEDTLS_ERR_SSL_WANT_READ && !done)
		note_cut(ch);
	else if (got < 0 && got != MBEDTLS_ERR_SSL_WANT_READ && got != MBEDTLS_ERR_SSL_WANT_WRITE)
		end_for(ch, got);
	channel_input_update(ch);
	return done;
}

/* Reading nothing makes mbedTLS fetch the next record and keep it. */
void channel_tls_probe(struct channel *ch)
{
	uint8_t none;
	int got;

	if (mbedtls_ssl_get_bytes_avail(&ch->parts->ssl))
		return;
	got = mbedtls_ssl_read(&ch->parts->ssl, &none, 0);
	if (got == MBEDTLS_ERR_SSL_WANT_READ)
		note_cut(ch);
	else if (got < 0 && got != MBEDTLS_ERR_SSL_WANT_WRITE)
		end_for(ch, got);
}

size_t channel_write(struct channel *ch, const void *data, size_t len)
{
	size_t done = 0;

	if (ch->state != CHANNEL_READY || ch->is_end_due || ch->is_write_dead || ch->finish != FINISH_NONE)
		return 0;
	while (done < len && channel_output_room(ch)) {
		int put = mbedtls_ssl_write(&ch->parts->ssl, (const uint8_t *)data + done, len - done);

		if (put < 0) {
			end_for(ch, put);
			break;
		}
		done += (size_t)put;
	}
	ch->is_write_wanted = done < len;
	return done;
}

static uint64_t counter(const unsigned char *at)
{
	uint64_t n = 0;

	for (size_t i = 0; i < MBEDTLS_SSL_SEQUENCE_NUMBER_LEN; i++)
		n = n << 8 | at[i];
	return n;
}

uint64_t channel_records_in(const struct channel *ch)
{
	return counter(ch->parts->ssl.MBEDTLS_PRIVATE(in_ctr));
}

uint64_t channel_records_out(const struct channel *ch)
{
	return counter(ch->parts->ssl.MBEDTLS_PRIVATE(cur_out_ctr));
}
