/*
 * Files that change while they are read, or before. The attempt ends at once, so that nothing at the receiver waits for
 * it (PUT_OFF); when the job's other work is done, and whoever writes to it has had the time for more, the file is
 * looked at, and told as it is by then (CHANGED): the receiver begins anew. Three times at most, then it fails.
 *
 *   read, found changed ──► SAY_PUT_OFF ──► WAITING ──its turn──► LOOKING ──► SAY_CHANGED ──► told: wanted like any
 * other └─ gone, or no file any more: FAILED
 *
 * Nothing waits for time. Each state is read to its end before it is looked at again, even when it is known by then
 * that it has changed: that is time for the writer too, and bounds what a file that never rests costs to three times
 * its size.
 */
#include "agent/sender_parts.h"

#include "engine/beneath.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ATTEMPTS_OF_A_STATE = 1000, /* far more than a receiver makes of one */
	PUT_OFF_MAX = 1024,         /* more do not wait: they take up the window */
	LOOKS_MAX = 32,             /* at once */
};

enum again_phase { AGAIN_TOLD, AGAIN_SAY_PUT_OFF, AGAIN_WAITING, AGAIN_LOOKING, AGAIN_SAY_CHANGED };

/* Of an entry that has been put off at least once. */
struct send_again {
	struct list link; /* in put_offs_due, put_off or changes_due, by its phase */
	struct send_entry *entry;
	enum again_phase phase;
	unsigned states;         /* told with CHANGED */
	uint32_t first_attempt;  /* of the state that was told last; below it an attempt is of the one before */
	uint64_t size_before;    /* of that one */
	struct entry_facts next; /* SAY_CHANGED: what was seen */
};

struct send_look {
	uv_work_t pool;
	struct sender *sender;
	uint64_t entry;
	int root_fd;
	enum link_rule links;
	char *path; /* owned copy */
	haul_status status;
	struct entry_facts facts;
};

bool sender_is_put_off(const struct send_entry *e)
{
	return e->again && e->again->phase != AGAIN_TOLD;
}

unsigned sender_states(const struct send_entry *e)
{
	return e->again ? e->again->states : 0;
}

bool sender_is_attempt_before(const struct send_entry *e, uint32_t attempt)
{
	return e->again && attempt < e->again->first_attempt;
}

void send_again_free(struct send_again *a)
{
	if (!a)
		return;
	list_remove(&a->link);
	free(a);
}

/* ---- putting off ---- */

/* That something else stands there by now is a change as well. */
static bool is_change(haul_status st)
{
	return st.code == HAUL_CODE_CHANGED || st.code == HAUL_CODE_WRONG_KIND || st.code == HAUL_CODE_LINK_IN_PATH;
}

void sender_is_wanted(struct sender *s, struct send_entry *e, bool is_wanted)
{
	s->wanted_count += (size_t)is_wanted - (size_t)e->is_wanted;
	e->is_wanted = is_wanted;
}

/* What had come of it counts for nothing. */
static void forget_attempt(struct sender *s, struct send_entry *e)
{
	sender_owes_no_more(s, e);
	s->totals.bytes_again += e->moved_bytes;
	e->moved_bytes = 0;
	sender_forget_told(s, e);
	if (e->has_told)
		s->had_leaves -= leaf_count(e->facts.size);
	e->has_told = e->is_telling = false;
	hash_tree_free(e->tree);
	e->tree = NULL;
	e->has_root = e->was_opened = e->was_sent = false;
	e->leaves_left = 0;
	e->wants_due = 0;
	sender_is_wanted(s, e, false);
}

bool sender_put_off(struct sender *s, struct send_entry *e, haul_status st)
{
	if (!is_change(st) || s->cfg.verb == JOB_PROBE || sender_states(e) == MESSAGE_STATES_MAX)
		return false;
	if (!e->again) {
		e->again = calloc(1, sizeof(*e->again));
		if (!e->again)
			return false;
		list_init(&e->again->link);
		e->again->entry = e;
	}
	e->again->phase = AGAIN_SAY_PUT_OFF;
	list_push_back(&s->put_offs_due, &e->again->link);
	s->put_off_count++;
	forget_attempt(s, e);
	return true;
}

static bool say(struct sender *s, const struct message *m)
{
	struct haul_fault fault = { 0 };
	haul_status st = control_link_send(s->cfg.link, m, &fault);

	if (haul_failed(st) && st.code != HAUL_CODE_BUSY)
		sender_fail(s, st, &fault);
	return haul_ok(st);
}

/* False: nothing more can be said now. */
static bool say_put_offs(struct sender *s)
{
	uint64_t entries[JOB_BATCH_RECORDS];
	struct message m = { .type = MSG_PUT_OFF, .put_off = { entries, 0 } };

	list_each (pos, &s->put_offs_due) {
		if (m.put_off.entry_count < JOB_BATCH_RECORDS)
			entries[m.put_off.entry_count++] = list_item(pos, struct send_again, link)->entry->index;
	}
	if (!m.put_off.entry_count)
		return true;
	if (!say(s, &m))
		return false;
	for (size_t i = 0; i < m.put_off.entry_count; i++) {
		struct send_again *a = list_item(list_pop_front(&s->put_offs_due), struct send_again, link);

		a->phase = AGAIN_WAITING;
		list_push_back(&s->put_off, &a->link);
	}
	return list_is_empty(&s->put_offs_due) || say_put_offs(s);
}

/* ---- looking again ---- */

