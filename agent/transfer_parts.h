/*
 * Inside of a transfer: transfer.c (life, signals, timer), transfer_look.c (what the places are), transfer_start.c
 * (landing, JOB, the end of the job it runs), transfer_again.c (a lost connection), transfer_once.c (the same copy
 * twice), transfer_lanes.c (how many lanes), transfer_tell.c (entries, problems), transfer_report.c (the report),
 * transfer_local.c (both ends here), transfer_move.c (a move between machines), transfer_self.c (a copy into itself is
 * refused). One thread.
 */
#ifndef HAUL_AGENT_TRANSFER_PARTS_H
#define HAUL_AGENT_TRANSFER_PARTS_H

#include "agent/backoff.h"
#include "agent/copy_lock.h"
#include "agent/dial.h"
#include "agent/dial_trust.h"
#include "agent/landing.h"
#include "agent/lane_growth.h"
#include "agent/lanes_ahead.h"
#include "agent/policy.h"
#include "agent/receiver.h"
#include "agent/sender.h"
#include "agent/source_eraser.h"
#include "agent/told_set.h"
#include "agent/transfer.h"
#include "engine/device.h"
#include "engine/file_system_id.h"

/*
 *  With both ends here DIALING and LOOKING need nobody: NAMING waits for the greeting of the other end in this process.
 *
 *  DIALING --HELLO--> LOOKING --FOUND--> NAMING --FOUND--> STARTING --ACCEPT--> RUNNING --job's end--> LEAVING --> OVER
 *     +---------+------------+-------------+-------------- any failure, a signal -------------------------^
 *
 *  RUNNING --connection lost--> AGAIN --wait--> DIALING --HELLO--> STARTING --ACCEPT--> RUNNING
 *  LOOKING, NAMING or STARTING --the same--> AGAIN --wait--> DIALING --HELLO--> where it was
 *                                 ^-- lost, refused, no answer --------+
 */
enum transfer_state {
	TRANSFER_DIALING,
	TRANSFER_LOOKING,  /* LOOKUP: sources (pull) or destination (push) */
	TRANSFER_NAMING,   /* LOOKUP: which of the landing names exist (push) */
	TRANSFER_STARTING, /* JOB sent */
	TRANSFER_RUNNING,
	TRANSFER_AGAIN, /* waits until it dials again */
	TRANSFER_LEAVING,
	TRANSFER_OVER,
};

enum {
	TRANSFER_SIGNAL_MS = 50, /* how often it is looked whether one has come */
	TRANSFER_TICK_MS = 250,
	TRANSFER_LEAVE_MS = 1500,
	TRANSFER_SHOWN_MAX = 1024,
};

/* What outlives a connection that was lost. */
struct transfer_again {
	bool was_dialled;         /* there was a connection: what is lost from now on is worth another try */
	bool was_accepted;        /* a job of ours has been */
	bool is_over;             /* the job is ended by us: no other try */
	enum transfer_state from; /* what was under way, until a job is accepted, when the connection was lost */
	unsigned count;           /* connections lost; 0: this is the first attempt */
	uint64_t lost_ns;         /* when this one was; 0: the job runs */
	uint64_t clock_ns;        /* since when nothing new has come */
	uint64_t furthest;        /* position() of the attempt that came furthest */
	unsigned reasons;         /* t->reasons of what was found before the job */
	struct backoff backoff;
	uint64_t files_sent, files_again, bytes_sent; /* by the attempts that are over */
	struct job_totals most; /* the most that one of them saw: entries, files, bytes, files by outcome */
	bool had_agreed;        /* one had come so far that it deletes: a move */
	struct {
		uint64_t files, entries, bytes;
	} moved; /* deleted by the attempts that are over */
	struct told_set told;
};

/* A lane of ours that was lost, until another is in its place. */
struct lane_renewal {
	uint64_t lost_ns; /* 0: none is wanted there */
	uint64_t next_ns; /* of the next try; 0: at once when the place is vacant */
	bool is_trying;   /* a lane is on its way there */
	struct backoff backoff;
};

enum transfer_told { TOLD_ERROR, TOLD_ENTRY, TOLD_SENT };

