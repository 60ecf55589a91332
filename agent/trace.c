/*
 * Chunks travel from the tracks to the writer and back. The lock guards the two lists; formatting and writing happen
 * outside of it.
 */
#include "agent/trace.h"

#include "engine/base/escape.h"
#include "engine/base/list.h"
#include "engine/base/output_file.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

/* A chunk that is so old goes to the writer with the next span, full or not. */
#define FLUSH_NS UINT64_C(200000000)

struct chunk {
	struct list link;
	unsigned job;
	bool is_source;
	int lane;
	uint64_t dropped; /* spans of the track that found no chunk before this one */
	unsigned count;
	char line[256]; /* instead of spans when not empty */
	struct trace_span spans[TRACE_CHUNK_SPANS];
};

struct trace {
	struct output_file out;
	char *path;
	pthread_t writer;
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct list full, empty; /* struct chunk */
	unsigned chunks;         /* that exist */
	unsigned jobs;
	bool is_closing;
	uint64_t lost; /* spans of closed tracks that no chunk was left to tell of */
	uint64_t t0_ns;
	int os_errno; /* writer's: the first failure */
};

struct trace_track {
	struct trace *trace;
	unsigned job;
	bool is_source;
	int lane;
	struct chunk *chunk; /* being filled; NULL: none */
	uint64_t dropped;
};

static const char *const stage_names[TRACE_STAGES] = {
	[TRACE_READ] = "read",           [TRACE_DIGEST] = "digest",         [TRACE_SEND] = "send",
	[TRACE_RECEIVE] = "receive",     [TRACE_CHECK] = "check",           [TRACE_WRITE] = "write",
	[TRACE_POOL_READ] = "pool-read", [TRACE_POOL_WRITE] = "pool-write", [TRACE_SYNC] = "sync",
	[TRACE_COMMIT] = "commit",
};

/* ---- the writer ---- */

static void write_span(struct trace *t, const struct chunk *c, const struct trace_span *s)
{
	(void)fprintf(
	    t->out.file,
	    "{\"job\":%u,\"side\":\"%s\",\"lane\":%d,\"stage\":\"%s\",\"entry\":%" PRIu64 ",\"leaf\":%" PRIu64
	    ",\"leaves\":%u,\"bytes\":%" PRIu64 ",\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"busy\":%" PRIu64 "}\n",
	    c->job, c->is_source ? "source" : "destination", c->lane, stage_names[s->stage], s->entry, s->first_leaf,
	    s->leaves, s->bytes, (int64_t)(s->start_ns - t->t0_ns), (int64_t)(s->end_ns - t->t0_ns), s->busy_ns);
}

static void write_chunk(struct trace *t, const struct chunk *c)
{
	if (t->os_errno)
		return; /* no second try on a full disk */
	errno = 0;
	if (haul_failed(output_file_begin(&t->out))) {
		t->os_errno = errno ? errno : EIO;
		return;
	}
	if (c->line[0])
		(void)fputs(c->line, t->out.file);
	if (c->dropped)
		(void)fprintf(t->out.file, "{\"job\":%u,\"lane\":%d,\"dropped\":%" PRIu64 "}\n", c->job, c->lane,
			      c->dropped);
	for (unsigned i = 0; i < c->count; i++)
		write_span(t, c, &c->spans[i]);
	if (fflush(t->out.file) || ferror(t->out.file))
		t->os_errno = errno ? errno : EIO;
}

