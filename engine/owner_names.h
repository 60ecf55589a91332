/* Names of users and groups on this machine. Blocking: whoever looks after them (NSS) may be asked over a network. */
#ifndef HAUL_ENGINE_OWNER_NAMES_H
#define HAUL_ENGINE_OWNER_NAMES_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OWNER_NAME_MAX = 256 }; /* bytes */

/* The name of a uid or gid; "" where it has none, or a longer one. Returns ret_name. Thread: any. */
const char *owner_name_of(uint32_t id, bool is_group, char ret_name[OWNER_NAME_MAX + 1]);

/* The number of a name. HAUL_NOT_FOUND: nobody is called so. Else: nobody can tell, and that is never a number. */
HAUL_MUST_USE haul_status owner_number_of(const char *name, bool is_group, uint32_t *ret_id);

#endif
