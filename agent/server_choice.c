/* What CHOICE messages add up to, within the bounds of a job, until JOB takes it. */
#include "agent/server_parts.h"

static haul_status add(struct choice_spec *to, const struct msg_choice *m)
{
	haul_status st = HAUL_OK;

	for (size_t i = 0; haul_ok(st) && i < m->rule_count; i++) {
		const struct choice_rule *r = &m->rules[i];

		st = choice_spec_add_rule(to, r->group, (enum filter_action)r->action, r->pattern.at, r->pattern.len,
					  NULL);
	}
	for (size_t i = 0; haul_ok(st) && i < m->path_count; i++)
		st = choice_spec_add_path(to, m->paths[i].at, m->paths[i].len);
	return st;
}

void session_choose_entries(struct server_session *s, const struct msg_choice *m)
{
	haul_status st;

	if (!session_peer(s)) {
		session_refuse_status(s, HAUL_NOT_KNOWN, "");
		return;
	}
	st = add(&s->choice, m);
	if (haul_failed(st)) {
		session_refuse_status(s, st, "these filters or lists are more than a job may have");
		return;
	}
	s->choice.has_paths = m->flags & CHOICE_LISTS;
	s->choice.has_limits = m->flags & CHOICE_LIMITS;
	s->choice.size_min = m->size_min;
	s->choice.size_max = m->size_max;
	s->choice.oldest = m->oldest;
	s->choice.newest = m->newest;
	s->choice_flags = m->flags;
}
