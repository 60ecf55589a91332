/*
 * A connection that was lost while a job ran, by whatever cause, is made again, and the job begins again with the same
 * id, landing and places: what is committed by now is unchanged, what was under way is kept at the receiver, so it goes
 * on where it stood. The attempts are one job to whoever looks at it. One that was lost before a job was accepted is
 * made again too, and what had no answer is said again.
 *
 * It ends when nothing new has come for --timeout: an attempt that gets further than all before it starts that time
 * anew. What says something about the job (a refusal, a broken rule, another device) is never tried again.
 */
#include "agent/transfer_parts.h"

#include "agent/exit_class.h"
#include "engine/base/escape.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DIAL_LEAST_MS = 250 };

static const uint64_t ns_per_ms = 1000000;

bool transfer_is_lost(const struct transfer *t, haul_status st)
{
	if (t->is_local || !t->again.was_dialled || t->again.is_over || t->was_refused || t->report->signal_number ||
	    t->state == TRANSFER_LEAVING || t->state == TRANSFER_OVER)
		return false;
	return st.code == HAUL_CODE_LOST || st.code == HAUL_CODE_TIMED_OUT || st.code == HAUL_CODE_REFUSED ||
	       st.code == HAUL_CODE_NO_ROUTE;
}

bool transfer_is_asking(const struct transfer *t)
{
	return t->state == TRANSFER_LOOKING || t->state == TRANSFER_NAMING || t->state == TRANSFER_STARTING;
}

/* How far an attempt has come: what was there, what it moved, and what has ended. */
static uint64_t position(const struct job_totals *all)
{
	return job_bytes_crossed(all) + all->leaves_moved + all->proven + all->unchanged + all->failed +
	       all->moved.entries;
}

static uint64_t left_ms(const struct transfer *t, uint64_t now)
{
	uint64_t passed = (now - t->again.clock_ns) / ns_per_ms;

	return passed < t->req->timeout_ms ? t->req->timeout_ms - passed : 0;
}

static void note(struct transfer *t, const char *text)
{
	if (t->obs->on_note)
		t->obs->on_note(t->obs->ctx, text);
}

static void tell_lost(struct transfer *t, haul_status st, const struct haul_fault *fault)
{
	char text[HAUL_FAULT_TEXT_MAX + 128];

	(void)snprintf(text, sizeof(text), "%s: connection lost, trying again (%s)", t->peer_name,
		       fault && fault->text[0] ? fault->text : haul_status_text(st));
	note(t, text);
}

/* ---- from one attempt to the next ---- */

static void note_sent(void *ctx, const char *path)
{
	struct transfer *t = ctx;

	(void)told_set_note(&t->again.told, path, TOLD_SENT, t->again.count - 1);
}

/* What an attempt that did not come to its end has not seen, one before it may have. */
static void keep_most(struct job_totals *most, const struct job_totals *now)
{
	if (now->entries >= most->entries) {
		most->entries = now->entries;
		most->files = now->files;
		most->bytes = now->bytes;
	}
	if (now->files_proven + now->files_unchanged >= most->files_proven + most->files_unchanged) {
		most->files_proven = now->files_proven;
		most->files_unchanged = now->files_unchanged;
		most->files_failed = now->files_failed;
	}
}

/* The job's end of this attempt goes; its figures stay. Everything of it has come to rest. */
static void drop_attempt(struct transfer *t)
{
	const struct job_totals *all = transfer_totals(t);
	struct transfer_again *a = &t->again;

	if (t->sender)
		sender_each_sent(t->sender, note_sent, t);
	a->files_sent += all->files_sent;
	a->files_again += all->files_again;
	a->bytes_sent += all->bytes_sent;
	keep_most(&a->most, all);
	a->had_agreed = a->had_agreed || (all->has_agreed && transfer_is_far_move(t));
	a->moved.files += all->moved.files;
	a->moved.entries += all->moved.entries;
	a->moved.bytes += all->moved.bytes;
	sender_free(t->sender);
	receiver_free(t->receiver);
	lanes_ahead_free(t->ahead);
	t->sender = NULL;
	t->receiver = NULL;
	t->ahead = NULL;
	if (!t->is_push && t->root_fd >= 0) {
		(void)close(t->root_fd);
		t->root_fd = -1;
	}
}

/* Not what the last attempt counted: each entry comes again. */
static void begin_anew(struct transfer *t)
{
	struct transfer_report *r = t->report;

	t->reasons = t->again.reasons;
	t->files_told = 0;
	t->last_bytes = 0;
	memset(r->specials, 0, sizeof(r->specials));
	memset(r->lost, 0, sizeof(r->lost));
	t->doomed_count = 0;
	free(t->doomed);
	t->doomed = NULL;
	r->files_equal = r->files_different = r->files_missing = r->files_surplus = r->meta_different = 0;
	r->files_sent = r->files_stayed = 0;
}

static void on_dialled_again(uv_timer_t *timer);

/* ---- losing ---- */

