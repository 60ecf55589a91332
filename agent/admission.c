/* Everything is searched from end to end: the tables are small, and a connection costs a thousand times more. */
#include "agent/admission.h"

#include <assert.h>
#include <string.h>

enum { FAILED_MS = 1000, TOO_SLOW_MS = 2000, V4_SOURCE_BYTES = 12 + 3, V6_SOURCE_BYTES = 8 };

static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };

void admission_init(struct admission *a)
{
	memset(a, 0, sizeof(*a));
}

/* As IPv6; IPv4 is mapped. */
static void address_of(const struct sockaddr *from, uint8_t ret_address[16])
{
	if (from->sa_family == AF_INET6) {
		memcpy(ret_address, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
		return;
	}
	memcpy(ret_address, v4_prefix, sizeof(v4_prefix));
	memcpy(ret_address + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
}

static bool is_v4(const uint8_t address[16])
{
	return !memcmp(address, v4_prefix, sizeof(v4_prefix));
}

static bool is_loopback(const uint8_t address[16])
{
	static const uint8_t v6_loopback[16] = { [15] = 1 };

	return is_v4(address) ? address[12] == 127 : !memcmp(address, v6_loopback, 16);
}

static bool is_same_source(const uint8_t a[16], const uint8_t b[16])
{
	return !memcmp(a, b, is_v4(a) ? V4_SOURCE_BYTES : V6_SOURCE_BYTES);
}

/* What is remembered of an address; NULL: nothing. */
static struct admission_address *find_address(struct admission *a, const uint8_t address[16])
{
	for (size_t i = 0; i < ADMISSION_ADDRESSES; i++) {
		if (a->addresses[i].is_used && !memcmp(a->addresses[i].address, address, 16))
			return &a->addresses[i];
	}
	return NULL;
}

static uint64_t memory_ends_ms(const struct admission_address *e)
{
	return e->good_until_ms > e->penalty_until_ms ? e->good_until_ms : e->penalty_until_ms;
}

/* The entry of an address, made in the place of the one that would be forgotten first. */
static struct admission_address *remember(struct admission *a, const uint8_t address[16])
{
	struct admission_address *e = find_address(a, address), *oldest = &a->addresses[0];

	if (e)
		return e;
	for (size_t i = 0; i < ADMISSION_ADDRESSES; i++) {
		e = &a->addresses[i];
		if (!e->is_used) {
			oldest = e;
			break;
		}
		if (memory_ends_ms(e) < memory_ends_ms(oldest))
			oldest = e;
	}
	*oldest = (struct admission_address){ .is_used = true };
	memcpy(oldest->address, address, 16);
	return oldest;
}

static void penalise(struct admission *a, const uint8_t address[16], uint64_t cost_ms, uint64_t now_ms)
{
	uint64_t cap_ms = now_ms + (is_loopback(address) ? ADMISSION_LOOPBACK_CAP_MS : ADMISSION_CAP_MS);
	struct admission_address *e = remember(a, address);

	if (e->penalty_until_ms < now_ms)
		e->penalty_until_ms = now_ms;
	e->penalty_until_ms += cost_ms;
	if (e->penalty_until_ms > cap_ms)
		e->penalty_until_ms = cap_ms;
}

/* Whether two connections share their slots. */
static bool is_same_share(const struct admission_slot *a, const struct admission_slot *b)
{
	if (a->is_good != b->is_good)
		return false;
	return a->is_good ? !memcmp(a->address, b->address, 16) : is_same_source(a->address, b->address);
}

static size_t count_share(const struct admission *a, const struct admission_slot *like)
{
	size_t count = 0;

	for (size_t i = 0; i < ADMISSION_SLOTS; i++)
		count += a->slots[i].is_used && is_same_share(&a->slots[i], like);
	return count;
}

/* Who goes first: strangers before those who were good, the silent before those who speak, the greedy, the oldest. */
static bool goes_before(const struct admission *a, const struct admission_slot *s, const struct admission_slot *t)
{
	size_t count_s, count_t;

	if (s->is_good != t->is_good)
		return t->is_good;
	if (s->has_spoken != t->has_spoken)
		return t->has_spoken;
	count_s = count_share(a, s);
	count_t = count_share(a, t);
	return count_s != count_t ? count_s > count_t : s->order < t->order;
}

/* Among those that share with `like`; NULL: among all. */
static int find_victim(const struct admission *a, const struct admission_slot *like)
{
	int victim = ADMISSION_NONE;

	for (int i = 0; i < ADMISSION_SLOTS; i++) {
		const struct admission_slot *s = &a->slots[i];

		if (!s->is_used || s->is_proven || (like && !is_same_share(s, like)))
			continue;
		if (victim == ADMISSION_NONE || goes_before(a, s, &a->slots[victim]))
			victim = i;
	}
	return victim;
}

static int find_free(const struct admission *a)
{
	for (int i = 0; i < ADMISSION_SLOTS; i++) {
		if (!a->slots[i].is_used)
			return i;
	}
	return ADMISSION_NONE;
}

int admission_enter(struct admission *a, const struct sockaddr *from, uint64_t now_ms, int *ret_victim)
{
	struct admission_slot arrived = { .is_used = true, .order = a->arrivals };
	const struct admission_address *known;
	bool is_share_full;
	int slot = find_free(a);

	*ret_victim = ADMISSION_NONE;
	address_of(from, arrived.address);
	known = find_address(a, arrived.address);
	arrived.is_good = known && known->good_until_ms > now_ms;
	if (known && !arrived.is_good && known->penalty_until_ms > now_ms + ADMISSION_THRESHOLD_MS)
		return ADMISSION_NONE;
	is_share_full = count_share(a, &arrived) >= (arrived.is_good ? ADMISSION_PER_GOOD : ADMISSION_PER_SOURCE);
	if (is_share_full || slot == ADMISSION_NONE) {
		slot = find_victim(a, is_share_full ? &arrived : NULL);
		if (slot == ADMISSION_NONE || (a->slots[slot].is_good && !arrived.is_good))
			return ADMISSION_NONE;
		*ret_victim = slot;
	}
	a->slots[slot] = arrived;
	a->arrivals++;
	return slot;
}

void admission_spoke(struct admission *a, int slot)
{
	assert(a->slots[slot].is_used);
	a->slots[slot].has_spoken = true;
}

void admission_prove(struct admission *a, int slot)
{
	assert(a->slots[slot].is_used);
	a->slots[slot].is_proven = true;
}

void admission_leave(struct admission *a, int slot, enum admission_outcome outcome, uint64_t now_ms)
{
	struct admission_slot *s = &a->slots[slot];

	assert(s->is_used);
	s->is_used = false;
	switch (outcome) {
	case ADMISSION_GOOD:
		remember(a, s->address)->good_until_ms = now_ms + ADMISSION_GOOD_MS;
		break;
	case ADMISSION_FAILED:
		penalise(a, s->address, FAILED_MS, now_ms);
		break;
	case ADMISSION_TOO_SLOW:
		penalise(a, s->address, TOO_SLOW_MS, now_ms);
		break;
	case ADMISSION_DROPPED:
		break;
	}
}
