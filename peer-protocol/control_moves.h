/*
 * Which message may be said when and by whom on a control connection, as data (docs/PROTOCOL.md "States").
 *
 * A phase belongs to the connection; while a job runs, sender and receiver each have a stage of their own, because what
 * one says does not depend on how far the other is, but for DONE.
 */
#ifndef HAUL_PROTOCOL_CONTROL_MOVES_H
#define HAUL_PROTOCOL_CONTROL_MOVES_H

#include "peer-protocol/control_session.h"

enum control_phase {
	PHASE_SILENT,     /* the server speaks first */
	PHASE_GREETED,    /* the server's HELLO is said */
	PHASE_LANE_ASKED, /* LANE_HELLO is said */
	PHASE_ASKING,
	PHASE_LOOKUP_OPEN,
	PHASE_LIST_OPEN,
	PHASE_JOB_OPEN, /* JOB is said, BUSY perhaps too */
	PHASE_JOB,
	PHASE_CLOSED,
	PHASE_FAILED,
	PHASE_COUNT,
};

enum job_stage {
	STAGE_MANIFEST, /* the sender's first: MANIFEST_END has not been said */
	STAGE_WORK,     /* the receiver's first */
	STAGE_ENDED,    /* own JOB_END is said */
	STAGE_DONE,
	STAGE_COUNT,
};

/* Who speaks, and when. Those from is_sender on matter in PHASE_JOB only. */
struct control_speaker {
	enum control_phase phase;
	enum control_role role;
	bool is_sender;
	enum job_stage stage;
	enum job_stage other_stage;
	bool is_move;  /* of the job: its sender deletes before it says DONE */
	bool is_asked; /* a LOOK has no answer yet */
};

#define CONTROL_BIT(type) (UINT64_C(1) << (type))

/* The set of message types that may be said, as CONTROL_BIT()s. Any thread. */
uint64_t control_moves(const struct control_speaker *speaker);

/* How long the peer in that role may stay silent in that phase; 0 = any time. */
uint32_t control_wait_ms(enum control_phase phase, enum control_role peer);

/* "greeted"; static storage. */
const char *control_phase_name(enum control_phase phase);

#endif
