/*
 * Counts the lanes in and out, so that a job hears a few things only: all are there, one failed, one is lost, its place
 * is vacant, all are gone.
 */
#include "agent/lane_set.h"

#include "agent/lanes_ahead.h"

#include <assert.h>
#include <string.h>

enum { RELEASES_AT_ONCE = 256 };

/* Whether the fault speaks of a connection, or of the peer's want of room for it, and of nothing else. */
static bool is_loss(haul_status st)
{
	return st.code == HAUL_CODE_LOST || st.code == HAUL_CODE_TIMED_OUT || st.code == HAUL_CODE_REFUSED ||
	       st.code == HAUL_CODE_NO_ROUTE || st.code == HAUL_CODE_BUSY;
}

/* One that was added, or is another's successor, owes nothing before it has joined, whatever keeps it from that. */
static bool is_only_lost(const struct lane_set *s, unsigned number, bool had_joined, haul_status st)
{
	enum lane_slot_state state = s->slots[number].state;

	if (state != LANE_SLOT_TAKEN && state != LANE_SLOT_ENDING)
		return false; /* it has no connection: both ends are here */
	return had_joined ? is_loss(st) : number >= s->count || s->has_come[number];
}

static void fail_lost(struct lane_set *s, const char *what, const struct haul_fault *why)
{
	struct haul_fault fault;

	s->on_failed(s->owner, haul_fault_set(&fault, HAUL_LOST, "%s: %s", what, why->text), &fault);
}

/* Each time that we say it counts, whoever was the first. */
static void say_lost(struct lane_set *s, unsigned number, uint32_t epoch, const struct haul_fault *why)
{
	if (!loss_allowance_take(&s->allowance, uv_hrtime()))
		fail_lost(s, "lanes are lost again and again", why);
	else
		s->on_say_lost(s->owner, number, epoch);
}

static void lane_lost(struct lane_set *s, unsigned number, bool had_joined, const struct lane_report *r)
{
	const struct lane_loss loss = { number, had_joined, r->status, &r->fault };
	uint32_t epoch;
	bool is_vacant = lane_slot_ended(&s->slots[number], r->epoch, &epoch);

	s->lost += had_joined;
	s->joined -= had_joined;
	s->on_lost(s->owner, &loss);
	say_lost(s, number, epoch, &r->fault);
	if (s->is_stopping)
		return;
	if (s->job.is_client && s->ended == s->started && (!s->renews || !had_joined))
		fail_lost(s, "no lane is left", &r->fault);
	else if (is_vacant)
		s->on_vacant(s->owner, number);
}

static void lane_ended(struct lane_set *s, struct lane_report *r)
{
	struct lane *l = r->lane;
	unsigned number = lane_number(l);
	bool had_joined = s->has_joined[number];

	lane_times_add(&s->times, &r->times);
	s->lanes[number] = NULL;
	s->has_joined[number] = false;
	s->ended++;
	lane_free(l);
	if (haul_failed(r->status) && !s->is_stopping && is_only_lost(s, number, had_joined, r->status))
		lane_lost(s, number, had_joined, r);
	else if (haul_failed(r->status) && !s->is_stopping)
		s->on_failed(s->owner, r->status, &r->fault);
	else if (s->ended == s->started && s->is_stopping)
		s->on_ended(s->owner);
}

/* One that came later is not among those that the job waits for to begin. */
static void has_joined(struct lane_set *s, unsigned number)
{
	bool is_first = number < s->count && !s->has_come[number];

	s->has_joined[number] = s->has_come[number] = true;
	s->joined++;
	if (is_first && ++s->first_joined == s->count)
		s->on_joined(s->owner);
}

static void on_report(void *owner, struct lane_report *r)
{
	struct lane_set *s = owner;

	switch (r->type) {
	case LANE_JOINED:
		if (s->on_explain && s->joined == 0 && s->lost == 0)
			s->on_explain(s->owner, r->fault.text);
		has_joined(s, lane_number(r->lane));
		lane_report_free(r);
		return;
	case LANE_ENDED:
		lane_ended(s, r);
		lane_report_free(r);
		return;
	case LANE_SENT:
	case LANE_SENT_PACK:
	case LANE_FILE_FAILED:
	case LANE_WRITTEN:
	case LANE_WRITTEN_PACK:
	case LANE_COMPARED:
	case LANE_DIFFERS:
	case LANE_RELEASED:
		s->on_report(s->owner, r);
		return;
	}
}

void lane_set_open(struct lane_set *s)
{
	if (s->most < s->count)
		s->most = s->count;
	for (unsigned i = 0; i < LANES_MAX; i++)
		s->slots[i].is_client = s->job.is_client;
	s->job.on_report = on_report;
	s->job.owner = s;
}

static void has_started(struct lane_set *s, struct lane *l, unsigned number)
{
	s->lanes[number] = l;
	s->was_started[number] = true;
	s->started++;
}

