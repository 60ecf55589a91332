/*
 * Looking is one stat per entry, in canonical order, so that directories exist before anything in them is looked at.
 * A destination that cannot take an entry gives it a result of its own; only memory ends the job.
 */
#include "agent/store.h"

#include "agent/job.h"
#include "agent/mirror.h"
#include "agent/quota.h"
#include "agent/store_basis.h"
#include "agent/store_choice.h"
#include "agent/store_clone.h"
#include "agent/store_had.h"
#include "agent/store_meta.h"
#include "agent/store_surplus.h"
#include "agent/store_verify.h"
#include "certs/rights.h"
#include "peer-protocol/lane_frame.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool may(const struct store *s, uint64_t right)
{
	return atomic_load(&s->rights) & right;
}

static void verdict_failed(struct recv_entry *e, haul_status st)
{
	e->verdict = VERDICT_RESULT;
	e->outcome = OUTCOME_FAILED;
	e->code = st;
	e->failed_here = true;
}

static void verdict_result(struct recv_entry *e, enum entry_outcome outcome)
{
	e->verdict = VERDICT_RESULT;
	e->outcome = outcome;
}

/* Something has to be made where nothing is. */
static bool may_create(const struct store *s, struct recv_entry *e)
{
	e->changes |= CHANGE_CREATED;
	if (may(s, RIGHT_CREATE))
		return true;
	verdict_failed(e, HAUL_NO_RIGHT);
	return false;
}

/* A sync: what stands in the way goes with what is surplus, by the same guards. */
static bool is_held(const struct store *s, struct recv_entry *e)
{
	if (!s->cfg.mirror || e->was_held || e->states || !may(s, RIGHT_DELETE) || !store_note_in_the_way(s, e))
		return false;
	e->verdict = VERDICT_HELD;
	if (e->node)
		e->node->is_held = true;
	return true;
}

/* What is there has to go. A directory never goes for a file, nor a file for a directory. */
static bool may_replace(const struct store *s, struct recv_entry *e)
{
	e->changes |= CHANGE_CONTENT;
	if (e->seen.kind != e->facts.kind)
		e->changes |= CHANGE_KIND;
	if (e->seen.kind == ENTRY_DIRECTORY) {
		if (!is_held(s, e))
			verdict_failed(e, HAUL_IS_DIRECTORY);
		return false;
	}
	if (!may(s, RIGHT_OVERWRITE)) {
		verdict_failed(e, HAUL_NO_RIGHT);
		return false;
	}
	e->may_replace = true;
	return true;
}

static bool is_dry(const struct store *s)
{
	return s->cfg.flags & JOB_DRY_RUN;
}

/* ---- directories ---- */

static void make_directory(struct store *s, struct recv_entry *e)
{
	enum entry_kind kind = 0;
	haul_status st;

	if (!may_create(s, e)) {
		e->node->broken = e->code;
		return;
	}
	if (is_dry(s)) {
		e->node->is_missing = true;
		verdict_result(e, OUTCOME_UNCHANGED);
		return;
	}
	st = place_make_directory(s->cfg.place, e->path, &kind);
	if (st.code == HAUL_CODE_EXISTS && kind == ENTRY_DIRECTORY)
		st = HAUL_OK; /* somebody else made it meanwhile */
	else if (haul_ok(st))
		e->node->was_made = true;
	e->node->is_fresh = haul_ok(st);
	if (haul_failed(st)) {
		verdict_failed(e, st);
		e->node->broken = st;
		return;
	}
	e->verdict = VERDICT_COMMIT;
}

/* A directory of ours without write permission for us: opened up until its contents are in. */
static void open_up(struct store *s, struct recv_entry *e)
{
	if (!may(s, RIGHT_META) || (e->seen.mode & 0700) == 0700 || e->seen.uid != geteuid() || geteuid() == 0)
		return;
	if (haul_ok(place_open_up_directory(s->cfg.place, e->path, &e->node->old_mode)))
		e->node->was_opened_up = true;
}

