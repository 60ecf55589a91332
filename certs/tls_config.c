/*
 * The set-up of TLS for both ends. Chain building always fails for a self-signed peer; our verify callback is what
 * decides, by the pin, and clears only what a pinned key makes meaningless: not trusted, dates, name. Everything else
 * (usage, algorithms, a chain longer than one) stays an error of the library's.
 */
#include "certs/tls_config.h"

#include "certs/cpu_aes.h"
#include "certs/crypto.h"
#include "certs/identity_parts.h"

#include "mbedtls/ssl.h"

#include <stdlib.h>
#include <string.h>

struct tls_config {
	struct tls_config_options options;
	mbedtls_ssl_config roles[2]; /* by enum tls_role */
};

static const int suites_aes_first[] = { MBEDTLS_TLS1_3_AES_128_GCM_SHA256, MBEDTLS_TLS1_3_AES_256_GCM_SHA384,
					MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256, 0 };
static const int suites_aes_last[] = { MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256, MBEDTLS_TLS1_3_AES_128_GCM_SHA256,
				       MBEDTLS_TLS1_3_AES_256_GCM_SHA384, 0 };
static const int suite_aes_128[] = { MBEDTLS_TLS1_3_AES_128_GCM_SHA256, 0 };
static const int suite_aes_256[] = { MBEDTLS_TLS1_3_AES_256_GCM_SHA384, 0 };
static const uint16_t groups[] = { MBEDTLS_SSL_IANA_TLS_GROUP_X25519, MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1,
				   MBEDTLS_SSL_IANA_TLS_GROUP_NONE };
static const uint16_t signatures[] = { MBEDTLS_TLS1_3_SIG_ECDSA_SECP256R1_SHA256, MBEDTLS_TLS1_3_SIG_NONE };
static const char *const protocols[] = { TLS_ALPN, NULL };
static const mbedtls_x509_crt_profile profile = {
	.allowed_mds = MBEDTLS_X509_ID_FLAG(MBEDTLS_MD_SHA256),
	.allowed_pks = MBEDTLS_X509_ID_FLAG(MBEDTLS_PK_ECKEY) | MBEDTLS_X509_ID_FLAG(MBEDTLS_PK_ECDSA),
	.allowed_curves = MBEDTLS_X509_ID_FLAG(MBEDTLS_ECP_DP_SECP256R1),
};

/* What the dates and names of a certificate say does not matter once its key is the one we know. */
static const uint32_t meaningless_flags = MBEDTLS_X509_BADCERT_NOT_TRUSTED | MBEDTLS_X509_BADCERT_EXPIRED |
					  MBEDTLS_X509_BADCERT_FUTURE | MBEDTLS_X509_BADCERT_CN_MISMATCH;

/* Whether the key of this id is one we speak with on this connection. */
static haul_status judge(const struct tls_peer *peer, const uint8_t id[DEVICE_ID_BYTES])
{
	const struct tls_config_options *options = &peer->config->options;

	if (peer->has_expected && !device_id_equal(peer->expected_id, id))
		return HAUL_WRONG_DEVICE;
	if (!options->is_known || !options->is_known(options->ctx, id))
		return HAUL_NOT_KNOWN;
	return HAUL_OK;
}

/*
 * Let the alert that follows a refusal go out under the keys that the peer reads with. mbedTLS 3.6 changes its writing
 * keys later: a server in mid-handshake still writes with handshake keys, though its client reads with application keys
 * since the server's Finished (RFC 8446, 4.4.4), and a client still writes in clear. The peer would see a damaged
 * record and never learn why. The counter starts at 0 as for any fresh key; nothing is written after the alert, since a
 * verdict is for good (verify() never passes again).
 */
static void answer_readably(const struct tls_peer *peer)
{
	mbedtls_ssl_context *ssl = peer->ssl;

	ssl->MBEDTLS_PRIVATE(transform_out) =
	    peer->role == TLS_SERVER ? ssl->MBEDTLS_PRIVATE(transform_application) : ssl->MBEDTLS_PRIVATE(transform_in);
	memset(ssl->MBEDTLS_PRIVATE(cur_out_ctr), 0, sizeof(ssl->MBEDTLS_PRIVATE(cur_out_ctr)));
}