static void look_in_pool(uv_work_t *work)
{
	struct send_look *l = work->data;
	const struct source_place at = { l->root_fd, l->path, l->links };
	int fd = -1;

	l->status = follow_open(&at, O_PATH, &fd);
	if (haul_failed(l->status))
		return;
	l->status = beneath_stat_handle(fd, &l->facts);
	(void)close(fd);
}

static void look_free(struct send_look *l)
{
	if (l)
		free(l->path);
	free(l);
}

/* It will not be sent any more. */
static void give_up(struct sender *s, struct send_entry *e, haul_status st)
{
	e->again->phase = AGAIN_TOLD;
	s->put_off_count--;
	sender_entry_lost(s, e, st);
}

static void on_looked(uv_work_t *work, int status)
{
	struct send_look *l = work->data;
	struct sender *s = l->sender;
	struct send_entry *e = index_map_get(&s->window, l->entry);

	(void)status;
	s->in_pool--;
	s->looks--;
	if (s->state == SENDER_RUNNING && e) {
		if (haul_failed(l->status) && l->status.code != HAUL_CODE_LINK_IN_PATH)
			give_up(s, e, l->status);
		else if (haul_failed(l->status) || l->facts.kind != ENTRY_FILE)
			give_up(s, e, HAUL_CHANGED);
		else {
			e->again->next = l->facts;
			e->again->phase = AGAIN_SAY_CHANGED;
			list_push_back(&s->changes_due, &e->again->link);
		}
	}
	look_free(l);
	sender_maybe_farewell(s);
	sender_again(s);
}

static bool start_look(struct sender *s, struct send_again *a)
{
	const struct send_entry *e = a->entry;
	struct send_look *l = calloc(1, sizeof(*l));

	if (!l)
		return false;
	*l = (struct send_look){ .sender = s,
				 .entry = e->index,
				 .root_fd = s->sources[e->source].root_fd,
				 .links = s->sources[e->source].links,
				 .path = strdup(e->source_path) };
	l->pool.data = l;
	if (!l->path || uv_queue_work(s->cfg.loop, &l->pool, look_in_pool, on_looked)) {
		look_free(l);
		return false;
	}
	a->phase = AGAIN_LOOKING;
	s->in_pool++;
	s->looks++;
	return true;
}

/* What was wanted has its result, and more is not announced, or cannot be now. What the receiver neither wants nor ends
 * yet may wait for what is put off. */
static bool is_rest_done(const struct sender *s)
{
	return !s->wanted_count && (s->end_announced || s->batch_count);
}

static void look_at_some(struct sender *s)
{
	if (!s->again_round && (s->put_off_count >= PUT_OFF_MAX || is_rest_done(s)))
		s->again_round = s->put_off_count;
	while (s->again_round && s->looks < LOOKS_MAX) {
		struct list *item = list_pop_front(&s->put_off);

		if (!item)
			break;
		s->again_round--;
		if (!start_look(s, list_item(item, struct send_again, link))) {
			sender_fail(s, HAUL_NO_MEMORY, NULL);
			return;
		}
	}
	if (list_is_empty(&s->put_off))
		s->again_round = 0;
}

/* ---- telling what it has become ---- */

static struct changed_entry state_of(const struct send_again *a)
{
	struct manifest_entry as = { 0 };
	struct changed_entry c = { .entry = a->entry->index,
				   .attempt = (a->states + 1) * ATTEMPTS_OF_A_STATE,
				   .size = a->next.size,
				   .mtime = a->next.mtime,
				   .mode = a->next.mode };

	sender_file_identity(&a->next, &as);
	c.flags = as.flags;
	memcpy(c.source_id, as.source_id, sizeof(c.source_id));
	return c;
}

static void set_state(struct sender *s, struct send_again *a)
{
	struct send_entry *e = a->entry;

	a->phase = AGAIN_TOLD;
	a->states++;
	a->first_attempt = a->states * ATTEMPTS_OF_A_STATE;
	a->size_before = e->facts.size;
	s->totals.bytes = s->totals.bytes - e->facts.size + a->next.size;
	e->facts = a->next;
	s->put_off_count--;
}

/* False: nothing more can be said now. */
static bool say_changes(struct sender *s)
{
	struct changed_entry entries[JOB_BATCH_RECORDS];
	struct message m = { .type = MSG_CHANGED, .changed = { entries, 0 } };

	list_each (pos, &s->changes_due) {
		if (m.changed.entry_count < JOB_BATCH_RECORDS)
			entries[m.changed.entry_count++] = state_of(list_item(pos, struct send_again, link));
	}
	if (!m.changed.entry_count)
		return true;
	if (!say(s, &m))
		return false;
	for (size_t i = 0; i < m.changed.entry_count; i++)
		set_state(s, list_item(list_pop_front(&s->changes_due), struct send_again, link));
	return list_is_empty(&s->changes_due) || say_changes(s);
}

void sender_again(struct sender *s)
{
	if (s->state != SENDER_RUNNING || !s->put_off_count || !say_put_offs(s) || !say_changes(s))
		return;
	look_at_some(s);
}

void sender_result_is_of(struct sender *s, struct send_entry *e, uint32_t attempt)
{
	struct send_again *a = e->again;

	if (!a)
		return;
	if (a->phase != AGAIN_TOLD)
		s->put_off_count--;
	list_remove(&a->link);
	if (!a->states || !sender_is_attempt_before(e, attempt))
		return;
	s->totals.bytes = s->totals.bytes - e->facts.size + a->size_before;
	e->facts.size = a->size_before;
}
