/* Counts the lanes in and out, so that a job hears three things only: all are there, one failed, all are gone. */
#include "agent/lane_set.h"

#include <assert.h>

static void lane_ended(struct lane_set *s, struct lane_report *r)
{
	struct lane *l = r->lane;

	lane_times_add(&s->times, &r->times);
	s->lanes[lane_number(l)] = NULL;
	s->ended++;
	lane_free(l);
	if (haul_failed(r->status) && !s->is_stopping)
		s->on_failed(s->owner, r->status, &r->fault);
	else if (s->ended == s->started && s->is_stopping)
		s->on_ended(s->owner);
}

static void on_report(void *owner, struct lane_report *r)
{
	struct lane_set *s = owner;

	switch (r->type) {
	case LANE_JOINED:
		if (s->on_explain && s->joined == 0)
			s->on_explain(s->owner, r->fault.text);
		lane_report_free(r);
		if (++s->joined == s->count)
			s->on_joined(s->owner);
		return;
	case LANE_ENDED:
		lane_ended(s, r);
		lane_report_free(r);
		return;
	case LANE_SENT:
	case LANE_SENT_PACK:
	case LANE_FILE_FAILED:
	case LANE_WRITTEN:
	case LANE_WRITTEN_PACK:
	case LANE_COMPARED:
	case LANE_DIFFERS:
	case LANE_RELEASED:
		s->on_report(s->owner, r);
		return;
	}
}

void lane_set_open(struct lane_set *s)
{
	s->job.on_report = on_report;
	s->job.owner = s;
}

static void has_started(struct lane_set *s, struct lane *l, unsigned number)
{
	s->lanes[number] = l;
	s->was_started[number] = true;
	s->started++;
}

static haul_status start(struct lane_set *s, unsigned number, struct channel_parts *parts, struct haul_fault *fault)
{
	struct lane *l;
	haul_status st = lane_start(&s->job, number, parts, &l, fault);

	if (haul_ok(st))
		has_started(s, l, number);
	return st;
}

haul_status lane_set_start(struct lane_set *s, struct haul_fault *fault)
{
	for (unsigned i = 0; i < s->count; i++) {
		haul_status st = start(s, i, NULL, fault);

		if (haul_failed(st)) {
			lane_set_stop(s);
			return st;
		}
	}
	return HAUL_OK;
}

haul_status lane_set_start_copying(struct lane_set *from, struct lane_set *to, struct haul_fault *fault)
{
	assert(from->count == to->count);
	for (unsigned i = 0; i < from->count; i++) {
		struct lane *l;
		haul_status st = lane_start_copying(&from->job, &to->job, i, &l, fault);

		if (haul_failed(st)) {
			lane_set_stop(from);
			lane_set_stop(to);
			return st;
		}
		has_started(from, l, i);
		has_started(to, l, i);
	}
	return HAUL_OK;
}

bool lane_set_claim(struct lane_set *s, unsigned number, uint32_t epoch)
{
	if (number >= s->count || epoch != s->next_epoch[number] || (s->is_stopping && !s->lanes[number]))
		return false;
	s->next_epoch[number]++;
	return true;
}

haul_status lane_set_attach(struct lane_set *s, unsigned number, struct channel_parts *parts, struct haul_fault *fault)
{
	haul_status st;

	assert(number < s->count);
	if (s->lanes[number]) {
		lane_attach(s->lanes[number], parts);
		return HAUL_OK;
	}
	if (s->is_stopping || s->was_started[number]) {
		channel_parts_free(parts); /* a lane that nobody would stop any more */
		return HAUL_OK;
	}
	st = start(s, number, parts, fault);
	if (haul_failed(st))
		channel_parts_free(parts);
	return st;
}

void lane_set_wake(struct lane_set *s)
{
	for (unsigned i = 0; i < s->count; i++) {
		if (s->lanes[i])
			lane_wake(s->lanes[i]);
	}
}

haul_status lane_set_grant(struct lane_set *s, struct grant *const *grants, size_t count)
{
	for (size_t i = 0; i < count; i++)
		grants[i]->holders = 0;
	for (unsigned n = 0; n < s->count; n++) {
		haul_status st;

		if (!s->lanes[n])
			continue;
		st = lane_grant(s->lanes[n], grants, count);
		if (haul_failed(st))
			return st;
		for (size_t i = 0; i < count; i++)
			grants[i]->holders++;
	}
	return HAUL_OK;
}

haul_status lane_set_release(struct lane_set *s, struct grant *g)
{
	for (unsigned n = 0; n < s->count; n++) {
		haul_status st = s->lanes[n] ? lane_release(s->lanes[n], g) : HAUL_OK;

		if (haul_failed(st))
			return st;
	}
	return HAUL_OK;
}

static void stop_all(struct lane_set *s, void (*how)(struct lane *))
{
	s->is_stopping = true;
	for (unsigned i = 0; i < s->count; i++) {
		if (s->lanes[i])
			how(s->lanes[i]);
	}
}

void lane_set_finish(struct lane_set *s)
{
	stop_all(s, lane_finish);
}

void lane_set_stop(struct lane_set *s)
{
	stop_all(s, lane_stop);
}
