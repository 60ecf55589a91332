/*
 * One TLS connection of a peer that follows no rule it does not like: blocking, with a deadline on every call. What
 * fails is remembered, so a script reads like a conversation.
 */
#ifndef HAUL_TESTS_EVIL_TALK_H
#define HAUL_TESTS_EVIL_TALK_H

#include "agent/dial_trust.h"
#include "peer-protocol/codec.h"
#include "peer-protocol/lane_frame.h"

#include <mbedtls/ssl.h>

enum { TALK_IN_BYTES = MESSAGE_BYTES_MAX + 4 };

enum talk_end { TALK_OPEN, TALK_CLOSED, TALK_CUT, TALK_SILENT, TALK_BROKEN };

struct talk {
	int fd;
	bool has_ssl;
	mbedtls_ssl_context ssl;
	struct tls_peer peer;
	struct message_decoder *decoder;
	uint8_t *in;
	size_t in_len, in_used; /* in_used: of the message last returned */
	enum talk_end end;
};

/* A client's connection to 127.0.0.1:port; false: no TLS came of it. Closed with talk_close() in any case. */
bool talk_connect(struct talk *t, const struct dial_trust *trust, unsigned port);
/* The next connection of a listening socket; false: none within `wait_ms`, or no TLS. */
bool talk_accept(struct talk *t, const struct dial_trust *trust, int listen_fd, int wait_ms);
/* TCP alone. */
bool talk_connect_plain(struct talk *t, unsigned port);
void talk_close(struct talk *t);  /* without close_notify */
void talk_finish(struct talk *t); /* with it */

bool talk_write(struct talk *t, const void *data, size_t len);
bool talk_read(struct talk *t, void *data, size_t len);
bool talk_say(struct talk *t, const struct message *m);
/* A frame of this payload, whatever is in it. */
bool talk_say_raw(struct talk *t, const void *payload, size_t len);
/* The next message; NULL: the connection has ended or was silent for `wait_ms` (see t->end). */
const struct message *talk_hear(struct talk *t, int wait_ms);

/* Little msgpack, for what the codec would not write. */
struct pack {
	uint8_t data[64 * 1024];
	size_t len;
};
void pack_array(struct pack *p, unsigned count);
void pack_uint(struct pack *p, uint64_t n);
void pack_nil(struct pack *p);
void pack_bin(struct pack *p, const void *data, size_t len);
void pack_str(struct pack *p, const char *text);
void pack_byte(struct pack *p, unsigned byte);

#endif
