/*
 * A lane's place at both ends: the moves one by one, then every order in which lanes can begin, be succeeded and end at
 * either end while LANE_LOST and connections are on their way. In all of them both ends agree, and no lane begins while
 * something of the one before it is in work at the other end.
 */
#include "peer-protocol/lane_slot.h"

#include "cmocka_first.h"

#include <string.h>

enum { EPOCHS_MAX = 5, MAIL_MAX = 4, SEEN_MAX = 200000 };

/* Zero all through, padding too: it is compared as bytes. */
struct world {
	struct lane_slot client, server;
	uint8_t to_server[MAIL_MAX], to_client[MAIL_MAX]; /* epochs of LANE_LOST on their way, in order */
	uint8_t to_server_count, to_client_count;
	uint8_t hellos;    /* bit n: a connection with epoch n is on its way, in no order */
	uint8_t last_used; /* client: epoch of its last connection */
};

static struct world seen[SEEN_MAX];
static size_t seen_count;

static bool is_new(const struct world *w)
{
	for (size_t i = 0; i < seen_count; i++) {
		if (!memcmp(&seen[i], w, sizeof(*w)))
			return false;
	}
	assert_true(seen_count < SEEN_MAX);
	memcpy(&seen[seen_count++], w, sizeof(*w));
	return true;
}

static void post(uint8_t *mails, uint8_t *count, uint32_t epoch)
{
	assert_true(*count < MAIL_MAX);
	mails[(*count)++] = (uint8_t)epoch;
}

static uint8_t take(uint8_t *mails, uint8_t *count)
{
	uint8_t epoch = mails[0];

	memmove(mails, mails + 1, MAIL_MAX - 1);
	mails[MAIL_MAX - 1] = 0;
	(*count)--;
	return epoch;
}

static bool is_in_work(const struct lane_slot *s)
{
	return s->state == LANE_SLOT_TAKEN || s->state == LANE_SLOT_ENDING;
}

/* Each of these makes one move, if it can be made now. */

static bool client_begins(struct world *w)
{
	uint32_t epoch;

	if (w->client.state != LANE_SLOT_VACANT || w->client.next_epoch >= EPOCHS_MAX)
		return false;
	assert_false(is_in_work(&w->server));
	assert_ok(lane_slot_begin(&w->client, &epoch));
	w->hellos |= (uint8_t)(1u << epoch);
	w->last_used = (uint8_t)epoch;
	return true;
}

static bool client_is_succeeded(struct world *w)
{
	if (w->client.state != LANE_SLOT_TAKEN || w->last_used + 1 >= EPOCHS_MAX)
		return false;
	w->last_used++;
	w->hellos |= (uint8_t)(1u << w->last_used);
	return true;
}

static bool client_ends(struct world *w)
{
	uint32_t epoch;

	if (!is_in_work(&w->client))
		return false;
	if (lane_slot_ended(&w->client, w->last_used, &epoch))
		assert_false(is_in_work(&w->server));
	post(w->to_server, &w->to_server_count, epoch);
	return true;
}

static bool server_ends(struct world *w)
{
	uint32_t epoch;

	if (!is_in_work(&w->server))
		return false;
	if (lane_slot_ended(&w->server, 0, &epoch))
		assert_false(is_in_work(&w->client));
	post(w->to_client, &w->to_client_count, epoch);
	return true;
}

static bool server_hears(struct world *w)
{
	enum lane_slot_action action;
	uint32_t epoch;

	if (!w->to_server_count)
		return false;
	epoch = take(w->to_server, &w->to_server_count);
	assert_ok(lane_slot_heard(&w->server, epoch, &action, &epoch));
	if (action == LANE_SLOT_SAY_TOO)
		post(w->to_client, &w->to_client_count, epoch);
	return true;
}

static bool client_hears(struct world *w)
{
	enum lane_slot_action action;
	uint32_t epoch;

	if (!w->to_client_count)
		return false;
	epoch = take(w->to_client, &w->to_client_count);
	assert_ok(lane_slot_heard(&w->client, epoch, &action, &epoch));
	assert_int_not_equal(action, LANE_SLOT_SAY_TOO);
	return true;
}