/* f_vrfy of mbedTLS: called for each certificate of the chain, the peer's own (depth 0) last. */
static int verify(void *ctx, mbedtls_x509_crt *certificate, int depth, uint32_t *flags)
{
	struct tls_peer *peer = ctx;

	if (haul_failed(peer->verdict))
		return MBEDTLS_ERR_X509_FATAL_ERROR;
	if (depth > 0) { /* a pinned device signs for itself */
		*flags |= MBEDTLS_X509_BADCERT_OTHER;
		return 0;
	}
	if (haul_failed(device_id_of_key(certificate->pk_raw.p, certificate->pk_raw.len, peer->seen_id)))
		return MBEDTLS_ERR_X509_FATAL_ERROR;
	peer->has_seen = true;
	peer->verdict = judge(peer, peer->seen_id);
	if (haul_ok(peer->verdict)) {
		*flags &= ~meaningless_flags;
		return 0;
	}
	*flags |= MBEDTLS_X509_BADCERT_NOT_TRUSTED; /* also for our own certificate, which the library trusts */
	answer_readably(peer);
	return 0;
}

static const int *suites_of(enum tls_suite suite)
{
	switch (suite) {
	case TLS_SUITE_AES_128_GCM:
		return suite_aes_128;
	case TLS_SUITE_AES_256_GCM:
		return suite_aes_256;
	case TLS_SUITE_BY_CPU:
		break;
	}
	return cpu_has_aes() ? suites_aes_first : suites_aes_last;
}

static int set_up_role(mbedtls_ssl_config *conf, enum tls_role role, const struct tls_config_options *options)
{
	const struct identity *identity = options->identity;
	/* The library reads them only, but takes them without const. */
	mbedtls_x509_crt *certificate = (mbedtls_x509_crt *)&identity->certificate;
	mbedtls_pk_context *key = (mbedtls_pk_context *)&identity->key;
	int ret = mbedtls_ssl_config_defaults(conf, role == TLS_SERVER ? MBEDTLS_SSL_IS_SERVER : MBEDTLS_SSL_IS_CLIENT,
					      MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT);

	if (ret)
		return ret;
	mbedtls_ssl_conf_min_tls_version(conf, MBEDTLS_SSL_VERSION_TLS1_3);
	mbedtls_ssl_conf_max_tls_version(conf, MBEDTLS_SSL_VERSION_TLS1_3);
	mbedtls_ssl_conf_tls13_key_exchange_modes(conf, MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_EPHEMERAL);
	mbedtls_ssl_conf_ciphersuites(conf, suites_of(options->suite));
	mbedtls_ssl_conf_groups(conf, groups);
	mbedtls_ssl_conf_sig_algs(conf, signatures);
	mbedtls_ssl_conf_cert_profile(conf, &profile);
	mbedtls_ssl_conf_rng(conf, crypto_random, NULL);
	mbedtls_ssl_conf_authmode(conf, MBEDTLS_SSL_VERIFY_REQUIRED);
	mbedtls_ssl_conf_ca_chain(conf, certificate, NULL); /* not empty, else the library refuses before it asks us */
	ret = mbedtls_ssl_conf_own_cert(conf, certificate, key);
	if (!ret)
		ret = mbedtls_ssl_conf_alpn_protocols(conf, (const char **)protocols);
	return ret;
}

haul_status tls_config_new(const struct tls_config_options *options, struct tls_config **ret_config,
			   struct haul_fault *fault)
{
	struct tls_config *config = calloc(1, sizeof(*config));
	haul_status st;
	int ret;

	if (!config)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "set up TLS");
	config->options = *options;
	mbedtls_ssl_config_init(&config->roles[TLS_CLIENT]);
	mbedtls_ssl_config_init(&config->roles[TLS_SERVER]);
	st = crypto_start(fault);
	if (haul_failed(st))
		goto free_config;
	ret = set_up_role(&config->roles[TLS_CLIENT], TLS_CLIENT, options);
	if (!ret)
		ret = set_up_role(&config->roles[TLS_SERVER], TLS_SERVER, options);
	if (ret) {
		st = crypto_failed(ret, fault, "set up TLS");
		goto free_config;
	}
	*ret_config = config;
	return HAUL_OK;

free_config:
	tls_config_free(config);
	return st;
}

void tls_config_free(struct tls_config *config)
{
	if (!config)
		return;
	mbedtls_ssl_config_free(&config->roles[TLS_CLIENT]);
	mbedtls_ssl_config_free(&config->roles[TLS_SERVER]);
	free(config);
}

haul_status tls_peer_start(const struct tls_config *config, enum tls_role role, struct mbedtls_ssl_context *ssl,
			   struct tls_peer *peer, const uint8_t *expect_id, struct haul_fault *fault)
{
	int ret = mbedtls_ssl_setup(ssl, &config->roles[role]);

	*peer = (struct tls_peer){ .config = config, .ssl = ssl, .role = role, .has_expected = expect_id != NULL };
	if (expect_id)
		memcpy(peer->expected_id, expect_id, DEVICE_ID_BYTES);
	if (!ret && role == TLS_CLIENT)
		ret = mbedtls_ssl_set_hostname(ssl, NULL); /* on purpose: the key decides, not a name */
	if (ret)
		return crypto_failed(ret, fault, "start TLS");
	mbedtls_ssl_set_verify(ssl, verify, peer);
	return HAUL_OK;
}

