/* Sums that would overflow are over every limit. The ledger is written ahead, so that few of many files wait for it. */
#include "agent/quota.h"

#include "agent/quota_ledger.h"
#include "engine/base/log.h"
#include "engine/kept_room.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uv.h>

enum { AHEAD_SHARE = 64 };

static const uint64_t ahead_most = UINT64_C(1) << 30;

struct quota {
	struct list link; /* main loop's, like the next */
	unsigned users;
	const char *state_dir;
	uint8_t device_id[32];
	char *share;
	uv_mutex_t lock; /* of what follows */
	struct quota_limit limit;
	bool is_loaded;
	int64_t window_s; /* of the next two */
	uint64_t grown;
	uint64_t noted; /* in the ledger: at least `grown`, with a limit */
	uint64_t held;
};

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* A new span of time has begun: nothing has been counted in it. */
static void roll(struct quota *q)
{
	int64_t window_s = quota_limit_window(&q->limit, (int64_t)time(NULL));

	if (window_s == q->window_s)
		return;
	q->window_s = window_s;
	q->grown = q->noted = 0;
}

static struct quota_count count_of(const struct quota *q)
{
	return (struct quota_count){ q->device_id, q->share, q->window_s };
}

static struct quota *find(struct list *accounts, const uint8_t *device_id, const char *share)
{
	list_each (pos, accounts) {
		struct quota *q = list_item(pos, struct quota, link);

		if (!memcmp(q->device_id, device_id, sizeof(q->device_id)) && !strcmp(q->share, share))
			return q;
	}
	return NULL;
}

static struct quota *quota_new(const char *state_dir, const uint8_t *device_id, const char *share)
{
	struct quota *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->share = strdup(share);
	if (!q->share || uv_mutex_init(&q->lock)) {
		free(q->share);
		free(q);
		return NULL;
	}
	q->state_dir = state_dir;
	memcpy(q->device_id, device_id, sizeof(q->device_id));
	return q;
}

struct quota *quota_join(struct list *accounts, const char *state_dir, const uint8_t device_id[32], const char *share,
			 const struct quota_limit *limit)
{
	struct quota *q = find(accounts, device_id, share);

	if (!q) {
		q = quota_new(state_dir, device_id, share);
		if (!q)
			return NULL;
		list_push_back(accounts, &q->link);
	}
	q->users++;
	quota_set(q, limit);
	return q;
}

void quota_set(struct quota *q, const struct quota_limit *limit)
{
	uv_mutex_lock(&q->lock);
	if (q->limit.bytes != limit->bytes || q->limit.since_s != limit->since_s ||
	    q->limit.every_s != limit->every_s) {
		q->limit = *limit;
		roll(q);
	}
	uv_mutex_unlock(&q->lock);
}

void quota_leave(struct quota *q)
{
	const struct quota_count of = q ? count_of(q) : (struct quota_count){ .share = NULL };

	if (!q || --q->users)
		return;
	if (q->limit.bytes && q->noted != q->grown &&
	    haul_failed(quota_ledger_write(q->state_dir, &of, q->grown, NULL)))
		haul_log(HAUL_LOG_WARNING,
			 "what a device has used of its quota cannot be noted exactly: it counts as more");
	list_remove(&q->link);
	uv_mutex_destroy(&q->lock);
	free(q->share);
	free(q);
}

static haul_status look(struct quota *q, int share_fd, const struct quota_count *of, uint64_t *ret_kept,
			uint64_t *ret_counted, struct haul_fault *fault)
{
	haul_status st = kept_usage(share_fd, q->device_id, ret_kept);

	if (haul_failed(st))
		return haul_fault_set(fault, st, "what is kept in %s cannot be looked at", q->share);
	return quota_ledger_read(q->state_dir, of, ret_counted, fault);
}

/* Looking takes its time, and nobody waits for the lock meanwhile; who comes second finds it done. */
haul_status quota_load(struct quota *q, int share_fd, struct haul_fault *fault)
{
	uint64_t kept = 0, counted = 0;
	struct quota_count of;
	bool is_loaded, is_limited;
	haul_status st;

	uv_mutex_lock(&q->lock);
	roll(q);
	of = count_of(q);
	is_loaded = q->is_loaded;
	uv_mutex_unlock(&q->lock);
	if (is_loaded)
		return HAUL_OK;
	st = look(q, share_fd, &of, &kept, &counted, fault);
	uv_mutex_lock(&q->lock);
	is_limited = q->limit.bytes;
	if (!q->is_loaded && (haul_ok(st) || !is_limited)) {
		q->is_loaded = true;
		q->held = sum(q->held, kept);
		if (of.window_s == q->window_s)
			q->grown = q->noted = counted;
	}
	uv_mutex_unlock(&q->lock);
	return is_limited ? st : HAUL_OK;
}

