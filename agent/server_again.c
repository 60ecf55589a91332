/*
 * A job that comes again: the connection of its first attempt is dead, and this end may not know yet. What is left of
 * that attempt is ended; the new one waits until it is gone, since only then what it received is kept for whoever comes
 * next, and no two of them write the same files.
 */
#include "agent/server_parts.h"

#include "engine/base/log.h"

#include <string.h>

static bool has_id(const struct msg_job *m)
{
	static const uint8_t none[sizeof(m->job_id)];

	return memcmp(m->job_id, none, sizeof(none)) != 0;
}

/* The same device speaks of the same job. */
static bool is_same(const struct server_session *a, const struct server_session *b)
{
	return a->job && b->job && has_id(&b->job->m) &&
	       !memcmp(a->job->m.job_id, b->job->m.job_id, sizeof(a->job->m.job_id)) &&
	       !memcmp(a->device_id, b->device_id, sizeof(a->device_id));
}

/* The one before `s` in the list, which is in the order of arrival. */
bool session_has_predecessor(const struct server_session *s)
{
	list_each (pos, &s->server->sessions) {
		const struct server_session *other = list_item(pos, struct server_session, link);

		if (other == s)
			return false;
		if (is_same(other, s))
			return true;
	}
	return false;
}

void session_take_over(struct server_session *s)
{
	struct list *next;

	for (struct list *pos = s->server->sessions.next; pos != &s->link; pos = next) {
		struct server_session *other = list_item(pos, struct server_session, link);

		next = pos->next;
		if (!is_same(other, s) || other->state == SESSION_LEAVING)
			continue;
		haul_log(HAUL_LOG_INFO, "a job has come again: its first connection is given up");
		session_stop_job(other, HAUL_LOST);
		session_leave(other);
	}
}
