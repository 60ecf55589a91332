/* Requests are done at submit and come out at the next reap, so that nothing finishes before engine_submit() returns.
 */
#include "tests/unit/meddler.h"

#include <errno.h>
#include <unistd.h>

struct meddler meddler;

static haul_status meddler_open(struct engine *e, struct haul_fault *fault)
{
	(void)e;
	(void)fault;
	list_init(&meddler.held);
	return HAUL_OK;
}

/* 0, or the errno value that is said instead of doing the step. */
static int refusal(const struct engine_request *r)
{
	bool is_its_turn =
	    meddler.steps >= meddler.from && (!meddler.count || meddler.steps < meddler.from + meddler.count);

	if (!is_its_turn)
		return 0;
	return r->is_direct ? meddler.direct_errno : meddler.buffered_errno;
}

static int64_t step_run(const struct engine_request *r)
{
	struct request_step step = request_step(r);
	size_t len = step.len;
	ssize_t n;
	int err;

	meddler.steps++;
	err = refusal(r);
	if (err) {
		meddler.refused++;
		return -err;
	}
	if (r->is_direct && meddler.short_bytes && len > meddler.short_bytes)
		len = meddler.short_bytes;
	if (r->is_write)
		n = pwrite(r->file->fd, step.buf, len, (off_t)step.offset);
	else
		n = pread(r->file->fd, step.buf, len, (off_t)step.offset);
	return n < 0 ? -errno : n;
}

static void meddler_submit(struct engine *e)
{
	struct list *link;

	while ((link = list_pop_front(&e->queued))) {
		struct engine_request *r = list_item(link, struct engine_request, link);

		if (meddler.started < MEDDLER_SEEN_MAX)
			meddler.offsets[meddler.started] = r->offset;
		meddler.started++;
		if (++meddler.flying > meddler.flying_max)
			meddler.flying_max = meddler.flying;
		while (!request_take_result(r, step_run(r)))
			;
		list_push_back(&meddler.held, link);
	}
	engine_event_set(e);
}

static void meddler_reap(struct engine *e)
{
	struct list *link;

	engine_event_clear(e);
	while ((link = list_pop_front(&meddler.held))) {
		meddler.flying--;
		list_push_back(&e->finished, link);
	}
}

static void meddler_close(struct engine *e)
{
	(void)e;
}

const struct engine_ops meddler_backend = {
	.open = meddler_open,
	.submit = meddler_submit,
	.reap = meddler_reap,
	.close = meddler_close,
};
