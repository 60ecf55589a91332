/*
 * What the main loop tells a lane: mails, posted from any thread and delivered on the lane's.
 *
 * A mail that is delivered may lead to work that looks into the inbox first (lane_take_mail), since a block is taken
 * only behind its grant. So what has been taken out of the inbox stays on one list until it is delivered, and nothing
 * that came later overtakes it. Without memory for a mail the caller is told, or the lane stops.
 */
#include "agent/lane_parts.h"

#include <stdlib.h>
#include <string.h>

static void on_mail(void *ctx, struct list *mails)
{
	struct lane *l = ctx;

	list_splice_back(&l->mails, mails);
	mail_deliver_all(l, &l->mails);
}

void lane_take_mail(struct lane *l)
{
	mailbox_wait(&l->inbox, &l->mails, false);
	mail_deliver_all(l, &l->mails);
}

static void deliver_wake(struct mail *m, void *ctx)
{
	struct lane *l = ctx;

	(void)m;
	atomic_store(&l->wake_posted, false);
	if (l->phase != LANE_RUNNING)
		return;
	send_fill(l);
	send_pump(l);
}

void lane_wake(struct lane *l)
{
	if (!atomic_exchange(&l->wake_posted, true))
		mail_post(&l->inbox, &l->wake);
}

static void deliver_stop(struct mail *m, void *ctx)
{
	(void)m;
	lane_fail(ctx, HAUL_CANCELLED, NULL);
}

void lane_stop(struct lane *l)
{
	if (!atomic_exchange(&l->stop_posted, true))
		mail_post(&l->inbox, &l->stop);
}

static void deliver_lose(struct mail *m, void *ctx)
{
	struct haul_fault fault = { 0 };
	struct lane *l = ctx;

	(void)m;
	lane_fail(l, haul_fault_set(&fault, HAUL_LOST, "%s", l->lose_why), &fault);
}

void lane_lose(struct lane *l, const char *why)
{
	if (l->lose_why)
		return;
	l->lose_why = why;
	mail_post(&l->inbox, &l->lose);
}

static void deliver_finish(struct mail *m, void *ctx)
{
	struct lane *l = ctx;

	(void)m;
	/* A lane that is still joining joins first: the peer may have it already, and waits for its END. */
	l->is_finish_asked = true;
	lane_finish_if_asked(l);
}

void lane_finish(struct lane *l)
{
	if (++l->finishes_asked == l->owners)
		mail_post(&l->inbox, &l->finish);
}

struct grant_mail {
	struct mail mail;
	uint64_t granted_end;
	size_t count;
	struct grant *grants[];
};

static void deliver_grants(struct mail *m, void *ctx)
{
	struct grant_mail *gm = list_item(m, struct grant_mail, mail);
	struct lane *l = ctx;
	haul_status st = recv_add_grants(l, gm->grants, gm->count);

	if (gm->granted_end > l->granted_end)
		l->granted_end = gm->granted_end;
	free(gm);
	if (haul_failed(st))
		lane_fail(l, st, NULL);
}

static void deliver_release(struct mail *m, void *ctx)
{
	struct grant_mail *gm = list_item(m, struct grant_mail, mail);

	recv_release(ctx, gm->grants, gm->count);
	free(gm);
}

static haul_status post_grants(struct lane *l, struct grant *const *grants, size_t count, uint64_t granted_end,
			       void (*deliver)(struct mail *, void *))
{
	struct grant_mail *gm = calloc(1, sizeof(*gm) + count * sizeof(gm->grants[0]));

	if (!gm)
		return HAUL_NO_MEMORY;
	gm->mail.deliver = deliver;
	gm->granted_end = granted_end;
	gm->count = count;
	if (count)
		memcpy(gm->grants, grants, count * sizeof(gm->grants[0]));
	mail_post(&l->inbox, &gm->mail);
	return HAUL_OK;
}

haul_status lane_grant(struct lane *l, struct grant *const *grants, size_t count, uint64_t granted_end)
{
	return post_grants(l, grants, count, granted_end, deliver_grants);
}

haul_status lane_release(struct lane *l, struct grant *const *grants, size_t count)
{
	return post_grants(l, grants, count, 0, deliver_release);
}

struct attach_mail {
	struct mail mail;
	struct channel_parts *parts;
};

static void attach(struct lane *l, struct channel_parts *parts)
{
	haul_status st;

	if (lane_is_over(l)) {
		channel_parts_free(parts);
		return;
	}
	st = wire_attach(l, parts);
	if (haul_failed(st))
		lane_fail(l, st, NULL);
}

static void deliver_attach(struct mail *m, void *ctx)
{
	struct attach_mail *am = list_item(m, struct attach_mail, mail);
	struct channel_parts *parts = am->parts;

	free(am);
	attach(ctx, parts);
}

void lane_attach(struct lane *l, struct channel_parts *parts)
{
	struct attach_mail *am = calloc(1, sizeof(*am));

	if (!am) {
		channel_parts_free(parts);
		lane_stop(l);
		return;
	}
	am->mail.deliver = deliver_attach;
	am->parts = parts;
	mail_post(&l->inbox, &am->mail);
}

static void deliver_connect(struct mail *m, void *ctx)
{
	struct lane *l = ctx;
	struct haul_fault fault = { 0 };
	haul_status st;

	(void)m;
	if (lane_is_over(l))
		return;
	st = wire_connect(l, l->epoch, &fault);
	if (haul_failed(st))
		lane_fail(l, st, &fault);
}

void lane_connect(struct lane *l)
{
	mail_post(&l->inbox, &l->connect);
}

haul_status lane_mail_open(struct lane *l)
{
	list_init(&l->mails);
	l->connect.deliver = deliver_connect;
	l->wake.deliver = deliver_wake;
	l->stop.deliver = deliver_stop;
	l->lose.deliver = deliver_lose;
	l->finish.deliver = deliver_finish;
	return mailbox_open(&l->inbox, &l->loop, on_mail, l);
}
