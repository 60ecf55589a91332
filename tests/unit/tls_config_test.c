/* Two ends of TLS in memory: who gets in, who does not, and what each side is told. */
#include "certs/crypto.h"
#include "certs/identity.h"
#include "certs/tls_config.h"
#include "tests/unit/cmocka_first.h"
#include "tests/unit/temp_dir.h"

#include "mbedtls/ssl.h"

#include <pthread.h>

enum { PIPE_BYTES = 65536, TURNS_MAX = 200 };

/* Bytes on their way from one end to the other. */
struct pipe {
	unsigned char data[PIPE_BYTES];
	size_t from, to;
	bool is_cut;
};

/* One device, with what it knows of others. */
struct device {
	struct temp_dir dir;
	struct identity *identity;
	struct tls_config *config;
	const uint8_t *known; /* the one id it knows; NULL: none */
};

struct end {
	mbedtls_ssl_context ssl;
	struct tls_peer peer;
	struct pipe *in, *out;
	int ret; /* of the last handshake step */
};

struct link {
	struct pipe there, back;
	struct end client, server;
};

static struct device alice, bob;

static bool is_known(void *ctx, const uint8_t id[DEVICE_ID_BYTES])
{
	const struct device *device = ctx;

	return device->known && device_id_equal(device->known, id);
}

static void device_open(struct device *d)
{
	d->dir = temp_dir_open();
	assert_ok(identity_open(d->dir.fd, &d->identity, NULL));
	assert_ok(tls_config_new(
	    &(struct tls_config_options){ .identity = d->identity, .is_known = is_known, .ctx = d }, &d->config, NULL));
}

static void device_close(struct device *d)
{
	tls_config_free(d->config);
	identity_free(d->identity);
	temp_dir_close(&d->dir);
}

static int open_devices(void **state)
{
	(void)state;
	device_open(&alice);
	device_open(&bob);
	return 0;
}

static int close_devices(void **state)
{
	(void)state;
	device_close(&alice);
	device_close(&bob);
	return 0;
}

/* Before each test both know each other. */
static int introduce(void **state)
{
	(void)state;
	alice.known = identity_device_id(bob.identity);
	bob.known = identity_device_id(alice.identity);
	return 0;
}

static int pipe_send(void *ctx, const unsigned char *data, size_t len)
{
	struct pipe *p = ((struct end *)ctx)->out;
	size_t n = PIPE_BYTES - p->to < len ? PIPE_BYTES - p->to : len;

	if (n == 0)
		return MBEDTLS_ERR_SSL_WANT_WRITE;
	memcpy(p->data + p->to, data, n);
	p->to += n;
	return (int)n;
}

static int pipe_recv(void *ctx, unsigned char *data, size_t len)
{
	struct pipe *p = ((struct end *)ctx)->in;
	size_t n = p->to - p->from < len ? p->to - p->from : len;

	if (n == 0)
		return p->is_cut ? MBEDTLS_ERR_SSL_CONN_EOF : MBEDTLS_ERR_SSL_WANT_READ;
	memcpy(data, p->data + p->from, n);
	p->from += n;
	if (p->from == p->to)
		p->from = p->to = 0;
	return (int)n;
}

static void end_open(struct end *e, struct pipe *in, struct pipe *out)
{
	mbedtls_ssl_init(&e->ssl);
	e->in = in;
	e->out = out;
	e->ret = MBEDTLS_ERR_SSL_WANT_READ;
}

static struct link *link_new(void)
{
	struct link *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	end_open(&l->client, &l->back, &l->there);
	end_open(&l->server, &l->there, &l->back);
	return l;
}

static void link_free(struct link *l)
{
	mbedtls_ssl_free(&l->client.ssl);
	mbedtls_ssl_free(&l->server.ssl);
	free(l);
}

static void start(struct end *e, const struct device *d, enum tls_role role, const uint8_t *expect_id)
{
	assert_ok(tls_peer_start(d->config, role, &e->ssl, &e->peer, expect_id, NULL));
	mbedtls_ssl_set_bio(&e->ssl, e, pipe_send, pipe_recv, NULL);
}

static bool is_waiting(int ret)
{
	return ret == MBEDTLS_ERR_SSL_WANT_READ || ret == MBEDTLS_ERR_SSL_WANT_WRITE;
}

