/*
 * The context behind mbedTLS's own AES-GCM interface (mbedtls/gcm.h, MBEDTLS_GCM_ALT), carried out by libcrypto, whose
 * stitched AES and GHASH run many times faster. Never included directly: mbedtls/gcm.h includes it.
 */
#ifndef HAUL_CERTS_GCM_ALT_H
#define HAUL_CERTS_GCM_ALT_H

#include <stddef.h>
#include <stdint.h>

struct evp_cipher_ctx_st;

typedef struct mbedtls_gcm_context {
	struct evp_cipher_ctx_st *seal; /* encrypts, key scheduled; held until mbedtls_gcm_free(); NULL before setkey */
	struct evp_cipher_ctx_st *open; /* decrypts, likewise */
	size_t seal_iv_bytes;           /* IV length each of them is set to */
	size_t open_iv_bytes;
	uint64_t data_bytes; /* given to mbedtls_gcm_update() since mbedtls_gcm_starts() */
	int mode;            /* MBEDTLS_GCM_ENCRYPT or MBEDTLS_GCM_DECRYPT since mbedtls_gcm_starts() */
} mbedtls_gcm_context;

#endif
