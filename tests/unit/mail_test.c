/* A worker runs its mails in order, tells when it has nothing to do, and ends behind what was posted. */
#include "agent/mail.h"

#include "cmocka_first.h"

enum { MAILS = 5000, POSTERS = 4 };

struct note {
	struct mail mail;
	unsigned poster, number;
};

struct desk {
	struct worker worker;
	unsigned next[POSTERS], idles, delivered;
};

static void on_note(struct mail *m, void *ctx)
{
	struct note *n = list_item(m, struct note, mail);
	struct desk *d = ctx;

	assert_int_equal(n->number, d->next[n->poster]);
	d->next[n->poster]++;
	d->delivered++;
}

static bool on_idle(void *ctx)
{
	((struct desk *)ctx)->idles++;
	return false;
}

static struct note notes[POSTERS][MAILS];
static struct desk desk;

static void *post_all(void *arg)
{
	unsigned poster = *(unsigned *)arg;

	for (unsigned i = 0; i < MAILS; i++) {
		notes[poster][i] = (struct note){ .mail.deliver = on_note, .poster = poster, .number = i };
		mail_post(&desk.worker.inbox, &notes[poster][i].mail);
	}
	return NULL;
}

static void every_mail_in_the_order_of_its_poster(void **state)
{
	pthread_t threads[POSTERS];
	unsigned numbers[POSTERS];

	(void)state;
	desk = (struct desk){ 0 };
	assert_int_equal(worker_start(&desk.worker, "test", on_idle, &desk, NULL).code, HAUL_CODE_OK);
	for (unsigned i = 0; i < POSTERS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, post_all, &numbers[i]), 0);
	}
	for (unsigned i = 0; i < POSTERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	worker_stop(&desk.worker);
	assert_int_equal(desk.delivered, POSTERS * MAILS);
}

static void it_stops_with_nothing_to_do(void **state)
{
	(void)state;
	desk = (struct desk){ 0 };
	assert_int_equal(worker_start(&desk.worker, "test", NULL, &desk, NULL).code, HAUL_CODE_OK);
	worker_stop(&desk.worker);
	assert_int_equal(desk.delivered, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mail_in_the_order_of_its_poster),
		cmocka_unit_test(it_stops_with_nothing_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