/* A connection that was made ahead has joined, or has failed and the lane makes its own, which finds the reason. */
static void on_ahead(void *ctx, unsigned number, struct channel_parts *parts)
{
	struct lane_set *s = ctx;
	struct lane *l = s->lanes[number];

	if (!l)
		channel_parts_free(parts); /* it did not wait */
	else if (parts)
		lane_attach(l, parts);
	else
		lane_connect(l);
}

static bool connect_ahead(struct lane_set *s, unsigned number)
{
	struct msg_lane_hello hello = { .lane = number };

	memcpy(hello.session_id, s->job.session_id, sizeof(hello.session_id));
	return s->ahead && lanes_ahead_take(s->ahead, &hello, on_ahead, s);
}

/* parts: server, the joined connection, taken on success; client: NULL. */
static haul_status start(struct lane_set *s, unsigned number, struct channel_parts *parts, struct haul_fault *fault)
{
	struct lane *l;
	uint32_t epoch = s->slots[number].next_epoch; /* client: of its first connection */
	haul_status st = lane_start(&s->job, number, epoch, &l, fault);

	if (haul_failed(st))
		return st;
	if (s->job.is_client && haul_failed(lane_slot_begin(&s->slots[number], &epoch)))
		lane_stop(l); /* after 2^32 of them */
	has_started(s, l, number);
	st = s->on_started ? s->on_started(s->owner, l) : HAUL_OK;
	if (haul_failed(st)) {
		lane_stop(l);
		return haul_fault_set(fault, st, "no memory for a lane's grants");
	}
	if (parts)
		lane_attach(l, parts);
	else if (epoch || !connect_ahead(s, number))
		lane_connect(l);
	return HAUL_OK;
}

haul_status lane_set_start(struct lane_set *s, struct haul_fault *fault)
{
	for (unsigned i = 0; i < s->count; i++) {
		haul_status st = start(s, i, NULL, fault);

		if (haul_failed(st)) {
			lane_set_stop(s);
			return st;
		}
	}
	return HAUL_OK;
}

haul_status lane_set_start_copying(struct lane_set *from, struct lane_set *to, struct haul_fault *fault)
{
	assert(from->count == to->count);
	for (unsigned i = 0; i < from->count; i++) {
		struct lane *l;
		haul_status st = lane_start_copying(&from->job, &to->job, i, &l, fault);

		if (haul_failed(st)) {
			lane_set_stop(from);
			lane_set_stop(to);
			return st;
		}
		has_started(from, l, i);
		has_started(to, l, i);
	}
	return HAUL_OK;
}

haul_status lane_set_add(struct lane_set *s, struct haul_fault *fault)
{
	unsigned number = s->count;

	while (number < s->most && s->was_started[number])
		number++;
	if (number == s->most || s->is_stopping)
		return haul_fault_set(fault, HAUL_BUSY, "there are as many lanes as may be");
	return start(s, number, NULL, fault);
}

bool lane_set_is_vacant(const struct lane_set *s, unsigned number)
{
	return s->was_started[number] && !s->lanes[number] && s->slots[number].state == LANE_SLOT_VACANT &&
	       !s->is_stopping;
}

haul_status lane_set_renew(struct lane_set *s, unsigned number, struct haul_fault *fault)
{
	if (!lane_set_is_vacant(s, number))
		return haul_fault_set(fault, HAUL_BUSY, "the last loss of lane %u is not settled", number);
	return start(s, number, NULL, fault);
}

/* Its connection was on its way to us and is not ours yet: it is dropped when it comes (lane_set_attach). */
static void end_claimed(struct lane_set *s, unsigned number)
{
	const struct haul_fault why = { .text = "the peer says so" };
	uint32_t epoch;
	bool is_vacant = lane_slot_ended(&s->slots[number], 0, &epoch);

	say_lost(s, number, epoch, &why);
	if (is_vacant && !s->is_stopping)
		s->on_vacant(s->owner, number);
}

haul_status lane_set_heard_lost(struct lane_set *s, unsigned number, uint32_t epoch, struct haul_fault *fault)
{
	const struct haul_fault why = { .text = "the peer says so" };
	enum lane_slot_action action;
	haul_status st;

	if (s->is_stopping)
		return HAUL_OK; /* nothing is owed any more */
	if (number >= s->most)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "the peer has lost lane %u, which is none", number);
	st = lane_slot_heard(&s->slots[number], epoch, &action, &epoch);
	if (haul_failed(st))
		return haul_fault_set(fault, st, "the peer has lost lane %u, which it cannot", number);
	switch (action) {
	case LANE_SLOT_NOTHING:
		s->on_vacant(s->owner, number);
		break;
	case LANE_SLOT_SAY_TOO:
		say_lost(s, number, epoch, &why);
		break;
	case LANE_SLOT_END_IT:
		if (s->lanes[number])
			lane_lose(s->lanes[number], "the peer has lost its connection");
		else
			end_claimed(s, number);
		break;
	}
	return HAUL_OK;
}

void lane_set_lose(struct lane_set *s, unsigned number, const char *why)
{
	if (s->lanes[number])
		lane_lose(s->lanes[number], why);
}

