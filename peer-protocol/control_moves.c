/*
 *  SILENT -hello-> GREETED -hello-> ASKING <-found-   LOOKUP_OPEN
 *                    |                |  ^----listing- LIST_OPEN
 *                    |                +--job--> JOB_OPEN -accept-> JOB -done, done-> CLOSED
 *                    +-lane hello-> LANE_ASKED -lane ok-----------------------------> CLOSED
 *  any but SILENT (client) and CLOSED: error -> FAILED
 *  A client that has asked for a lane says nothing more here, not even ERROR: after LANE_OK its bytes are lane frames.
 */
#include "peer-protocol/control_moves.h"

#define MSG(name) CONTROL_BIT(MSG_##name)

struct phase_moves {
	const char *name;
	uint64_t client, server;                 /* what each may say, whatever the job's direction */
	uint32_t client_wait_ms, server_wait_ms; /* how long each may leave the other without a word */
};

/* 10 s is the deadline for a first message (docs/SECURITY.md); an answer may have to wait for a sleeping disk. */
static const struct phase_moves phases[PHASE_COUNT] = {
	[PHASE_SILENT] = { "silent", 0, MSG(HELLO) | MSG(ERROR), 0, 10000 },
	[PHASE_GREETED] = { "greeted", MSG(HELLO) | MSG(LANE_HELLO) | MSG(ERROR), MSG(ERROR), 10000, 0 },
	[PHASE_LANE_ASKED] = { "lane asked", 0, MSG(LANE_OK) | MSG(ERROR), 0, 10000 },
	[PHASE_ASKING] = { "asking", MSG(LOOKUP) | MSG(LIST) | MSG(CHOICE) | MSG(JOB) | MSG(ERROR), MSG(ERROR), 60000,
			   0 },
	[PHASE_LOOKUP_OPEN] = { "lookup open", MSG(ERROR), MSG(FOUND) | MSG(ERROR), 0, 60000 },
	[PHASE_LIST_OPEN] = { "list open", MSG(ERROR), MSG(LISTING) | MSG(ERROR), 0, 60000 },
	[PHASE_JOB_OPEN] = { "job open", MSG(ERROR), MSG(ACCEPT) | MSG(BUSY) | MSG(ERROR), 0, 0 },
	[PHASE_JOB] = { "running", 0, 0, 0, 0 },
	[PHASE_CLOSED] = { "closed", 0, 0, 0, 0 },
	[PHASE_FAILED] = { "failed", 0, 0, 0, 0 },
};

static const uint64_t sender_moves[STAGE_COUNT] = {
	[STAGE_MANIFEST] = MSG(OWNERS) | MSG(MANIFEST) | MSG(MANIFEST_END) | MSG(FAILED) | MSG(PUT_OFF) | MSG(CHANGED) |
			   MSG(JOB_END) | MSG(ERROR),
	[STAGE_WORK] = MSG(FAILED) | MSG(PUT_OFF) | MSG(CHANGED) | MSG(LEFT) | MSG(JOB_END) | MSG(ERROR),
	[STAGE_ENDED] = MSG(ERROR),
	[STAGE_DONE] = 0,
};

static const uint64_t receiver_moves[STAGE_COUNT] = {
	[STAGE_MANIFEST] = 0,
	[STAGE_WORK] =
	    MSG(CREDIT) | MSG(WANT) | MSG(BASIS) | MSG(HAVE) | MSG(ACK) | MSG(RESULT) | MSG(JOB_END) | MSG(ERROR),
	[STAGE_ENDED] = MSG(ERROR),
	[STAGE_DONE] = 0,
};

/* Both have ended: the sender of a move asks and deletes, and only then says DONE; the receiver's follows. */
static uint64_t last_moves(const struct control_speaker *speaker)
{
	if (speaker->stage != STAGE_ENDED || speaker->other_stage < STAGE_ENDED)
		return 0;
	if (!speaker->is_move)
		return MSG(DONE);
	if (!speaker->is_sender)
		return (speaker->is_asked ? MSG(LOOKED) : 0) | (speaker->other_stage == STAGE_DONE ? MSG(DONE) : 0);
	return MSG(MOVED) | (speaker->is_asked ? 0 : MSG(LOOK) | MSG(DONE));
}

uint64_t control_moves(const struct control_speaker *speaker)
{
	const struct phase_moves *phase = &phases[speaker->phase];
	uint64_t moves;

	if (speaker->phase != PHASE_JOB)
		return speaker->role == CONTROL_CLIENT ? phase->client : phase->server;
	moves = speaker->is_sender ? sender_moves[speaker->stage] : receiver_moves[speaker->stage];
	if (speaker->role == CONTROL_CLIENT && speaker->stage < STAGE_DONE)
		moves |= MSG(CANCEL);
	if (speaker->stage < STAGE_DONE)
		moves |= MSG(ALIVE);
	if (speaker->stage < STAGE_ENDED)
		moves |= MSG(LANE_LOST);
	if (speaker->role == CONTROL_SERVER && speaker->stage < STAGE_ENDED)
		moves |= MSG(NOTE);
	return moves | last_moves(speaker);
}

uint32_t control_wait_ms(enum control_phase phase, enum control_role peer)
{
	return peer == CONTROL_CLIENT ? phases[phase].client_wait_ms : phases[phase].server_wait_ms;
}

const char *control_phase_name(enum control_phase phase)
{
	return phases[phase].name;
}
