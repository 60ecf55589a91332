/* mbedTLS's numbers as ours, and its random source, for the files of this folder. */
#ifndef HAUL_CERTS_CRYPTO_H
#define HAUL_CERTS_CRYPTO_H

#include "engine/base/fault.h"

#include <stddef.h>

/* Make the library ready; may be called any number of times, by any thread. HAUL_CRYPTO: no randomness. */
HAUL_MUST_USE haul_status crypto_start(struct haul_fault *fault);

/* The status for a failed call of mbedTLS: HAUL_NO_MEMORY or HAUL_CRYPTO, with its own text appended to `what`. */
haul_status crypto_failed(int ret, struct haul_fault *fault, const char *what);

/* f_rng of mbedTLS; any thread. `ctx` is unused. */
int crypto_random(void *ctx, unsigned char *ret_data, size_t len);

#endif
