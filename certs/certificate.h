/* The self-signed certificate that carries a device's key into TLS. */
#ifndef HAUL_CERTS_CERTIFICATE_H
#define HAUL_CERTS_CERTIFICATE_H

#include "engine/base/fault.h"

#include "mbedtls/pk.h"

#include <stddef.h>

enum { CERTIFICATE_PEM_MAX = 2048 };

/*
 * Make one for `key` (borrowed): X.509 v3, random 128-bit serial, fixed names without anything of this machine, not a
 * CA, digital signature, client and server, and dates that never matter, since the key decides.
 *
 * ret_pem   text with its NUL. HAUL_CRYPTO, HAUL_NO_MEMORY.
 */
HAUL_MUST_USE haul_status certificate_make(mbedtls_pk_context *key, char ret_pem[CERTIFICATE_PEM_MAX],
					   struct haul_fault *fault);

#endif
