/* How an entry ended, as the receiver says: its record goes into the job tree and it leaves the window. */
#include "agent/sender_parts.h"

#include <stdlib.h>
#include <string.h>

void send_entry_free(struct send_entry *e)
{
	struct list *item;

	while ((item = list_pop_front(&e->owed)))
		free(list_item(item, struct send_owed, link));
	hash_tree_free(e->tree);
	send_again_free(e->again);
	free(e->path);
	free(e->source_path);
	free(e->link_target);
	free(e);
}

/* The receiver may call a file proven only with the root that we read ourselves. */
static haul_status check_result(const struct send_entry *e, const struct entry_result *r)
{
	if (r->outcome != OUTCOME_PROVEN || e->facts.kind != ENTRY_FILE)
		return HAUL_OK;
	if (!e->has_root)
		return HAUL_BAD_MOVE;
	if (r->flags & RESULT_HAS_ROOT && !digest_equal(&r->root, &e->root))
		return HAUL_ROOT_MISMATCH;
	return HAUL_OK;
}

static haul_status settle(struct sender *s, const struct send_entry *e, enum entry_outcome outcome)
{
	struct entry_record r = { .kind = e->facts.kind,
				  .outcome = outcome,
				  .path = e->path,
				  .path_len = strlen(e->path),
				  .size = e->facts.size,
				  .link_target = e->link_target,
				  .link_target_len = e->link_target_len };

	if (outcome == OUTCOME_PROVEN && e->facts.kind == ENTRY_FILE)
		r.root = e->root;
	return job_settle(&s->totals, s->digest, e->index, &r, e->was_sent);
}

/* New content that nothing was sent for: a receiver on this machine had the file system share it. */
static bool is_cloned(const struct send_entry *e, const struct entry_result *r)
{
	return e->facts.kind == ENTRY_FILE && r->outcome == OUTCOME_UNCHANGED && r->flags & RESULT_COMMITTED &&
	       r->changes & (CHANGE_CREATED | CHANGE_CONTENT);
}

static void tell(struct sender *s, const struct send_entry *e, const struct entry_result *r)
{
	const struct job_entry je = { .path = e->path,
				      .kind = e->facts.kind,
				      .size = e->facts.size,
				      .outcome = r->outcome,
				      .code = haul_status_from_number(r->code),
				      .failed_here = e->has_failed,
				      .changes = r->changes,
				      .lost = r->lost & LOST_ALL,
				      .has_offset = r->flags & RESULT_HAS_OFFSET,
				      .offset = r->offset,
				      .is_cloned = is_cloned(e, r),
				      .states = sender_states(e),
				      .has_source = true,
				      .source = e->source,
				      .source_path = e->source_path,
				      .facts = &e->facts,
				      .is_committed =
					  r->flags & RESULT_COMMITTED && r->changes & (CHANGE_CREATED | CHANGE_CONTENT),
				      .is_equal = !e->has_told && /* then not all of it was read here */
						  e->has_root && r->flags & RESULT_HAS_ROOT &&
						  digest_equal(&r->root, &e->root),
				      .detail = r->detail.at,
				      .detail_len = r->detail.len };

	s->totals.files_cloned += je.is_cloned;
	s->totals.bytes_cloned += je.is_cloned ? je.size : 0;
	if (s->cfg.cb.on_entry)
		s->cfg.cb.on_entry(s->cfg.ctx, &je);
}

/* Something only the destination has; told with the directory it lies in. On the wire a path has no terminating NUL. */
static haul_status tell_surplus(struct sender *s, const struct entry_result *r)
{
	char *path = strndup(r->detail.at, r->detail.len);
	const struct job_entry je = { .path = path,
				      .outcome = OUTCOME_FAILED,
				      .code = haul_status_from_number(r->code),
				      .changes = r->changes,
				      .detail = r->detail.at,
				      .detail_len = r->detail.len };

	if (!path)
		return HAUL_NO_MEMORY;
	s->totals.doomed_told++;
	if (s->cfg.cb.on_entry)
		s->cfg.cb.on_entry(s->cfg.ctx, &je);
	free(path);
	return HAUL_OK;
}

static haul_status one_result(struct sender *s, const struct entry_result *r)
{
	struct send_entry *e;
	haul_status st;

	if (r->changes & CHANGE_SURPLUS)
		return tell_surplus(s, r);
	e = index_map_get(&s->window, r->entry);
	if (!e)
		return HAUL_NOT_ANNOUNCED;
	sender_result_is_of(s, e, r->attempt);
	st = check_result(e, r);
	if (haul_ok(st))
		st = settle(s, e, r->outcome);
	if (haul_failed(st))
		return st;
	(void)index_map_remove(&s->window, r->entry);
	sender_is_wanted(s, e, false);
	s->totals.files_again += r->outcome == OUTCOME_PROVEN && sender_states(e);
	if (e->has_told)
		s->had_leaves -= leaf_count(e->facts.size);
	sender_entry_closed(s, e);
	sender_owes_no_more(s, e);
	sender_erase_note(s, e, r);
	tell(s, e, r);
	send_entry_free(e);
	return HAUL_OK;
}

void sender_results(struct sender *s, const struct msg_result *m)
{
	struct haul_fault fault = { 0 };
	struct list mails;

	/* What the lanes have reported goes first: it is in the box before the receiver can have a whole file. */
	list_init(&mails);
	mailbox_wait(s->cfg.mailbox, &mails, false);
	mail_deliver_all(NULL, &mails);
	/* What only the destination has may be told after the last entry's result. */
	for (size_t i = 0; i < m->result_count && s->state <= SENDER_AGREEING; i++) {
		haul_status st = one_result(s, &m->results[i]);

		if (haul_failed(st)) {
			sender_fail(s, haul_fault_set(&fault, st, "the receiver's result for an entry does not hold"),
				    &fault);
			return;
		}
	}
	sender_announce(s);
	sender_serve_more(s);
	sender_again(s);
	sender_check_end(s);
}
