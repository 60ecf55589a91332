/*
 * Connections of known devices: questions are answered from a worker, a JOB becomes a session_job, LANE_HELLO hands the
 * connection to the lane it belongs to.
 */
#include "agent/server_parts.h"

#include "agent/listener.h"
#include "agent/quota.h"
#include "agent/serve_ask.h"
#include "agent/thread_cpu.h"
#include "engine/base/log.h"

#include <stdlib.h>
#include <string.h>

enum { JOIN_MS = 30000 };

/* HAUL_LANE_WAIT_MS makes the wait shorter, for tests. */
static uint32_t join_ms(void)
{
	const char *asked = getenv("HAUL_LANE_WAIT_MS");
	unsigned long ms = asked ? strtoul(asked, NULL, 10) : 0;

	return ms > 0 && ms < JOIN_MS ? (uint32_t)ms : JOIN_MS;
}

void server_open(struct server *s)
{
	s->join_ms = join_ms();
	list_init(&s->sessions);
	list_init(&s->quotas);
	block_budget_open(&s->budget, s->budget_bytes);
	device_book_open(&s->book);
	s->cores = own_cores();
}

/*
 * Of one device at once: jobs that run or wait, questions, and lanes until they have joined. Three jobs may begin
 * together with LANES_MAX lanes each, and there is room besides.
 */
enum { CONNECTIONS_PER_DEVICE = 64 };

static struct text text_of(const char *s)
{
	return (struct text){ s, s ? strlen(s) : 0 };
}

const struct peer *session_peer(struct server_session *s)
{
	return peers_find_id(&s->server->peers, s->device_id);
}

/* ---- the end of a session ---- */

static void session_gone(struct server_session *s)
{
	struct server *server = s->server;
	struct quota *quota = s->job ? s->job->quota : NULL;

	list_remove(&s->link);
	if (s->job)
		server->reserved_bytes -= s->job->reserved_bytes;
	session_job_free(s->job);
	quota_leave(quota);
	serve_ask_free(s->ask);
	choice_spec_close(&s->choice);
	free(s->handing);
	free(s);
	server_admit_next(server);
	if (server->on_stopped && list_is_empty(&server->sessions)) {
		void (*on_stopped)(void *ctx) = server->on_stopped;

		server->on_stopped = NULL;
		on_stopped(server->stopped_ctx);
	}
}

static void on_handle_closed(void *ctx)
{
	struct server_session *s = ctx;

	if (--s->closing == 0)
		session_gone(s);
}

static void on_watch_closed(uv_handle_t *handle)
{
	on_handle_closed(handle->data);
}

void session_leave(struct server_session *s)
{
	if (s->state == SESSION_LEAVING)
		return;
	s->state = SESSION_LEAVING;
	if (s->job_runs || s->in_pool)
		return; /* comes again when it is over */
	if (!s->is_open) {
		session_gone(s);
		return;
	}
	s->closing = 2 + (s->control != NULL);
	mailbox_close(&s->mailbox, on_handle_closed);
	uv_close((uv_handle_t *)&s->watch, on_watch_closed);
	if (s->control)
		control_link_close(s->control, on_handle_closed, s);
	s->control = NULL;
}

/* What session_leave() waited for is over. */
static void session_leave_now(struct server_session *s)
{
	s->state = SESSION_ASKING;
	session_leave(s);
}

void session_refuse(struct server_session *s, const struct msg_error *e)
{
	if (s->said_error || !s->control)
		return;
	s->said_error = true;
	control_link_refuse(s->control, e);
}

void session_refuse_status(struct server_session *s, haul_status st, const char *text)
{
	const struct peer *peer = session_peer(s);
	const struct msg_error e = { .code = (uint32_t)st.code,
				     .text = text_of(text),
				     .your_name = text_of(peer ? peer->name : "") };

	session_refuse(s, &e);
}

void session_missing_right(struct server_session *s, struct text share, uint64_t missing, uint64_t held)
{
	const struct peer *peer = session_peer(s);
	const struct msg_error e = { .code = HAUL_CODE_NO_RIGHT,
				     .share = share,
				     .your_name = text_of(peer ? peer->name : ""),
				     .missing_right = missing,
				     .held_rights = held };

	session_refuse(s, &e);
}

/* ---- questions ---- */

static void ask_in_pool(uv_work_t *work)
{
	serve_ask_run(((struct server_session *)work->data)->ask);
}

