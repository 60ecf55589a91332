/*
 * The conversation on a control connection, without any I/O: bytes and wishes in, messages and bytes out.
 *
 *   client                                server
 *   GREETING  <------- HELLO ------------ GREETING
 *             -------- HELLO ----------->
 *   ASKING    -- LOOKUP, LIST, JOB -----> ASKING        one question at a time
 *             <- FOUND, LISTING, ACCEPT -               BUSY and ERROR also answer a JOB
 *   RUNNING   <== sender and receiver, by the job's direction ==> RUNNING
 *   ENDING    -- JOB_END both ways, then DONE both ways --------- ENDING
 *   CLOSED                                                        CLOSED
 *
 * The session checks that each message is allowed now, in this role and direction; that indices were announced (entries
 * of MANIFEST ascend by one, parents are directories announced before and not yet ended, WANT, ACK and RESULT name
 * announced entries); and that MANIFEST stays within the credit given. A peer that breaks a rule ends the session.
 * Every entry must have its RESULT before JOB_END, and the roots of both JOB_ENDs must agree before DONE (else
 * HAUL_ROOT_MISMATCH); after CANCEL neither is asked. A lane connection takes the same greeting with LANE_HELLO instead
 * of HELLO: after LANE_OK the session is CONTROL_CLOSED and bytes not consumed belong to the lane. Which entries exist
 * is kept as counters and the stack of open directories, not per entry, so memory does not grow with the job. Thread:
 * any one at a time.
 */
#ifndef HAUL_PROTOCOL_CONTROL_SESSION_H
#define HAUL_PROTOCOL_CONTROL_SESSION_H

#include "engine/base/fault.h"
#include "peer-protocol/message.h"

enum control_role { CONTROL_CLIENT, CONTROL_SERVER };

enum control_state {
	CONTROL_GREETING,
	CONTROL_ASKING,
	CONTROL_ANSWERING, /* a question is open */
	CONTROL_RUNNING,
	CONTROL_ENDING, /* own JOB_END sent or the peer's received */
	CONTROL_CLOSED, /* DONE exchanged */
	CONTROL_FAILED,
};

struct control_session;

struct control_config {
	enum control_role role;
};

/* NULL without memory; control_session_free(NULL) is fine. */
struct control_session *control_session_new(const struct control_config *cfg);
void control_session_free(struct control_session *s);

enum control_event_type {
	CONTROL_EV_RECEIVED, /* bytes from the peer */
	CONTROL_EV_SEND,     /* we want to say this */
	CONTROL_EV_EOF,      /* the peer closed with close_notify */
	CONTROL_EV_CUT,      /* the connection ended without it */
};

struct control_event {
	enum control_event_type type;
	const uint8_t *data; /* RECEIVED: borrowed until the update's message has been used */
	size_t len;
	const struct message *message; /* SEND: borrowed for the call */
};

struct control_update {
	size_t consumed;               /* RECEIVED: bytes used; call again with the rest until message is NULL */
	const struct message *message; /* deliver this; valid until the next step */
	const uint8_t *send;           /* bytes to write to the peer; valid until the next step */
	size_t send_len;
	uint32_t wait_ms; /* how long the peer may stay silent in the state we are in now; 0 = any time */
};

/*
 * One step. ret_update is filled in any case.
 *
 * On failure the session is in CONTROL_FAILED; `send` may hold an ERROR message for the peer, which should be written
 * before the connection is closed. The fault says what rule was broken.
 * HAUL_BAD_MOVE for an own message is a bug of ours; HAUL_OVER_CREDIT for an own MANIFEST means: wait for CREDIT,
 * nothing was sent and the session goes on.
 */
HAUL_MUST_USE haul_status control_step(struct control_session *s, const struct control_event *ev,
				       struct control_update *ret_update, struct haul_fault *fault);

enum control_state control_state(const struct control_session *s);

/* Manifest records and bytes that may still be sent (sender) or are still granted to the peer (receiver). */
void control_credit(const struct control_session *s, uint64_t *ret_records, uint64_t *ret_bytes);

/* The peer's HELLO; NULL before it came. Texts in it stay valid for the session's life. */
const struct msg_hello *control_peer_hello(const struct control_session *s);

/* "control running, 12 of 90 entries without result": for a stuck transfer. Returns ret_text. */
const char *control_describe(const struct control_session *s, char *ret_text, size_t cap);

#endif
