/*
 * Inside of a lane, shared by lane.c (life), lane_wire.c (connections), lane_send.c, lane_recv.c and lane_copy.c (from
 * the one half to the other, without a connection). Lane's thread only.
 */
#ifndef HAUL_AGENT_LANE_PARTS_H
#define HAUL_AGENT_LANE_PARTS_H

#include "agent/index_map.h"
#include "agent/lane.h"
#include "agent/lane_dial.h"
#include "agent/listener.h"
#include "engine/leaf_stream.h"
#include "agent/thread_cpu.h"
#include "peer-protocol/lane_session.h"

enum lane_phase { LANE_JOINING, LANE_RUNNING, LANE_FINISHING, LANE_STOPPING, LANE_OVER };

/* One connection of the lane; two while a successor takes over. */
struct wire {
	struct list link;
	struct lane *lane;
	struct channel *channel; /* NULL while connecting and once closed */
	struct lane_dial *dial;  /* while connecting */
	uint32_t epoch;
	bool is_joined;
	unsigned silent_beats;      /* sending: since the receiver last gave a sign of life */
	bool has_ended;             /* END sent or received */
	size_t end_sent;            /* bytes of the END header that are on their way */
	bool is_starved;            /* receiving: paused until a block is free */
	bool is_finished;           /* channel_finish() called */
	struct lane_session rx;     /* receiving */
	struct recv_block *filling; /* receiving: what rx writes into */
	struct leaf_stream leaf;    /* receiving: the leaf of it that is arriving */
};

/* Something the engine does for the lane; embedded in what it is done for. */
struct lane_op {
	void (*done)(struct lane_op *op, const struct engine_done *done);
};

struct lane {
	struct lane_job *job;
	struct lane_job *sink; /* a lane that copies: the receiving end's, `job` is the sending one's; else NULL */
	unsigned number;
	uint32_t epoch; /* of the last connection that was made or tried; client */
	uv_thread_t thread;
	uv_loop_t loop;
	struct mailbox inbox;
	struct list mails; /* taken out of it and not yet delivered */
	struct engine *engine;
	uv_poll_t engine_poll;
	uv_timer_t rate_timer, beat;
	uv_prepare_t prepare;
	struct block_share share;
	struct list wires;
	struct wire *wire; /* the one to send on; NULL before it has joined */
	enum lane_phase phase;
	bool is_finish_asked; /* lane_finish() was heard, perhaps before the lane had joined */
	unsigned in_work;     /* engine requests and pool work items */
	bool is_waiting_for_rate;
	uint64_t rate_paid; /* bytes reserved and not yet moved */
	struct lane_report *ended, *sink_ended;
	struct mail connect, wake, stop, lose, finish, bye;
	const char *lose_why; /* set before `lose` is posted */
	_Atomic bool wake_posted, stop_posted, is_busy;
	_Atomic uint64_t peer_wait_ns, moved_so_far, round_trip_ns; /* as of the last turn, for the main loop */
	uint64_t round_trip_seen_ns;                                /* when it was looked at */
	unsigned owners, finishes_asked, frees_asked; /* ends it belongs to; the last two are the main loop's */
	/* sending */
	struct list ready; /* struct send_block, read and not yet encrypted, in order of completion */
	unsigned ready_count;
	bool is_far;     /* the round trip of its connection is long: lane_intake.h */
	bool is_filling; /* in phases: blocks are being read */
	struct send_block *sending;
	struct leaf_stream leaf; /* of it, the one in work */
	unsigned may_take;       /* blocks at once, besides one; grows as they leave */
	struct wire *sending_on; /* where `sending` began and has to end; a successor may join meanwhile */
	/* receiving */
	struct index_map grants; /* entry -> struct held_grant */
	uint64_t granted_end;    /* all entries ever granted to any lane are below */
	struct list hungry;      /* struct recv_block that compares, waiting for a block */
	bool is_copying;         /* copy_pump() is at work */
	/* where the time goes */
	struct lane_meter meter, sink_meter; /* the latter: of a lane that copies, for its receiving end */
	uint64_t moved;                      /* grows whenever something went on, by the bytes where bytes went */
	uint64_t arrived;                    /* receiving: blocks, leaves, packs, digests */
	struct thread_cpu cpu_at_start;
	struct trace_track *track, *recv_track; /* NULL: off; the latter: of what is received, the same or the sink's */
};

