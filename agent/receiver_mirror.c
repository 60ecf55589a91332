/*
 * A sync's last step at the receiving end: everything that was announced has its result and is durable; what only the
 * destination has is weighed and deleted by the mirror's thread, told as it goes, and only then the lanes are ended.
 */
#include "agent/receiver_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A directory is told with a slash at its end. */
static char *told_path(const char *path, enum entry_kind kind)
{
	char *told = NULL;

	return asprintf(&told, "%s%s", path, kind == ENTRY_DIRECTORY ? "/" : "") < 0 ? NULL : told;
}

static void on_doomed(void *ctx, const char *path, enum entry_kind kind, haul_status st)
{
	struct receiver *r = ctx;
	struct entry_result result = { .entry = HAUL_NO_INDEX,
				       .outcome = OUTCOME_FAILED,
				       .code = (uint32_t)st.code,
				       .changes = CHANGE_SURPLUS | CHANGE_DELETED };
	struct job_entry je = {
		.kind = kind, .outcome = OUTCOME_FAILED, .code = st, .failed_here = true, .changes = result.changes
	};
	char *told;

	r->mirror_told++;
	if (r->state != RECEIVER_RUNNING)
		return;
	told = told_path(path, kind);
	if (!told) {
		receiver_fail(r, HAUL_NO_MEMORY, NULL);
		return;
	}
	je.path = told;
	if (r->job->cb.on_entry)
		r->job->cb.on_entry(r->job->ctx, &je);
	result.detail = (struct text){ told, strnlen(told, MESSAGE_PATH_MAX) };
	out_result(r, &result, told);
}

static void fail(struct recv_entry *e, haul_status st)
{
	e->outcome = OUTCOME_FAILED;
	e->code = st;
	e->failed_here = true;
	receiver_result(e);
}

void receiver_hold(struct recv_entry *e)
{
	struct receiver *r = e->receiver;

	if (r->held_count >= RECEIVER_HELD_MAX) {
		fail(e, HAUL_WRONG_KIND); /* the next run finds the place free */
		return;
	}
	list_push_back(&r->held, &e->link);
	r->held_count++;
}

/* In canonical order, as they came: a directory before what is in it. */
static void let_go(struct receiver *r, bool is_refused)
{
	struct list *link;

	while (r->state == RECEIVER_RUNNING && (link = list_pop_front(&r->held))) {
		struct recv_entry *e = list_item(link, struct recv_entry, link);

		r->held_count--;
		if (is_refused) {
			fail(e, HAUL_GUARD);
			continue;
		}
		e->was_held = true;
		e->changes = 0;
		if (e->node)
			e->node->is_held = false;
		r->in_threads++;
		store_look(&r->store, e);
	}
}

static void on_mirrored(void *ctx, const struct mirror_totals *totals, haul_status st, const struct haul_fault *fault)
{
	struct receiver *r = ctx;

	r->mirror_runs = false;
	r->totals.mirror = *totals;
	if (haul_failed(st) && r->state == RECEIVER_RUNNING)
		receiver_fail(r, st, fault);
	let_go(r, totals->refusal != DELETE_ALLOWED);
	receiver_check_end(r);
}

haul_status receiver_mirror_open(struct receiver *r, struct haul_fault *fault)
{
	const struct receiver_mirror *asked = &r->cfg.mirror;
	const struct mirror_config cfg = { .root_fd = r->cfg.root_fd,
					   .keeps_root_time =
					       r->job->flags & JOB_ROOT_TOO && r->cfg.root_rule != ROOT_AS_IT_IS,
					   .scratch_dir = r->job->scratch_dir,
					   .home = asked->home,
					   .asked = asked->asked,
					   .own = asked->own,
					   .is_dry = r->job->flags & JOB_DRY_RUN,
					   .main = r->job->mailbox,
					   .ctx = r,
					   .on_doomed = on_doomed,
					   .on_end = on_mirrored };

	if (asked->asked.rule == DELETE_NONE || r->cfg.root_fd < 0)
		return HAUL_OK;
	return mirror_new(&cfg, &r->mirror, fault);
}

/* Nothing but the directory that lands is announced. */
static bool is_empty(const struct receiver *r)
{
	return r->announced <= (r->cfg.mirror.covers_root && !(r->job->flags & JOB_ROOT_TOO) ? 0 : 1);
}

/* What was to replace something may not be there, and the medium is in doubt: the old has to stay. */
void receiver_mirror_doubt(struct receiver *r, haul_status st)
{
	r->mirror_is_troubled |= st.code == HAUL_CODE_NO_SPACE || st.code == HAUL_CODE_IO;
}

/* Without memory it counts as a deletion. */
void receiver_mirror_renamed(struct receiver *r, const char *path)
{
	if (r->renamed_count == r->renamed_cap) {
		size_t cap = r->renamed_cap ? r->renamed_cap * 2 : 64;
		const char **more = realloc(r->renamed, cap * sizeof(*more));

		if (!more)
			return;
		r->renamed = more;
		r->renamed_cap = cap;
	}
	r->renamed[r->renamed_count++] = path;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In order, each once. */
static void sort_renamed(struct receiver *r)
{
	size_t count = 0;

	if (r->renamed_count)
		qsort(r->renamed, r->renamed_count, sizeof(*r->renamed), by_bytes);
	for (size_t i = 0; i < r->renamed_count; i++) {
		if (!count || strcmp(r->renamed[count - 1], r->renamed[i]))
			r->renamed[count++] = r->renamed[i];
	}
	r->renamed_count = count;
}

bool receiver_mirror_holds(struct receiver *r)
{
	if (r->mirror && !r->mirror_began) {
		r->mirror_began = r->mirror_runs = true;
		sort_renamed(r);
		mirror_run(r->mirror, &(struct mirror_doubts){ .renamed = r->renamed,
							       .renamed_count = r->renamed_count,
							       .is_empty = is_empty(r),
							       .is_other = r->cfg.mirror.is_other_source,
							       .is_troubled = r->mirror_is_troubled });
	}
	return r->mirror_runs;
}

void receiver_mirror_taken(struct receiver *r)
{
	if (!r->mirror_told || r->out.result_count)
		return;
	mirror_taken(r->mirror, r->mirror_told);
	r->mirror_told = 0;
}
