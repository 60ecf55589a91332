/*
 * How two ends agree that a lane has ended, so that what it owed may go over another one: the place of one lane in a
 * job, at one end of it. Sans-I/O, without a clock (docs/PROTOCOL.md section 9 "A lost lane").
 *
 *            begin, claim                  own end: LANE_LOST is said
 *   VACANT ---------------> TAKEN ------------------------------------> LOST --peer's LANE_LOST--> VACANT
 *      ^                      +--- peer's LANE_LOST: it has to end ---> ENDING                       |
 *      |                                                                  | own end: LANE_LOST is said
 *      +------------------------------------------------------------------+
 *
 * A lane is in its place from its first connection, or the first try at one, until both ends have said LANE_LOST: each
 * says it once, when nothing of that lane is in work any more, and both may say it first. Only the client knows of a
 * connection that did not come; a server that has none says LANE_LOST back at once. Epochs go up over all of it, so
 * that a connection of before can never join after. Thread: one at a time.
 */
#ifndef HAUL_PROTOCOL_LANE_SLOT_H
#define HAUL_PROTOCOL_LANE_SLOT_H

#include "engine/base/fault.h"

#include <stdbool.h>
#include <stdint.h>

enum lane_slot_state { LANE_SLOT_VACANT, LANE_SLOT_TAKEN, LANE_SLOT_ENDING, LANE_SLOT_LOST };

/* Zero, but for is_client, is a place that nobody has had. Fields are for reading. */
struct lane_slot {
	enum lane_slot_state state;
	bool is_client;
	uint32_t next_epoch; /* of the next connection */
};

/* What follows from a peer's LANE_LOST. */
enum lane_slot_action {
	LANE_SLOT_NOTHING, /* we have said it before: both know, the place is vacant */
	LANE_SLOT_END_IT,  /* the lane has to end now; lane_slot_ended() when nothing of it is in work */
	LANE_SLOT_SAY_TOO, /* say LANE_LOST: it never had a connection here */
};

/* Client: a lane begins; its first connection has *ret_epoch. The place is vacant (asserted). HAUL_OVERFLOW. */
HAUL_MUST_USE haul_status lane_slot_begin(struct lane_slot *s, uint32_t *ret_epoch);

/* Server: whether a connection with this epoch may be this lane's now, the first one or a successor. */
HAUL_MUST_USE bool lane_slot_claim(struct lane_slot *s, uint32_t epoch);

/*
 * The lane is over, by whatever fault, and nothing of it is in work: LANE_LOST is to be said, with *ret_epoch. TAKEN
 * and ENDING only (asserted). True: the peer has said it before, so the place is vacant, and what it owed is known.
 *
 * last_epoch   client: of the last connection that it had or tried; server: anything
 */
HAUL_MUST_USE bool lane_slot_ended(struct lane_slot *s, uint32_t last_epoch, uint32_t *ret_epoch);

/*
 * The peer says LANE_LOST. HAUL_BAD_MOVE: it has said it already, or there is no such lane; HAUL_BAD_VALUE: an epoch
 * that cannot be. *ret_epoch is what to say back after LANE_SLOT_SAY_TOO.
 */
HAUL_MUST_USE haul_status lane_slot_heard(struct lane_slot *s, uint32_t epoch, enum lane_slot_action *ret_action,
					  uint32_t *ret_epoch);

#endif
