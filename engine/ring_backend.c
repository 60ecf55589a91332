/*
 * The io_uring back end. The ring starts disabled, so that it can be told to carry reads and writes only, gets the
 * engine's eventfd, and is then enabled by the thread that owns it. Kernels that know it defer completion work to the
 * owner's own calls (no interrupts of hashing and encryption); older ones get the plain ring.
 *
 * The submission queue has an entry for every request, so it is never full. A submission that the kernel puts off
 * (EAGAIN, EBUSY: no memory at the moment) stays in the queue and goes with the next call; the event is set so that
 * there is one. Fails: io_uring absent, forbidden, or without read and write (before Linux 5.6).
 */
#include "engine/engine_backend.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

enum { REAP_BATCH = 32 };

/* Best first: 6.1, 5.19, 5.10, anything. */
static const unsigned setup_flags[] = {
	IORING_SETUP_R_DISABLED | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
	    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	IORING_SETUP_R_DISABLED | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
	IORING_SETUP_R_DISABLED,
	0,
};

/* Returns 0 or a negative errno value; only EINVAL says that a flag is not known. */
static int ring_setup(struct io_uring *ring, unsigned entries)
{
	int rc = -EINVAL;

	for (size_t i = 0; rc == -EINVAL && i < sizeof(setup_flags) / sizeof(setup_flags[0]); i++)
		rc = io_uring_queue_init(entries, ring, setup_flags[i]);
	return rc;
}

static bool ring_can_read_and_write(struct io_uring *ring)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
	bool can = probe && io_uring_opcode_supported(probe, IORING_OP_READ) &&
		   io_uring_opcode_supported(probe, IORING_OP_WRITE);

	io_uring_free_probe(probe);
	return can;
}

/* A second line of defence only: where the kernel refuses the restriction, the ring works without. */
static void ring_restrict(struct io_uring *ring)
{
	struct io_uring_restriction only[] = {
		{ .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_READ },
		{ .opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_WRITE },
	};

	(void)io_uring_register_restrictions(ring, only, sizeof(only) / sizeof(only[0]));
}

static int ring_prepare(struct io_uring *ring, int event_fd)
{
	int rc;

	if (!ring_can_read_and_write(ring))
		return -ENOSYS;
	rc = io_uring_register_eventfd(ring, event_fd);
	if (rc < 0 || !(ring->flags & IORING_SETUP_R_DISABLED))
		return rc;
	ring_restrict(ring);
	return io_uring_enable_rings(ring);
}

static const char *refusal_text(int err)
{
	switch (err) {
	case EPERM:
	case EACCES:
		return "io_uring is not permitted here";
	case ENOSYS:
	case EINVAL:
		return "this kernel has no io_uring";
	case ENOMEM:
		return "io_uring may not lock enough memory";
	default:
		return "io_uring cannot be set up";
	}
}

static haul_status ring_open(struct engine *e, struct haul_fault *fault)
{
	struct io_uring *ring = calloc(1, sizeof(*ring));
	int rc;

	if (!ring)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "io_uring");
	rc = ring_setup(ring, e->depth);
	if (rc < 0)
		goto free_ring;
	rc = ring_prepare(ring, e->event_fd);
	if (rc < 0)
		goto exit_ring;
	e->backend = ring;
	return HAUL_OK;

exit_ring:
	io_uring_queue_exit(ring);
free_ring:
	free(ring);
	(void)haul_fault_set(fault, HAUL_UNSUPPORTED, "%s", refusal_text(-rc));
	if (fault)
		fault->os_errno = -rc;
	return HAUL_UNSUPPORTED;
}

static void ring_close(struct engine *e)
{
	io_uring_queue_exit(e->backend);
	free(e->backend);
}

static void ring_put(struct io_uring *ring, struct engine_request *r)
{
	struct request_step step = request_step(r);
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	assert(sqe); /* as many entries as requests */
	if (r->is_write)
		io_uring_prep_write(sqe, r->file->fd, step.buf, step.len, step.offset);
	else
		io_uring_prep_read(sqe, r->file->fd, step.buf, step.len, step.offset);
	io_uring_sqe_set_data(sqe, r);
}

/* Hand over what is in the submission queue; what the kernel does not take now stays there. */
static void ring_flush(struct engine *e)
{
	struct io_uring *ring = e->backend;
	int rc;

	do
		rc = io_uring_submit(ring);
	while (rc == -EINTR);
	assert(rc >= 0 || rc == -EAGAIN || rc == -EBUSY || rc == -ENOMEM);
	if (io_uring_sq_ready(ring) > 0)
		engine_event_set(e);
}

static void ring_submit(struct engine *e)
{
	struct list *link;

	while ((link = list_pop_front(&e->queued)))
		ring_put(e->backend, list_item(link, struct engine_request, link));
	ring_flush(e);
}

/* The event is cleared before the last look, so that what comes after that look sets it again. */
static void ring_reap(struct engine *e)
{
	struct io_uring *ring = e->backend;
	struct io_uring_cqe *cqes[REAP_BATCH];
	unsigned n;

	if (IO_URING_READ_ONCE(*ring->sq.kflags) & IORING_SQ_TASKRUN)
		(void)io_uring_get_events(ring); /* before the clear: its completions set the event once more */
	engine_event_clear(e);
	while ((n = io_uring_peek_batch_cqe(ring, cqes, REAP_BATCH)) > 0) {
		for (unsigned i = 0; i < n; i++) {
			struct engine_request *r = io_uring_cqe_get_data(cqes[i]);

			if (request_take_result(r, cqes[i]->res))
				list_push_back(&e->finished, &r->link);
			else
				ring_put(ring, r);
		}
		io_uring_cq_advance(ring, n);
	}
	if (io_uring_sq_ready(ring) > 0)
		ring_flush(e);
}

const struct engine_ops ring_backend = {
	.open = ring_open,
	.submit = ring_submit,
	.reap = ring_reap,
	.close = ring_close,
};