struct transfer {
	const struct home *home;
	const struct transfer_request *req;
	const struct transfer_observer *obs;
	struct transfer_report *report;
	bool is_push;                 /* we send; so does a job with both ends here */
	bool is_local;                /* both ends here */
	struct transfer_local *local; /* the receiving one, once there is a job */
	enum transfer_state state;
	uv_loop_t loop;
	struct mailbox mailbox;
	uv_timer_t tick, leave, grow, again_timer;
	uv_timer_t signals;
	uint64_t started_ns;
	/* the other end */
	const struct place_spec *remote; /* the destination, or the first source */
	struct dial *dial;
	struct dial_trust *trust;
	struct tls_config *tls;
	struct control_link *link;
	bool link_has_ended; /* its on_end has come */
	struct sockaddr_storage address;
	char peer_name[64];
	uint8_t device_id[32];
	uint64_t rights; /* ours there, as FOUND says */
	uint64_t free_bytes;
	/* places */
	struct landing_place *sources;          /* those that are there; texts borrowed from the request */
	const struct place_spec **source_specs; /* parallel to sources */
	size_t source_count;
	struct landing_place destination;
	char *local_destination; /* pull: its path without slashes at the end; owned */
	struct landing landing;
	bool root_is_there; /* when it was asked, before a job was accepted: later attempts do not ask */
	char *suggestion;   /* verify: what may have been meant; owned */
	/* what our end lies on, and what follows */
	struct device_book book;
	struct device_facts device, other_device; /* the latter: a local job's destination */
	uint8_t disk_id[DISK_ID_BYTES];
	bool is_same_device; /* as the peer's */
	struct policy policy;
	uint32_t wished_lanes, wished_more_lanes, wished_block_bytes;
	/* the job */
	struct scan_source *scan_sources; /* push; owned with their strings and handles */
	size_t scan_source_count;
	size_t *scan_places;    /* parallel to scan_sources: which of `sources` each is; owned */
	const char **move_tops; /* push, a move: parallel to scan_sources (move_eraser.h); owned, its texts are not */
	int root_fd;            /* pull: destination directory */
	struct block_budget budget;
	struct rate_limit limit;
	struct trace *trace;    /* NULL: off */
	uint64_t round_trip_ns; /* to the peer; 0: not known */
	struct lane_growth growth;
	struct lanes_ahead *ahead; /* NULL: none were made */
	struct lane_renewal renewals[LANES_MAX];
	struct sender *sender;
	struct receiver *receiver;
	bool job_runs;         /* for a local job: either end does */
	bool own_end_is_over;  /* its on_end has come */
	struct eraser *eraser; /* is_move: what may go at the source */
	/* a sync */
	struct {
		size_t names, there; /* of one place that were looked up at the other; of them, those that are there */
		bool is_nested_already;
	} like;
	uint8_t source_fs[FILE_SYSTEM_ID_BYTES]; /* zeros: not known */
	bool is_other_source;                    /* than last time */
	char *doomed; /* a sync that was refused: the first paths of what stays, for people; owned */
	unsigned doomed_count;
	bool was_refused; /* the peer sent ERROR: it has been told */
	struct transfer_again again;
	struct copy_lock lock;                       /* of this very copy */
	struct haul_digest copy_key;                 /* of source and destination */
	size_t choice_rules_told, choice_paths_told; /* to the peer, over this connection */
	bool choice_is_told;                         /* all of it */
	bool choice_waits;                           /* for the link: JOB follows the rest */
	uint8_t job_id[16];                          /* the same for each attempt; zeros: not chosen yet */
	/* telling */
	unsigned reasons;    /* bit n: exit class n occurred */
	uint64_t files_told; /* regular files whose failure was told */
	uint64_t no_right_count;
	char own_name[MESSAGE_PEER_NAME_MAX + 1]; /* ours at the peer, once something was lost for want of a right */
	struct transfer_progress progress;
	uint64_t last_bytes;
	uint64_t last_ns, moved_ns; /* of the last tick; when something last moved */
	double rate;
};

/* transfer.c */
extern const struct control_link_callbacks transfer_link_callbacks; /* ctx: the transfer */
void transfer_dial(struct transfer *t, uint32_t most_ms);           /* find the peer, with --connect-timeout or less */
void transfer_leave(struct transfer *t);                            /* nothing more to do: close and end the loop */
void transfer_ask(struct transfer *t, const struct message *m);     /* send; failure ends the transfer */

/* transfer_look.c */
bool transfer_look_local(struct transfer *t); /* false: told, and nothing is left to do */
void transfer_look_remote(struct transfer *t);
void transfer_found(struct transfer *t, const struct msg_found *m);