static void look_directory(struct store *s, struct recv_entry *e)
{
	e->commit = COMMIT_DIRECTORY;
	e->may_replace = may(s, RIGHT_META); /* set mode and times of one that is there */
	if (!e->has_seen) {
		make_directory(s, e);
		return;
	}
	if (e->seen.kind != ENTRY_DIRECTORY) {
		if (is_held(s, e))
			return;
		verdict_failed(e, e->seen.kind == ENTRY_LINK ? HAUL_LINK_IN_PATH : HAUL_WRONG_KIND);
		e->node->broken = HAUL_NOT_DIRECTORY;
		return;
	}
	if (may(s, RIGHT_LIST))
		e->changes = store_meta_changes(s, e);
	if (is_dry(s)) {
		verdict_result(e, OUTCOME_UNCHANGED);
		return;
	}
	open_up(s, e);
	e->verdict = VERDICT_COMMIT;
}

/* Somebody has made the job's root before the job began, unless nobody has. */
static void look_root(struct store *s, struct recv_entry *e)
{
	if (s->cfg.root_rule == ROOT_AS_IT_IS) {
		verdict_result(e, OUTCOME_UNCHANGED);
	} else if (s->cfg.root_rule == ROOT_FOLLOWS) {
		look_directory(s, e);
	} else if (may_create(s, e)) {
		e->commit = COMMIT_DIRECTORY;
		e->node->was_made = true;
		if (is_dry(s))
			verdict_result(e, OUTCOME_UNCHANGED);
		else
			e->verdict = VERDICT_COMMIT;
	}
}

/* Content is or is taken as equal; metadata may still have to follow. */
static void only_meta(struct store *s, struct recv_entry *e, enum entry_outcome outcome)
{
	verdict_result(e, outcome);
	if (!may(s, RIGHT_META))
		e->changes &= ~(uint32_t)CHANGE_META;
	if (e->changes && !is_dry(s)) {
		e->verdict = VERDICT_COMMIT;
		e->commit = COMMIT_META;
	}
}

/* ---- links ---- */

static bool same_target(const struct store *s, const struct recv_entry *e)
{
	char *target = NULL;
	size_t len = 0;
	bool same;

	if (haul_failed(place_read_link(s->cfg.place, e->path, &target, &len)))
		return false;
	same = len == e->link_target_len && memcmp(target, e->link_target, len) == 0;
	free(target);
	return same;
}

static bool leads_to_seen(const struct recv_entry *e)
{
	struct stat st;

	return e->origin.at.path && fstatat(e->origin.at.root_fd, e->origin.at.path, &st, 0) == 0 &&
	       (uint64_t)st.st_dev == e->seen.device && (uint64_t)st.st_ino == e->seen.inode;
}

static void look_link(struct store *s, struct recv_entry *e)
{
	e->commit = COMMIT_LINK;
	if (e->has_seen && !may(s, RIGHT_LIST)) {
		verdict_failed(e, HAUL_EXISTS); /* neither is where it leads */
		return;
	}
	if (e->has_seen && e->seen.kind == ENTRY_LINK && same_target(s, e)) {
		e->changes = store_meta_changes(s, e);
		only_meta(s, e, OUTCOME_PROVEN);
		return;
	}
	if (e->has_seen && leads_to_seen(e)) {
		verdict_failed(e, HAUL_SAME_FILE); /* the link would take the place of what it leads to */
		return;
	}
	if (e->has_seen ? !may_replace(s, e) : !may_create(s, e))
		return;
	if (is_dry(s))
		verdict_result(e, OUTCOME_UNCHANGED);
	else
		e->verdict = VERDICT_COMMIT;
}

/* ---- files ---- */

