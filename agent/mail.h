/*
 * What travels through mailboxes between the threads of a job: an object with its own handler, run by the receiver.
 *
 * A worker is a plain thread that runs the mails posted to it one after another, for calls that block (stat, mkdir,
 * rename, fsync). Whoever wants an answer posts another mail back. What goes to a worker leaves together at the end of
 * a turn of the poster's loop, and so do its answers: nobody is woken for each of thousands of small files.
 */
#ifndef HAUL_AGENT_MAIL_H
#define HAUL_AGENT_MAIL_H

#include "agent/mailbox.h"
#include "engine/base/fault.h"

struct mail {
	struct list link;
	void (*deliver)(struct mail *m, void *ctx); /* takes the mail; ctx is the receiver's */
};

/* Post; the mail is taken. Any thread. */
static inline void mail_post(struct mailbox *box, struct mail *m)
{
	mailbox_post(box, &m->link);
}

/* Deliver every mail of a list, in order; the list is empty afterwards. Also an on_mail for mailbox_open(). */
void mail_deliver_all(void *ctx, struct list *mails);

enum { WORKER_ANSWERS_MAX = 64 };

struct worker {
	struct mailbox inbox;
	pthread_t thread;
	void *ctx;
	bool (*on_idle)(void *ctx); /* the inbox has run empty; true: look again before you wait. NULL is fine */
	struct list outbox;         /* the poster's: worker_post() */
	bool is_stopping;           /* the thread's own, like the next three */
	struct mailbox *answers_to; /* of `answers` */
	struct list answers;
	unsigned answer_count;
	struct mail stop;
};

/* Start the thread. `name` shows in ps (15 characters). Closed with worker_stop(). */
HAUL_MUST_USE haul_status worker_start(struct worker *w, const char *name, bool (*on_idle)(void *ctx), void *ctx,
				       struct haul_fault *fault);

/*
 * Post a mail (taken) with the next worker_send() or worker_stop(), in order. Both from one thread, the one that stops.
 */
static inline void worker_post(struct worker *w, struct mail *m)
{
	list_push_back(&w->outbox, &m->link);
}

/* Everything posted so far goes to the worker, with one waking. */
void worker_send(struct worker *w);

/*
 * From the worker's thread: post an answer. It leaves with what else is answered while the worker goes through its
 * inbox, WORKER_ANSWERS_MAX at the latest; when the worker has nothing to do, all have left.
 */
void worker_answer(struct worker *w, struct mailbox *to, struct mail *m);

/* After what was posted: end the thread and wait for it. */
void worker_stop(struct worker *w);

#endif
