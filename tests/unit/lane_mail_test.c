/* A lane's mails are delivered in the order of their posting, whatever delivering one of them makes the lane look into.
 */
#include "agent/lane_parts.h"

#include "cmocka_first.h"

#include <string.h>

struct letter {
	struct mail mail;
	char name;
	struct letter *answer; /* posted while this one is delivered; then the inbox is looked into */
};

static struct lane lane;
static char order[8];
static size_t delivered;

static void on_letter(struct mail *m, void *ctx)
{
	struct letter *letter = list_item(m, struct letter, mail);
	struct letter *answer = letter->answer;

	assert_ptr_equal(ctx, &lane);
	order[delivered++] = letter->name;
	if (!answer)
		return;
	mail_post(&lane.inbox, &answer->mail);
	lane_take_mail(&lane);
}

static int open_lane(void **state)
{
	(void)state;
	lane = (struct lane){ .phase = LANE_JOINING };
	memset(order, 0, sizeof(order));
	delivered = 0;
	assert_int_equal(uv_loop_init(&lane.loop), 0);
	assert_int_equal(lane_mail_open(&lane).code, HAUL_CODE_OK);
	return 0;
}

static int close_lane(void **state)
{
	(void)state;
	mailbox_close(&lane.inbox, NULL);
	assert_int_equal(uv_run(&lane.loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&lane.loop), 0);
	return 0;
}

/* The wake that leads to work, the grant behind it, and the release that is posted while the wake is delivered. */
static void post_three(struct letter letters[3])
{
	letters[0] = (struct letter){ { .deliver = on_letter }, 'a', &letters[2] };
	letters[1] = (struct letter){ { .deliver = on_letter }, 'b', NULL };
	letters[2] = (struct letter){ { .deliver = on_letter }, 'c', NULL };
	mail_post(&lane.inbox, &letters[0].mail);
	mail_post(&lane.inbox, &letters[1].mail);
}

static void what_comes_later_does_not_overtake_when_the_loop_delivers(void **state)
{
	struct letter letters[3];

	(void)state;
	post_three(letters);
	(void)uv_run(&lane.loop, UV_RUN_NOWAIT);
	assert_string_equal(order, "abc");
}

static void nor_when_the_lane_looks_by_itself(void **state)
{
	struct letter letters[3];

	(void)state;
	post_three(letters);
	lane_take_mail(&lane);
	assert_string_equal(order, "abc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_comes_later_does_not_overtake_when_the_loop_delivers, open_lane,
						close_lane),
		cmocka_unit_test_setup_teardown(nor_when_the_lane_looks_by_itself, open_lane, close_lane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
