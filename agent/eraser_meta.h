/*
 * What a copy does not carry over: owner, group, special permission bits, extended attributes, ACLs. A source that has
 * them otherwise than what landed is not deleted. Blocking; handles are borrowed and may be O_PATH. Needs procfs for
 * extended attributes.
 */
#ifndef HAUL_AGENT_ERASER_META_H
#define HAUL_AGENT_ERASER_META_H

#include "engine/base/fault.h"

#include <stdbool.h>

/*
 * Whether `to_name` has everything that `name` has: the same owner and group, every permission bit, every extended
 * attribute (ACLs are some) with the same value, but for labels that the system itself gives (SELinux, IMA, EVM).
 * HAUL_UNSUPPORTED: not so, the text names it and what helps; other codes: it could not be looked at.
 */
HAUL_MUST_USE haul_status eraser_check_meta(int dir_fd, const char *name, int to_fd, const char *to_name,
					    struct haul_fault *fault);

/*
 * The other end could not keep all extended attributes (ACLs are some): whether `name` has none that matter, all but
 * labels that the system itself gives; is_privileged: of security and trusted ones alone. HAUL_UNSUPPORTED: it has, the
 * text names it; other codes as above.
 */
HAUL_MUST_USE haul_status eraser_check_carried(int dir_fd, const char *name, bool is_privileged,
					       struct haul_fault *fault);

#endif
