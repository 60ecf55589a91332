/*
 * The part of a control session that lasts as long as a job: who is how far, what was announced, what credit is left,
 * and whether the end is justified. Used by both sides in the same way: what is said is applied, whoever says it.
 * Thread: the session's.
 */
#ifndef HAUL_PROTOCOL_CONTROL_JOB_H
#define HAUL_PROTOCOL_CONTROL_JOB_H

#include "peer-protocol/control_moves.h"
#include "peer-protocol/manifest_track.h"

enum job_party { JOB_SENDER, JOB_RECEIVER };

struct control_job {
	enum job_direction direction;
	enum job_stage stages[2]; /* by enum job_party */
	struct manifest_track manifest;
	uint64_t credit_records, credit_bytes;
	uint64_t results; /* entries that have one */
	bool is_cancelled;
	bool wants_notes;            /* JOB asked for them */
	unsigned notes;              /* said */
	bool is_move;                /* JOB said that the sender deletes */
	size_t look_count;           /* entries of the LOOK that has no answer yet; 0: none */
	uint64_t kept;               /* entries of all MOVEDs */
	struct haul_digest roots[2]; /* by enum job_party, after its JOB_END */
};

void control_job_open(struct control_job *j, enum job_direction direction);
void control_job_close(struct control_job *j);

/* Which party the side in that role is. */
enum job_party control_job_party(const struct control_job *j, enum control_role role);

/* HAUL_OVER_CREDIT when a MANIFEST of so many records and frame bytes is not covered; nothing changes. */
HAUL_MUST_USE haul_status control_job_credit_check(const struct control_job *j, size_t records, size_t frame_bytes);

/*
 * `party` says `m`, which control_moves() allows; `frame_bytes` is its length with the header.
 *
 * HAUL_NOT_ANNOUNCED, HAUL_BAD_VALUE, HAUL_OVER_CREDIT, HAUL_BAD_MOVE (too early an end, cancelled twice),
 * HAUL_ROOT_MISMATCH (DONE with different roots), HAUL_OVERFLOW, HAUL_NO_MEMORY.
 */
HAUL_MUST_USE haul_status control_job_apply(struct control_job *j, enum job_party party, const struct message *m,
					    size_t frame_bytes, struct haul_fault *fault);

#endif
