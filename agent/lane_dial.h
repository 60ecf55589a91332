/*
 * A client's lane on its way: connect, wait for HELLO, say LANE_HELLO, wait for LANE_OK, hand over the channel.
 *
 * It may be started before the job is accepted, when there is no session id yet: then it is held after HELLO until
 * lane_dial_join() says what the connection is for. Three round trips have passed by then that need not pass later.
 *
 * Exactly the frames of the greeting are read, so that every byte after LANE_OK is there for the lane. Thread: that of
 * the loop, a lane's own as a rule.
 */
#ifndef HAUL_AGENT_LANE_DIAL_H
#define HAUL_AGENT_LANE_DIAL_H

#include "agent/channel.h"
#include "peer-protocol/message.h"

struct lane_dial;

struct lane_dial_config {
	struct tls_config *tls;                 /* held until every channel made with it is closed */
	const struct sockaddr_storage *address; /* borrowed; where the control link's peer answered */
	const uint8_t *device_id;               /* 32 bytes, borrowed: that peer */
	struct msg_lane_hello lane;
	uint32_t timeout_ms; /* from now to LANE_OK; when held, from lane_dial_join() */
	uint32_t hold_ms;    /* held until lane_dial_join(), so long at most (on_done: HAUL_TIMED_OUT); 0: not held */
};

/*
 * Start. on_done comes exactly once, from the loop, unless the dial is cancelled.
 *
 * channel   given: full-size buffers (small ones if it was held), ready, paused: set its callbacks, then
 *           channel_resume(). NULL on failure, with `why` and the fault (borrowed) as of a channel, or the code of the
 *           peer's ERROR.
 */
HAUL_MUST_USE haul_status lane_dial_start(uv_loop_t *loop, const struct lane_dial_config *cfg,
					  void (*on_done)(void *ctx, struct channel *channel, haul_status why,
							  const struct haul_fault *fault),
					  void *ctx, struct lane_dial **ret_dial, struct haul_fault *fault);

/* It is held, and on_done has not come: now it is this lane's (borrowed); LANE_HELLO follows HELLO. */
void lane_dial_join(struct lane_dial *d, const struct msg_lane_hello *lane);

/* Give up before on_done came; on_cancelled (may be NULL) comes from the loop, on_done does not. */
void lane_dial_cancel(struct lane_dial *d, void (*on_cancelled)(void *ctx), void *ctx);

#endif
