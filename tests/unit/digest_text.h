/* Digests as text, so that golden values can be read. */
#ifndef HAUL_TESTS_DIGEST_TEXT_H
#define HAUL_TESTS_DIGEST_TEXT_H

#include "engine/base/entry.h"

#include <stdio.h>

static inline const char *digest_text(const struct haul_digest *d, char ret_text[33])
{
	for (unsigned i = 0; i < HAUL_DIGEST_BYTES; i++)
		(void)snprintf(ret_text + 2 * i, 3, "%02x", d->bytes[i]);
	return ret_text;
}

#define assert_digest(digest, golden)                                                                                  \
	do {                                                                                                           \
		char text_[33];                                                                                        \
		assert_string_equal(digest_text(&(digest), text_), golden);                                            \
	} while (0)

#endif