/* A grant as this lane holds it. */
struct held_grant {
	struct grant *grant;
	struct held_grant *next; /* older attempt of the same entry, still in work */
	unsigned in_work;        /* blocks between arrival and completion */
	bool is_released;
	bool is_dropped; /* the lane has failed: nobody is told of its end */
};

/* lane.c */
void lane_fail(struct lane *l, haul_status st,
	       const struct haul_fault *fault); /* everything ends; first failure counts */
void lane_run(struct lane *l);                  /* the first wire has joined */
bool lane_is_over(const struct lane *l);        /* it has failed, was stopped, or has ended */
struct lane_report *lane_report_new(struct lane *l, enum lane_report_type type); /* NULL: no memory */
void lane_report_post(struct lane_report *r);                                    /* taken */
/* Begin to finish, if that was asked and the lane runs. */
void lane_finish_if_asked(struct lane *l);

void lane_maybe_end(struct lane *l);                /* after anything that may have been the last thing in flight */
bool lane_rate_allows(struct lane *l, size_t *len); /* cut *len to what may move now; false: the timer goes on */

/* lane_beat.c */
void lane_beat_open(struct lane *l);  /* before the loop runs; closed with the lane's other handles */
void lane_beat_start(struct lane *l); /* a wire has joined; any number of times */
void lane_beat_heard(struct wire *w); /* sending: something came. What is no sign of life ends the lane */

/* lane_account.c */
/* leaf_digest() on the lane's thread, its time on the account, and in the span (held for the call). */
void lane_digest(struct lane *l, struct trace_span *span, const void *data, size_t len, struct haul_digest *ret_digest);
/* The same in pieces, each while it is in cache; `leaf` was begun. */
void lane_digest_add(struct lane *l, struct trace_span *span, struct leaf_stream *leaf, const void *data, size_t len);
void lane_account_start(struct lane *l);
void lane_account_turn(struct lane *l); /* once a turn, before the loop sleeps */
void lane_account_end(struct lane *l);  /* into the last report */
void lane_trace_begin(struct lane *l);
void lane_trace_end(struct lane *l); /* nothing may be in work */

/* Whose reports the receiving half makes. */
static inline struct lane_job *lane_sink(const struct lane *l)
{
	return l->sink ? l->sink : l->job;
}

/* lane_copy.c */
void copy_begin(struct lane *l); /* nobody to connect to: it runs at once */
/* One turn, for both ends. */
void copy_meter(struct lane *l, const struct lane_turn *turn, unsigned requests);
void copy_pump(struct lane *l); /* as send_pump(): what has been read goes to the receiving half */

/* lane_mail.c */
haul_status lane_mail_open(struct lane *l); /* the inbox, for the lane's loop */
void lane_take_mail(struct lane *l);        /* deliver what is in the inbox, behind what is being delivered */

/* lane_wire.c */
haul_status wire_connect(struct lane *l, uint32_t epoch, struct haul_fault *fault);
haul_status wire_attach(struct lane *l, struct channel_parts *parts /* taken */);
void wire_finish(struct wire *w); /* close_notify */
void wire_drop_all(struct lane *l);
void wire_check_records(struct wire *w); /* start the successor when the limit is near */

/* lane_send.c */
void send_fill(struct lane *l); /* take work while there is memory */
void send_pump(struct lane *l); /* encrypt what is ready until the socket is behind */
void send_drop(struct lane *l);
bool send_is_idle(const struct lane *l);

/* lane_recv.c */
void recv_pump(struct wire *w);
void recv_wire_closed(struct wire *w); /* what it was filling is dropped */
void recv_drop(struct lane *l);
bool recv_is_idle(const struct lane *l);
void recv_block_freed(struct lane *l); /* a block came back: feed who waits */
haul_status recv_add_grants(struct lane *l, struct grant *const *grants, size_t count);
void recv_release(struct lane *l, struct grant *const *grants, size_t count);
enum grant_answer recv_is_granted(void *ctx, enum lane_frame_type type, uint64_t entry, uint32_t attempt,
				  uint64_t first_leaf, uint32_t leaf_count, uint64_t bytes);

#endif
