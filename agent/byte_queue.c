/* One allocation that grows by doubling; what waits is moved to its front only when that makes the room needed. */
#include "agent/byte_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 4096 };

void byte_queue_close(struct byte_queue *q)
{
	free(q->data);
	*q = (struct byte_queue){ .len = 0 };
}

static haul_status grow(struct byte_queue *q, size_t need)
{
	size_t cap = q->cap ? q->cap : FIRST_BYTES;
	uint8_t *data;

	while (cap < need && cap <= SIZE_MAX / 2)
		cap *= 2;
	if (cap < need)
		return HAUL_NO_MEMORY;
	data = realloc(q->data, cap);
	if (!data)
		return HAUL_NO_MEMORY;
	q->data = data;
	q->cap = cap;
	return HAUL_OK;
}

haul_status byte_queue_reserve(struct byte_queue *q, size_t len, uint8_t **ret_at)
{
	haul_status st = HAUL_OK;

	if (q->start && q->cap - q->start - q->len < len) {
		memmove(q->data, q->data + q->start, q->len);
		q->start = 0;
	}
	if (q->cap - q->start - q->len < len)
		st = grow(q, q->len + len);
	if (haul_ok(st))
		*ret_at = q->data + q->start + q->len;
	return st;
}

void byte_queue_added(struct byte_queue *q, size_t len)
{
	assert(len <= q->cap - q->start - q->len);
	q->len += len;
}

haul_status byte_queue_put(struct byte_queue *q, const void *data, size_t len)
{
	uint8_t *at;
	haul_status st = byte_queue_reserve(q, len, &at);

	if (haul_failed(st))
		return st;
	if (len)
		memcpy(at, data, len);
	q->len += len;
	return HAUL_OK;
}

const uint8_t *byte_queue_front(const struct byte_queue *q)
{
	return q->data + q->start;
}

void byte_queue_drop(struct byte_queue *q, size_t len)
{
	assert(len <= q->len);
	q->start += len;
	q->len -= len;
	if (!q->len)
		q->start = 0;
}
