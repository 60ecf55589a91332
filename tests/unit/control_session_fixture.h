/* What the tests of the control session have in common. */
#ifndef HAUL_TESTS_CONTROL_SESSION_FIXTURE_H
#define HAUL_TESTS_CONTROL_SESSION_FIXTURE_H

#include "control_pair.h"

#include "cmocka_first.h"
#include "peer-protocol/codec.h"

static inline haul_status say(struct control_pair *p, enum control_role role, enum message_type type)
{
	struct message m = plain_message(type);

	return control_pair_say(p, role, &m, NULL);
}

/* The ERROR that a failed step left for the peer. */
static inline void check_told(const struct control_update *out, haul_status code)
{
	struct message_decoder *d = message_decoder_new();
	struct message m;
	size_t used;

	assert_true(out->send_len > 0);
	assert_ok(message_decode(d, out->send, out->send_len, &used, &m));
	assert_int_equal(used, out->send_len);
	assert_int_equal(m.type, MSG_ERROR);
	assert_int_equal(m.error.code, code.code);
	message_decoder_free(d);
}

#endif
