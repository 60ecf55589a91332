/*
 * A lane: one thread, one libuv loop, one TLS connection, one engine and a share of the block memory.
 *
 * A sending lane takes work from the job's block queue, reads, hashes and encrypts it leaf by leaf; a receiving lane
 * decrypts into blocks, checks each leaf and writes it. Both tell the main loop what happened through reports.
 *
 * A job with both ends in this process has lanes without a connection: such a lane reads for the one end and writes for
 * the other from the same block (lane_copy.c), and tells each its part.
 *
 *   JOINING --connection joined--> RUNNING --lane_finish()--> FINISHING --both ends closed--> ENDED
 *      +--- any fault, lane_stop(), lane_lose() -+--> STOPPING --nothing in flight--> ENDED
 *
 * What a sending lane had taken from the queue and not sent when it ended is in the queue again.
 *
 * Every function here is for the main loop's thread; the fields belong to the lane's.
 */
#ifndef HAUL_AGENT_LANE_H
#define HAUL_AGENT_LANE_H

#include "agent/block_queue.h"
#include "agent/channel.h"
#include "agent/grant.h"
#include "agent/lane_meter.h"
#include "agent/mail.h"
#include "agent/rate_limit.h"
#include "agent/trace.h"
#include "engine/engine.h"
#include "engine/pool.h"
#include "peer-protocol/lane_frame.h"
#include "peer-protocol/message.h"

#define LANE_RECORDS_MAX (UINT64_C(1) << 24) /* of a connection and direction (docs/PROTOCOL.md "retirement") */

enum lane_role { LANE_SENDS, LANE_RECEIVES };

enum lane_report_type {
	LANE_JOINED,
	LANE_SENT,         /* sender: leaves of a big file are encrypted and on their way; digests */
	LANE_SENT_PACK,    /* sender: items with digest or status */
	LANE_FILE_FAILED,  /* sender: cannot read, or it changed; receiver: cannot write or read */
	LANE_WRITTEN,      /* receiver: leaves are on disk (not durable), bad_leaves excepted */
	LANE_WRITTEN_PACK, /* receiver: items with partial or status */
	LANE_COMPARED,     /* receiver: bad_leaves differ from what is there */
	LANE_DIFFERS,      /* receiver: first differing byte of a leaf is at offset; bad_leaves 0: it does not differ */
	LANE_RELEASED,     /* receiver: this lane has done with these grants */
	LANE_ENDED,        /* last report: the thread is over; call lane_free() */
};

struct lane_pack_entry {
	uint64_t entry;
	uint32_t attempt;
	uint64_t bytes;
	haul_status status;
	int os_errno;
	struct haul_digest digest;
	uint32_t lost;          /* receiver: enum entry_lost */
	struct partial partial; /* receiver: the file under its private name */
};

struct lane;

/* Given to the job's on_report: free with lane_report_free(). */
struct lane_report {
	struct mail mail;
	struct lane *lane;
	struct lane_job *job; /* whose on_report hears it */
	enum lane_report_type type;
	uint64_t entry;
	uint32_t attempt;
	uint64_t first_leaf;
	uint32_t leaf_count;
	uint32_t bad_leaves;   /* bit i: first_leaf + i */
	uint32_t again_leaves; /* WRITTEN: those that had arrived before, and were not written again */
	uint64_t bytes;        /* payload */
	uint64_t hole_bytes;   /* SENT, WRITTEN: of the file, and none of them on the wire */
	bool is_digests;       /* SENT: no content left, only digests */
	bool is_again;         /* SENT: a lane was lost with it, so it may have been read before */
	unsigned mode;         /* SENT, WRITTEN, COMPARED: 1 + enum buffered_reason of the file by then; 0: not said */
	uint64_t offset;
	haul_status status;
	int os_errno;
	struct haul_fault fault; /* JOINED: its text names the engine's back end */
	struct lane_times times; /* ENDED */
	uint32_t epoch;          /* ENDED: of its last connection, or the last one that was tried */
	struct grant **grants;   /* RELEASED: what this lane has done with; the array is owned */
	size_t grant_count;
	struct haul_digest digests[HAUL_BLOCK_LEAVES_MAX];
	struct lane_pack_entry *items; /* owned */
	unsigned item_count;
};

