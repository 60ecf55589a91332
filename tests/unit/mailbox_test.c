/* Mail arrives whole, in each poster's order, at a loop and at a plain thread, also while it is being read. */
#include "agent/mailbox.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { POSTERS = 3, MAILS = 20000 };

struct mail {
	struct list link;
	unsigned poster, number;
};

struct poster {
	struct mailbox *box;
	unsigned id;
	struct mail *mails;
	pthread_t thread;
};

struct reader {
	struct mailbox box;
	unsigned next[POSTERS];
	unsigned seen, closed;
};

static void *post_all(void *arg)
{
	struct poster *p = arg;

	for (unsigned i = 0; i < MAILS; i++) {
		p->mails[i] = (struct mail){ .poster = p->id, .number = i };
		mailbox_post(p->box, &p->mails[i].link);
	}
	return NULL;
}

static void posters_start(struct poster *posters, struct mailbox *box)
{
	for (unsigned i = 0; i < POSTERS; i++) {
		posters[i] = (struct poster){ .box = box, .id = i, .mails = calloc(MAILS, sizeof(struct mail)) };
		assert_non_null(posters[i].mails);
		assert_int_equal(pthread_create(&posters[i].thread, NULL, post_all, &posters[i]), 0);
	}
}

static void posters_stop(struct poster *posters)
{
	for (unsigned i = 0; i < POSTERS; i++) {
		assert_int_equal(pthread_join(posters[i].thread, NULL), 0);
		free(posters[i].mails);
	}
}

static void read_all(struct reader *r, struct list *mails)
{
	struct list *link;

	while ((link = list_pop_front(mails))) {
		struct mail *m = list_item(link, struct mail, link);

		assert_int_equal(m->number, r->next[m->poster]++);
		r->seen++;
	}
}

static void on_closed(void *ctx)
{
	((struct reader *)ctx)->closed++;
}

static void on_mail(void *ctx, struct list *mails)
{
	struct reader *r = ctx;

	assert_false(list_is_empty(mails));
	read_all(r, mails);
	if (r->seen == POSTERS * MAILS)
		mailbox_close(&r->box, on_closed);
}

static void a_loop_gets_every_mail_in_order(void **state)
{
	struct poster posters[POSTERS];
	struct reader r = { .seen = 0 };
	uv_loop_t loop;

	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_true(haul_ok(mailbox_open(&r.box, &loop, on_mail, &r)));
	posters_start(posters, &r.box);
	uv_run(&loop, UV_RUN_DEFAULT);
	posters_stop(posters);
	assert_int_equal(r.seen, POSTERS * MAILS);
	assert_int_equal(r.closed, 1);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void a_plain_thread_gets_every_mail_in_order(void **state)
{
	struct poster posters[POSTERS];
	struct reader r = { .seen = 0 };
	struct list mails;

	(void)state;
	list_init(&mails);
	assert_true(haul_ok(mailbox_open_plain(&r.box)));
	posters_start(posters, &r.box);
	while (r.seen < POSTERS * MAILS) {
		mailbox_wait(&r.box, &mails, true);
		assert_false(list_is_empty(&mails));
		read_all(&r, &mails);
	}
	posters_stop(posters);
	mailbox_close_plain(&r.box);
}

static void looking_does_not_wait(void **state)
{
	struct mail m = { .number = 0 };
	struct mailbox box;
	struct list mails;

	(void)state;
	list_init(&mails);
	assert_true(haul_ok(mailbox_open_plain(&box)));
	mailbox_wait(&box, &mails, false);
	assert_true(list_is_empty(&mails));
	mailbox_post(&box, &m.link);
	mailbox_wait(&box, &mails, false);
	assert_ptr_equal(list_pop_front(&mails), &m.link);
	mailbox_close_plain(&box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_gets_every_mail_in_order),
		cmocka_unit_test(a_plain_thread_gets_every_mail_in_order),
		cmocka_unit_test(looking_does_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
