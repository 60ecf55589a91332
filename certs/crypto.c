#include "certs/crypto.h"

#include "mbedtls/asn1.h"
#include "mbedtls/error.h"
#include "mbedtls/pk.h"
#include "mbedtls/psa_util.h"
#include "mbedtls/ssl.h"
#include "mbedtls/x509.h"
#include "psa/crypto.h"

enum { TEXT_BYTES = 160 };

static bool is_out_of_memory(int ret)
{
	switch (ret) {
	case MBEDTLS_ERR_X509_ALLOC_FAILED:
	case MBEDTLS_ERR_PK_ALLOC_FAILED:
	case MBEDTLS_ERR_ECP_ALLOC_FAILED:
	case MBEDTLS_ERR_MPI_ALLOC_FAILED:
	case MBEDTLS_ERR_ASN1_ALLOC_FAILED:
	case MBEDTLS_ERR_CIPHER_ALLOC_FAILED:
	case MBEDTLS_ERR_MD_ALLOC_FAILED:
	case MBEDTLS_ERR_SSL_ALLOC_FAILED:
		return true;
	default:
		return false;
	}
}

haul_status crypto_start(struct haul_fault *fault)
{
	psa_status_t ret = psa_crypto_init();

	if (ret == PSA_SUCCESS)
		return HAUL_OK;
	return haul_fault_set(fault, ret == PSA_ERROR_INSUFFICIENT_MEMORY ? HAUL_NO_MEMORY : HAUL_CRYPTO,
			      "the cryptographic library does not start (%d)", (int)ret);
}

haul_status crypto_failed(int ret, struct haul_fault *fault, const char *what)
{
	char text[TEXT_BYTES];

	mbedtls_strerror(ret, text, sizeof(text));
	return haul_fault_set(fault, is_out_of_memory(ret) ? HAUL_NO_MEMORY : HAUL_CRYPTO, "%s: %s", what, text);
}

int crypto_random(void *ctx, unsigned char *ret_data, size_t len)
{
	(void)ctx;
	return mbedtls_psa_get_random(MBEDTLS_PSA_RANDOM_STATE, ret_data, len);
}
