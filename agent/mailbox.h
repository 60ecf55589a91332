/*
 * Messages between threads: whole ownership moves with a post.
 *
 * The receiver is a libuv loop (woken by uv_async, only when its box was empty) or a plain thread (waits on a
 * condition). Posting never blocks beyond the lock and never allocates: the link is a field of the message. Bounds are
 * kept by whoever grants the right to post. The list is spliced under the lock and handled outside it.
 */
#ifndef HAUL_AGENT_MAILBOX_H
#define HAUL_AGENT_MAILBOX_H

#include "engine/base/list.h"
#include "engine/base/status.h"

#include <pthread.h>
#include <uv.h>

struct mailbox {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct list queue;
	bool has_loop;
	uv_async_t wake;
	void (*on_mail)(void *ctx, struct list *mails); /* takes every item off the list */
	void *ctx;
	void (*on_closed)(void *ctx);
};

/* For a loop; `on_mail` runs on it. Thread: the loop's. */
HAUL_MUST_USE haul_status mailbox_open(struct mailbox *m, uv_loop_t *loop,
				       void (*on_mail)(void *ctx, struct list *mails), void *ctx);

/* For a plain thread, which calls mailbox_wait(). */
HAUL_MUST_USE haul_status mailbox_open_plain(struct mailbox *m);

/* `item` is taken. Any thread. */
void mailbox_post(struct mailbox *m, struct list *item);

/* Post every item of a list, in order, with at most one waking; the list is empty afterwards. Any thread. */
void mailbox_post_all(struct mailbox *m, struct list *items);

/* Move everything that is there to `ret_items`; with `wait` (plain boxes only) waits while there is nothing. Receiver's
 * thread. */
void mailbox_wait(struct mailbox *m, struct list *ret_items, bool wait);

/* Loop: closes the handle, then calls on_closed (may be NULL). Items still queued are left to the caller: asserted
 * empty. */
void mailbox_close(struct mailbox *m, void (*on_closed)(void *ctx));
void mailbox_close_plain(struct mailbox *m);

#endif
