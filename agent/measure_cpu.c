/*
 * What one thread digests, encrypts and decrypts. TLS runs between two contexts in memory, with the certificates and
 * suites that connections use, in records as long as they get.
 */
#include "agent/measure.h"

#include "engine/hash_tree.h"

#include <mbedtls/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum {
	DIGEST_MEMORY_BYTES = 64 * 1024 * 1024,
	BATCH_BYTES = 1024 * 1024,
	PIPE_BYTES = 2 * BATCH_BYTES, /* a batch with the records' own bytes */
	RECORD_BYTES = 16 * 1024,
};

static bool is_over(const struct measure_config *cfg, uint64_t start_ns)
{
	return (cfg->stop && atomic_load(cfg->stop)) || (double)(uv_hrtime() - start_ns) >= cfg->seconds * 1e9;
}

haul_status measure_digest(const struct measure_config *cfg, struct measured *ret_measured)
{
	uint8_t *memory = malloc(DIGEST_MEMORY_BYTES);
	struct haul_digest digest;
	uint64_t start_ns, bytes = 0;

	if (!memory)
		return HAUL_NO_MEMORY;
	memset(memory, 0x5a, DIGEST_MEMORY_BYTES); /* touched: no page faults within */
	start_ns = uv_hrtime();
	for (size_t at = 0; !is_over(cfg, start_ns); at = (at + HAUL_LEAF_BYTES) % DIGEST_MEMORY_BYTES) {
		leaf_digest(memory + at, HAUL_LEAF_BYTES, &digest);
		bytes += HAUL_LEAF_BYTES;
	}
	*ret_measured = (struct measured){ .seconds = (double)(uv_hrtime() - start_ns) / 1e9, .bytes = bytes };
	free(memory);
	return HAUL_OK;
}

/* One direction. */
struct pipe {
	uint8_t *data;
	size_t start, end;
};

struct tls_end {
	mbedtls_ssl_context ssl;
	struct tls_peer peer;
	struct pipe *in, *out;
};

static int pipe_send(void *ctx, const unsigned char *data, size_t len)
{
	struct pipe *p = ((struct tls_end *)ctx)->out;

	if (p->start == p->end)
		p->start = p->end = 0;
	if (len > PIPE_BYTES - p->end)
		len = PIPE_BYTES - p->end;
	if (!len)
		return MBEDTLS_ERR_SSL_WANT_WRITE;
	memcpy(p->data + p->end, data, len);
	p->end += len;
	return (int)len;
}

static int pipe_receive(void *ctx, unsigned char *buf, size_t cap)
{
	struct pipe *p = ((struct tls_end *)ctx)->in;

	if (cap > p->end - p->start)
		cap = p->end - p->start;
	if (!cap)
		return MBEDTLS_ERR_SSL_WANT_READ;
	memcpy(buf, p->data + p->start, cap);
	p->start += cap;
	return (int)cap;
}

static bool everybody(void *ctx, const uint8_t id[DEVICE_ID_BYTES])
{
	(void)ctx;
	(void)id;
	return true; /* it is ourselves */
}

static bool is_waiting(int ret)
{
	return ret == MBEDTLS_ERR_SSL_WANT_READ || ret == MBEDTLS_ERR_SSL_WANT_WRITE;
}

static haul_status shake(struct tls_end *client, struct tls_end *server)
{
	for (unsigned round = 0; round < 64; round++) {
		int one = mbedtls_ssl_handshake(&client->ssl), other = mbedtls_ssl_handshake(&server->ssl);

		if (!one && !other)
			return HAUL_OK;
		if ((one && !is_waiting(one)) || (other && !is_waiting(other)))
			return HAUL_CRYPTO;
	}
	return HAUL_CRYPTO;
}

static haul_status move_batch(struct tls_end *from, struct tls_end *to, uint8_t *memory, uint64_t ns[2])
{
	uint64_t start_ns = uv_hrtime(), sent_ns;
	size_t done = 0;
	int n;

	for (; done < BATCH_BYTES; done += (size_t)n) {
		n = mbedtls_ssl_write(&from->ssl, memory + done, BATCH_BYTES - done);
		if (n <= 0)
			return HAUL_CRYPTO;
	}
	sent_ns = uv_hrtime();
	for (done = 0; done < BATCH_BYTES; done += (size_t)n) {
		n = mbedtls_ssl_read(&to->ssl, memory + done, BATCH_BYTES - done);
		if (n == MBEDTLS_ERR_SSL_WANT_READ || n <= 0)
			return HAUL_CRYPTO;
	}
	ns[0] += sent_ns - start_ns;
	ns[1] += uv_hrtime() - sent_ns;
	return HAUL_OK;
}

static haul_status run_tls(struct tls_end *client, struct tls_end *server, const struct measure_config *cfg,
			   struct measured *ret_measured)
{
	uint8_t *memory = calloc(1, BATCH_BYTES);
	uint64_t start_ns = uv_hrtime(), bytes = 0, ns[2] = { 0 };
	haul_status st = memory ? shake(client, server) : HAUL_NO_MEMORY;

	while (haul_ok(st) && (!bytes || !is_over(cfg, start_ns))) {
		st = move_batch(client, server, memory, ns);
		bytes += BATCH_BYTES;
	}
	*ret_measured = (struct measured){ .seconds = (double)(ns[0] > ns[1] ? ns[0] : ns[1]) / 1e9, .bytes = bytes };
	free(memory);
	return st;
}

static haul_status with_ends(const struct tls_config *tls, const struct measure_config *cfg,
			     struct measured *ret_measured)
{
	struct pipe there = { .data = malloc(PIPE_BYTES) }, back = { .data = malloc(PIPE_BYTES) };
	struct tls_end client = { .in = &back, .out = &there }, server = { .in = &there, .out = &back };
	haul_status st = there.data && back.data ? HAUL_OK : HAUL_NO_MEMORY;

	mbedtls_ssl_init(&client.ssl);
	mbedtls_ssl_init(&server.ssl);
	if (haul_ok(st))
		st = tls_peer_start(tls, TLS_CLIENT, &client.ssl, &client.peer, NULL, NULL);
	if (haul_ok(st))
		st = tls_peer_start(tls, TLS_SERVER, &server.ssl, &server.peer, NULL, NULL);
	mbedtls_ssl_set_bio(&client.ssl, &client, pipe_send, pipe_receive, NULL);
	mbedtls_ssl_set_bio(&server.ssl, &server, pipe_send, pipe_receive, NULL);
	if (haul_ok(st))
		st = run_tls(&client, &server, cfg, ret_measured);
	mbedtls_ssl_free(&client.ssl);
	mbedtls_ssl_free(&server.ssl);
	free(there.data);
	free(back.data);
	return st;
}

haul_status measure_tls(const struct identity *identity, enum tls_suite suite, const struct measure_config *cfg,
			struct measured *ret_measured)
{
	const struct tls_config_options options = { .identity = identity, .is_known = everybody, .suite = suite };
	struct tls_config *tls;
	haul_status st = tls_config_new(&options, &tls, NULL);

	if (haul_failed(st))
		return st;
	st = with_ends(tls, cfg, ret_measured);
	tls_config_free(tls);
	return st;
}
