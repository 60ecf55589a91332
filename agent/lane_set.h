/*
 * The lanes of one job, as the main loop sees them: `count` to begin with, and up to `most` when more join while it
 * runs. A lane whose connection is lost is only that, and so is one that was added, or begun anew, and did not come:
 * the peer is told, and when it has told us the place is vacant again (peer-protocol/lane_slot.h) and may be filled
 * anew. Any other failure of a lane is one of the job, and so is a lane of the beginning that never came, and more
 * losses than are allowed for. Main loop's thread.
 */
#ifndef HAUL_AGENT_LANE_SET_H
#define HAUL_AGENT_LANE_SET_H

#include "agent/lane.h"
#include "agent/loss_allowance.h"
#include "peer-protocol/lane_slot.h"

struct lanes_ahead;

/* A lane that is lost. */
struct lane_loss {
	unsigned number;
	bool had_joined;
	haul_status status;
	const struct haul_fault *fault; /* borrowed for the call */
};

struct lane_set {
	struct lane_job job;
	struct lanes_ahead *ahead; /* client: connections on their way already, held; NULL: none */
	struct lane *lanes[LANES_MAX];
	unsigned count, most;    /* negotiated; count <= most */
	bool renews;             /* the owner begins lost lanes anew: that none is left is no failure of the job yet */
	unsigned started, ended; /* lanes, each time one begins */
	unsigned joined;         /* of those that run */
	unsigned lost;           /* that had joined */
	unsigned first_joined;   /* places of the beginning whose first lane has joined */
	struct lane_slot slots[LANES_MAX];
	uint32_t first_epoch[LANES_MAX]; /* server: of the lane that has the place */
	struct loss_allowance allowance;
	bool was_started[LANES_MAX];
	bool has_joined[LANES_MAX]; /* the lane that runs */
	bool has_come[LANES_MAX];   /* that or one before it in its place */
	uint64_t granted_end;       /* all entries granted so far are below */
	bool is_stopping;           /* finish or stop has been called */
	struct lane_times times;    /* of all that ended */
	void (*on_report)(void *owner, struct lane_report *r /* given; not JOINED and ENDED */);
	void (*on_joined)(void *owner); /* as many as there are to begin with have joined */
	void (*on_ended)(void *owner);  /* all that were started have ended and are freed */
	void (*on_failed)(void *owner, haul_status st,
			  const struct haul_fault *fault); /* one ended by itself; stop the job */
	/*
	 * Receiving: grant it what is granted to the others (lane_set_grant_to); nothing can come over it before. NULL
	 * is fine, for a sender.
	 */
	haul_status (*on_started)(void *owner, struct lane *l);
	/* One is gone, and what was granted to it with it. */
	void (*on_lost)(void *owner, const struct lane_loss *loss);
	/* LANE_LOST is to be said, now or, receiving, behind the acknowledgements of what has come. */
	void (*on_say_lost)(void *owner, unsigned number, uint32_t epoch);
	/* Both ends have said it: what it owed and has not been acknowledged has not arrived. */
	void (*on_vacant)(void *owner, unsigned number);
	void (*on_explain)(void *owner, const char *text); /* a choice of the lanes; NULL is fine */
	void *owner;
};

/* After `job` and the callbacks have been filled in: tie them together. */
void lane_set_open(struct lane_set *s);

/* Client: start all lanes. On failure those started are stopping; on_ended comes if `started` is not 0. */
HAUL_MUST_USE haul_status lane_set_start(struct lane_set *s, struct haul_fault *fault);

/*
 * Both ends are here: start from's lanes, which are to's as well. On failure those started are stopping in both;
 * on_ended comes to each whose `started` is not 0.
 */
HAUL_MUST_USE haul_status lane_set_start_copying(struct lane_set *from, struct lane_set *to, struct haul_fault *fault);

/*
 * Client: a lane in a place that was vacated; it joins, or on_lost comes again. HAUL_BUSY: the place is not vacant, the
 * lanes are ending, or our memory for blocks is used up; nothing was changed then, nor by other failures.
 */
HAUL_MUST_USE haul_status lane_set_renew(struct lane_set *s, unsigned number, struct haul_fault *fault);

/* The peer says that a lane is lost. HAUL_BAD_MOVE, HAUL_BAD_VALUE: it cannot be; the job fails. */
HAUL_MUST_USE haul_status lane_set_heard_lost(struct lane_set *s, unsigned number, uint32_t epoch,
					      struct haul_fault *fault);

/* Its peer is taken for dead, for that reason (held). */
void lane_set_lose(struct lane_set *s, unsigned number, const char *why);

/* Whether a lane may be begun there by lane_set_renew(): it ran, and both ends know that it is lost. */
bool lane_set_is_vacant(const struct lane_set *s, unsigned number);

/* Lanes that are on their way in. */
unsigned lane_set_joining(const struct lane_set *s);

/*
 * Client: one more lane; it joins by itself, or on_lost comes. HAUL_BUSY: there are as many as may be, the lanes are
 * ending, or our memory for blocks is used up. Other failures are those of lane_start(). Nothing was changed then.
 */
HAUL_MUST_USE haul_status lane_set_add(struct lane_set *s, struct haul_fault *fault);

/*
 * Server: whether this connection may join as lane `number` now; if so it is expected, and the next one is the next
 * epoch's. False: no such lane, another epoch than the next, the last one's loss is not settled, or the lanes are
 * ending.
 */
HAUL_MUST_USE bool lane_set_claim(struct lane_set *s, unsigned number, uint32_t epoch);

/* Server: a lane's connection that was claimed has joined; taken, and dropped when its lane is over. */
HAUL_MUST_USE haul_status lane_set_attach(struct lane_set *s, unsigned number, uint32_t epoch,
					  struct channel_parts *parts, struct haul_fault *fault);

void lane_set_wake(struct lane_set *s);
HAUL_MUST_USE haul_status lane_set_grant(struct lane_set *s, struct grant *const *grants, size_t count);
/* From on_started: these are granted to the others and not yet released; then data of older entries is dropped. */
HAUL_MUST_USE haul_status lane_set_grant_to(struct lane_set *s, struct lane *l, struct grant *const *grants,
					    size_t count);
/* Every lane that holds one of them lets go of it: lane_release(). */
HAUL_MUST_USE haul_status lane_set_release(struct lane_set *s, struct grant *const *grants, size_t count);
void lane_set_finish(struct lane_set *s);
void lane_set_stop(struct lane_set *s);

/* Nanoseconds that the lanes that run, taken together, have waited for their peer; and the bytes they have moved. */
uint64_t lane_set_peer_wait_ns(const struct lane_set *s);
uint64_t lane_set_moved(const struct lane_set *s);
/* Sending: the mean of their round trips as of late, nanoseconds; 0: not known. */
uint64_t lane_set_round_trip_ns(const struct lane_set *s);

#endif
