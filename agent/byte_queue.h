/* Bytes that wait: appended at the end, taken from the front. Zero-initialised is empty. */
#ifndef HAUL_AGENT_BYTE_QUEUE_H
#define HAUL_AGENT_BYTE_QUEUE_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct byte_queue {
	uint8_t *data; /* owned */
	size_t cap;
	size_t start; /* of what waits */
	size_t len;
};

void byte_queue_close(struct byte_queue *q);

/* Room for `len` more bytes at the end; ret_at is where they go, counted by byte_queue_added(). HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status byte_queue_reserve(struct byte_queue *q, size_t len, uint8_t **ret_at);
void byte_queue_added(struct byte_queue *q, size_t len);

/* Append a copy. HAUL_NO_MEMORY: nothing was appended. */
HAUL_MUST_USE haul_status byte_queue_put(struct byte_queue *q, const void *data, size_t len);

/* The front, q->len bytes; valid until the next call with this queue. */
const uint8_t *byte_queue_front(const struct byte_queue *q);
void byte_queue_drop(struct byte_queue *q, size_t len);

#endif