/* Both ends in turn until neither waits, or one cannot go on and the other gets nothing more. */
static void shake_hands(struct link *l)
{
	for (int turn = 0; turn < TURNS_MAX && (is_waiting(l->client.ret) || is_waiting(l->server.ret)); turn++) {
		if (is_waiting(l->client.ret))
			l->client.ret = mbedtls_ssl_handshake(&l->client.ssl);
		if (is_waiting(l->server.ret))
			l->server.ret = mbedtls_ssl_handshake(&l->server.ssl);
	}
}

static struct link *shaken(const uint8_t *client_expects)
{
	struct link *l = link_new();

	start(&l->client, &alice, TLS_CLIENT, client_expects);
	start(&l->server, &bob, TLS_SERVER, NULL);
	shake_hands(l);
	return l;
}

static haul_status failure(struct end *e, int ret)
{
	struct haul_fault fault = { .status = HAUL_OK };
	haul_status st = tls_failure(&e->ssl, &e->peer, ret, &fault);

	assert_code(fault.status, st);
	return st;
}

/* What the client learns from its first read after a handshake that the server refused. */
static haul_status told_to_client(struct link *l)
{
	unsigned char byte;

	assert_int_equal(l->client.ret, 0); /* TLS 1.3: the client is done before the server judges */
	return failure(&l->client, mbedtls_ssl_read(&l->client.ssl, &byte, 1));
}

static void known_devices_meet(void **state)
{
	struct link *l = shaken(identity_device_id(bob.identity));
	uint8_t id[DEVICE_ID_BYTES];
	unsigned char data[5];

	(void)state;
	assert_int_equal(l->client.ret, 0);
	assert_int_equal(l->server.ret, 0);
	assert_ok(tls_check_peer(&l->client.ssl, &l->client.peer, id, NULL));
	assert_memory_equal(id, identity_device_id(bob.identity), sizeof(id));
	assert_ok(tls_check_peer(&l->server.ssl, &l->server.peer, id, NULL));
	assert_memory_equal(id, identity_device_id(alice.identity), sizeof(id));
	assert_int_equal(mbedtls_ssl_get_version_number(&l->client.ssl), MBEDTLS_SSL_VERSION_TLS1_3);
	assert_int_equal(mbedtls_ssl_write(&l->client.ssl, (const unsigned char *)"hello", 5), 5);
	assert_int_equal(mbedtls_ssl_read(&l->server.ssl, data, 5), 5);
	assert_memory_equal(data, "hello", 5);
	assert_int_equal(mbedtls_ssl_close_notify(&l->client.ssl), 0);
	assert_ok(tls_failure(&l->server.ssl, &l->server.peer, mbedtls_ssl_read(&l->server.ssl, data, 5), NULL));
	link_free(l);
}

static void a_cut_is_told_from_an_end(void **state)
{
	struct link *l = shaken(NULL);
	unsigned char data[5];

	(void)state;
	l->there.is_cut = true;
	assert_code(failure(&l->server, mbedtls_ssl_read(&l->server.ssl, data, 5)), HAUL_LOST);
	link_free(l);
}

static void the_server_refuses_an_unknown_client_and_says_so(void **state)
{
	struct link *l;

	(void)state;
	bob.known = NULL;
	l = shaken(identity_device_id(bob.identity));
	assert_int_not_equal(l->server.ret, 0);
	assert_code(failure(&l->server, l->server.ret), HAUL_NOT_KNOWN);
	assert_true(l->server.peer.has_seen);
	assert_memory_equal(l->server.peer.seen_id, identity_device_id(alice.identity), DEVICE_ID_BYTES);
	assert_code(told_to_client(l), HAUL_NOT_KNOWN);
	assert_ok(l->client.peer.verdict); /* it was not the client who refused */
	link_free(l);
}

static void the_client_refuses_an_unknown_server(void **state)
{
	struct link *l;

	(void)state;
	alice.known = NULL;
	l = shaken(NULL);
	assert_code(failure(&l->client, l->client.ret), HAUL_NOT_KNOWN);
	assert_code(l->client.peer.verdict, HAUL_NOT_KNOWN);
	assert_int_not_equal(l->server.ret, 0);
	assert_code(failure(&l->server, l->server.ret), HAUL_NOT_KNOWN);
	link_free(l);
}

static void the_client_refuses_another_device_than_expected(void **state)
{
	struct link *l = shaken(identity_device_id(alice.identity));

	(void)state;
	assert_code(failure(&l->client, l->client.ret), HAUL_WRONG_DEVICE);
	link_free(l);
}