/* It joins, or is refused, or is lost. */
static bool connection_arrives(struct world *w, unsigned epoch, bool is_lost)
{
	if (!(w->hellos & 1u << epoch))
		return false;
	w->hellos &= (uint8_t) ~(1u << epoch);
	if (!is_lost && lane_slot_claim(&w->server, epoch))
		assert_true(epoch <= w->last_used);
	return true;
}

static bool move(struct world *w, unsigned n)
{
	static bool (*const moves[])(struct world *) = { client_begins, client_is_succeeded, client_ends,
							 server_ends,   server_hears,        client_hears };
	const unsigned plain = sizeof(moves) / sizeof(moves[0]);

	return n < plain ? moves[n](w) : connection_arrives(w, (n - plain) / 2, (n - plain) & 1);
}

/* Nothing is on its way, and nobody waits for the other for ever. */
static void check_rest(const struct world *w)
{
	if (w->to_server_count || w->to_client_count || w->hellos)
		return;
	assert_false(w->client.state == LANE_SLOT_LOST && !is_in_work(&w->server));
	assert_false(w->server.state == LANE_SLOT_LOST && !is_in_work(&w->client));
	assert_true(w->server.next_epoch <= w->last_used + 1u);
}

static void walk(const struct world *w, unsigned *vacant_again)
{
	check_rest(w);
	*vacant_again += w->client.state == LANE_SLOT_VACANT && w->client.next_epoch > 1;
	for (unsigned n = 0; n < 6 + 2 * EPOCHS_MAX; n++) {
		struct world next;

		memcpy(&next, w, sizeof(next));
		if (move(&next, n) && is_new(&next))
			walk(&next, vacant_again);
	}
}

static void both_ends_agree_in_every_order(void **state)
{
	static struct world w;
	unsigned vacant_again = 0;

	(void)state;
	w.client.is_client = true;
	seen_count = 0;
	walk(&w, &vacant_again);
	print_message("%zu states\n", seen_count);
	assert_true(vacant_again > 100);
}

static void a_peer_that_says_too_much_is_refused(void **state)
{
	struct lane_slot client = { .is_client = true }, server = { .is_client = false };
	enum lane_slot_action action;
	uint32_t epoch;

	(void)state;
	assert_code(lane_slot_heard(&client, 0, &action, &epoch), HAUL_BAD_MOVE); /* there is no lane */
	assert_ok(lane_slot_begin(&client, &epoch));
	assert_ok(lane_slot_heard(&client, 0, &action, &epoch));
	assert_int_equal(action, LANE_SLOT_END_IT);
	assert_code(lane_slot_heard(&client, 0, &action, &epoch), HAUL_BAD_MOVE); /* again */
	assert_true(lane_slot_ended(&client, 0, &epoch));
	assert_code(lane_slot_heard(&client, 0, &action, &epoch), HAUL_BAD_MOVE);

	assert_false(lane_slot_claim(&server, 1)); /* not the next */
	assert_true(lane_slot_claim(&server, 0));
	assert_true(lane_slot_claim(&server, 1));
	assert_code(lane_slot_heard(&server, 0, &action, &epoch), HAUL_BAD_VALUE); /* it has made one more itself */
	assert_code(lane_slot_heard(&server, UINT32_MAX, &action, &epoch), HAUL_BAD_VALUE);
	assert_ok(lane_slot_heard(&server, 1, &action, &epoch));
	assert_false(lane_slot_claim(&server, 2)); /* its end is not over */
	assert_code(lane_slot_heard(&server, 1, &action, &epoch), HAUL_BAD_MOVE);
}

static void the_last_epoch_is_never_used(void **state)
{
	struct lane_slot client = { .is_client = true, .next_epoch = UINT32_MAX },
			 server = { .next_epoch = UINT32_MAX };
	uint32_t epoch;

	(void)state;
	assert_code(lane_slot_begin(&client, &epoch), HAUL_OVERFLOW);
	assert_false(lane_slot_claim(&server, UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_agree_in_every_order),
		cmocka_unit_test(a_peer_that_says_too_much_is_refused),
		cmocka_unit_test(the_last_epoch_is_never_used),
	};

	return cmocka_run_group_tests_name("lane_slot", tests, NULL, NULL);
}
