/* Wants, results, acknowledgements and credit are gathered during a turn of the loop and leave together at its end. */
#include "agent/receiver_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
	RESULT_BATCH_BYTES = 128 * 1024, /* of one RESULT, by estimate; one more text of 64 KiB still fits the frame */
	RESULT_FIXED_BYTES = 96,         /* at most, of one result without its text */
	WANT_BATCH_BYTES = 128 * 1024,   /* of one WANT, by estimate; one more of MESSAGE_RANGES_MAX still fits */
	WANT_FIXED_BYTES = 64,
	WANT_RANGE_BYTES = 19,
};

static void on_prepare(uv_prepare_t *handle)
{
	struct receiver *r = handle->data;

	if (r->state == RECEIVER_RUNNING)
		receiver_flush(r);
	if (!r->threads_run)
		return;
	worker_send(&r->store.worker);
	worker_send(&r->commit.worker);
}

haul_status receiver_out_open(struct receiver *r)
{
	if (uv_prepare_init(r->job->loop, &r->out.prepare))
		return HAUL_NO_MEMORY;
	r->out.prepare.data = r;
	(void)uv_prepare_start(&r->out.prepare, on_prepare);
	return HAUL_OK;
}

void receiver_out_close(struct receiver *r, uv_close_cb closed)
{
	uv_close((uv_handle_t *)&r->out.prepare, closed);
}

/* Frees the ranges of wants that have left. */
static void wants_gone(struct receiver *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((void *)(uintptr_t)r->out.wants[i].ranges);
	if (r->out.want_count > n)
		memmove(r->out.wants, r->out.wants + n, (r->out.want_count - n) * sizeof(*r->out.wants));
	r->out.want_count -= n;
}

void receiver_out_free(struct receiver *r)
{
	for (size_t i = 0; i < r->out.result_count; i++)
		free(r->out.result_texts[i]);
	wants_gone(r, r->out.want_count);
	free(r->out.wants);
	free(r->out.results);
	free(r->out.result_texts);
	free(r->out.releases);
	free(r->out.acks);
}

static bool grow(void **array, size_t *cap, size_t count, size_t item_bytes)
{
	size_t more = *cap ? *cap * 2 : 256;
	void *bigger;

	if (count < *cap)
		return true;
	bigger = realloc(*array, more * item_bytes);
	if (!bigger)
		return false;
	*array = bigger;
	*cap = more;
	return true;
}

void out_want(struct receiver *r, const struct want *w)
{
	if (!grow((void **)&r->out.wants, &r->out.want_cap, r->out.want_count, sizeof(*w))) {
		free((void *)(uintptr_t)w->ranges);
		receiver_fail(r, HAUL_NO_MEMORY, NULL);
		return;
	}
	r->out.wants[r->out.want_count++] = *w;
}

void out_ack(struct receiver *r, const struct ack *a)
{
	if (!grow((void **)&r->out.acks, &r->out.ack_cap, r->out.ack_count, sizeof(*a))) {
		receiver_fail(r, HAUL_NO_MEMORY, NULL);
		return;
	}
	r->out.acks[r->out.ack_count++] = *a;
}

void out_result(struct receiver *r, const struct entry_result *result, char *text)
{
	size_t texts_cap = r->out.result_cap;

	if (!grow((void **)&r->out.result_texts, &texts_cap, r->out.result_count, sizeof(char *)) ||
	    !grow((void **)&r->out.results, &r->out.result_cap, r->out.result_count, sizeof(*result))) {
		free(text);
		receiver_fail(r, HAUL_NO_MEMORY, NULL);
		return;
	}
	r->out.result_texts[r->out.result_count] = text;
	r->out.results[r->out.result_count++] = *result;
}

void out_release(struct receiver *r, struct grant *g)
{
	if (!grow((void **)&r->out.releases, &r->out.release_cap, r->out.release_count, sizeof(struct grant *))) {
		receiver_fail(r, HAUL_NO_MEMORY, NULL);
		return;
	}
	r->out.releases[r->out.release_count++] = g;
}

