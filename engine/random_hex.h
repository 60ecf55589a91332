/* Names that nobody else has. Thread: any; no state. */
#ifndef HAUL_ENGINE_RANDOM_HEX_H
#define HAUL_ENGINE_RANDOM_HEX_H

#include "engine/base/status.h"

#include <stddef.h>

enum { RANDOM_HEX_MAX = 32 };

/* `chars` (RANDOM_HEX_MAX at most) random lower-case hexadecimal digits and a NUL. HAUL_BUG: no randomness. */
HAUL_MUST_USE haul_status random_hex(char *ret_text, size_t chars);

#endif
