/* Plain sockets and blocking mbedTLS: nothing of the agent's own connections takes part. */
#include "evil_talk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STEP_MS = 15000 };

static int64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int bio_send(void *ctx, const unsigned char *data, size_t len)
{
	const struct talk *t = ctx;
	struct pollfd p = { .fd = t->fd, .events = POLLOUT };
	ssize_t n;

	if (poll(&p, 1, STEP_MS) != 1)
		return MBEDTLS_ERR_SSL_TIMEOUT;
	n = send(t->fd, data, len, MSG_NOSIGNAL);
	return n < 0 ? -1 : (int)n;
}

static int bio_recv(void *ctx, unsigned char *data, size_t len)
{
	const struct talk *t = ctx;
	ssize_t n = recv(t->fd, data, len, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return MBEDTLS_ERR_SSL_WANT_READ;
	return n < 0 ? -1 : (int)n;
}

static bool wait_readable(const struct talk *t, int wait_ms)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };

	return poll(&p, 1, wait_ms < 0 ? 0 : wait_ms) == 1;
}

static bool shake(struct talk *t)
{
	uint8_t id[DEVICE_ID_BYTES];
	int ret;

	while ((ret = mbedtls_ssl_handshake(&t->ssl)) == MBEDTLS_ERR_SSL_WANT_READ) {
		if (!wait_readable(t, STEP_MS))
			return false;
	}
	return ret == 0 && haul_ok(tls_check_peer(&t->ssl, &t->peer, id, NULL));
}

static bool start_tls(struct talk *t, const struct dial_trust *trust, enum tls_role role)
{
	mbedtls_ssl_init(&t->ssl);
	t->has_ssl = true;
	t->decoder = message_decoder_new();
	t->in = malloc(TALK_IN_BYTES);
	if (!t->decoder || !t->in || haul_failed(tls_peer_start(trust->tls, role, &t->ssl, &t->peer, NULL, NULL)))
		return false;
	mbedtls_ssl_set_bio(&t->ssl, t, bio_send, bio_recv, NULL);
	return shake(t);
}

bool talk_connect_plain(struct talk *t, unsigned port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	*t = (struct talk){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return t->fd >= 0 && connect(t->fd, (const struct sockaddr *)&to, sizeof(to)) == 0;
}

bool talk_connect(struct talk *t, const struct dial_trust *trust, unsigned port)
{
	return talk_connect_plain(t, port) && start_tls(t, trust, TLS_CLIENT);
}

bool talk_accept(struct talk *t, const struct dial_trust *trust, int listen_fd, int wait_ms)
{
	struct pollfd p = { .fd = listen_fd, .events = POLLIN };

	*t = (struct talk){ .fd = -1 };
	if (poll(&p, 1, wait_ms) != 1)
		return false;
	t->fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	return t->fd >= 0 && start_tls(t, trust, TLS_SERVER);
}

void talk_close(struct talk *t)
{
	if (t->has_ssl)
		mbedtls_ssl_free(&t->ssl);
	message_decoder_free(t->decoder);
	free(t->in);
	if (t->fd >= 0)
		(void)close(t->fd);
	*t = (struct talk){ .fd = -1, .end = TALK_CLOSED };
}

void talk_finish(struct talk *t)
{
	if (t->has_ssl)
		(void)mbedtls_ssl_close_notify(&t->ssl);
	talk_close(t);
}

bool talk_write(struct talk *t, const void *data, size_t len)
{
	const uint8_t *at = data;

	while (len && t->fd >= 0 && t->has_ssl) {
		int n = mbedtls_ssl_write(&t->ssl, at, len);

		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return !len;
}

/* Some bytes, or none and t->end says why. */
static size_t read_some(struct talk *t, void *data, size_t len, int wait_ms)
{
	while (t->fd >= 0 && t->has_ssl) {
		int n = mbedtls_ssl_read(&t->ssl, data, len);

		if (n > 0)
			return (size_t)n;
		if (n == MBEDTLS_ERR_SSL_WANT_READ) {
			if (wait_readable(t, wait_ms))
				continue;
			t->end = TALK_SILENT;
			return 0;
		}
		t->end = n == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY ? TALK_CLOSED : TALK_CUT;
		return 0;
	}
	return 0;
}

bool talk_read(struct talk *t, void *data, size_t len)
{
	uint8_t *at = data;

	while (len) {
		size_t n = read_some(t, at, len, STEP_MS);

		if (!n)
			return false;
		at += n;
		len -= n;
	}
	return true;
}

bool talk_say(struct talk *t, const struct message *m)
{
	struct message_buffer b = { 0 };
	bool done = haul_ok(message_encode(&b, m)) && talk_write(t, b.data, b.len);

	message_buffer_close(&b);
	return done;
}

bool talk_say_raw(struct talk *t, const void *payload, size_t len)
{
	uint8_t length[4] = { (uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len };

	return talk_write(t, length, sizeof(length)) && talk_write(t, payload, len);
}

const struct message *talk_hear(struct talk *t, int wait_ms)
{
	static struct message m;
	int64_t until = now_ms() + wait_ms;

	memmove(t->in, t->in + t->in_used, t->in_len - t->in_used);
	t->in_len -= t->in_used;
	t->in_used = 0;
	t->end = TALK_OPEN;
	for (;;) {
		size_t n;

		if (t->in_len && haul_failed(message_decode(t->decoder, t->in, t->in_len, &t->in_used, &m))) {
			t->end = TALK_BROKEN;
			return NULL;
		}
		if (t->in_used)
			return &m;
		n = read_some(t, t->in + t->in_len, TALK_IN_BYTES - t->in_len, (int)(until - now_ms()));
		if (!n)
			return NULL;
		t->in_len += n;
	}
}

/* ---- msgpack ---- */

void pack_byte(struct pack *p, unsigned byte)
{
	if (p->len == sizeof(p->data))
		abort();
	p->data[p->len++] = (uint8_t)byte;
}

static void pack_number(struct pack *p, uint64_t n, unsigned bytes)
{
	while (bytes--)
		pack_byte(p, (unsigned)(n >> (8 * bytes)) & 0xff);
}

void pack_array(struct pack *p, unsigned count)
{
	pack_byte(p, 0xdd);
	pack_number(p, count, 4);
}

void pack_uint(struct pack *p, uint64_t n)
{
	pack_byte(p, 0xcf);
	pack_number(p, n, 8);
}

void pack_nil(struct pack *p)
{
	pack_byte(p, 0xc0);
}

void pack_bin(struct pack *p, const void *data, size_t len)
{
	pack_byte(p, 0xc5);
	pack_number(p, len, 2);
	for (size_t i = 0; i < len; i++)
		pack_byte(p, ((const uint8_t *)data)[i]);
}

void pack_str(struct pack *p, const char *text)
{
	pack_byte(p, 0xda);
	pack_number(p, strlen(text), 2);
	for (; *text; text++)
		pack_byte(p, (uint8_t)*text);
}