static void *writer_main(void *arg)
{
	struct trace *t = arg;

	(void)pthread_mutex_lock(&t->lock);
	for (;;) {
		struct list *item = list_pop_front(&t->full);

		if (!item) {
			if (t->is_closing)
				break;
			(void)pthread_cond_wait(&t->filled, &t->lock);
			continue;
		}
		(void)pthread_mutex_unlock(&t->lock);
		write_chunk(t, list_item(item, struct chunk, link));
		(void)pthread_mutex_lock(&t->lock);
		list_push_back(&t->empty, item);
	}
	(void)pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* ---- chunks ---- */

/* NULL: all are in use, or there is no memory. */
static struct chunk *chunk_take(struct trace *t)
{
	struct list *item;
	struct chunk *c = NULL;

	(void)pthread_mutex_lock(&t->lock);
	item = list_pop_front(&t->empty);
	if (item) {
		c = list_item(item, struct chunk, link);
	} else if (t->chunks < TRACE_CHUNKS) {
		c = malloc(sizeof(*c));
		t->chunks += c != NULL;
	}
	(void)pthread_mutex_unlock(&t->lock);
	if (!c)
		return NULL;
	list_init(&c->link);
	c->count = 0;
	c->dropped = 0;
	c->line[0] = '\0';
	return c;
}

static void chunk_post(struct trace *t, struct chunk *c)
{
	(void)pthread_mutex_lock(&t->lock);
	list_push_back(&t->full, &c->link);
	(void)pthread_cond_signal(&t->filled);
	(void)pthread_mutex_unlock(&t->lock);
}

/* ---- tracks ---- */

static struct chunk *track_chunk(struct trace_track *k)
{
	struct chunk *c = chunk_take(k->trace);

	if (!c)
		return NULL;
	c->job = k->job;
	c->is_source = k->is_source;
	c->lane = k->lane;
	c->dropped = k->dropped;
	k->dropped = 0;
	return c;
}

static void track_post(struct trace_track *k)
{
	chunk_post(k->trace, k->chunk);
	k->chunk = NULL;
}

void trace_put(struct trace_track *k, const struct trace_span *span)
{
	struct trace_span *first;

	if (!k)
		return;
	if (!k->chunk)
		k->chunk = track_chunk(k);
	if (!k->chunk) {
		k->dropped++;
		return;
	}
	first = &k->chunk->spans[0];
	k->chunk->spans[k->chunk->count++] = *span;
	if (k->chunk->count == TRACE_CHUNK_SPANS || span->end_ns - first->end_ns >= FLUSH_NS)
		track_post(k);
}

uint64_t trace_now(const struct trace_track *k)
{
	return k ? uv_hrtime() : 0;
}

void trace_work(const struct trace_track *k, struct trace_span *span, uint64_t since_ns)
{
	if (!k)
		return;
	if (!span->start_ns)
		span->start_ns = since_ns;
	span->end_ns = uv_hrtime();
	span->busy_ns += span->end_ns - since_ns;
}

struct trace_track *trace_track_new(struct trace *t, unsigned job, bool is_source, int lane)
{
	struct trace_track *k = t ? calloc(1, sizeof(*k)) : NULL;

	if (k)
		*k = (struct trace_track){ .trace = t, .job = job, .is_source = is_source, .lane = lane };
	return k;
}

void trace_track_close(struct trace_track *k)
{
	if (!k)
		return;
	if (!k->chunk && k->dropped)
		k->chunk = track_chunk(k);
	if (k->chunk)
		track_post(k);
	(void)pthread_mutex_lock(&k->trace->lock);
	k->trace->lost += k->dropped;
	(void)pthread_mutex_unlock(&k->trace->lock);
	free(k);
}

/* ---- jobs and the file ---- */

unsigned trace_job(struct trace *t, const struct trace_job_facts *facts)
{
	char session[2 * 8 + 1];
	struct chunk *c;
	unsigned job;

	if (!t)
		return 0;
	(void)pthread_mutex_lock(&t->lock);
	job = ++t->jobs;
	(void)pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < 8; i++)
		(void)snprintf(session + 2 * i, 3, "%02x", facts->session_id[i]);
	c = chunk_take(t);
	if (!c)
		return job;
	(void)snprintf(c->line, sizeof(c->line),
		       "{\"job\":%u,\"side\":\"%s\",\"session\":\"%s\",\"clock\":\"monotonic\",\"t0_ns\":%" PRIu64
		       ",\"begin\":%" PRIu64 ",\"lanes\":%u,\"blocks_per_lane\":%u,\"block_bytes\":%u}\n",
		       job, facts->is_source ? "source" : "destination", session, t->t0_ns, uv_hrtime() - t->t0_ns,
		       facts->lanes, facts->blocks_per_lane, facts->block_bytes);
	chunk_post(t, c);
	return job;
}

static void trace_free(struct trace *t)
{
	struct list *item;

	while ((item = list_pop_front(&t->empty)))
		free(list_item(item, struct chunk, link));
	(void)pthread_cond_destroy(&t->filled);
	(void)pthread_mutex_destroy(&t->lock);
	free(t->path);
	free(t);
}

haul_status trace_open(const char *path, struct trace **ret_trace, struct haul_fault *fault)
{
	struct trace *t = calloc(1, sizeof(*t));
	haul_status st;

	if (!t)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for a trace");
	list_init(&t->full);
	list_init(&t->empty);
	(void)pthread_mutex_init(&t->lock, NULL);
	(void)pthread_cond_init(&t->filled, NULL);
	t->t0_ns = uv_hrtime();
	t->path = strdup(path);
	st = t->path ? output_file_open(&t->out, "--trace", path, OUTPUT_TRACE, fault)
		     : haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for a trace");
	if (haul_failed(st)) {
		trace_free(t);
		return st;
	}
	if (pthread_create(&t->writer, NULL, writer_main, t)) {
		(void)output_file_close(&t->out);
		trace_free(t);
		return haul_fault_set(fault, HAUL_NO_MEMORY, "cannot start the trace's thread");
	}
	*ret_trace = t;
	return HAUL_OK;
}

haul_status trace_close(struct trace *t, struct haul_fault *fault)
{
	char shown[HAUL_FAULT_TEXT_MAX / 2];
	haul_status st = HAUL_OK;
	int err;

	if (!t)
		return HAUL_OK;
	(void)pthread_mutex_lock(&t->lock);
	t->is_closing = true;
	(void)pthread_cond_signal(&t->filled);
	(void)pthread_mutex_unlock(&t->lock);
	(void)pthread_join(t->writer, NULL);
	if (t->lost && t->out.is_begun)
		(void)fprintf(t->out.file, "{\"job\":0,\"lane\":-1,\"dropped\":%" PRIu64 "}\n", t->lost);
	err = output_file_close(&t->out);
	if (!t->os_errno)
		t->os_errno = err;
	if (t->os_errno)
		st = haul_fault_errno(fault, t->os_errno, "the trace %s is incomplete",
				      haul_escape(t->path, strlen(t->path), shown, sizeof(shown)));
	trace_free(t);
	return st;
}
