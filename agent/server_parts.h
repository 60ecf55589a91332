/* Inside of the server: server.c (connections, questions), server_job.c (a session's job), server_again.c (one that
 * comes again). Main loop only. */
#ifndef HAUL_AGENT_SERVER_PARTS_H
#define HAUL_AGENT_SERVER_PARTS_H

#include "agent/choice_spec.h"
#include "agent/control_link.h"
#include "agent/policy.h"
#include "agent/receiver.h"
#include "agent/sender.h"
#include "agent/serve_ask.h"
#include "agent/server.h"
#include "engine/device.h"

struct handing;

/*
 *  ASKING --JOB--> OPENING --opened--> QUEUED (no memory free: BUSY) --turn--> RUNNING --on_end--> LEAVING --> gone
 *    |                +---------------------admitted-------------------------> RUNNING
 *    +--LANE_HELLO--> HANDING --detached--> gone
 *  Any fault or the end of the connection: LEAVING once the job, if any, has ended.
 */
enum session_state {
	SESSION_ASKING,
	SESSION_OPENING,
	SESSION_QUEUED,
	SESSION_RUNNING,
	SESSION_HANDING,
	SESSION_LEAVING,
};

/* A JOB message of which everything is our own copy, and what the worker opened for it. */
struct session_job {
	struct msg_job m; /* texts point into the strings below */
	struct choice_spec choice;
	uint32_t choice_flags;
	char *share, *root;
	struct job_source *source_specs; /* texts owned */
	struct share found;              /* copy of the share, name and path owned */
	uint64_t rights;
	int share_fd, root_fd;
	uint8_t source_fs[16];       /* of the first source */
	int probe_fd;                /* a probe's source, -1: none */
	struct scan_source *sources; /* path and landing owned; root_fd = share_fd or a followed target's own */
	size_t source_count;
	bool root_existed;
	bool is_opened;          /* or has failed to be */
	haul_status status;      /* of opening */
	struct haul_fault fault; /* words of its own, or none */
	struct text bad_path;    /* what could not be opened; points into the strings above */
	struct sender *sender;
	struct receiver *receiver;
	uint8_t session_id[SESSION_ID_BYTES];
	struct device_book *book; /* the server's */
	struct quota *quota;      /* joined, of a job that writes into the share; NULL: of another */
	uint64_t disk_bytes;      /* a measurement that may write: how much there may be of all on this file system */
	unsigned peer_cores;
	struct device_facts device; /* what our end lies on, or as the user said */
	struct policy policy;       /* lanes, blocks and the like as they were admitted */
	uint32_t lanes_paid;        /* bit n: memory is reserved for lane n */
	unsigned notes;             /* said */
	uint64_t reserved_bytes;    /* of the server's budget */
};

struct server_session {
	struct list link;
	struct server *server;
	struct control_link *control; /* NULL once closed */
	uint8_t device_id[32];
	enum session_state state;
	struct mailbox mailbox;
	uv_timer_t watch;                    /* of the running job */
	uint64_t running_since_ms, moved_ms; /* uv_now(); the last word or report */
	uv_work_t pool;                      /* a question or the opening of a job */
	bool in_pool;
	struct serve_ask *ask;
	struct choice_spec choice; /* said so far, for the next JOB */
	uint32_t choice_flags;     /* enum choice_flags */
	struct handing *handing;   /* a lane connection on its way to its lane */
	struct session_job *job;
	bool job_runs; /* its on_end is still to come */
	bool said_error;
	bool is_open;     /* mailbox and watch are */
	uint64_t headway; /* job_headway() when it last changed */
	unsigned closing; /* handles whose close callbacks are still to come */
};

/* server.c */
void session_refuse(struct server_session *s, const struct msg_error *e);
void session_refuse_status(struct server_session *s, haul_status st, const char *text);
void session_leave(struct server_session *s); /* close the link when the peer has, free everything */
const struct peer *session_peer(struct server_session *s);
void session_job_ended(struct server_session *s, haul_status st, const struct haul_fault *fault);
void session_opened(struct server_session *s); /* the worker has opened the job, or failed to */
void session_missing_right(struct server_session *s, struct text share, uint64_t missing, uint64_t held);

/* server_job.c */
void session_start_job(struct server_session *s, const struct msg_job *m);
void session_job_message(struct server_session *s, const struct message *m);
void session_stop_job(struct server_session *s, haul_status why);
void session_job_free(struct session_job *j);
void session_recheck_rights(struct server_session *s);
void server_admit_next(struct server *server);
struct lane_set *session_job_lanes(const struct session_job *j);
/* Whether lane `number` may join now: the next of its epochs, and memory for its blocks. Else `s` is told why not. */
bool session_claim_lane(struct server_session *owner, const struct msg_lane_hello *m, struct haul_fault *fault);

/* server_choice.c */
void session_choose_entries(struct server_session *s, const struct msg_choice *m); /* a CHOICE: kept for the next JOB */

/* server_again.c */
bool session_has_predecessor(const struct server_session *s); /* an attempt of the same job that is not gone yet */
void session_take_over(struct server_session *s);             /* end those */

/* server_device.c */
void session_choose(const struct server *server, struct session_job *j); /* the job has been opened: its policy */
bool session_admit(struct server_session *s);                            /* reserve its blocks; false: not now */
void session_note(struct server_session *s, const char *text);           /* to a client that asked for notes */
void session_tell_policy(struct server_session *s);
void session_fill_accept(const struct session_job *j, struct msg_accept *accept);

/* server_open.c: blocking, on a worker */
void session_job_open(struct session_job *j);

#endif
