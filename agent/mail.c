/* Workers run their mails in order; the stop is a mail too, so everything posted before it has been run. */
#include "agent/mail.h"

#include <assert.h>

void mail_deliver_all(void *ctx, struct list *mails)
{
	struct list *item;

	while ((item = list_pop_front(mails))) {
		struct mail *m = list_item(item, struct mail, link);

		m->deliver(m, ctx);
	}
}

void worker_send(struct worker *w)
{
	mailbox_post_all(&w->inbox, &w->outbox);
}

static void send_answers(struct worker *w)
{
	if (w->answer_count)
		mailbox_post_all(w->answers_to, &w->answers);
	w->answer_count = 0;
}

void worker_answer(struct worker *w, struct mailbox *to, struct mail *m)
{
	if (w->answers_to != to)
		send_answers(w);
	w->answers_to = to;
	list_push_back(&w->answers, &m->link);
	if (++w->answer_count >= WORKER_ANSWERS_MAX)
		send_answers(w);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct list mails;

	list_init(&mails);
	while (!w->is_stopping) {
		mailbox_wait(&w->inbox, &mails, false);
		if (list_is_empty(&mails)) {
			if (w->on_idle && w->on_idle(w->ctx))
				continue;
			send_answers(w);
			mailbox_wait(&w->inbox, &mails, true);
		}
		mail_deliver_all(w->ctx, &mails);
		send_answers(w);
	}
	return NULL;
}

static void deliver_stop(struct mail *m, void *ctx)
{
	(void)ctx;
	list_item(m, struct worker, stop)->is_stopping = true;
}

haul_status worker_start(struct worker *w, const char *name, bool (*on_idle)(void *ctx), void *ctx,
			 struct haul_fault *fault)
{
	haul_status st;
	int err;

	*w = (struct worker){ .ctx = ctx, .on_idle = on_idle };
	list_init(&w->answers);
	list_init(&w->outbox);
	st = mailbox_open_plain(&w->inbox);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "cannot make a mailbox");
	err = pthread_create(&w->thread, NULL, worker_main, w);
	if (err) {
		mailbox_close_plain(&w->inbox);
		return haul_fault_errno(fault, err, "cannot start thread %s", name);
	}
	(void)pthread_setname_np(w->thread, name);
	return HAUL_OK;
}

void worker_stop(struct worker *w)
{
	w->stop = (struct mail){ .deliver = deliver_stop };
	worker_post(w, &w->stop);
	worker_send(w);
	(void)pthread_join(w->thread, NULL);
	mailbox_close_plain(&w->inbox);
}