static void want_content(struct store *s, struct recv_entry *e)
{
	bool is_small = e->facts.size <= LANE_PACK_FILE_MAX;
	haul_status st;

	e->commit = is_small ? COMMIT_SMALL : COMMIT_BIG;
	e->verdict = is_small ? VERDICT_SMALL : VERDICT_BIG;
	st = store_room_takes(s, e);
	if (haul_failed(st))
		verdict_failed(e, st);
	else if (is_dry(s)) {
		verdict_result(e, OUTCOME_UNCHANGED);
		store_guess_rename(s, e);
	}
}

/* Of the same size. */
static bool is_taken_as_equal(const struct store *s, const struct recv_entry *e)
{
	if (s->cfg.choice_flags & CHOICE_IGNORE_TIMES)
		return false;
	return s->cfg.choice_flags & CHOICE_SIZE_ONLY || !(e->changes & CHANGE_TIME);
}

static void look_there(struct store *s, struct recv_entry *e)
{
	bool same_size = e->seen.kind == ENTRY_FILE && e->seen.size == e->facts.size;

	if (e->seen.kind != ENTRY_FILE) {
		if (may_replace(s, e))
			want_content(s, e);
		return;
	}
	e->changes = store_meta_changes(s, e);
	/* Saying "equal" tells what is in it: without the right to read, content is only ever replaced. */
	if (same_size && s->cfg.flags & JOB_CHECKSUM && may(s, RIGHT_READ)) {
		e->verdict = VERDICT_DIGESTS;
		e->may_replace = may(s, RIGHT_OVERWRITE);
		e->may_set_meta = may(s, RIGHT_META);
		return;
	}
	if (same_size && !(s->cfg.flags & JOB_CHECKSUM) && is_taken_as_equal(s, e)) {
		only_meta(s, e, OUTCOME_UNCHANGED);
		return;
	}
	if (!same_size)
		e->changes |= CHANGE_SIZE;
	if (may_replace(s, e))
		want_content(s, e);
}

static void look_file(struct store *s, struct recv_entry *e)
{
	if (e->has_seen && !may(s, RIGHT_LIST))
		verdict_failed(e, HAUL_EXISTS); /* what is there is none of this device's business */
	else if (e->has_seen)
		look_there(s, e);
	else if (may_create(s, e)) {
		e->may_replace = may(s, RIGHT_OVERWRITE); /* another device may put it there meanwhile */
		want_content(s, e);
	}
}

/* ---- the thread ---- */

static haul_status see(const struct store *s, struct recv_entry *e)
{
	haul_status st = HAUL_NOT_FOUND;

	e->has_seen = false;
	if (e->was_held && is_dry(s))
		return HAUL_OK; /* what stands there would be gone */
	if (s->cfg.place && !e->dir->is_missing)
		st = place_stat(s->cfg.place, e->path, &e->seen);
	e->has_seen = haul_ok(st);
	return st.code == HAUL_CODE_NOT_FOUND ? HAUL_OK : st;
}

static void look_copy(struct store *s, struct recv_entry *e)
{
	if (!*e->path) {
		look_root(s, e);
		return;
	}
	if (store_lets_stay(s, e)) {
		e->changes = CHANGE_STAYS;
		verdict_result(e, OUTCOME_UNCHANGED);
		return;
	}
	switch (e->facts.kind) {
	case ENTRY_DIRECTORY:
		look_directory(s, e);
		return;
	case ENTRY_LINK:
		look_link(s, e);
		return;
	case ENTRY_FILE:
		look_file(s, e);
		return;
	case ENTRY_FIFO:
	case ENTRY_SOCKET:
	case ENTRY_CHAR_DEVICE:
	case ENTRY_BLOCK_DEVICE:
		verdict_failed(e, HAUL_UNSUPPORTED);
		return;
	}
}

/* Nothing is there, and nothing will be. */
static void look_probe(const struct store *s, struct recv_entry *e)
{
	e->verdict = VERDICT_BIG;
	e->commit = COMMIT_PROBE;
	if (!s->cfg.drops && !may(s, RIGHT_CREATE))
		verdict_failed(e, HAUL_NO_RIGHT);
}