/* A device that nobody pinned does not get in because its certificate happens to be the trusted one: our own. */
static void a_device_does_not_know_itself(void **state)
{
	struct link *l = link_new();

	(void)state;
	start(&l->client, &bob, TLS_CLIENT, NULL);
	start(&l->server, &bob, TLS_SERVER, NULL);
	shake_hands(l);
	assert_code(failure(&l->client, l->client.ret), HAUL_NOT_KNOWN);
	link_free(l);
}

static void a_pin_that_goes_away_meanwhile_is_seen_by_the_second_check(void **state)
{
	struct link *l = shaken(NULL);
	uint8_t id[DEVICE_ID_BYTES] = { 9 };

	(void)state;
	assert_int_equal(l->server.ret, 0);
	bob.known = NULL;
	assert_code(tls_check_peer(&l->server.ssl, &l->server.peer, id, NULL), HAUL_NOT_KNOWN);
	assert_int_equal(id[0], 9);
	link_free(l);
}

static void nothing_is_checked_before_the_handshake(void **state)
{
	struct link *l = link_new();
	uint8_t id[DEVICE_ID_BYTES];

	(void)state;
	start(&l->server, &bob, TLS_SERVER, NULL);
	assert_code(tls_check_peer(&l->server.ssl, &l->server.peer, id, NULL), HAUL_NOT_KNOWN);
	link_free(l);
}

/* A client that is set up otherwise than ours. */
struct odd_client {
	mbedtls_ssl_config conf;
	struct link *link;
};

static void odd_client_start(struct odd_client *odd, const char **protocols)
{
	struct link *l = odd->link = link_new();

	mbedtls_ssl_config_init(&odd->conf);
	assert_int_equal(mbedtls_ssl_config_defaults(&odd->conf, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
						     MBEDTLS_SSL_PRESET_DEFAULT),
			 0);
	mbedtls_ssl_conf_rng(&odd->conf, crypto_random, NULL);
	mbedtls_ssl_conf_authmode(&odd->conf, MBEDTLS_SSL_VERIFY_NONE);
	if (protocols)
		assert_int_equal(mbedtls_ssl_conf_alpn_protocols(&odd->conf, protocols), 0);
	assert_int_equal(mbedtls_ssl_setup(&l->client.ssl, &odd->conf), 0);
	assert_int_equal(mbedtls_ssl_set_hostname(&l->client.ssl, NULL), 0);
	mbedtls_ssl_set_bio(&l->client.ssl, &l->client, pipe_send, pipe_recv, NULL);
	start(&l->server, &bob, TLS_SERVER, NULL);
	shake_hands(l);
}

static void odd_client_close(struct odd_client *odd)
{
	link_free(odd->link);
	mbedtls_ssl_config_free(&odd->conf);
}

static void a_client_without_a_certificate_is_refused(void **state)
{
	const char *protocols[] = { TLS_ALPN, NULL };
	struct odd_client odd;

	(void)state;
	odd_client_start(&odd, protocols);
	assert_int_not_equal(odd.link->server.ret, 0);
	assert_code(failure(&odd.link->server, odd.link->server.ret), HAUL_NOT_KNOWN);
	odd_client_close(&odd);
}

static void a_client_of_another_protocol_is_refused(void **state)
{
	const char *protocols[] = { "h2", "haul/2", "haul-pair/1", NULL };
	struct odd_client odd;

	(void)state;
	odd_client_start(&odd, protocols);
	assert_int_equal(odd.link->server.ret, MBEDTLS_ERR_SSL_NO_APPLICATION_PROTOCOL);
	assert_code(failure(&odd.link->server, odd.link->server.ret), HAUL_NO_COMMON_VERSION);
	odd.link->client.peer = odd.link->server.peer;
	assert_code(failure(&odd.link->client, odd.link->client.ret), HAUL_NO_COMMON_VERSION);
	odd_client_close(&odd);
}

/* TLS lets a client leave the protocol out; the second check does not. */
static void a_known_client_without_a_protocol_is_refused(void **state)
{
	struct link *l = shaken(NULL);
	uint8_t id[DEVICE_ID_BYTES];

	(void)state;
	assert_ok(tls_check_peer(&l->server.ssl, &l->server.peer, id, NULL));
	l->server.ssl.MBEDTLS_PRIVATE(alpn_chosen) = NULL;
	assert_code(tls_check_peer(&l->server.ssl, &l->server.peer, id, NULL), HAUL_NO_COMMON_VERSION);
	link_free(l);
}

