/*
 * Messages to bytes and back. Every field has a bound (message.h, docs/PROTOCOL.md); what exceeds it, is missing, is
 * doubled or is left over is refused. Elements that a later version appends to an array are skipped.
 */
#ifndef HAUL_PROTOCOL_CODEC_H
#define HAUL_PROTOCOL_CODEC_H

#include "peer-protocol/message.h"

/* Owner of the memory behind a decoded message. One per connection; 256 KiB at most beyond the frame itself × 8. */
struct message_decoder;

/* NULL without memory. Freed with message_decoder_free(); NULL is fine there. */
struct message_decoder *message_decoder_new(void);
void message_decoder_free(struct message_decoder *d);

/*
 * Decode the frame at the front of `data`, if it is there whole.
 *
 * data         borrowed until the next call with this decoder or its free: the message points into it.
 * ret_used     bytes of the frame, header included; 0 when more input is needed (then ret_message is untouched).
 * ret_message  valid until the next call.
 * HAUL_BAD_FRAME, HAUL_OVERFLOW   the peer broke the rules; nothing after it can be trusted.
 * HAUL_NO_MEMORY                  try no further on this connection.
 */
HAUL_MUST_USE haul_status message_decode(struct message_decoder *d, const void *data, size_t len, size_t *ret_used,
					 struct message *ret_message);

/* A growing buffer that encoded frames are appended to. Zero-initialised is empty. */
struct message_buffer {
	uint8_t *data; /* owned */
	size_t len, cap;
};

void message_buffer_close(struct message_buffer *b);

/*
 * Append `m` as one frame.
 *
 * HAUL_OVERFLOW   it would exceed MESSAGE_BYTES_MAX: send fewer records. Nothing was appended.
 * HAUL_BAD_VALUE  a field is beyond its bound: our own mistake. Nothing was appended.
 * HAUL_NO_MEMORY  nothing was appended.
 */
HAUL_MUST_USE haul_status message_encode(struct message_buffer *b, const struct message *m);

/* Upper bound of the bytes one manifest record takes in a MANIFEST frame, so that a batch can be filled without trial.
 */
size_t manifest_record_bytes_max(const struct manifest_record *r);

#endif