static void look(struct store *s, struct recv_entry *e)
{
	haul_status st;

	if (s->cfg.verb == JOB_PROBE) {
		look_probe(s, e);
		return;
	}
	if (s->cfg.mirror && !e->was_held && !e->states && *e->path)
		e->dir->has_lost_names |= !store_note_name(e);
	if (e->dir->is_held) {
		e->verdict = VERDICT_HELD;
		if (e->node)
			e->node->is_held = true;
		return;
	}
	if (haul_failed(e->dir->broken)) {
		verdict_failed(e, e->dir->broken);
		if (e->node)
			e->node->broken = e->dir->broken;
		return;
	}
	store_trim_meta(s, e);
	st = see(s, e);
	if (haul_failed(st)) {
		verdict_failed(e, st);
		if (e->node)
			e->node->broken = st;
		return;
	}
	if (s->cfg.verb == JOB_VERIFY) {
		store_verify_look(s, e);
		return;
	}
	look_copy(s, e);
	if (s->cfg.mirror && !e->was_held && !e->states && e->has_seen && *e->path && e->verdict != VERDICT_HELD)
		mirror_saw(s->cfg.mirror);
}

static void deliver_looked(struct mail *m, void *ctx)
{
	struct recv_entry *e = list_item(m, struct recv_entry, mail);

	(void)ctx;
	e->store->on_looked(e);
}

/* It has changed, and what was kept of it before is of no use for what it is now. */
static void forget_before(struct store *s, const struct recv_entry *e)
{
	bool is_settled = e->verdict == VERDICT_RESULT || e->verdict == VERDICT_COMMIT;

	if (s->cfg.verb == JOB_COPY && s->cfg.place && haul_ok(e->code) &&
	    (is_settled || e->facts.size <= HAUL_LEAF_BYTES) && place_forget_kept(s->cfg.place, e->path) &&
	    s->cfg.quota && !e->partial.kept_beside)
		quota_change(s->cfg.quota, e->partial.kept_bytes, 0);
}

static void deliver_look(struct mail *m, void *ctx)
{
	struct recv_entry *e = list_item(m, struct recv_entry, mail);
	struct store *s = ctx;

	look(s, e);
	if (e->states)
		forget_before(s, e);
	e->mail.deliver = deliver_looked;
	worker_answer(&s->worker, s->cfg.main, &e->mail);
}

void store_look(struct store *s, struct recv_entry *e)
{
	e->store = s;
	e->mail.deliver = deliver_look;
	worker_post(&s->worker, &e->mail);
}

/* ---- opening what a verdict needs ---- */

/* What an earlier job has left in the partial: recorded leaves are there, others have to be compared, if any. */
static haul_status take_up(struct store *s, struct recv_entry *e)
{
	haul_status st;

	if (!e->partial.is_kept || e->partial.found == PARTIAL_NEW)
		return store_take_basis(s, e);
	st = store_had_open(s, e);
	e->compares_kept = e->partial.found == PARTIAL_OF_OTHER;
	if (haul_failed(st) || e->compares_kept)
		return st;
	st = partial_read_record(&e->partial, &e->have, e->digests);
	if (haul_ok(st))
		st = partial_zero_rest(&e->partial, &e->have);
	return haul_ok(st) ? store_had_take(e) : st;
}

