/*
 * The lock covers the list and the signal alike: a receiver that has taken the last item may close the box at once, so
 * a poster must not touch it after the lock is free.
 */
#include "agent/mailbox.h"

#include <assert.h>

static haul_status mailbox_start(struct mailbox *m)
{
	*m = (struct mailbox){ .has_loop = false };
	list_init(&m->queue);
	if (pthread_mutex_init(&m->lock, NULL))
		return HAUL_NO_MEMORY;
	if (pthread_cond_init(&m->filled, NULL)) {
		pthread_mutex_destroy(&m->lock);
		return HAUL_NO_MEMORY;
	}
	return HAUL_OK;
}

static void mailbox_stop(struct mailbox *m)
{
	/* A poster may still be between waking us and giving the lock back. */
	pthread_mutex_lock(&m->lock);
	assert(list_is_empty(&m->queue));
	pthread_mutex_unlock(&m->lock);
	pthread_cond_destroy(&m->filled);
	pthread_mutex_destroy(&m->lock);
}

static void on_wake(uv_async_t *wake)
{
	struct mailbox *m = wake->data;
	struct list mails;

	list_init(&mails);
	pthread_mutex_lock(&m->lock);
	list_splice_back(&mails, &m->queue);
	pthread_mutex_unlock(&m->lock);
	if (list_is_empty(&mails))
		return;
	m->on_mail(m->ctx, &mails);
	assert(list_is_empty(&mails));
}

haul_status mailbox_open(struct mailbox *m, uv_loop_t *loop, void (*on_mail)(void *ctx, struct list *mails), void *ctx)
{
	haul_status st = mailbox_start(m);
	int err;

	if (haul_failed(st))
		return st;
	err = uv_async_init(loop, &m->wake, on_wake);
	if (err) {
		mailbox_stop(m);
		return haul_status_from_errno(-err);
	}
	m->has_loop = true;
	m->wake.data = m;
	m->on_mail = on_mail;
	m->ctx = ctx;
	return HAUL_OK;
}

haul_status mailbox_open_plain(struct mailbox *m)
{
	return mailbox_start(m);
}

void mailbox_post(struct mailbox *m, struct list *item)
{
	struct list one;

	list_init(&one);
	list_push_back(&one, item);
	mailbox_post_all(m, &one);
}

void mailbox_post_all(struct mailbox *m, struct list *items)
{
	bool was_empty;

	if (list_is_empty(items))
		return;
	pthread_mutex_lock(&m->lock);
	was_empty = list_is_empty(&m->queue);
	list_splice_back(&m->queue, items);
	if (was_empty && m->has_loop)
		(void)uv_async_send(&m->wake);
	else if (was_empty)
		pthread_cond_signal(&m->filled);
	pthread_mutex_unlock(&m->lock);
}

void mailbox_wait(struct mailbox *m, struct list *ret_items, bool wait)
{
	assert(!m->has_loop || !wait);
	pthread_mutex_lock(&m->lock);
	while (wait && list_is_empty(&m->queue))
		pthread_cond_wait(&m->filled, &m->lock);
	list_splice_back(ret_items, &m->queue);
	pthread_mutex_unlock(&m->lock);
}

static void on_wake_closed(uv_handle_t *handle)
{
	struct mailbox *m = handle->data;
	void (*on_closed)(void *ctx) = m->on_closed;
	void *ctx = m->ctx;

	mailbox_stop(m);
	if (on_closed)
		on_closed(ctx);
}

void mailbox_close(struct mailbox *m, void (*on_closed)(void *ctx))
{
	assert(m->has_loop);
	m->on_closed = on_closed;
	uv_close((uv_handle_t *)&m->wake, on_wake_closed);
}

void mailbox_close_plain(struct mailbox *m)
{
	assert(!m->has_loop);
	mailbox_stop(m);
}
