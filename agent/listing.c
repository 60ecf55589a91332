/*
 * One connection, one question at a time: LIST, and LIST again after the last name while the peer has more. What the
 * peer answers is checked (names in order, no empty page that promises more), so that a peer cannot keep us in a
 * circle.
 *
 *   DIALING --HELLO exchanged--> ASKING --last page--> LEAVING --peer closed, or LEAVE_MS--> the loop runs out
 *      +--------- failure, told once to on_error -------^ (or at once)
 */
#include "agent/listing.h"

#include "agent/dial.h"
#include "agent/exit_class.h"
#include "agent/loop_open.h"
#include "agent/peer_error.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { LEAVE_MS = 500 };

enum listing_state { LISTING_DIALING, LISTING_ASKING, LISTING_LEAVING };

struct listing {
	enum listing_state state;
	uv_loop_t loop;
	uv_timer_t leave_timer;
	const struct place_spec *place;
	const struct listing_observer *obs;
	struct dial *dial;
	struct dial_trust *trust;
	struct control_link *link; /* NULL once closed */
	char peer_name[64];
	char last[HAUL_NAME_MAX + 1]; /* the greatest name or id so far */
	bool wants_partials;
	int exit_code;
};

/* A missing or unreadable place is a source that could not be opened. */
static int listing_exit_code(haul_status st)
{
	int code = exit_class_of(st);

	return code == EXIT_CLASS_ENTRIES ? EXIT_CLASS_NO_SOURCE : code;
}

static void report(struct listing *l, haul_status st, const char *text, const char *remedy)
{
	struct transfer_problem problem = { .code = st.code,
					    .exit_code = listing_exit_code(st),
					    .side = *l->peer_name ? l->peer_name : "local",
					    .text = text,
					    .remedy = remedy && *remedy ? remedy : NULL };

	if (l->exit_code)
		return;
	l->exit_code = problem.exit_code;
	l->obs->on_error(l->obs->ctx, &problem);
}

static void close_all(struct listing *l)
{
	if (l->link)
		control_link_close(l->link, NULL, NULL);
	l->link = NULL;
	if (!uv_is_closing((uv_handle_t *)&l->leave_timer))
		uv_close((uv_handle_t *)&l->leave_timer, NULL);
}

static void on_leave_timeout(uv_timer_t *timer)
{
	close_all(timer->data);
}

/* Say goodbye properly, but do not wait long for the answer. */
static void leave(struct listing *l)
{
	if (l->state == LISTING_LEAVING)
		return;
	l->state = LISTING_LEAVING;
	control_link_finish(l->link);
	(void)uv_timer_start(&l->leave_timer, on_leave_timeout, LEAVE_MS, 0);
}

static void fail(struct listing *l, haul_status st, const char *text, const char *remedy)
{
	report(l, st, text, remedy);
	leave(l);
}

static void ask(struct listing *l)
{
	const struct place_spec *place = l->place;
	struct message m = { .type = MSG_LIST };
	struct haul_fault fault;
	haul_status st;

	if (place->share)
		m.list.share = (struct text){ place->share, strlen(place->share) };
	m.list.path = (struct text){ place->path, strlen(place->path) };
	m.list.after = (struct text){ l->last, strlen(l->last) };
	m.list.wants_partials = l->wants_partials;
	st = control_link_send(l->link, &m, &fault);
	if (haul_failed(st))
		fail(l, st, fault.text, NULL);
}

static void on_shares(struct listing *l, const struct msg_listing *m)
{
	for (size_t i = 0; i < m->share_count; i++) {
		const struct listing_share *from = &m->shares[i];
		char name[MESSAGE_SHARE_NAME_MAX + 1];
		struct remote_share share = { .name = name,
					      .rights = from->rights,
					      .free_bytes = from->free_bytes,
					      .total_bytes = from->total_bytes };

		snprintf(name, sizeof(name), "%.*s", (int)from->name.len, from->name.at);
		l->obs->on_share(l->obs->ctx, &share);
	}
	leave(l);
}

/* False when the peer's names are out of order. */
static bool tell_entry(struct listing *l, const struct listing_entry *from)
{
	struct remote_entry entry = { .name = l->last,
				      .name_len = from->name.len,
				      .kind = from->kind,
				      .mode = from->mode,
				      .size = from->size,
				      .mtime = from->mtime };
	char name[HAUL_NAME_MAX + 1];

	if (from->name.len > HAUL_NAME_MAX)
		return false;
	memcpy(name, from->name.at, from->name.len);
	name[from->name.len] = '\0';
	if (strcmp(name, l->last) <= 0)
		return false;
	memcpy(l->last, name, from->name.len + 1);
	l->obs->on_entry(l->obs->ctx, &entry);
	return true;
}

/* The session has checked lengths, order, and that they go on behind what was asked. */
static void tell_partial(struct listing *l, const struct listing_partial *from)
{
	char path[MESSAGE_PARTIAL_PATH_MAX + 1];
	struct remote_partial partial = { .id = l->last,
					  .path = path,
					  .path_len = from->path.len,
					  .size = from->size,
					  .there_bytes = from->there_bytes,
					  .touched_s = from->touched_s,
					  .is_remote = true,
					  .is_yours = from->is_yours };

	memcpy(path, from->path.at, from->path.len);
	path[from->path.len] = '\0';
	memcpy(l->last, from->id.at, from->id.len);
	l->last[from->id.len] = '\0';
	l->obs->on_partial(l->obs->ctx, &partial);
}