static uint64_t left(struct quota *q)
{
	roll(q);
	return q->limit.bytes ? less(q->limit.bytes, sum(q->grown, q->held)) : UINT64_MAX;
}

bool quota_take(struct quota *q, uint64_t bytes)
{
	bool is_taken;

	uv_mutex_lock(&q->lock);
	is_taken = !bytes || bytes <= left(q);
	if (is_taken)
		q->held = sum(q->held, bytes);
	uv_mutex_unlock(&q->lock);
	return is_taken;
}

void quota_change(struct quota *q, uint64_t from, uint64_t to)
{
	uv_mutex_lock(&q->lock);
	q->held = sum(less(q->held, from), to);
	uv_mutex_unlock(&q->lock);
}

uint64_t quota_bytes(struct quota *q)
{
	uint64_t bytes;

	uv_mutex_lock(&q->lock);
	bytes = q->limit.bytes;
	uv_mutex_unlock(&q->lock);
	return bytes;
}

uint64_t quota_left(struct quota *q)
{
	uint64_t bytes;

	uv_mutex_lock(&q->lock);
	bytes = left(q);
	uv_mutex_unlock(&q->lock);
	return bytes;
}

/* The ledger says at least `grown` bytes. */
static haul_status note(struct quota *q, uint64_t grown)
{
	const struct quota_count of = count_of(q);
	uint64_t ahead = q->limit.bytes / AHEAD_SHARE < ahead_most ? q->limit.bytes / AHEAD_SHARE : ahead_most;
	haul_status st;

	if (grown <= q->noted)
		return HAUL_OK;
	st = quota_ledger_write(q->state_dir, &of, sum(grown, ahead), NULL);
	if (haul_ok(st))
		q->noted = sum(grown, ahead);
	return st;
}

void quota_take_up_beside(struct quota *q, uint64_t bytes)
{
	uv_mutex_lock(&q->lock);
	q->grown = less(q->grown, bytes);
	uv_mutex_unlock(&q->lock);
}

void quota_leave_beside(struct quota *q, uint64_t bytes)
{
	uv_mutex_lock(&q->lock);
	if (q->limit.bytes) {
		roll(q);
		q->grown = sum(q->grown, bytes);
		if (haul_failed(note(q, q->grown)))
			haul_log(HAUL_LOG_WARNING, "what a device has used of its quota cannot be noted");
	}
	uv_mutex_unlock(&q->lock);
}

/* Under the lock. */
static haul_status count_and_name(struct quota *q, const struct quota_naming *n)
{
	uint64_t replaced = 0, before = q->grown;
	haul_status st = n->replaced(n->ctx, &replaced);

	if (haul_failed(st))
		return st;
	roll(q);
	before = q->grown;
	q->grown = less(sum(q->grown, n->size), replaced);
	if (q->grown > q->limit.bytes && n->size > replaced)
		st = HAUL_QUOTA; /* the limit is less than it was when this was let in */
	else
		st = note(q, q->grown);
	if (haul_ok(st))
		st = n->give_name(n->ctx);
	if (haul_failed(st))
		q->grown = before;
	else
		q->held = less(q->held, n->held);
	return st;
}

haul_status quota_name(struct quota *q, const struct quota_naming *n)
{
	haul_status st;

	uv_mutex_lock(&q->lock);
	if (q->limit.bytes) {
		st = count_and_name(q, n);
		uv_mutex_unlock(&q->lock);
		return st;
	}
	uv_mutex_unlock(&q->lock);
	st = n->give_name(n->ctx);
	if (haul_ok(st))
		quota_change(q, n->held, 0);
	return st;
}

haul_status quota_used(const char *state_dir, const uint8_t device_id[32], const char *share,
		       const struct quota_limit *limit, int share_fd, uint64_t *ret_bytes)
{
	const struct quota_count of = { device_id, share, quota_limit_window(limit, (int64_t)time(NULL)) };
	uint64_t counted, kept = 0;
	haul_status st = quota_ledger_read(state_dir, &of, &counted, NULL);

	if (haul_ok(st) && share_fd >= 0)
		st = kept_usage(share_fd, device_id, &kept);
	if (haul_ok(st))
		*ret_bytes = sum(counted, kept);
	return st;
}