/* transfer_device.c */
void transfer_look_device(struct transfer *t);               /* blocking; before JOB */
void transfer_wish(struct transfer *t, struct msg_job *job); /* fill in what follows from the device */
/* Both ends here: what the receiving one would answer to our JOB. Blocking. */
void transfer_answer(struct transfer *t, const struct msg_job *job, struct msg_accept *ret_accept);
void transfer_agree(struct transfer *t, const struct msg_accept *m); /* both ends are known: the job's policy */
void transfer_explain_policy(struct transfer *t);
void transfer_note(struct transfer *t, const struct msg_note *note);

/* transfer_start.c */
void transfer_land(struct transfer *t);      /* facts are known: decide, tell, ask for names */
void transfer_ask_names(struct transfer *t); /* LOOKUP of what lies at the landing (push): NAMING */
void transfer_named(struct transfer *t, const struct msg_found *m);
void transfer_accepted(struct transfer *t, const struct msg_accept *m);
void transfer_close_job(struct transfer *t); /* the job, or one end of a local one, has ended */
void transfer_send_job(struct transfer *t);
/* Exit codes of what cannot be opened are told; HAUL_CANCELLED: none is left. */
haul_status transfer_open_sources(struct transfer *t);
haul_status transfer_open_destination(struct transfer *t, struct haul_fault *fault); /* makes it; fills root_fd */
/* What both kinds of ends start from. The callbacks are those of our own end. */
void transfer_fill_config(struct transfer *t, const struct msg_accept *m, struct job_config *ret_config);

/* transfer_choice.c */
uint32_t transfer_choice_flags(const struct transfer *t); /* enum choice_flags, but for LISTS and LIMITS */
bool transfer_tell_choice(struct transfer *t);            /* false: the link is full, or it failed: told */
void transfer_forget_choice(struct transfer *t);          /* a new connection */
void transfer_tell_missing(struct transfer *t);           /* a good end: listed paths that no source has */
void transfer_report_choice(struct transfer *t);

/* transfer_again.c */
/* Whether what has ended is tried again, by and by: the job or the way to it is over then, else it is for the caller to
 * tell. */
bool transfer_again(struct transfer *t, haul_status st, const struct haul_fault *fault);
/* An end of that kind says nothing about the job. */
bool transfer_is_lost(const struct transfer *t, haul_status st);
bool transfer_is_asking(const struct transfer *t); /* connected, no job accepted over this connection yet */
void transfer_again_dialled(struct transfer *t, const uint8_t before_id[32]);
void transfer_again_refused(struct transfer *t, const struct msg_error *e); /* the peer's last words, while AGAIN */
void transfer_joined(struct transfer *t);                                   /* ACCEPT has come, our end is made */
bool transfer_was_told(struct transfer *t, const char *path, enum transfer_told what, uint64_t detail);
/* Whether an earlier attempt has sent this file, and its result did not come through. */
bool transfer_was_sent(struct transfer *t, const char *path);
/* The figures of all attempts together. */
void transfer_sum(const struct transfer *t, struct job_totals *ret_totals);

/* transfer_once.c */
/* Choose the job's id. False: the same copy runs already: told. */
bool transfer_once(struct transfer *t);

/* transfer_local.c */
void transfer_local_suggest(struct transfer *t); /* verify: what may have been meant */
void transfer_local_open(struct transfer *t);    /* landed: make the other end; JOB follows its greeting */
haul_status transfer_local_start_lanes(struct transfer *t, struct haul_fault *fault);
/* Our own end is over: the other one stops, unless it is about to end well too. */
void transfer_local_other_ended(struct transfer *t, haul_status st, const struct haul_fault *fault);
bool transfer_local_is_over(const struct transfer *t);
void transfer_local_leave(struct transfer *t); /* close its link */
void transfer_local_free(struct transfer *t);

/* transfer_erase.c */
haul_status transfer_erase_open(struct transfer *t, struct haul_fault *fault); /* before the job, if it is a move */
void transfer_erase_note(struct transfer *t, const struct job_entry *e);
void transfer_erase(struct transfer *t); /* after the loop has ended: delete what may go; blocking */

/* transfer_mirror.c */
bool transfer_is_sync(const struct transfer *t);
enum root_rule transfer_root_rule(const struct transfer *t); /* whether the job's root gets what its source has */
bool transfer_sync_is_refused(struct transfer *t);           /* told: what is named is not for a sync */
/* Whether the destination, where the source's name is to be made, may be meant to be its counterpart: names of one are
 * looked up at the other into t->like, which the second then judges; told. */