static void on_partials(struct listing *l, const struct msg_listing *m)
{
	for (size_t i = 0; i < m->partial_count; i++)
		tell_partial(l, &m->partials[i]);
	if (m->has_more)
		ask(l);
	else
		leave(l);
}

static void on_entries(struct listing *l, const struct msg_listing *m)
{
	for (size_t i = 0; i < m->entry_count; i++) {
		if (!tell_entry(l, &m->entries[i])) {
			fail(l, HAUL_BAD_FRAME, "the peer lists names out of order", NULL);
			return;
		}
	}
	if (!m->has_more)
		leave(l);
	else if (m->entry_count)
		ask(l);
	else
		fail(l, HAUL_BAD_FRAME, "the peer promises more entries and sends none", NULL);
}

static void on_message(void *ctx, struct control_link *link, const struct message *m)
{
	struct listing *l = ctx;
	struct peer_error error;

	(void)link;
	if (l->state != LISTING_ASKING)
		return;
	if (m->type == MSG_ERROR) {
		peer_error_explain(&m->error, l->peer_name, &error);
		fail(l, error.status, error.text, error.remedy);
	} else if (m->type != MSG_LISTING) {
		fail(l, HAUL_BAD_MOVE, "the peer answers something else than it was asked", NULL);
	} else if (l->wants_partials) {
		on_partials(l, &m->listing);
	} else if (l->place->share) {
		on_entries(l, &m->listing);
	} else {
		on_shares(l, &m->listing);
	}
}

static void on_writable(void *ctx, struct control_link *link)
{
	(void)ctx; /* one small question at a time never meets a full queue */
	(void)link;
}

static void on_end(void *ctx, struct control_link *link, haul_status why, const struct haul_fault *fault)
{
	struct listing *l = ctx;

	(void)link;
	if (l->state != LISTING_LEAVING)
		report(l, haul_failed(why) ? why : HAUL_LOST,
		       haul_failed(why) ? fault->text : "the peer closed the connection before it answered", NULL);
	close_all(l);
}

static const struct control_link_callbacks callbacks = {
	.on_message = on_message,
	.on_writable = on_writable,
	.on_end = on_end,
};

static void tell_peer(struct listing *l)
{
	const struct msg_hello *hello = control_peer_hello(control_link_session(l->link));
	char software[MESSAGE_CAPABILITY_NAME_MAX * 4] = "", known_as[MESSAGE_PEER_NAME_MAX + 1] = "";

	if (hello) {
		snprintf(software, sizeof(software), "%.*s", (int)hello->software.len, hello->software.at);
		snprintf(known_as, sizeof(known_as), "%.*s", (int)hello->your_name.len, hello->your_name.at);
	}
	l->obs->on_peer(l->obs->ctx, l->peer_name, software, channel_address_text(control_link_channel(l->link)),
			*known_as ? known_as : NULL);
}

static void on_dialed(void *ctx, struct dial_result *result, const struct haul_fault *fault, const char *remedy)
{
	struct listing *l = ctx;

	l->dial = NULL;
	if (!result->link) {
		report(l, fault->status, fault->text, remedy);
		close_all(l);
		return;
	}
	l->link = result->link;
	l->trust = result->trust;
	snprintf(l->peer_name, sizeof(l->peer_name), "%s", result->peer_name);
	control_link_set_callbacks(l->link, &callbacks, l);
	l->state = LISTING_ASKING;
	tell_peer(l);
	ask(l);
}

static int run(const struct home *h, const struct place_spec *place, uint32_t connect_timeout_ms, bool wants_partials,
	       const struct listing_observer *obs)
{
	struct listing l = { .place = place, .obs = obs, .wants_partials = wants_partials };
	struct dial_config cfg = { .home = h, .place = place, .timeout_ms = connect_timeout_ms };
	struct haul_fault fault;
	haul_status st;
	int err = loop_open(&l.loop);

	if (err) {
		st = haul_fault_set(&fault, HAUL_NO_MEMORY, "no event loop: %s", uv_strerror(err));
		report(&l, st, fault.text, NULL);
		return l.exit_code;
	}
	(void)uv_timer_init(&l.loop, &l.leave_timer);
	l.leave_timer.data = &l;
	st = dial_start(&l.loop, &cfg, on_dialed, &l, &l.dial, &fault);
	if (haul_failed(st)) {
		report(&l, st, fault.text, NULL);
		close_all(&l);
	}
	(void)uv_run(&l.loop, UV_RUN_DEFAULT);
	dial_trust_free(l.trust);
	err = uv_loop_close(&l.loop);
	assert(!err);
	return l.exit_code;
}

int listing_run(const struct home *h, const struct place_spec *place, uint32_t connect_timeout_ms,
		const struct listing_observer *obs)
{
	return run(h, place, connect_timeout_ms, false, obs);
}

int listing_run_partials(const struct home *h, const struct place_spec *place, uint32_t connect_timeout_ms,
			 const struct listing_observer *obs)
{
	return run(h, place, connect_timeout_ms, true, obs);
}