void lane_report_free(struct lane_report *r);

/* What the lanes of one job share. Not changed while they run, but for what locks itself. */
struct lane_job {
	enum lane_role role;
	bool is_client;
	uint8_t session_id[SESSION_ID_BYTES];
	uint32_t block_bytes;
	unsigned blocks_per_lane;
	enum engine_backend backend;
	struct engine_depth read, write; /* requests of a lane with the disk; zeros: as many as there are blocks */
	bool is_phased;                  /* sending: all blocks are filled, then all are sent, in turns */
	struct block_budget *budget;
	struct block_queue *queue; /* sending */
	struct rate_limit *limit;
	struct mailbox *main; /* reports go here */
	struct trace *trace;  /* held; NULL: off */
	unsigned trace_job;
	bool makes_up;          /* sending: a probe's bytes; the blocks are filled once */
	uint64_t records_max;   /* of a connection and direction; then a successor takes over */
	struct tls_config *tls; /* client: to connect with */
	struct sockaddr_storage address;
	uint8_t peer_id[32];
	uint32_t connect_timeout_ms;
	void (*on_report)(void *owner, struct lane_report *r /* given */);
	void *owner;
};

/*
 * Start lane `number`; it waits for lane_connect() or lane_attach(), and what is posted before is known to it before
 * anything can come over its connection. The block share is reserved here (HAUL_BUSY: the budget is used up).
 * Given: lane_free() after its LANE_ENDED.
 *
 * epoch   client: of its first connection
 */
HAUL_MUST_USE haul_status lane_start(struct lane_job *job, unsigned number, uint32_t epoch, struct lane **ret_lane,
				     struct haul_fault *fault);
void lane_free(struct lane *l);

/*
 * Start lane `number` of a job with both ends here. It belongs to both: each gets its own LANE_JOINED and LANE_ENDED,
 * calls lane_free() after the latter, and lane_finish() when nothing more is to come from or to it. The blocks are of
 * from's budget; from's queue, limit and back end count.
 */
HAUL_MUST_USE haul_status lane_start_copying(struct lane_job *from, struct lane_job *to, unsigned number,
					     struct lane **ret_lane, struct haul_fault *fault);

/* Client: connect and join, once. */
void lane_connect(struct lane *l);

/* Server: its connection has joined, or a successor's; taken. */
void lane_attach(struct lane *l, struct channel_parts *parts);

/* There is something in the block queue. */
void lane_wake(struct lane *l);

/*
 * These may come now. The array is copied; the grants are held until released. HAUL_NO_MEMORY: nothing was posted.
 * granted_end   all entries granted so far, to whichever lane, are below: data of others of them is old, and dropped
 */
HAUL_MUST_USE haul_status lane_grant(struct lane *l, struct grant *const *grants, size_t count, uint64_t granted_end);

/*
 * Nothing more of these grants is expected: LANE_RELEASED follows, in one or several reports, for each when no block of
 * it is in work. The array is copied. HAUL_NO_MEMORY: nothing was posted.
 */
HAUL_MUST_USE haul_status lane_release(struct lane *l, struct grant *const *grants, size_t count);

/* Sender: END after what is in work, then close. Receiver: expect the peer's END. LANE_ENDED follows. Once per end. */
void lane_finish(struct lane *l);

/* Drop everything. LANE_ENDED follows. */
void lane_stop(struct lane *l);

/* As if its connection had been lost, for that reason (held, one line). Once. LANE_ENDED follows, with HAUL_LOST. */
void lane_lose(struct lane *l, const char *why);

unsigned lane_number(const struct lane *l);

/*
 * Receiving: something of it is in work, or it has no memory for more. Sending: it waits for its turn to send. As of
 * its last turn.
 */
bool lane_is_busy(const struct lane *l);

/* Nanoseconds that it has waited for its peer so far: the socket took no more, or brought nothing; and bytes moved. */
uint64_t lane_peer_wait_ns(const struct lane *l);
uint64_t lane_moved(const struct lane *l);
/* Sending: the round trip of its connection as of late, with what waits in queues; nanoseconds, 0: not known. */
uint64_t lane_round_trip_ns(const struct lane *l);

#endif