static void on_answered(uv_work_t *work, int status)
{
	struct server_session *s = work->data;
	const struct message *answer = serve_ask_answer(s->ask);
	struct haul_fault fault = { 0 };

	(void)status;
	s->in_pool = false;
	if (s->state == SESSION_LEAVING) {
		session_leave_now(s);
		return;
	}
	if (answer->type == MSG_ERROR)
		session_refuse(s, &answer->error);
	else if (haul_failed(control_link_send(s->control, answer, &fault)))
		session_refuse_status(s, fault.status, fault.text);
	/* A list that goes on is kept: the next question is likely to be for its next page. */
	if (answer->type == MSG_LISTING && answer->listing.has_more)
		return;
	serve_ask_free(s->ask);
	s->ask = NULL;
}

static void start_asking(struct server_session *s, const struct message *m)
{
	const struct peer *peer = session_peer(s);
	struct serve_ask *last = s->ask;

	s->ask = NULL;
	if (!peer || haul_failed(serve_ask_new(&s->server->shares, peer, s->server->home->state_dir, m, &s->ask))) {
		serve_ask_free(last);
		session_refuse_status(s, peer ? HAUL_NO_MEMORY : HAUL_NOT_KNOWN, "");
		return;
	}
	serve_ask_continue(s->ask, last);
	serve_ask_free(last);
	s->pool.data = s;
	if (uv_queue_work(s->server->loop, &s->pool, ask_in_pool, on_answered)) {
		session_refuse_status(s, HAUL_NO_MEMORY, "");
		return;
	}
	s->in_pool = true;
}

/* ---- lanes ---- */

/* The job that a lane says it belongs to; the same device only. */
static struct server_session *job_session(struct server *server, const uint8_t *session_id, const uint8_t *device_id)
{
	list_each (pos, &server->sessions) {
		struct server_session *s = list_item(pos, struct server_session, link);

		if (s->state == SESSION_RUNNING && s->job &&
		    !memcmp(s->job->session_id, session_id, SESSION_ID_BYTES) &&
		    !memcmp(s->device_id, device_id, sizeof(s->device_id)))
			return s;
	}
	return NULL;
}

struct handing {
	struct server_session *session;
	uint8_t session_id[SESSION_ID_BYTES];
	unsigned lane;
	uint32_t epoch;
};

static void lane_arrived(struct server_session *s, const struct handing *h, struct channel_parts *parts)
{
	struct server_session *owner = job_session(s->server, h->session_id, s->device_id);
	struct haul_fault fault = { 0 };
	haul_status st;

	if (!owner) {
		channel_parts_free(parts);
		return;
	}
	st = lane_set_attach(session_job_lanes(owner->job), h->lane, h->epoch, parts, &fault);
	if (haul_failed(st))
		session_stop_job(owner, st);
}

static void on_detached(void *ctx, struct channel_parts *parts)
{
	struct handing *h = ctx;
	struct server_session *s = h->session;

	s->control = NULL;
	s->handing = NULL;
	lane_arrived(s, h, parts);
	free(h);
	session_leave(s);
}

static void hand_over(struct server_session *s, const struct msg_lane_hello *m)
{
	struct server_session *owner = job_session(s->server, m->session_id, s->device_id);
	const struct msg_lane_ok ok = { m->lane, m->epoch };
	struct handing *h = calloc(1, sizeof(*h));
	struct haul_fault fault = { .status = HAUL_NOT_ANNOUNCED, .text = "no job waits for this lane" };

	if (!owner || !h || !session_claim_lane(owner, m, &fault)) {
		free(h);
		session_refuse_status(s, fault.status, fault.text);
		return;
	}
	h->session = s;
	h->lane = m->lane;
	h->epoch = m->epoch;
	memcpy(h->session_id, m->session_id, sizeof(h->session_id));
	s->handing = h;
	s->state = SESSION_HANDING;
	if (haul_failed(control_link_detach(s->control, &ok, on_detached, h)))
		session_leave(s);
}

/* ---- the link ---- */

static void on_message(void *ctx, struct control_link *l, const struct message *m)
{
	struct server_session *s = ctx;

	if (s->server->on_authenticated)
		s->server->on_authenticated(s->server->authenticated_ctx, control_link_channel(l));
	if (s->state == SESSION_LEAVING || s->said_error)
		return;
	switch (m->type) {
	case MSG_HELLO:
		return;
	case MSG_LOOKUP:
	case MSG_LIST:
		start_asking(s, m);
		return;
	case MSG_CHOICE:
		session_choose_entries(s, &m->choice);
		return;
	case MSG_JOB:
		session_start_job(s, &m->job);
		return;
	case MSG_LANE_HELLO:
		hand_over(s, &m->lane_hello);
		return;
	case MSG_CANCEL:
	case MSG_ERROR:
		session_stop_job(s, HAUL_CANCELLED);
		return;
	default:
		session_job_message(s, m);
		return;
	}
}