static haul_status refuse(haul_status verdict, struct haul_fault *fault)
{
	return haul_fault_set(fault, verdict,
			      verdict.code == HAUL_CODE_WRONG_DEVICE ? "another device answers than the one expected"
								     : "the device is not known here");
}

static bool is_own_suite(int suite)
{
	for (size_t i = 0; suites_aes_first[i]; i++) {
		if (suites_aes_first[i] == suite)
			return true;
	}
	return false;
}

haul_status tls_check_peer(const struct mbedtls_ssl_context *ssl, struct tls_peer *peer,
			   uint8_t ret_id[DEVICE_ID_BYTES], struct haul_fault *fault)
{
	const mbedtls_x509_crt *certificate = mbedtls_ssl_get_peer_cert(ssl);
	const char *protocol = mbedtls_ssl_get_alpn_protocol(ssl);
	uint8_t id[DEVICE_ID_BYTES];
	haul_status st;

	if (!certificate || mbedtls_ssl_get_verify_result(ssl) != 0)
		return haul_fault_set(fault, HAUL_NOT_KNOWN, "the peer showed no certificate that counts");
	if (mbedtls_ssl_get_version_number(ssl) != MBEDTLS_SSL_VERSION_TLS1_3 ||
	    !is_own_suite(mbedtls_ssl_get_ciphersuite_id_from_ssl(ssl)))
		return haul_fault_set(fault, HAUL_CRYPTO, "TLS ended up with settings that were not offered");
	if (!protocol || strcmp(protocol, TLS_ALPN) != 0)
		return haul_fault_set(fault, HAUL_NO_COMMON_VERSION, "the peer does not speak " TLS_ALPN);
	st = device_id_of_key(certificate->pk_raw.p, certificate->pk_raw.len, id);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "hash the peer's key");
	peer->verdict = judge(peer, id);
	if (haul_failed(peer->verdict))
		return refuse(peer->verdict, fault);
	memcpy(ret_id, id, sizeof(id));
	return HAUL_OK;
}

/* The peer ended it with an alert; which one tells why. */
static haul_status alert_failure(const struct mbedtls_ssl_context *ssl, struct haul_fault *fault)
{
	unsigned alert = ssl->MBEDTLS_PRIVATE(in_msg)[1];

	switch (alert) {
	case MBEDTLS_SSL_ALERT_MSG_BAD_CERT:
	case MBEDTLS_SSL_ALERT_MSG_UNSUPPORTED_CERT:
	case MBEDTLS_SSL_ALERT_MSG_CERT_REVOKED:
	case MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED:
	case MBEDTLS_SSL_ALERT_MSG_CERT_UNKNOWN:
	case MBEDTLS_SSL_ALERT_MSG_UNKNOWN_CA:
	case MBEDTLS_SSL_ALERT_MSG_ACCESS_DENIED:
	case MBEDTLS_SSL_ALERT_MSG_CERT_REQUIRED:
		return haul_fault_set(fault, HAUL_NOT_KNOWN, "the peer does not know this device");
	case MBEDTLS_SSL_ALERT_MSG_PROTOCOL_VERSION:
	case MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE:
	case MBEDTLS_SSL_ALERT_MSG_INSUFFICIENT_SECURITY:
	case MBEDTLS_SSL_ALERT_MSG_NO_APPLICATION_PROTOCOL:
		return haul_fault_set(fault, HAUL_NO_COMMON_VERSION, "the peer refused our version of TLS or protocol");
	default:
		return haul_fault_set(fault, HAUL_CRYPTO, "the peer ended TLS with alert %u", alert);
	}
}

haul_status tls_failure(const struct mbedtls_ssl_context *ssl, const struct tls_peer *peer, int ret,
			struct haul_fault *fault)
{
	if (haul_failed(peer->verdict))
		return refuse(peer->verdict, fault);
	switch (ret) {
	case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY:
		return HAUL_OK;
	case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE:
		return alert_failure(ssl, fault);
	case 0:
	case MBEDTLS_ERR_SSL_CONN_EOF:
		return haul_fault_set(fault, HAUL_LOST, "the connection ended without notice");
	case MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE:
		return haul_fault_set(fault, HAUL_NOT_KNOWN, "the peer showed no certificate");
	case MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION:
	case MBEDTLS_ERR_SSL_NO_APPLICATION_PROTOCOL:
		return haul_fault_set(fault, HAUL_NO_COMMON_VERSION,
				      "the peer's version of TLS or protocol is not ours");
	default:
		return crypto_failed(ret, fault, "TLS");
	}
}
