/* Which names may appear in a tree. */
#include "engine/base/entry.h"

#include <string.h>
#include <strings.h>

/* haul's own files beside the data: ".haul" itself, ".haul.anything" and ".haul-anything". */
static bool is_reserved(const char *name, size_t len)
{
	static const char own[] = ".haul";
	const size_t own_len = sizeof(own) - 1;

	if (len < own_len || strncasecmp(name, own, own_len) != 0)
		return false;
	return len == own_len || name[own_len] == '.' || name[own_len] == '-';
}

haul_status haul_component_check(const char *name, size_t len)
{
	if (len == 0 || len > HAUL_NAME_MAX)
		return HAUL_BAD_VALUE;
	if (memchr(name, '/', len) || memchr(name, '\0', len))
		return HAUL_BAD_VALUE;
	if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return HAUL_BAD_VALUE;
	return is_reserved(name, len) ? HAUL_RESERVED_NAME : HAUL_OK;
}
