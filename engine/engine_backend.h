/*
 * What stands behind engine.h: a table of four calls, and the engine's own bookkeeping that the back ends share.
 * Internal to the engine.
 *
 * A request moves free -> waiting -> queued -> (the back end) -> finished -> free; one that has more to do goes back to
 * the back end without leaving it. Thread: the owner's, except what a back end says of its own.
 */
#ifndef HAUL_ENGINE_ENGINE_BACKEND_H
#define HAUL_ENGINE_ENGINE_BACKEND_H

#include "engine/depth.h"
#include "engine/engine_request.h"

#include <pthread.h>

enum { ENGINE_DEPTH_MAX = 256 };

struct engine_ops {
	/* HAUL_UNSUPPORTED: this system does not have it or does not permit it; the fault's text says why. */
	haul_status (*open)(struct engine *e, struct haul_fault *fault);
	/* Take everything in e->queued. Never finishes a request before it returns. */
	void (*submit)(struct engine *e);
	/* Clear the event, then move what is finished to e->finished. Never blocks. */
	void (*reap)(struct engine *e);
	/* Nothing is with the back end any more. */
	void (*close)(struct engine *e);
};

extern const struct engine_ops ring_backend, thread_backend;

/* Requests of one kind: reads or writes. */
struct engine_kind {
	struct depth depth;
	unsigned flying;     /* with the back end */
	unsigned pending;    /* with it, or waiting */
	struct list waiting; /* for the depth to allow them */
};

struct engine {
	const struct engine_ops *ops;
	void *backend; /* the back end's own */
	pthread_t owner;
	int event_fd;                    /* eventfd, not blocking */
	unsigned depth;                  /* entries of `requests` */
	unsigned in_flight;              /* of them, not in `free` */
	struct engine_request *requests; /* owned array */
	struct list free, queued, finished;
	struct engine_kind kinds[2]; /* reads, writes */
	char text[128];              /* for engine_backend_text() */
};

/* Make the event readable, or not. Any thread. */
void engine_event_set(struct engine *e);
void engine_event_clear(struct engine *e);

#endif
