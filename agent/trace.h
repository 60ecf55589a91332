/*
 * The trace of a process's transfers: one JSON line per block and stage, written to a file by a thread of its own
 * (docs/LIMITS.md "The trace").
 *
 * A track belongs to one thread (a lane's, the commit thread's) and gathers spans in a chunk; a full chunk, or one that
 * is a while old, goes to the writer. Memory is bounded: with TRACE_CHUNKS in use, spans are dropped and counted. What
 * happens to the file never reaches a transfer: the first failure is kept for trace_close().
 *
 * Off is NULL: every function here takes a trace or track that is NULL and then does nothing.
 */
#ifndef HAUL_AGENT_TRACE_H
#define HAUL_AGENT_TRACE_H

#include "engine/base/fault.h"

#include <stdbool.h>
#include <stdint.h>

enum { TRACE_CHUNKS = 64, TRACE_CHUNK_SPANS = 1024 };

enum trace_stage {
	TRACE_READ,       /* disk, also of what is compared */
	TRACE_DIGEST,     /* sender */
	TRACE_SEND,       /* encrypted, and taken by the socket */
	TRACE_RECEIVE,    /* from the first byte of the block to the last, decrypted */
	TRACE_CHECK,      /* receiver: digests */
	TRACE_WRITE,      /* disk */
	TRACE_POOL_READ,  /* a pack of small files */
	TRACE_POOL_WRITE, /* the same, made at the destination */
	TRACE_SYNC,       /* a group of entries: written back and synced, before and after its names */
	TRACE_COMMIT,     /* the group's names and metadata */
	TRACE_STAGES,
};

/* One stage of one block. Times are uv_hrtime() (CLOCK_MONOTONIC), nanoseconds. */
struct trace_span {
	enum trace_stage stage;
	uint32_t leaves; /* of a pack or a group: its entries */
	uint64_t entry, first_leaf, bytes;
	uint64_t start_ns, end_ns;
	uint64_t busy_ns; /* of it, what the thread worked for this block; disk and pool: all of it */
};

struct trace_job_facts {
	bool is_source;
	unsigned lanes, blocks_per_lane;
	uint32_t block_bytes;
	const uint8_t *session_id; /* 8 bytes of it are written, so that the two ends' files find each other */
};

struct trace;
struct trace_track;

/*
 * Open or make the file and start the writer. A trace that is there is written anew once a job begins; HAUL_USAGE: what
 * is there is no trace; HAUL_DENIED and the like; the file is named. Given: trace_close().
 */
HAUL_MUST_USE haul_status trace_open(const char *path, struct trace **ret_trace, struct haul_fault *fault);

/*
 * After the last track is closed: write what is left, close the file. What went wrong with it is returned (a full disk;
 * the fault names the file), and whether spans had to be dropped is in the file itself. NULL: HAUL_OK.
 */
HAUL_MUST_USE haul_status trace_close(struct trace *t, struct haul_fault *fault);

/* A job begins: its line is written. Returns its number in the file, 0 with NULL. Any thread. */
unsigned trace_job(struct trace *t, const struct trace_job_facts *facts);

enum { TRACE_NO_LANE = -1 }; /* the commit thread */

/* NULL: off, or no memory. Given: trace_track_close(). */
struct trace_track *trace_track_new(struct trace *t, unsigned job, bool is_source, int lane);
void trace_track_close(struct trace_track *k);

/* Owner's thread. The span is copied. */
void trace_put(struct trace_track *k, const struct trace_span *span);

/* 0 when off, so that an untraced transfer does not look at the clock. */
uint64_t trace_now(const struct trace_track *k);

/* The block was worked on from `since_ns` (trace_now()) to now: the span begins with the first, ends with the last. */
void trace_work(const struct trace_track *k, struct trace_span *span, uint64_t since_ns);

#endif