bool transfer_may_be_meant(const struct transfer *t);
bool transfer_looks_like_itself(struct transfer *t);
/* Up to so many names in a local directory; each is given. */
size_t transfer_names_of(const char *dir_path, char *ret_names[], size_t most);
void transfer_mirror_source(struct transfer *t, const uint8_t id[FILE_SYSTEM_ID_BYTES]); /* where the source lies */
struct mirror_limit
transfer_mirror_limit(const struct transfer *t); /* DELETE_NONE: no sync, or one that must not delete */
void transfer_mirror_setup(const struct transfer *t, struct receiver_mirror *ret); /* our end receives */
/* What is only at the destination, from on_entry: it goes, would go, or stays. */
void transfer_mirror_entry(struct transfer *t, const struct job_entry *e);
void transfer_mirror_end(struct transfer *t); /* the job is over: refusals are told, deletions counted */

/* transfer_move.c */
bool transfer_is_far_move(const struct transfer *t);   /* to or from another machine */
void transfer_restore_aside(const struct transfer *t); /* before the sources are looked at */
/* False: a source is or holds a share of this home, or that cannot be found out: told. */
bool transfer_guards_shares(struct transfer *t);
haul_status transfer_choose_tops(struct transfer *t); /* the sources are open */
void transfer_on_kept(void *ctx, const char *path, bool is_file, haul_status code, const char *text);
/* Whether a source that is not there was moved by an attempt before this one. `path` as job_entry's. */
bool transfer_was_moved(const struct transfer *t, const char *path, haul_status code);
void transfer_add_moved(const struct transfer *t, struct job_totals *all);
void transfer_check_moved(struct transfer *t); /* the job has ended well */

/* transfer_self.c */
/* Whether something would be copied onto itself, or into itself: told then. */
bool transfer_is_onto_itself(struct transfer *t);

/* transfer_lanes.c */
unsigned transfer_more_lanes(struct transfer *t, unsigned lanes); /* that may join later, besides `lanes` */
void transfer_lanes_ahead(struct transfer *t);                    /* the link stands: connect some, if it is far */
void transfer_lanes_start(struct transfer *t);                    /* the lanes of the beginning have been started */
void transfer_lanes_tick(struct transfer *t); /* each TRANSFER_TICK_MS: silent lanes, and those to begin anew */
void transfer_on_lane_lost(void *ctx, const struct lane_loss *loss);
void transfer_on_lane_vacant(void *ctx, unsigned number);
void transfer_lanes_report(struct transfer *t);

/* transfer_tell.c */
void transfer_error(struct transfer *t, int exit_code, haul_status code, const char *text, const char *remedy);
/* Something of a source, exit 3; `path` is its landing path. */
void transfer_problem_at(struct transfer *t, haul_status code, const char *path, const char *text);
/* Of an entry; not told again by an attempt that comes later. */
void transfer_entry_error(struct transfer *t, const char *path, int exit_code, haul_status code, const char *text);
void transfer_fault(struct transfer *t, haul_status st, const struct haul_fault *fault, const char *remedy);
void transfer_refused(struct transfer *t, const struct msg_error *e);
/* The job is over: whether all of it found room at the destination. */
void transfer_tell_lack(struct transfer *t);
void transfer_on_entry(void *ctx, const struct job_entry *e);
void transfer_on_problem(void *ctx, const char *path, unsigned source, haul_status code);
/* A line for --explain, if that is wanted. */
void transfer_explain(struct transfer *t, const char *fmt, ...) HAUL_PRINTF(2, 3);
/* "nas:inbox/day1/x", "day1/x": a path below the landing root, or one of the sources. Returns ret_text. */
const char *transfer_shown(const struct transfer *t, bool at_source, const char *path, char *ret_text, size_t cap);
const char *transfer_place(const struct place_spec *remote, const char *path, char *ret_text, size_t cap);

/* transfer_lost.c */
void transfer_count_lost(struct transfer *t, uint32_t lost); /* enum entry_lost, of one entry */
void transfer_tell_lost(struct transfer *t);                 /* at the end */

/* transfer_report.c */
const struct job_totals *transfer_totals(const struct transfer *t);
void transfer_tick(struct transfer *t);
void transfer_fill_report(struct transfer *t);

#endif