bool transfer_again(struct transfer *t, haul_status st, const struct haul_fault *fault)
{
	struct transfer_again *a = &t->again;
	uint64_t now = uv_hrtime(), left;

	if (!transfer_is_lost(t, st))
		return false;
	if (t->job_runs && position(transfer_totals(t)) > a->furthest) {
		a->furthest = position(transfer_totals(t));
		a->clock_ns = now;
	}
	if (!a->was_accepted && !a->lost_ns)
		a->clock_ns = now; /* as long as it waited for its turn does not count */
	if (transfer_is_asking(t))
		a->from = t->choice_waits ? TRANSFER_STARTING : t->state;
	left = left_ms(t, now);
	if (!left)
		return false;
	if (!a->lost_ns) {
		a->lost_ns = now;
		a->count++;
		tell_lost(t, st, fault);
	}
	t->job_runs = false;
	t->state = TRANSFER_AGAIN;
	lanes_ahead_cancel(t->ahead);
	(void)uv_timer_start(&t->again_timer, on_dialled_again, backoff_patiently(&a->backoff, left), 0);
	return true;
}

/* A peer that broke off says why, as a rule: some reasons are final. */
void transfer_again_refused(struct transfer *t, const struct msg_error *e)
{
	if (transfer_is_lost(t, haul_status_from_number(e->code)))
		return;
	(void)uv_timer_stop(&t->again_timer);
	transfer_refused(t, e);
	transfer_leave(t);
}

/* ---- coming back ---- */

static void on_dialled_again(uv_timer_t *timer)
{
	struct transfer *t = timer->data;
	uint64_t left;

	if (t->state != TRANSFER_AGAIN)
		return;
	if (t->link)
		control_link_close(t->link, NULL, NULL);
	t->link = NULL;
	transfer_forget_choice(t);
	t->link_has_ended = false;
	drop_attempt(t);
	left = left_ms(t, uv_hrtime());
	transfer_dial(t, left > DIAL_LEAST_MS ? (uint32_t)left : DIAL_LEAST_MS);
}

/* What was asked or said last. Nothing that an answer to it would have changed is changed. */
static void go_on(struct transfer *t)
{
	if (t->again.was_accepted || t->again.from == TRANSFER_STARTING) {
		transfer_send_job(t);
		return;
	}
	memset(&t->like, 0, sizeof(t->like));
	t->state = t->again.from;
	if (t->state == TRANSFER_LOOKING)
		transfer_look_remote(t);
	else
		transfer_ask_names(t);
}

/* A place by address may be another device's by now. */
void transfer_again_dialled(struct transfer *t, const uint8_t before_id[32])
{
	struct haul_fault fault = { 0 };
	haul_status st = HAUL_WRONG_DEVICE;

	if (memcmp(before_id, t->device_id, sizeof(t->device_id)) == 0) {
		t->round_trip_ns = 0;
		go_on(t);
		return;
	}
	(void)haul_fault_set(&fault, st, "another device answers now than before; nothing was sent to it");
	transfer_fault(t, st, &fault, NULL);
	transfer_leave(t);
}

void transfer_joined(struct transfer *t)
{
	struct transfer_again *a = &t->again;
	double after_s = (double)(uv_hrtime() - a->lost_ns) / 1e9;
	char text[128];

	if (!a->was_accepted) {
		a->was_accepted = true;
		a->reasons = t->reasons;
		a->clock_ns = uv_hrtime();
	}
	if (!a->lost_ns)
		return;
	begin_anew(t);
	a->lost_ns = 0;
	a->backoff = (struct backoff){ 0 };
	(void)snprintf(text, sizeof(text), "%s: connected again after %.0f s", t->peer_name, after_s);
	note(t, text);
	if (t->obs->on_reconnected)
		t->obs->on_reconnected(t->obs->ctx, a->count, after_s);
}

/* ---- one job to whoever looks ---- */

bool transfer_was_told(struct transfer *t, const char *path, enum transfer_told what, uint64_t detail)
{
	if (t->is_local)
		return false;
	return told_set_note(&t->again.told, path, what + (detail << 2), t->again.count);
}

bool transfer_was_sent(struct transfer *t, const char *path)
{
	return t->again.count && told_set_take(&t->again.told, path, TOLD_SENT, t->again.count);
}

void transfer_sum(const struct transfer *t, struct job_totals *ret)
{
	const struct transfer_again *a = &t->again;
	uint64_t arrived;

	*ret = *transfer_totals(t);
	if (a->count && !ret->has_root)
		keep_most(ret, &a->most);
	transfer_add_moved(t, ret);
	/*
	 * A source that was changed meanwhile was sent twice, and is one file. One that was sent and whose result never
	 * came has not arrived.
	 */
	arrived = ret->files_proven + ret->files_unchanged;
	ret->files_sent += a->files_sent;
	if (ret->files_sent > arrived)
		ret->files_sent = arrived;
	if (!a->count)
		return;
	ret->bytes_sent += a->bytes_sent;
	ret->files_again += a->files_again;
	/* What attempts before have sent is there by now too, and of no earlier run. */
	ret->bytes_resumed = ret->bytes_resumed > a->bytes_sent ? ret->bytes_resumed - a->bytes_sent : 0;
}
