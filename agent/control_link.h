/*
 * A control connection in use: a channel, its session and its codec tied together.
 *
 * Bytes that arrive become messages for the owner; messages of the owner become bytes. Protocol violations and the end
 * of the stream become one on_end. Reading never stops (docs/ARCHITECTURE.md "No deadlock by construction"). Thread:
 * the loop's.
 */
#ifndef HAUL_AGENT_CONTROL_LINK_H
#define HAUL_AGENT_CONTROL_LINK_H

#include "agent/channel.h"
#include "peer-protocol/control_session.h"

struct control_link;

struct control_link_callbacks {
	/* A message the session allowed. `m` is valid during the call. May call control_link_send() and _close(). */
	void (*on_message)(void *ctx, struct control_link *l, const struct message *m);
	/* More may be sent after control_link_send() returned HAUL_BUSY. */
	void (*on_writable)(void *ctx, struct control_link *l);
	/* Exactly once. HAUL_OK: DONE was exchanged and the peer closed properly. */
	void (*on_end)(void *ctx, struct control_link *l, haul_status why, const struct haul_fault *fault);
};

/*
 * channel   taken: made ready by a listener (server) or connected (client). On failure still the caller's.
 * The server's link says HELLO at once (`hello` is borrowed); the client's answers the server's HELLO by itself.
 */
HAUL_MUST_USE haul_status control_link_open(struct channel *channel, enum control_role role,
					    const struct msg_hello *hello, const struct control_link_callbacks *cb,
					    void *ctx, struct control_link **ret_link, struct haul_fault *fault);

/* One end of a pair. */
struct control_pair_end {
	const struct control_link_callbacks *cb; /* held */
	void *ctx;                               /* held */
	struct control_link *link;               /* given */
};

/*
 * Two links of this process that are each other's peer: for a job with both ends here. They greet each other as over
 * the network, the server's end first; there is no channel and no device behind either. Everything is delivered from
 * the loop, nothing from within control_link_send().
 *
 * client, server   cb and ctx are filled in by the caller, link on success. Each is closed for itself; the one left
 *                  behind ends with HAUL_LOST unless the other had finished.
 */
HAUL_MUST_USE haul_status control_link_pair(uv_loop_t *loop, struct control_pair_end *client,
					    struct control_pair_end *server, struct haul_fault *fault);

/*
 * Send one message (borrowed). HAUL_BUSY: more than 4 MiB wait for the socket: nothing was queued, on_writable follows.
 * HAUL_OVER_CREDIT: wait for CREDIT. MSG_ERROR, JOB_END, DONE, CANCEL and ACCEPT are taken however much waits.
 */
HAUL_MUST_USE haul_status control_link_send(struct control_link *l, const struct message *m, struct haul_fault *fault);

/* Send ERROR (borrowed), then close_notify, drain for at most 1 s, close. on_end follows. */
void control_link_refuse(struct control_link *l, const struct msg_error *error);

/* close_notify after what is queued; on_end follows when the peer has closed too. */
void control_link_finish(struct control_link *l);

/* Drop it; no callback but on_closed (may be NULL) follows. */
void control_link_close(struct control_link *l, void (*on_closed)(void *ctx), void *ctx);

/*
 * Server: the client's first message was LANE_HELLO. Send LANE_OK, then give up the connection for the lane's thread.
 * After on_detached, which comes from the loop, the link is gone. on_end comes instead when the peer went away or broke
 * the rule that it waits; the link is then closed as usual.
 */
HAUL_MUST_USE haul_status control_link_detach(struct control_link *l, const struct msg_lane_ok *ok,
					      void (*on_detached)(void *ctx, struct channel_parts *parts /* given */),
					      void *ctx);

/* A new owner: called from now on; `cb` and `ctx` are held. */
void control_link_set_callbacks(struct control_link *l, const struct control_link_callbacks *cb, void *ctx);

/* Why the link has failed, as soon as it has and its last words still leave; NULL otherwise. Borrowed. */
const struct haul_fault *control_link_failure(const struct control_link *l);

struct control_session *control_link_session(struct control_link *l);
struct channel *control_link_channel(struct control_link *l);     /* NULL: an end of a pair */
const uint8_t *control_link_device(const struct control_link *l); /* 32 bytes: the peer's device id */

/* What every HELLO of this program says, for this role. your_name: server only, NUL-terminated or NULL. Static
 * capabilities. */
void hello_fill(struct msg_hello *ret_hello, const char *your_name);

#endif
