/*
 * This device's own key and certificate: ECDSA P-256, self-signed X.509 v3, made on first use.
 *
 * The key is the identity, in identity.key (PEM, 0600, in a directory of mode 0700); the certificate, identity.crt,
 * only carries it into TLS and is made anew when it is missing or belongs to another key. A damaged key is an error,
 * never replaced.
 */
#ifndef HAUL_CERTS_IDENTITY_H
#define HAUL_CERTS_IDENTITY_H

#include "certs/device_id.h"
#include "engine/base/fault.h"

struct identity; /* immutable once open: any thread; use in the process that opened it, not after fork() */

/*
 * Load the identity of a directory, or make it there, durably, when there is none. Several processes may do so at once.
 *
 * dir_fd        borrowed; a real descriptor, not O_PATH.
 * ret_identity  given: identity_free().
 * HAUL_DENIED     directory or key belong to another user, or others may look into them; the fault says the cure.
 * HAUL_BAD_VALUE  the key is damaged or of another kind, or it is missing while its certificate is there.
 * HAUL_CRYPTO     making or signing failed.
 */
HAUL_MUST_USE haul_status identity_open(int dir_fd, struct identity **ret_identity, struct haul_fault *fault);

/* Wipes the key. NULL is fine. */
void identity_free(struct identity *identity);

/* The device id, 32 bytes, borrowed until identity_free(). */
const uint8_t *identity_device_id(const struct identity *identity);

#endif
