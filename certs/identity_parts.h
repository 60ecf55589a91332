/* What an identity consists of, for the files of this folder. */
#ifndef HAUL_CERTS_IDENTITY_PARTS_H
#define HAUL_CERTS_IDENTITY_PARTS_H

#include "certs/device_id.h"

#include "mbedtls/pk.h"
#include "mbedtls/x509_crt.h"

struct identity {
	mbedtls_pk_context key;       /* P-256, private */
	mbedtls_x509_crt certificate; /* self-signed, of that key */
	uint8_t device_id[DEVICE_ID_BYTES];
};

#endif
