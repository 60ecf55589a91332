/*
 * Who a device is: the SHA-256 of its public key (SubjectPublicKeyInfo, DER). 32 bytes between programs, base32 with
 * check characters between people.
 *
 * Text: 52 base32 characters (RFC 4648, upper case) in groups of seven, each followed by its check character and joined
 * by '-', the last one shorter: ABCDEFGH-ABCDEFGH-ABCDEFGH-ABCDEFGH-ABCDEFGH-ABCDEFGH-ABCDEFGH-ABCD. Any wrong
 * character, any two characters swapped within a group or across its edge, and any two groups swapped are found.
 */
#ifndef HAUL_CERTS_DEVICE_ID_H
#define HAUL_CERTS_DEVICE_ID_H

#include "engine/base/fault.h"

#include <stddef.h>
#include <stdint.h>

enum {
	DEVICE_ID_BYTES = 32,
	DEVICE_ID_TEXT_MAX = 68 /* 60 characters, 7 dashes, NUL */
};

/* The id of a public key: `spki` is `len` bytes of DER, borrowed. HAUL_CRYPTO: the hash failed. */
HAUL_MUST_USE haul_status device_id_of_key(const uint8_t *spki, size_t len, uint8_t ret_id[DEVICE_ID_BYTES]);

/* The text of an id. Returns ret_text. */
const char *device_id_text(const uint8_t id[DEVICE_ID_BYTES], char ret_text[DEVICE_ID_TEXT_MAX]);

/*
 * Read what device_id_text() prints or what a person made of it: lower case, dashes and spaces missing or elsewhere, 0
 * for O, 1 for I, 8 for B. *ret_id is untouched on failure.
 *
 * HAUL_BAD_VALUE   mistyped or too short or long; the fault names the group.
 */
HAUL_MUST_USE haul_status device_id_parse(const char *text, uint8_t ret_id[DEVICE_ID_BYTES], struct haul_fault *fault);

/* Whether two ids are the same, in constant time. */
bool device_id_equal(const uint8_t a[DEVICE_ID_BYTES], const uint8_t b[DEVICE_ID_BYTES]);

#endif
