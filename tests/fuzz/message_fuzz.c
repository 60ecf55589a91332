/*
 * Any bytes as frames of a control connection. What decodes must encode, and decode and encode to the same bytes again:
 * the rules of reading and of writing are one.
 */
#include "peer-protocol/codec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void encode_again(struct message_decoder *d, const struct message *m)
{
	struct message_buffer first = { 0 }, second = { 0 };
	haul_status st = message_encode(&first, m);
	struct message again;
	size_t used;

	require(haul_ok(st)); /* the shortest form is never longer than the form it came in */
	st = message_decode(d, first.data, first.len, &used, &again);
	require(haul_ok(st) && used == first.len);
	st = message_encode(&second, &again);
	require(haul_ok(st) && second.len == first.len && memcmp(first.data, second.data, first.len) == 0);
	message_buffer_close(&first);
	message_buffer_close(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message_decoder *reader = message_decoder_new(), *checker = message_decoder_new();

	require(reader && checker);
	while (size) {
		struct message m;
		size_t used;

		if (haul_failed(message_decode(reader, data, size, &used, &m)) || !used)
			break;
		require(used <= size);
		encode_again(checker, &m);
		data += used;
		size -= used;
	}
	message_decoder_free(reader);
	message_decoder_free(checker);
	return 0;
}
