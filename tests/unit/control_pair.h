/* Two control sessions face to face: what one says is fed to the other. */
#ifndef HAUL_TESTS_CONTROL_PAIR_H
#define HAUL_TESTS_CONTROL_PAIR_H

#include "peer-protocol/control_session.h"

struct control_pair {
	struct control_session *sides[2]; /* by enum control_role */
	struct haul_fault fault;
};

void control_pair_open(struct control_pair *p);
void control_pair_close(struct control_pair *p);

/* Own words of one side alone. The update's bytes stay valid until its next step. */
haul_status control_pair_send(struct control_pair *p, enum control_role role, const struct message *m,
			      struct control_update *ret_update);

/* `role` says `m` and the other hears it; the first failure of the two. NULL for ret_heard is fine. */
haul_status control_pair_say(struct control_pair *p, enum control_role role, const struct message *m,
			     const struct message **ret_heard);

/* One side hears `m`, which nobody has said, so that the rules of hearing are tried alone. */
haul_status control_pair_hear(struct control_pair *p, enum control_role role, const struct message *m,
			      struct control_update *ret_update);

/* HELLO both ways. */
void control_pair_greet(struct control_pair *p);

/* From the greeting to ACCEPT, with credit for `records` given. The sender is the client for JOB_PUSH. */
void control_pair_run_job(struct control_pair *p, enum job_direction direction, uint64_t records);

/* Messages with as little as is right. */
struct message hello_message(void);
struct message job_message(enum job_direction direction);
struct message plain_message(enum message_type type);

/* An entry at the job's root. */
struct manifest_record entry_record(uint64_t index, uint64_t parent, enum entry_kind kind, const char *name);
struct manifest_record dir_end_record(uint64_t directory, uint64_t count);

#endif
