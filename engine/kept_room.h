/*
 * The room that interrupted jobs take up with what they have left in `.haul/partials/`, and giving it to others. What
 * lies beside its target (partial.h) is not found here. Blocking.
 */
#ifndef HAUL_ENGINE_KEPT_ROOM_H
#define HAUL_ENGINE_KEPT_ROOM_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Bytes on disk of what is kept for one device below private_fd (borrowed; O_PATH is fine); nothing there is 0.
 *
 * HAUL_DENIED, HAUL_NO_MEMORY   and what else opening a directory may say.
 */
HAUL_MUST_USE haul_status kept_usage(int private_fd, const uint8_t peer_id[32], uint64_t *ret_bytes);

struct kept_room {
	uint64_t want_bytes; /* no more than that has to go */
	uint64_t each_bytes; /* of a device that has more than that */
	int64_t untouched_s; /* only what nobody has touched for so many seconds */
	int64_t now_s;       /* since 1970 */
	bool only_looks;     /* nothing goes */
};

/*
 * Drop what is kept, the longest untouched first, until want_bytes are free: of devices that have more than each_bytes,
 * as long as they have. What a job has open stays. *ret_bytes: what is free now, or would be; less than
 * wanted: then all that may go has gone. Failures as kept_usage(), and then nothing has gone.
 */
HAUL_MUST_USE haul_status kept_make_room(int private_fd, const struct kept_room *how, uint64_t *ret_bytes);

#endif
