/* What both ends of a job do when one of its entries has ended. */
#include "agent/job.h"

static void count(struct job_totals *t, const struct entry_record *r, bool was_sent)
{
	t->proven += r->outcome == OUTCOME_PROVEN;
	t->unchanged += r->outcome == OUTCOME_UNCHANGED;
	t->failed += r->outcome == OUTCOME_FAILED;
	if (r->kind != ENTRY_FILE)
		return;
	t->files_proven += r->outcome == OUTCOME_PROVEN;
	t->files_unchanged += r->outcome == OUTCOME_UNCHANGED;
	t->files_failed += r->outcome == OUTCOME_FAILED;
	t->files_sent += r->outcome == OUTCOME_PROVEN && was_sent;
	t->bytes_done += r->size;
	t->bytes_skipped += was_sent ? 0 : r->size;
}

haul_status job_settle(struct job_totals *t, struct job_digest *digest, uint64_t index, const struct entry_record *r,
		       bool was_sent)
{
	struct haul_digest d;
	haul_status st = entry_digest(r, &d);

	if (haul_ok(st))
		st = job_digest_put(digest, index, &d);
	if (haul_ok(st))
		count(t, r, was_sent);
	return st;
}