/* A ClientHello of TLS 1.2 (RFC 5246, 7.4.1.2): no supported_versions extension, one suite, P-256, ECDSA. */
static const unsigned char hello_12[] =
    "\x16\x03\x01\x00\x45\x01\x00\x00\x41\x03\x03"
    "0123456789abcdef0123456789abcdef"
    "\x00\x00\x02\xc0\x2b\x01\x00"
    "\x00\x16\x00\x0a\x00\x04\x00\x02\x00\x17\x00\x0b\x00\x02\x01\x00\x00\x0d\x00\x04\x00\x02\x04\x03";

static void a_client_of_tls_1_2_is_refused(void **state)
{
	struct link *l = link_new();

	(void)state;
	start(&l->server, &bob, TLS_SERVER, NULL);
	memcpy(l->there.data, hello_12, sizeof(hello_12) - 1);
	l->there.to = sizeof(hello_12) - 1;
	l->server.ret = mbedtls_ssl_handshake(&l->server.ssl);
	assert_int_equal(l->server.ret, MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION);
	assert_code(failure(&l->server, l->server.ret), HAUL_NO_COMMON_VERSION);
	assert_int_equal(l->back.to, 7);                      /* one alert, nothing else */
	assert_memory_equal(l->back.data + 5, "\x02\x46", 2); /* fatal, protocol_version */
	link_free(l);
}

static void rubbish_is_refused(void **state)
{
	struct link *l = link_new();

	(void)state;
	start(&l->server, &bob, TLS_SERVER, NULL);
	memcpy(l->there.data, "GET / HTTP/1.1\r\n\r\n", 18);
	l->there.to = 18;
	l->server.ret = mbedtls_ssl_handshake(&l->server.ssl);
	assert_false(is_waiting(l->server.ret) || l->server.ret == 0);
	assert_code(failure(&l->server, l->server.ret), HAUL_CRYPTO);
	link_free(l);
}

/* Every byte on the way matters: one changed in any of them and nobody gets in. */
static void a_changed_record_ends_the_connection(void **state)
{
	struct link *l = shaken(NULL);
	unsigned char data[5];

	(void)state;
	assert_int_equal(mbedtls_ssl_write(&l->client.ssl, (const unsigned char *)"hello", 5), 5);
	l->there.data[l->there.to - 1] ^= 1;
	assert_code(failure(&l->server, mbedtls_ssl_read(&l->server.ssl, data, 5)), HAUL_CRYPTO);
	link_free(l);
}

static void *meet_often(void *ctx)
{
	for (int i = 0; i < 10; i++) {
		struct link *l = shaken(identity_device_id(bob.identity));
		uint8_t id[DEVICE_ID_BYTES];

		if (l->client.ret || l->server.ret ||
		    haul_failed(tls_check_peer(&l->server.ssl, &l->server.peer, id, NULL)))
			*(int *)ctx = 1;
		link_free(l);
	}
	return NULL;
}

/* Lanes shake hands at once, on one set-up. */
static void threads_share_the_set_up(void **state)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	int failed[THREADS] = { 0 };

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, meet_often, &failed[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(failed[i], 0);
	}
}

#define TEST(function) cmocka_unit_test_setup(function, introduce)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(known_devices_meet),
		TEST(a_cut_is_told_from_an_end),
		TEST(the_server_refuses_an_unknown_client_and_says_so),
		TEST(the_client_refuses_an_unknown_server),
		TEST(the_client_refuses_another_device_than_expected),
		TEST(a_device_does_not_know_itself),
		TEST(a_pin_that_goes_away_meanwhile_is_seen_by_the_second_check),
		TEST(nothing_is_checked_before_the_handshake),
		TEST(a_client_without_a_certificate_is_refused),
		TEST(a_client_of_another_protocol_is_refused),
		TEST(a_known_client_without_a_protocol_is_refused),
		TEST(a_client_of_tls_1_2_is_refused),
		TEST(rubbish_is_refused),
		TEST(a_changed_record_ends_the_connection),
		TEST(threads_share_the_set_up),
	};

	return cmocka_run_group_tests(tests, open_devices, close_devices);
}
