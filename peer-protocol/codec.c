/*
 * Frames: a length, then one message. The fields are the layouts' business (layout.h).
 *
 * Decoding costs no copy of texts and digests; arrays go to the decoder's arena, which holds at most what the frame's
 * bytes pay for. Encoding appends to the buffer and takes back what it wrote when a field turns out wrong.
 */
#include "peer-protocol/codec.h"

#include "engine/base/bytes.h"
#include "peer-protocol/layout_walk.h"

#include <stdlib.h>
#include <string.h>

enum {
	FRAME_LENGTH_BYTES = 4,
	ARENA_PER_FRAME_BYTE = 8,
	ARENA_BASE = 256 * 1024,
	BUFFER_CAP_MIN = 512,
};

struct message_decoder {
	struct arena arena;
};

struct message_decoder *message_decoder_new(void)
{
	struct message_decoder *d = malloc(sizeof(*d));

	if (d)
		arena_open(&d->arena);
	return d;
}

void message_decoder_free(struct message_decoder *d)
{
	if (!d)
		return;
	arena_close(&d->arena);
	free(d);
}

static haul_status decode_payload(struct message_decoder *d, const uint8_t *payload, size_t len,
				  struct message *ret_message)
{
	struct layout_reader r = { .in = { .at = payload, .left = len }, .arena = &d->arena };
	haul_status st;

	arena_reset(&d->arena, ARENA_BASE + ARENA_PER_FRAME_BYTE * len);
	memset(ret_message, 0, sizeof(*ret_message));
	st = layout_read(&r, &message_layout, ret_message);
	if (haul_ok(st) && r.in.left)
		return HAUL_BAD_FRAME;
	return st;
}

haul_status message_decode(struct message_decoder *d, const void *data, size_t len, size_t *ret_used,
			   struct message *ret_message)
{
	struct pack_reader in = { .at = data, .left = len };
	struct message message;
	uint32_t payload = 0;
	haul_status st;

	if (len < FRAME_LENGTH_BYTES) {
		*ret_used = 0;
		return HAUL_OK;
	}
	for (unsigned i = 0; i < FRAME_LENGTH_BYTES; i++)
		payload = payload << 8 | in.at[i];
	if (payload == 0)
		return HAUL_BAD_FRAME;
	if (payload > MESSAGE_BYTES_MAX)
		return HAUL_OVERFLOW;
	if (len - FRAME_LENGTH_BYTES < payload) {
		*ret_used = 0;
		return HAUL_OK;
	}
	st = decode_payload(d, in.at + FRAME_LENGTH_BYTES, payload, &message);
	if (haul_failed(st))
		return st;
	*ret_message = message;
	*ret_used = FRAME_LENGTH_BYTES + payload;
	return HAUL_OK;
}

void message_buffer_close(struct message_buffer *b)
{
	free(b->data);
	*b = (struct message_buffer){ 0 };
}

static haul_status buffer_reserve(struct message_buffer *b, size_t more)
{
	size_t cap = b->cap ? b->cap : BUFFER_CAP_MIN;
	uint8_t *data;

	if (more <= b->cap - b->len)
		return HAUL_OK;
	while (cap - b->len < more) {
		if (cap > SIZE_MAX / 2)
			return HAUL_NO_MEMORY;
		cap *= 2;
	}
	data = realloc(b->data, cap);
	if (!data)
		return HAUL_NO_MEMORY;
	b->data = data;
	b->cap = cap;
	return HAUL_OK;
}

/* One frame being appended. */
struct frame {
	struct message_buffer *buffer;
	size_t payload_at; /* offset in the buffer */
	haul_status why;   /* the writer only learns that it must stop */
};

static int frame_put(void *ctx, const char *data, size_t len)
{
	struct frame *f = ctx;
	struct message_buffer *b = f->buffer;

	if (len > MESSAGE_BYTES_MAX - (b->len - f->payload_at)) {
		f->why = HAUL_OVERFLOW;
		return -1;
	}
	f->why = buffer_reserve(b, len);
	if (haul_failed(f->why))
		return -1;
	memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

haul_status message_encode(struct message_buffer *b, const struct message *m)
{
	struct frame f = { .buffer = b, .payload_at = b->len + FRAME_LENGTH_BYTES, .why = HAUL_OK };
	struct layout_writer w = { .put = frame_put, .ctx = &f };
	size_t start = b->len;
	struct bytes length;
	haul_status st;

	st = buffer_reserve(b, FRAME_LENGTH_BYTES);
	if (haul_failed(st))
		return st;
	b->len += FRAME_LENGTH_BYTES;
	st = layout_write(&w, &message_layout, m);
	if (haul_failed(st)) {
		b->len = start;
		return haul_failed(f.why) ? f.why : st;
	}
	length = bytes_of(b->data + start, FRAME_LENGTH_BYTES);
	bytes_put_uint(&length, b->len - f.payload_at, FRAME_LENGTH_BYTES);
	return HAUL_OK;
}

size_t manifest_record_bytes_max(const struct manifest_record *r)
{
	return layout_bytes_max(&manifest_record_layout, r);
}
