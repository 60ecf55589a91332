#include "certs/certificate.h"

#include "certs/crypto.h"

#include "mbedtls/asn1.h"
#include "mbedtls/oid.h"
#include "mbedtls/x509_crt.h"

#include <string.h>

enum { SERIAL_BYTES = 16 };

/* The same for every device: a certificate in clear text tells a listener nothing but its key. */
#define NAME "CN=haul"

static int set_serial(mbedtls_x509write_cert *writer)
{
	unsigned char serial[SERIAL_BYTES];
	int ret = crypto_random(NULL, serial, sizeof(serial));

	if (ret)
		return ret;
	serial[0] = (unsigned char)((serial[0] & 0x7F) | 0x40); /* positive and of full length (RFC 5280, 4.1.2.2) */
	return mbedtls_x509write_crt_set_serial_raw(writer, serial, sizeof(serial));
}

static int set_usage(mbedtls_x509write_cert *writer)
{
	mbedtls_asn1_sequence client = {
		.buf = { MBEDTLS_ASN1_OID, MBEDTLS_OID_SIZE(MBEDTLS_OID_CLIENT_AUTH),
			 (unsigned char *)MBEDTLS_OID_CLIENT_AUTH },
	};
	mbedtls_asn1_sequence server = {
		.buf = { MBEDTLS_ASN1_OID, MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH),
			 (unsigned char *)MBEDTLS_OID_SERVER_AUTH },
		.next = &client,
	};
	int ret = mbedtls_x509write_crt_set_basic_constraints(writer, 0, -1);

	if (!ret)
		ret = mbedtls_x509write_crt_set_key_usage(writer, MBEDTLS_X509_KU_DIGITAL_SIGNATURE);
	if (!ret)
		ret = mbedtls_x509write_crt_set_ext_key_usage(writer, &server);
	return ret;
}

haul_status certificate_make(mbedtls_pk_context *key, char ret_pem[CERTIFICATE_PEM_MAX], struct haul_fault *fault)
{
	mbedtls_x509write_cert writer;
	int ret;

	mbedtls_x509write_crt_init(&writer);
	mbedtls_x509write_crt_set_version(&writer, MBEDTLS_X509_CRT_VERSION_3);
	mbedtls_x509write_crt_set_md_alg(&writer, MBEDTLS_MD_SHA256);
	mbedtls_x509write_crt_set_subject_key(&writer, key);
	mbedtls_x509write_crt_set_issuer_key(&writer, key);
	ret = mbedtls_x509write_crt_set_subject_name(&writer, NAME);
	if (!ret)
		ret = mbedtls_x509write_crt_set_issuer_name(&writer, NAME);
	if (!ret) /* RFC 5280, 4.1.2.5: a certificate without a date of expiry */
		ret = mbedtls_x509write_crt_set_validity(&writer, "20200101000000", "99991231235959");
	if (!ret)
		ret = set_serial(&writer);
	if (!ret)
		ret = set_usage(&writer);
	if (!ret)
		ret = mbedtls_x509write_crt_pem(&writer, (unsigned char *)ret_pem, CERTIFICATE_PEM_MAX, crypto_random,
						NULL);
	mbedtls_x509write_crt_free(&writer);
	return ret ? crypto_failed(ret, fault, "make a certificate") : HAUL_OK;
}