/* Some may be held by no lane: those that had them are lost. */
void receiver_release_due(struct receiver *r)
{
	size_t count = r->out.release_count;
	struct grant **releases = r->out.releases;
	haul_status st;

	if (r->state != RECEIVER_RUNNING || !count)
		return;
	r->out.releases = NULL; /* what follows may release others */
	r->out.release_count = r->out.release_cap = 0;
	st = lane_set_release(&r->lanes, releases, count);
	for (size_t i = 0; i < count && haul_ok(st) && r->state == RECEIVER_RUNNING; i++) {
		if (!releases[i]->holders)
			receiver_all_released(index_map_get(&r->entries, releases[i]->entry));
	}
	free(releases);
	if (haul_failed(st))
		receiver_fail(r, st, NULL);
}

bool out_say(struct receiver *r, const struct message *m)
{
	struct haul_fault fault = { 0 };
	haul_status st = control_link_send(r->job->link, m, &fault);

	if (st.code == HAUL_CODE_BUSY)
		return false;
	if (haul_failed(st))
		receiver_fail(r, st, &fault);
	return haul_ok(st);
}

static size_t at_most(size_t count, size_t max)
{
	return count < max ? count : max;
}

/* How many wants go into the next message: one of many gaps has many ranges. */
static size_t want_batch(const struct receiver *r)
{
	size_t bytes = 0, n = 0;

	while (n < r->out.want_count && n < JOB_BATCH_RECORDS && bytes < WANT_BATCH_BYTES)
		bytes += WANT_FIXED_BYTES + r->out.wants[n++].range_count * WANT_RANGE_BYTES;
	return n;
}

static void flush_wants(struct receiver *r)
{
	while (r->out.want_count) {
		size_t n = want_batch(r);
		struct message m = { .type = MSG_WANT, .want = { r->out.wants, n } };

		if (!out_say(r, &m))
			return;
		wants_gone(r, n);
	}
}

/* How many results go into the next message. */
static size_t result_batch(const struct receiver *r)
{
	size_t bytes = 0, n = 0;

	while (n < r->out.result_count && n < JOB_BATCH_RECORDS && bytes < RESULT_BATCH_BYTES)
		bytes += RESULT_FIXED_BYTES + r->out.results[n++].detail.len;
	return n;
}

static void flush_results(struct receiver *r)
{
	while (r->out.result_count) {
		size_t n = result_batch(r), left = r->out.result_count - n;
		struct message m = { .type = MSG_RESULT, .result = { r->out.results, n } };

		if (!out_say(r, &m))
			return;
		for (size_t i = 0; i < n; i++)
			free(r->out.result_texts[i]);
		memmove(r->out.results, r->out.results + n, left * sizeof(*r->out.results));
		memmove(r->out.result_texts, r->out.result_texts + n, left * sizeof(*r->out.result_texts));
		r->out.result_count = left;
	}
}

static void flush_acks(struct receiver *r)
{
	while (r->out.ack_count) {
		size_t n = at_most(r->out.ack_count, JOB_BATCH_RECORDS);
		struct message m = { .type = MSG_ACK, .ack = { r->out.acks, n } };

		if (!out_say(r, &m))
			return;
		memmove(r->out.acks, r->out.acks + n, (r->out.ack_count - n) * sizeof(*r->out.acks));
		r->out.ack_count -= n;
	}
}

/* Credit goes back in useful amounts of either: long names and targets use up bytes long before records. */
static void flush_credit(struct receiver *r)
{
	struct message m = { .type = MSG_CREDIT, .credit = { r->out.credit_records, r->out.credit_bytes } };

	if (r->manifest_ended ||
	    (r->out.credit_records < JOB_WINDOW_RECORDS / 8 && r->out.credit_bytes < JOB_WINDOW_BYTES / 8))
		return;
	if (!out_say(r, &m))
		return;
	r->out.credit_records = r->out.credit_bytes = 0;
}

void receiver_flush(struct receiver *r)
{
	receiver_release_due(r);
	flush_results(r);
	if (!r->out.result_count) /* a result gives back what the sender counts of the leaves it was told */
		receiver_tell_haves(r);
	receiver_grant_due(r);
	flush_wants(r);
	flush_acks(r);
	flush_results(r);
	if (r->state == RECEIVER_RUNNING && !r->out.ack_count && !r->out.result_count)
		receiver_tell_lost(r);
	receiver_mirror_taken(r);
	if (r->state == RECEIVER_RUNNING)
		flush_credit(r);
	if (r->small_due == 0 && r->threads_run && r->in_threads)
		commit_flush(&r->commit);
	receiver_check_end(r);
}

bool receiver_out_is_empty(const struct receiver *r)
{
	return !r->out.want_count && !r->out.result_count;
}
