/*
 * The back end of threads: at most eight of them take requests from one list, do them with pread and pwrite to the
 * end, and put them on another. The lock is held to move list items only. The event is set when the list of finished
 * ones was empty, and cleared before it is emptied, so none is missed. Fails: no threads to be had.
 */
#include "engine/engine_backend.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS_MAX = 8 };

struct thread_pool {
	struct engine *engine; /* workers use its event only */
	pthread_mutex_t lock;
	pthread_cond_t work;        /* todo is not empty, or is_stopping */
	struct list todo, finished; /* under lock */
	bool is_stopping;           /* under lock */
	unsigned count;             /* of threads; the owner's */
	pthread_t threads[THREADS_MAX];
};

/* All steps of one request. */
static void request_run(struct engine_request *r)
{
	ssize_t n;

	do {
		struct request_step step = request_step(r);

		if (r->is_write)
			n = pwrite(r->file->fd, step.buf, step.len, (off_t)step.offset);
		else
			n = pread(r->file->fd, step.buf, step.len, (off_t)step.offset);
	} while (!request_take_result(r, n < 0 ? -errno : n));
}

/* The next request, NULL when there will be none. */
static struct engine_request *pool_next(struct thread_pool *p)
{
	struct list *link;

	pthread_mutex_lock(&p->lock);
	while (list_is_empty(&p->todo) && !p->is_stopping)
		pthread_cond_wait(&p->work, &p->lock);
	link = list_pop_front(&p->todo);
	pthread_mutex_unlock(&p->lock);
	return link ? list_item(link, struct engine_request, link) : NULL;
}

static void *worker_main(void *arg)
{
	struct thread_pool *p = arg;
	struct engine_request *r;

	while ((r = pool_next(p))) {
		bool was_empty;

		request_run(r);
		pthread_mutex_lock(&p->lock);
		was_empty = list_is_empty(&p->finished);
		list_push_back(&p->finished, &r->link);
		pthread_mutex_unlock(&p->lock);
		if (was_empty)
			engine_event_set(p->engine);
	}
	return NULL;
}

static void pool_stop(struct thread_pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->is_stopping = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->count; i++)
		pthread_join(p->threads[i], NULL);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Workers leave all signals to the program's own threads. Returns 0 or an errno value; fewer threads are fine. */
static int pool_start(struct thread_pool *p, unsigned wanted)
{
	sigset_t all, before;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (p->count < wanted && !err) {
		err = pthread_create(&p->threads[p->count], NULL, worker_main, p);
		if (!err)
			p->count++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return p->count > 0 ? 0 : err;
}

static haul_status threads_open(struct engine *e, struct haul_fault *fault)
{
	struct thread_pool *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "disk engine threads");
	p->engine = e;
	list_init(&p->todo);
	list_init(&p->finished);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	err = pool_start(p, e->depth < THREADS_MAX ? e->depth : THREADS_MAX);
	if (err) {
		pool_stop(p);
		return haul_fault_errno(fault, err, "start the disk engine's threads");
	}
	e->backend = p;
	return HAUL_OK;
}

static void threads_close(struct engine *e)
{
	pool_stop(e->backend);
}

static void threads_submit(struct engine *e)
{
	struct thread_pool *p = e->backend;
	bool is_single = e->queued.next == e->queued.prev;

	pthread_mutex_lock(&p->lock);
	list_splice_back(&p->todo, &e->queued);
	if (is_single)
		pthread_cond_signal(&p->work);
	else
		pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
}

static void threads_reap(struct engine *e)
{
	struct thread_pool *p = e->backend;

	engine_event_clear(e);
	pthread_mutex_lock(&p->lock);
	list_splice_back(&e->finished, &p->finished);
	pthread_mutex_unlock(&p->lock);
}

const struct engine_ops thread_backend = {
	.open = threads_open,
	.submit = threads_submit,
	.reap = threads_reap,
	.close = threads_close,
};
