/*
 * Connections for lanes that are made while a job is still being looked up and accepted: over a long round trip what
 * TCP, TLS and HELLO take (three of them) passes together with the questions, not after them.
 *
 * Happy path: lanes_ahead_new() when the control link stands; lanes_ahead_take() for each lane once the session id is
 * known; lanes_ahead_drop() of what was too many. One that fails or is too old costs nothing: its lane makes a
 * connection of its own. Main loop's thread.
 */
#ifndef HAUL_AGENT_LANES_AHEAD_H
#define HAUL_AGENT_LANES_AHEAD_H

#include "agent/lane_dial.h"

struct lanes_ahead;

/*
 * Start up to `count` (at most LANES_MAX) of them; one that cannot be started is left out.
 *
 * cfg   borrowed; its tls is held; lane and hold_ms are ignored
 * NULL  no memory, or none could be started. Given: lanes_ahead_free().
 */
struct lanes_ahead *lanes_ahead_new(uv_loop_t *loop, const struct lane_dial_config *cfg, unsigned count);

/*
 * Let one be this lane (borrowed). False: none is left, and nothing follows.
 *
 * on_done   once, from the loop, unless lanes_ahead_cancel() comes first. parts: given, the
 *           joined connection; NULL: it failed.
 */
bool lanes_ahead_take(struct lanes_ahead *a, const struct msg_lane_hello *lane,
		      void (*on_done)(void *ctx, unsigned number, struct channel_parts *parts), void *ctx);

void lanes_ahead_drop(struct lanes_ahead *a);   /* those that were not taken */
void lanes_ahead_cancel(struct lanes_ahead *a); /* all; no callback follows. NULL is fine */
void lanes_ahead_free(struct lanes_ahead *a);   /* cancelled, and the loop has run out. NULL is fine */

#endif