unsigned lane_set_joining(const struct lane_set *s)
{
	unsigned count = 0;

	for (unsigned i = 0; i < s->most; i++)
		count += s->lanes[i] && !s->has_joined[i];
	return count;
}

bool lane_set_claim(struct lane_set *s, unsigned number, uint32_t epoch)
{
	bool is_vacant = number < s->most && s->slots[number].state == LANE_SLOT_VACANT;

	if (number >= s->most || (s->is_stopping && !s->lanes[number]) || !lane_slot_claim(&s->slots[number], epoch))
		return false;
	if (is_vacant)
		s->first_epoch[number] = epoch;
	return true;
}

haul_status lane_set_attach(struct lane_set *s, unsigned number, uint32_t epoch, struct channel_parts *parts,
			    struct haul_fault *fault)
{
	bool is_expected = s->slots[number].state == LANE_SLOT_TAKEN && epoch >= s->first_epoch[number];
	haul_status st;

	assert(number < s->most);
	if (s->lanes[number] && is_expected) {
		lane_attach(s->lanes[number], parts);
		return HAUL_OK;
	}
	if (s->is_stopping || !is_expected) {
		channel_parts_free(parts); /* nobody would stop it any more, or its lane has been lost meanwhile */
		return HAUL_OK;
	}
	st = start(s, number, parts, fault);
	if (haul_failed(st))
		channel_parts_free(parts);
	return st;
}

void lane_set_wake(struct lane_set *s)
{
	for (unsigned i = 0; i < s->most; i++) {
		if (s->lanes[i])
			lane_wake(s->lanes[i]);
	}
}

haul_status lane_set_grant(struct lane_set *s, struct grant *const *grants, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		grants[i]->holders = 0;
		if (grants[i]->entry >= s->granted_end)
			s->granted_end = grants[i]->entry + 1;
	}
	for (unsigned n = 0; n < s->most; n++) {
		haul_status st = s->lanes[n] ? lane_set_grant_to(s, s->lanes[n], grants, count) : HAUL_OK;

		if (haul_failed(st))
			return st;
	}
	return HAUL_OK;
}

haul_status lane_set_grant_to(struct lane_set *s, struct lane *l, struct grant *const *grants, size_t count)
{
	haul_status st = lane_grant(l, grants, count, s->granted_end);

	for (size_t i = 0; i < count && haul_ok(st); i++)
		grants[i]->holders |= 1u << lane_number(l);
	return st;
}

/* Of the grants that the lane holds, at most `cap`; *at is where to go on. */
static size_t held_by(unsigned number, struct grant *const *grants, size_t count, size_t *at, struct grant **ret_held,
		      size_t cap)
{
	size_t n = 0;

	for (; *at < count && n < cap; ++*at) {
		if (grants[*at]->holders & 1u << number)
			ret_held[n++] = grants[*at];
	}
	return n;
}

haul_status lane_set_release(struct lane_set *s, struct grant *const *grants, size_t count)
{
	for (unsigned i = 0; i < s->most; i++) {
		struct grant *held[RELEASES_AT_ONCE];
		size_t at = 0, n;

		while (s->lanes[i] && (n = held_by(i, grants, count, &at, held, RELEASES_AT_ONCE)) > 0) {
			haul_status st = lane_release(s->lanes[i], held, n);

			if (haul_failed(st))
				return st;
		}
	}
	return HAUL_OK;
}

/* One that is still on its way in is not waited for: everything is done, and it owes nothing. */
void lane_set_finish(struct lane_set *s)
{
	s->is_stopping = true;
	for (unsigned i = 0; i < s->most; i++) {
		if (s->lanes[i] && !s->has_joined[i])
			lane_stop(s->lanes[i]);
		else if (s->lanes[i])
			lane_finish(s->lanes[i]);
	}
	if (s->ended == s->started)
		s->on_ended(s->owner);
}

void lane_set_stop(struct lane_set *s)
{
	s->is_stopping = true;
	for (unsigned i = 0; i < s->most; i++) {
		if (s->lanes[i])
			lane_stop(s->lanes[i]);
	}
}

static uint64_t sum_of(const struct lane_set *s, uint64_t (*value)(const struct lane *))
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->most; i++)
		sum += s->lanes[i] && s->has_joined[i] ? value(s->lanes[i]) : 0;
	return sum;
}

uint64_t lane_set_peer_wait_ns(const struct lane_set *s)
{
	return sum_of(s, lane_peer_wait_ns);
}

uint64_t lane_set_moved(const struct lane_set *s)
{
	return sum_of(s, lane_moved);
}

uint64_t lane_set_round_trip_ns(const struct lane_set *s)
{
	unsigned known = 0;

	for (unsigned i = 0; i < s->most; i++)
		known += s->lanes[i] && s->has_joined[i] && lane_round_trip_ns(s->lanes[i]) > 0;
	return known ? sum_of(s, lane_round_trip_ns) / known : 0;
}
