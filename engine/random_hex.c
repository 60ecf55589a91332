/* The kernel's random bytes, four bits of each. */
#include "engine/random_hex.h"

#include "engine/base/fault.h"

#include <stdint.h>
#include <sys/random.h>

haul_status random_hex(char *ret_text, size_t chars)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t random[RANDOM_HEX_MAX];

	if (chars > sizeof(random) || getrandom(random, chars, 0) != (ssize_t)chars)
		return haul_bug("no random bytes");
	for (size_t i = 0; i < chars; i++)
		ret_text[i] = digits[random[i] % 16];
	ret_text[chars] = '\0';
	return HAUL_OK;
}
