/* One message of each type with every field in use, and one with as little as may be; with their bytes on the wire. */
#ifndef HAUL_TESTS_MESSAGE_SAMPLES_H
#define HAUL_TESTS_MESSAGE_SAMPLES_H

#include "peer-protocol/message.h"

struct message_sample {
	const char *name; /* "HELLO", "HELLO minimal" */
	const struct message *message;
	const char *hex; /* the whole frame; also in docs/PROTOCOL.md */
};

extern const struct message_sample message_samples[];
extern const size_t message_sample_count;

/* Hexadecimal digits to bytes. Returns how many; `cap` must suffice. */
size_t bytes_of_hex(const char *hex, uint8_t *ret_bytes, size_t cap);

/* The other way round; ret_hex has room for 2 * len + 1. */
void hex_of_bytes(const uint8_t *bytes, size_t len, char *ret_hex);

/* Whether docs/PROTOCOL.md has these digits, wherever it breaks the lines. */
bool is_documented(const char *hex);

#endif