static haul_status open_partial(struct store *s, struct recv_entry *e)
{
	struct leaf_source source = { .size = e->facts.size, .mtime = e->facts.mtime };
	struct partial_config cfg = { .size = e->facts.size,
				      .direct = s->cfg.direct,
				      .is_sparse = e->is_sparse,
				      .source = &source,
				      .starts_anew = s->cfg.flags & JOB_RESTART };
	haul_status st;

	memcpy(source.id, e->source_id, sizeof(source.id));
	st = partial_create(s->cfg.place, e->path, &cfg, &e->partial, NULL);
	if (haul_failed(st))
		return st;
	st = take_up(s, e);
	if (haul_ok(st))
		return st;
	store_had_close(e);
	if (st.code == HAUL_CODE_NO_MEMORY || st.code == HAUL_CODE_BUSY) {
		partial_keep(&e->partial); /* another time */
		cfg.source = NULL;
	} else {
		partial_discard(&e->partial); /* it cannot be used */
		cfg.starts_anew = true;
	}
	return partial_create(s->cfg.place, e->path, &cfg, &e->partial, NULL);
}

/* What was equal is as good as written, and goes into the record that has begun anew. */
static haul_status take_compared(struct recv_entry *e)
{
	haul_status st = partial_zero_rest(&e->partial, &e->have);

	if (haul_ok(st) && e->partial.is_kept)
		st = partial_record_have(&e->partial, &e->have, e->digests);
	return haul_ok(st) ? store_had_take(e) : st;
}

/* Into the file that is there, once it is known which of its leaves differ; nothing is changed before. */
static haul_status open_in_place(struct store *s, struct recv_entry *e)
{
	const struct partial_config cfg = { .size = e->facts.size, .direct = s->cfg.direct, .is_sparse = e->is_sparse };
	haul_status st = partial_open_in_place(s->cfg.place, e->path, &cfg, &e->partial, NULL);

	if (haul_failed(st))
		return st;
	st = store_had_open(s, e);
	if (haul_failed(st)) {
		store_had_close(e); /* too much is in work for comparing this one as well */
		partial_discard(&e->partial);
		return open_partial(s, e);
	}
	e->compares_kept = e->has_basis = true;
	e->basis_path = e->path;
	return HAUL_OK;
}

/* For the second time, when what was kept has been compared: what differs is fetched onto zeros. */
static void open_content(struct store *s, struct recv_entry *e)
{
	haul_status st;

	if (e->partial.name[0])
		st = take_compared(e);
	else if (store_wants_in_place(s, e))
		st = open_in_place(s, e);
	else if (store_clone(s, e))
		return;
	else
		st = open_partial(s, e);
	if (haul_ok(st))
		st = store_hold_quota(s, e);
	if (haul_failed(st))
		e->code = st;
}

static void open_old(struct store *s, struct recv_entry *e)
{
	haul_status st = place_open_file(s->cfg.place, e->path, s->cfg.direct, &e->old, NULL);

	if (haul_failed(st)) {
		e->old.fd = -1;
		e->code = st;
	}
}

static void deliver_opened(struct mail *m, void *ctx)
{
	struct recv_entry *e = list_item(m, struct recv_entry, mail);

	(void)ctx;
	e->store->on_opened(e);
}

static void deliver_open(struct mail *m, void *ctx)
{
	struct recv_entry *e = list_item(m, struct recv_entry, mail);
	struct store *s = ctx;

	if (e->verdict == VERDICT_DIGESTS)
		open_old(s, e);
	else if (!s->cfg.drops)
		open_content(s, e);
	if (haul_failed(e->code))
		e->failed_here = true;
	e->mail.deliver = deliver_opened;
	worker_answer(&s->worker, s->cfg.main, &e->mail);
}

void store_open(struct store *s, struct recv_entry *e)
{
	e->mail.deliver = deliver_open;
	worker_post(&s->worker, &e->mail);
}

haul_status store_start(struct store *s, const struct store_config *cfg, uint64_t rights, struct haul_fault *fault)
{
	s->cfg = *cfg;
	s->attributes.kinds = attribute_kinds_of_process();
	atomic_store(&s->rights, rights);
	return worker_start(&s->worker, "haul-store", NULL, s, fault);
}

void store_stop(struct store *s)
{
	worker_stop(&s->worker);
	store_owners_close(s);
}