static void on_writable(void *ctx, struct control_link *l)
{
	struct server_session *s = ctx;

	(void)l;
	if (!s->job_runs)
		return;
	if (s->job->sender)
		sender_writable(s->job->sender);
	else
		receiver_writable(s->job->receiver);
}

static void on_link_end(void *ctx, struct control_link *l, haul_status why, const struct haul_fault *fault)
{
	struct server_session *s = ctx;

	(void)l;
	if (haul_failed(why) && fault && fault->text[0])
		haul_log(HAUL_LOG_INFO, "a connection ended: %s", fault->text);
	if (s->job_runs)
		session_stop_job(s, haul_ok(why) ? HAUL_LOST : why);
	session_leave(s);
}

static const struct control_link_callbacks link_callbacks = {
	.on_message = on_message,
	.on_writable = on_writable,
	.on_end = on_link_end,
};

/* Whatever a lane or a thread of the job reports is movement. */
static void on_mails(void *ctx, struct list *mails)
{
	struct server_session *s = ctx;

	s->moved_ms = uv_now(s->server->loop);
	mail_deliver_all(ctx, mails);
}

static haul_status session_open(struct server_session *s, struct channel *ch, struct haul_fault *fault)
{
	const struct peer *peer = session_peer(s);
	struct msg_hello hello;
	haul_status st = mailbox_open(&s->mailbox, s->server->loop, on_mails, s);

	if (haul_failed(st))
		return st;
	(void)uv_timer_init(s->server->loop, &s->watch);
	s->watch.data = s;
	s->is_open = true;
	hello_fill(&hello, peer ? peer->name : NULL);
	return control_link_open(ch, CONTROL_SERVER, &hello, &link_callbacks, s, &s->control, fault);
}

/* One device's connections: its jobs, their lanes on the way to them, its questions. */
static unsigned connections_of(const struct server *server, const uint8_t *device_id)
{
	unsigned count = 0;

	list_each (pos, &server->sessions)
		count += !memcmp(list_item(pos, struct server_session, link)->device_id, device_id, 32);
	return count;
}

void server_take_channel(struct server *server, struct channel *ch, const uint8_t device_id[32])
{
	struct server_session *s = server->on_stopped || connections_of(server, device_id) >= CONNECTIONS_PER_DEVICE
				       ? NULL
				       : calloc(1, sizeof(*s));
	struct haul_fault fault = { 0 };

	if (!s) {
		channel_close(ch, NULL, NULL);
		return;
	}
	s->server = server;
	memcpy(s->device_id, device_id, sizeof(s->device_id));
	list_push_back(&server->sessions, &s->link);
	if (haul_ok(session_open(s, ch, &fault)))
		return;
	channel_close(ch, NULL, NULL);
	session_leave(s);
}

/* ---- all of them ---- */

void session_job_ended(struct server_session *s, haul_status st, const struct haul_fault *fault)
{
	s->job_runs = false;
	if (haul_failed(st))
		session_refuse_status(s, st, fault && fault->text[0] ? fault->text : haul_status_text(st));
	if (s->state == SESSION_LEAVING)
		session_leave_now(s);
}

void session_opened(struct server_session *s)
{
	s->in_pool = false;
	if (s->state == SESSION_LEAVING)
		session_leave_now(s);
}

void server_reload(struct server *server)
{
	struct list *next;

	for (struct list *pos = server->sessions.next; pos != &server->sessions; pos = next) {
		struct server_session *s = list_item(pos, struct server_session, link);

		next = pos->next;
		if (session_peer(s)) {
			session_recheck_rights(s);
			continue;
		}
		session_refuse_status(s, HAUL_NOT_KNOWN, "");
		session_stop_job(s, HAUL_NOT_KNOWN);
	}
}

void server_stop(struct server *server, void (*on_stopped)(void *ctx), void *ctx)
{
	struct list *next;

	server->on_stopped = on_stopped;
	server->stopped_ctx = ctx;
	if (list_is_empty(&server->sessions)) {
		server->on_stopped = NULL;
		on_stopped(ctx);
		return;
	}
	for (struct list *pos = server->sessions.next; pos != &server->sessions; pos = next) {
		struct server_session *s = list_item(pos, struct server_session, link);

		next = pos->next;
		session_refuse_status(s, HAUL_LOST, "the agent is stopping");
		if (s->job_runs)
			session_stop_job(s, HAUL_CANCELLED);
	}
}
