/*
 * Inside of a control link, for control_link.c (life; the drawing of its states), control_link_io.c (messages and
 * bytes) and control_link_pair.c (two ends in one process).
 */
#ifndef HAUL_AGENT_CONTROL_LINK_IMPL_H
#define HAUL_AGENT_CONTROL_LINK_IMPL_H

#include "agent/byte_queue.h"
#include "agent/control_link.h"

enum link_state { LINK_OPEN, LINK_FINISHING, LINK_FAILING, LINK_DETACHING, LINK_ENDED, LINK_CLOSED };

struct own_hello {
	struct msg_hello hello; /* its texts are the two below */
	char software[MESSAGE_SOFTWARE_MAX];
	char your_name[MESSAGE_PEER_NAME_MAX];
};

struct control_link {
	struct channel *channel; /* owned; NULL once it is detached, and for an end of a pair */
	bool is_paired;
	struct control_link *other; /* pair: the other end while it is open; NULL afterwards */
	struct control_session *session;
	const struct control_link_callbacks *cb;
	void *ctx;
	enum link_state state;
	enum control_role role;
	struct own_hello own;
	struct byte_queue input; /* at most one unfinished frame between reads */
	struct byte_queue output;
	bool is_busy; /* said so, and owes on_writable */
	bool is_shut; /* channel_finish() was called */
	struct haul_fault end_fault;
	uint32_t wait_ms; /* how long the peer may be silent now */

	uv_idle_t soon;   /* writes what has gathered, on the loop's next turn */
	uv_timer_t timer; /* the peer's silence, or how long the end may take */
	uv_timer_t beat;  /* in a job: who has said or heard anything since the last one? */
	unsigned silent_beats;
	bool has_said;
	unsigned open_parts;
	void (*on_detached)(void *ctx, struct channel_parts *parts);
	void *detached_ctx;
	void (*on_closed)(void *ctx);
	void *closed_ctx;
};

/* control_link.c */
void link_end(struct control_link *l, haul_status why, const struct haul_fault *fault);
/* What is queued (an ERROR as a rule) leaves, and the peer has a moment to read it; on_end follows. */
void link_fail(struct control_link *l, haul_status why, const struct haul_fault *fault);
/* The peer may be silent for `wait_ms` from now; 0: for any time. */
void link_wait(struct control_link *l, uint32_t wait_ms);
void link_try_detach(struct control_link *l);
/* A job begins, or its last word has been said. */
void link_beat(struct control_link *l, bool is_on);
/* `channel` is taken, or NULL for an end of a pair. On failure nothing is left, and the channel is the caller's. */
haul_status link_new(uv_loop_t *loop, struct channel *channel, enum control_role role, const struct msg_hello *hello,
		     struct control_link **ret_link, struct haul_fault *fault);
/* The peer has closed (why HAUL_OK) or is gone: on_end follows, with what the session says of it. */
void link_stream_ended(struct control_link *l, haul_status why, const struct haul_fault *why_fault);

/* control_link_pair.c */
void pair_write(struct control_link *l); /* what is queued, and the end, reach the other end */
void pair_leave(struct control_link *l); /* it is being closed */

/* control_link_io.c */
void link_soon(struct control_link *l);
void link_parse(struct control_link *l); /* deliver what is whole in `input` */
/* A failure has been turned into the end of the link already, except HAUL_OVER_CREDIT and HAUL_OVERFLOW. */
haul_status link_say(struct control_link *l, const struct message *m, struct haul_fault *fault);
void link_on_readable(void *ctx, struct channel *ch);
void link_on_writable(void *ctx, struct channel *ch);

#endif
