/*
 * How two agents speak TLS: 1.3 only, both sides with a certificate, the peer's key compared with the pins in the
 * verify callback and again after the handshake. No sockets: the caller gives mbedTLS its reading and writing.
 *
 *   tls_config_new()                  once per process: identity and pins
 *   tls_peer_start()                  per connection, on a fresh mbedtls_ssl_context
 *   mbedtls_ssl_set_bio(), mbedtls_ssl_handshake()
 *   tls_check_peer()                  after the handshake, before anything is allocated for the peer or read from it
 *   tls_failure()                     what a failed call of mbedTLS means
 */
#ifndef HAUL_CERTS_TLS_CONFIG_H
#define HAUL_CERTS_TLS_CONFIG_H

#include "certs/device_id.h"
#include "engine/base/fault.h"

struct identity;
struct mbedtls_ssl_context;
struct tls_config; /* immutable: any thread, any number of connections at once */

#define TLS_ALPN "haul/1"

enum tls_role { TLS_CLIENT, TLS_SERVER };

/* By itself both ends prefer what the processor does fastest. */
enum tls_suite { TLS_SUITE_BY_CPU, TLS_SUITE_AES_128_GCM, TLS_SUITE_AES_256_GCM };

struct tls_config_options {
	const struct identity *identity; /* held until tls_config_free() */

	/*
	 * Whether the device is known now. Called in the thread of the connection's handshake and of tls_check_peer(),
	 * so it must bear any of them. It must not block. NULL: nobody is known.
	 */
	bool (*is_known)(void *ctx, const uint8_t id[DEVICE_ID_BYTES]);
	void *ctx; /* held */

	enum tls_suite suite; /* this one alone: to measure it */
};

/* ret_config is given: tls_config_free(). HAUL_CRYPTO, HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status tls_config_new(const struct tls_config_options *options, struct tls_config **ret_config,
					 struct haul_fault *fault);
/* No connection may be left that uses it. NULL is fine. */
void tls_config_free(struct tls_config *config);

/* What one connection knows of its peer. Belongs to the connection's thread; held by its ssl context. */
struct tls_peer {
	const struct tls_config *config;
	struct mbedtls_ssl_context *ssl;
	enum tls_role role;
	uint8_t expected_id[DEVICE_ID_BYTES];
	bool has_expected; /* only expected_id is accepted */
	bool has_seen;     /* a certificate came */
	uint8_t seen_id[DEVICE_ID_BYTES];
	haul_status verdict; /* HAUL_OK until we refuse it, then for good: HAUL_WRONG_DEVICE, HAUL_NOT_KNOWN */
};

/*
 * Prepare a connection: mbedtls_ssl_setup() and the check of the peer's key.
 *
 * ssl        borrowed; initialised by the caller, who also frees it.
 * peer       filled; held until `ssl` is freed, and may not move.
 * expect_id  32 bytes, borrowed; NULL: any known device.
 */
HAUL_MUST_USE haul_status tls_peer_start(const struct tls_config *config, enum tls_role role,
					 struct mbedtls_ssl_context *ssl, struct tls_peer *peer,
					 const uint8_t *expect_id, struct haul_fault *fault);

/*
 * The second check, when the handshake is over: certificate there, key known and the one expected, TLS 1.3, a suite and
 * the application protocol of ours. Only then is the peer who it says.
 *
 * HAUL_NOT_KNOWN, HAUL_WRONG_DEVICE, HAUL_NO_COMMON_VERSION (another application protocol), HAUL_CRYPTO.
 */
HAUL_MUST_USE haul_status tls_check_peer(const struct mbedtls_ssl_context *ssl, struct tls_peer *peer,
					 uint8_t ret_id[DEVICE_ID_BYTES], struct haul_fault *fault);

/*
 * What a negative return of mbedtls_ssl_handshake(), _read() or _write() means (not WANT_READ or WANT_WRITE), or a 0
 * of _read(): the connection is over.
 *
 * HAUL_OK            close_notify: the peer is done.
 * HAUL_NOT_KNOWN     we do not know the peer (peer->verdict says so), or it does not know us (verdict is HAUL_OK).
 * HAUL_WRONG_DEVICE  the peer is known or not, but is not the one expected.
 * HAUL_NO_COMMON_VERSION  no common TLS version or application protocol.
 * HAUL_LOST          the connection ended without close_notify.
 * HAUL_NO_MEMORY, HAUL_CRYPTO
 */
haul_status tls_failure(const struct mbedtls_ssl_context *ssl, const struct tls_peer *peer, int ret,
			struct haul_fault *fault);

#endif
