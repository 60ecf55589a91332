/*
 * One read or write on its way: split into steps (one system call or ring entry each), put together from their results.
 * Both back ends feed results in through request_take_result() alone, so that they behave alike. Internal to the
 * engine.
 *
 * Thread: whoever has the request at the moment: its engine's owner, or one worker of the thread back end.
 */
#ifndef HAUL_ENGINE_ENGINE_REQUEST_H
#define HAUL_ENGINE_ENGINE_REQUEST_H

#include "engine/base/list.h"
#include "engine/engine.h"

struct engine_request {
	struct list link; /* in one of the engine's lists; alone while the back end has it */
	struct disk_file *file;
	uint8_t *buf;
	uint64_t offset;     /* of buf[0] in the file */
	size_t len;          /* bytes asked for */
	size_t whole;        /* bytes to move: len, rounded up while direct */
	size_t at;           /* where the next step starts; aligned while direct */
	size_t reached;      /* the furthest byte moved; at least `at` */
	unsigned again;      /* EINTR and EAGAIN in a row */
	uint64_t started_ns; /* when the back end got it */
	bool is_write;
	bool is_direct;          /* made for a direct file; false after a refusal */
	struct engine_done done; /* tag from the start, the rest when finished */
};

struct request_step {
	uint8_t *buf;
	uint32_t len;
	uint64_t offset;
};

/* Fill in a request from its arguments (file, buf, offset, len, is_write, done.tag set); HAUL_OVERFLOW beyond 2^63. */
HAUL_MUST_USE haul_status engine_request_open(struct engine_request *r);

/* What to do next. */
struct request_step request_step(const struct engine_request *r);

/*
 * Take the result of the last step: bytes moved, or a negative errno value. True when the request is finished and
 * `done` is filled; false when request_step() has more to do.
 */
HAUL_MUST_USE bool request_take_result(struct engine_request *r, int64_t result);

#endif
