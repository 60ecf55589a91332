/* Notes of what only the destination has, and what speaks against deleting it. */
#include "agent/mirror_parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	FREE_DELETIONS = 10, /* never too many */
	USUAL_MOST = 1000,
	USUAL_PERCENT = 10,
};

bool mirror_protects(const char *name)
{
	static const char *const names[] = { "lost+found", "@eaDir", "#recycle", "#snapshot", ".snapshot", ".zfs" };

	if (!strcasecmp(name, ".haul") || !strncasecmp(name, ".haul.", 6) || !strncasecmp(name, ".haul-", 6))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool is_over_percent(uint64_t surplus, uint64_t there, uint64_t percent)
{
	return surplus > there / 100 * percent + there % 100 * percent / 100;
}

bool mirror_limit_is_passed(const struct mirror_limit *limit, uint64_t surplus, uint64_t there)
{
	switch (limit->rule) {
	case DELETE_NONE:
	case DELETE_ANY:
		return false;
	case DELETE_USUAL:
		return surplus > FREE_DELETIONS &&
		       (surplus > USUAL_MOST || is_over_percent(surplus, there, USUAL_PERCENT));
	case DELETE_COUNT:
		return surplus > limit->most;
	case DELETE_PERCENT:
		return is_over_percent(surplus, there, limit->most);
	}
	return true;
}

enum delete_refusal mirror_weigh(const struct mirror *m)
{
	const struct mirror_totals *t = &m->totals;
	uint64_t lost = t->surplus > m->renamed ? t->surplus - m->renamed : 0;

	if (!t->surplus)
		return DELETE_ALLOWED;
	if (m->is_blind || haul_failed(m->lost))
		return DELETE_BLIND;
	if (m->doubts.is_empty)
		return DELETE_EMPTY_SOURCE;
	if (m->doubts.is_other)
		return DELETE_OTHER_SOURCE;
	if (m->doubts.is_troubled)
		return DELETE_TROUBLED;
	if (mirror_limit_is_passed(&m->cfg.own, lost, t->there))
		return DELETE_TOO_MANY_HERE;
	return mirror_limit_is_passed(&m->cfg.asked, lost, t->there) ? DELETE_TOO_MANY : DELETE_ALLOWED;
}

void mirror_saw(struct mirror *m)
{
	m->totals.there++;
}

void mirror_note_lost(struct mirror *m, haul_status st)
{
	if (haul_ok(m->lost))
		m->lost = st;
}

void mirror_note(struct mirror *m, const char *dir, const char *name, const struct entry_facts *facts, bool is_blind)
{
	(void)note_file_add(m->notes, facts, sizeof(*facts), dir, name);
	m->is_blind |= is_blind;
}

haul_status mirror_new(const struct mirror_config *cfg, struct mirror **ret_mirror, struct haul_fault *fault)
{
	struct mirror *m = calloc(1, sizeof(*m));
	haul_status st;

	if (!m)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for a sync");
	m->cfg = *cfg;
	m->dir_fd = -1;
	st = note_file_new(cfg->scratch_dir, &m->notes, fault);
	if (haul_failed(st)) {
		free(m);
		return st;
	}
	(void)sem_init(&m->room, 0, MIRROR_TOLD_AHEAD);
	st = worker_start(&m->worker, "haul-mirror", NULL, m, fault);
	if (haul_failed(st)) {
		note_file_free(m->notes);
		(void)sem_destroy(&m->room);
		free(m);
		return st;
	}
	*ret_mirror = m;
	return HAUL_OK;
}

void mirror_stop(struct mirror *m)
{
	atomic_store(&m->stop, true);
	(void)sem_post(&m->room); /* it may be waiting for it */
}

void mirror_free(struct mirror *m)
{
	if (!m)
		return;
	mirror_stop(m);
	worker_stop(&m->worker);
	note_file_free(m->notes);
	(void)sem_destroy(&m->room);
	free(m->dir);
	free(m);
}

void mirror_taken(struct mirror *m, size_t count)
{
	while (count--)
		(void)sem_post(&m->room);
}

void mirror_run(struct mirror *m, const struct mirror_doubts *doubts)
{
	m->doubts = *doubts;
	m->begin.deliver = mirror_deliver_run;
	worker_post(&m->worker, &m->begin);
	worker_send(&m->worker);
}
