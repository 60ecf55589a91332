/*
 * One event in, one update out. Bytes are parsed by the codec, what may be said when is in control_moves.c, what a job
 * means in control_job.c; here each message moves the conversation on. What we say and what the peer says take the same
 * way, so that both ends keep the same account.
 */
#include "peer-protocol/control_session.h"

#include "peer-protocol/codec.h"
#include "peer-protocol/control_job.h"
#include "peer-protocol/hello.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an answer is measured by. */
struct open_question {
	size_t path_count;                 /* LOOKUP */
	bool wants_shares, wants_partials; /* LIST */
	char after[HAUL_NAME_MAX];
	size_t after_len;
	enum job_direction direction; /* JOB */
	uint32_t lanes, lanes_most;
	bool wants_notes;
	bool is_move;
	uint32_t lane, epoch; /* LANE_HELLO */
};

struct control_session {
	enum control_role role;
	enum control_phase phase;
	haul_status why; /* FAILED: the reason */
	struct message_decoder *decoder;
	struct message_buffer outgoing;
	struct message incoming;
	struct hello_copy peer_hello;
	bool has_peer_hello;
	struct open_question question;
	struct control_job job;
};

struct control_session *control_session_new(const struct control_config *cfg)
{
	struct control_session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->role = cfg->role;
	s->phase = PHASE_SILENT;
	control_job_open(&s->job, JOB_PUSH);
	s->decoder = message_decoder_new();
	if (!s->decoder) {
		free(s);
		return NULL;
	}
	return s;
}

void control_session_free(struct control_session *s)
{
	if (!s)
		return;
	control_job_close(&s->job);
	message_buffer_close(&s->outgoing);
	message_decoder_free(s->decoder);
	free(s);
}

static enum control_role peer_role(const struct control_session *s)
{
	return s->role == CONTROL_CLIENT ? CONTROL_SERVER : CONTROL_CLIENT;
}

static uint64_t moves_of(const struct control_session *s, enum control_role role)
{
	enum job_party party = control_job_party(&s->job, role);
	struct control_speaker speaker = {
		.phase = s->phase,
		.role = role,
		.is_sender = party == JOB_SENDER,
		.stage = s->job.stages[party],
		.other_stage = s->job.stages[party == JOB_SENDER ? JOB_RECEIVER : JOB_SENDER],
		.is_move = s->job.is_move,
		.is_asked = s->job.look_count > 0,
	};

	return control_moves(&speaker);
}

/* End the session. Where we may still speak, the peer is told `code`, with the fault's sentence. */
static haul_status fail(struct control_session *s, haul_status st, haul_status code, const struct haul_fault *fault,
			struct control_update *out)
{
	struct message m = { .type = MSG_ERROR };
	bool may_speak = moves_of(s, s->role) & CONTROL_BIT(MSG_ERROR);

	s->phase = PHASE_FAILED;
	s->why = st;
	s->outgoing.len = 0;
	if (!may_speak)
		return st;
	m.error.code = (uint32_t)code.code;
	m.error.text = (struct text){ fault->text, strnlen(fault->text, MESSAGE_TEXT_MAX) };
	if (haul_failed(message_encode(&s->outgoing, &m)))
		return st;
	out->send = s->outgoing.data;
	out->send_len = s->outgoing.len;
	return st;
}

static haul_status not_allowed(const struct control_session *s, const struct message *m, const char *who,
			       struct haul_fault *fault)
{
	return haul_fault_set(fault, HAUL_BAD_MOVE, "%s said %s in state \"%s\"", who, message_name(m->type),
			      control_phase_name(s->phase));
}

static haul_status on_hello(struct control_session *s, enum control_role speaker, const struct message *m,
			    struct haul_fault *fault)
{
	haul_status st;

	/* The greeting counts even if we do not like it: from now on a refusal reaches the peer. */
	s->phase = speaker == CONTROL_SERVER ? PHASE_GREETED : PHASE_ASKING;
	if (speaker == s->role)
		return HAUL_OK;
	st = hello_adopt(&s->peer_hello, &m->hello, fault);
	if (haul_failed(st))
		return st;
	s->has_peer_hello = true;
	s->incoming.hello = s->peer_hello.hello;
	return HAUL_OK;
}

static haul_status on_lane_ok(struct control_session *s, const struct msg_lane_ok *m, struct haul_fault *fault)
{
	if (m->lane != s->question.lane || m->epoch != s->question.epoch)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "LANE_OK for another lane than was asked for");
	s->phase = PHASE_CLOSED;
	return HAUL_OK;
}

static haul_status on_found(struct control_session *s, const struct msg_found *m, struct haul_fault *fault)
{
	if (m->found_count != s->question.path_count)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "%zu answers to %zu paths", m->found_count,
				      s->question.path_count);
	s->phase = PHASE_ASKING;
	return HAUL_OK;
}

static haul_status on_list(struct control_session *s, const struct msg_list *m)
{
	s->question.wants_shares = m->share.len == 0;
	s->question.wants_partials = m->wants_partials;
	s->question.after_len = m->after.len;
	if (m->after.len)
		memcpy(s->question.after, m->after.at, m->after.len);
	s->phase = PHASE_LIST_OPEN;
	return HAUL_OK;
}

/* Each page must begin behind the last one, so that a listing comes to an end. */
static haul_status on_listing(struct control_session *s, const struct msg_listing *m, struct haul_fault *fault)
{
	struct text after = { s->question.after, s->question.after_len };
	bool wants_entries = !s->question.wants_shares && !s->question.wants_partials;

	if ((m->share_count && !s->question.wants_shares) || (m->entry_count && !wants_entries) ||
	    (m->partial_count && !s->question.wants_partials))
		return haul_fault_set(fault, HAUL_BAD_VALUE, "LISTING of what was not asked for");
	if ((m->entry_count && after.len && text_compare(m->entries[0].name, after) <= 0) ||
	    (m->partial_count && after.len && text_compare(m->partials[0].id, after) <= 0))
		return haul_fault_set(fault, HAUL_BAD_VALUE, "LISTING begins before the name it was asked for");
	s->phase = PHASE_ASKING;
	return HAUL_OK;
}

static haul_status on_accept(struct control_session *s, const struct msg_accept *m, struct haul_fault *fault)
{
	if (m->lanes > s->question.lanes || m->lanes + m->more_lanes > s->question.lanes_most)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "ACCEPT of more lanes than were wished for");
	control_job_close(&s->job);
	control_job_open(&s->job, s->question.direction);
	s->job.wants_notes = s->question.wants_notes;
	s->job.is_move = s->question.is_move;
	s->phase = PHASE_JOB;
	return HAUL_OK;
}

static haul_status on_job_message(struct control_session *s, enum control_role speaker, const struct message *m,
				  size_t frame_bytes, struct haul_fault *fault)
{
	haul_status st = control_job_apply(&s->job, control_job_party(&s->job, speaker), m, frame_bytes, fault);

	if (haul_ok(st) && s->job.stages[JOB_SENDER] == STAGE_DONE && s->job.stages[JOB_RECEIVER] == STAGE_DONE)
		s->phase = PHASE_CLOSED;
	return st;
}

/* `speaker` says `m`, which is allowed. ERROR is the callers' business. */
static haul_status apply(struct control_session *s, enum control_role speaker, const struct message *m,
			 size_t frame_bytes, struct haul_fault *fault)
{
	switch (m->type) {
	case MSG_HELLO:
		return on_hello(s, speaker, m, fault);
	case MSG_LANE_HELLO:
		s->question.lane = m->lane_hello.lane;
		s->question.epoch = m->lane_hello.epoch;
		s->phase = PHASE_LANE_ASKED;
		return HAUL_OK;
	case MSG_LANE_OK:
		return on_lane_ok(s, &m->lane_ok, fault);
	case MSG_LOOKUP:
		s->question.path_count = m->lookup.path_count;
		s->phase = PHASE_LOOKUP_OPEN;
		return HAUL_OK;
	case MSG_FOUND:
		return on_found(s, &m->found, fault);
	case MSG_LIST:
		return on_list(s, &m->list);
	case MSG_CHOICE:
		return HAUL_OK; /* what it adds up to is bounded by whoever keeps it */
	case MSG_LISTING:
		return on_listing(s, &m->listing, fault);
	case MSG_JOB:
		s->question.direction = m->job.direction;
		s->question.lanes = m->job.lanes;
		s->question.lanes_most = m->job.lanes + m->job.more_lanes;
		s->question.wants_notes = m->job.flags & JOB_NOTES;
		s->question.is_move = m->job.flags & JOB_MOVE && !(m->job.flags & JOB_DRY_RUN);
		s->phase = PHASE_JOB_OPEN;
		return HAUL_OK;
	case MSG_ACCEPT:
		return on_accept(s, &m->accept, fault);
	case MSG_BUSY:
	case MSG_ERROR:
		return HAUL_OK;
	default:
		return on_job_message(s, speaker, m, frame_bytes, fault);
	}
}

static haul_status on_received(struct control_session *s, const struct control_event *ev, struct control_update *out,
			       struct haul_fault *fault)
{
	struct message *m = &s->incoming;
	size_t used;
	haul_status st = message_decode(s->decoder, ev->data, ev->len, &used, m);

	if (haul_failed(st)) {
		(void)haul_fault_set(fault, st, "peer's message in state \"%s\": %s", control_phase_name(s->phase),
				     haul_status_text(st));
		return fail(s, st, st, fault, out);
	}
	if (!used)
		return HAUL_OK;
	if (moves_of(s, peer_role(s)) & CONTROL_BIT(m->type))
		st = apply(s, peer_role(s), m, used, fault);
	else
		st = not_allowed(s, m, "peer", fault);
	if (haul_failed(st))
		return fail(s, st, st, fault, out);
	out->consumed = used;
	out->message = m;
	if (m->type == MSG_ERROR) {
		s->phase = PHASE_FAILED;
		s->why = haul_status_from_number(m->error.code);
	}
	return HAUL_OK;
}

/* Whether a failure to say something leaves everything as it was, so that the caller may say it otherwise or later. */
static bool is_refusal(haul_status st)
{
	return st.code == HAUL_CODE_OVER_CREDIT || st.code == HAUL_CODE_OVERFLOW;
}

static haul_status encode_own(struct control_session *s, const struct message *m, struct haul_fault *fault)
{
	haul_status st = message_encode(&s->outgoing, m);

	if (haul_failed(st))
		return haul_fault_set(fault, st, "own %s cannot be encoded", message_name(m->type));
	if (m->type != MSG_MANIFEST)
		return HAUL_OK;
	st = control_job_credit_check(&s->job, m->manifest.record_count, s->outgoing.len);
	return haul_failed(st) ? haul_fault_set(fault, st, "own MANIFEST waits for credit") : st;
}

static haul_status on_send(struct control_session *s, const struct control_event *ev, struct control_update *out,
			   struct haul_fault *fault)
{
	const struct message *m = ev->message;
	haul_status st;

	assert(m);
	s->outgoing.len = 0;
	if ((unsigned)m->type > MSG_TYPE_LAST || !(moves_of(s, s->role) & CONTROL_BIT(m->type)))
		st = not_allowed(s, m, "this side", fault);
	else
		st = encode_own(s, m, fault);
	if (is_refusal(st))
		return st;
	if (haul_ok(st))
		st = apply(s, s->role, m, s->outgoing.len, fault);
	if (haul_failed(st))
		return fail(s, st, HAUL_BUG, fault, out);
	out->send = s->outgoing.data;
	out->send_len = s->outgoing.len;
	if (m->type == MSG_ERROR) {
		s->phase = PHASE_FAILED;
		s->why = haul_status_from_number(m->error.code);
	}
	return HAUL_OK;
}

/* The connection ended. That is right after DONE, and for a client that has asked all it wanted to know. */
static haul_status on_end(struct control_session *s, bool is_clean, struct haul_fault *fault)
{
	char text[128];

	if (s->phase == PHASE_CLOSED)
		return HAUL_OK;
	if (is_clean && s->phase == PHASE_ASKING && s->role == CONTROL_SERVER) {
		s->phase = PHASE_CLOSED;
		return HAUL_OK;
	}
	(void)control_describe(s, text, sizeof(text));
	s->phase = PHASE_FAILED;
	s->why = HAUL_LOST;
	return haul_fault_set(fault, HAUL_LOST, "connection %s in the midst: %s", is_clean ? "closed" : "cut", text);
}

static haul_status dispatch(struct control_session *s, const struct control_event *ev, struct control_update *out,
			    struct haul_fault *fault)
{
	if (s->phase == PHASE_FAILED)
		return haul_fault_set(fault, s->why, "control connection has failed: %s", haul_status_text(s->why));
	switch (ev->type) {
	case CONTROL_EV_RECEIVED:
		return on_received(s, ev, out, fault);
	case CONTROL_EV_SEND:
		return on_send(s, ev, out, fault);
	case CONTROL_EV_EOF:
		return on_end(s, true, fault);
	case CONTROL_EV_CUT:
		return on_end(s, false, fault);
	}
	return haul_bug("control event %d", (int)ev->type);
}

haul_status control_step(struct control_session *s, const struct control_event *ev, struct control_update *ret_update,
			 struct haul_fault *fault)
{
	struct haul_fault own; /* the peer is told the sentence, whether the caller wants it or not */
	haul_status st;

	if (!fault) {
		own = (struct haul_fault){ .status = HAUL_OK };
		fault = &own;
	}
	*ret_update = (struct control_update){ 0 };
	st = dispatch(s, ev, ret_update, fault);
	ret_update->wait_ms = control_wait_ms(s->phase, peer_role(s));
	return st;
}

enum control_state control_state(const struct control_session *s)
{
	switch (s->phase) {
	case PHASE_SILENT:
	case PHASE_GREETED:
		return CONTROL_GREETING;
	case PHASE_ASKING:
		return CONTROL_ASKING;
	case PHASE_LANE_ASKED:
	case PHASE_LOOKUP_OPEN:
	case PHASE_LIST_OPEN:
	case PHASE_JOB_OPEN:
		return CONTROL_ANSWERING;
	case PHASE_JOB:
		break;
	case PHASE_CLOSED:
		return CONTROL_CLOSED;
	case PHASE_FAILED:
	case PHASE_COUNT:
		return CONTROL_FAILED;
	}
	return s->job.stages[JOB_SENDER] >= STAGE_ENDED || s->job.stages[JOB_RECEIVER] >= STAGE_ENDED ? CONTROL_ENDING
												      : CONTROL_RUNNING;
}

void control_credit(const struct control_session *s, uint64_t *ret_records, uint64_t *ret_bytes)
{
	*ret_records = s->job.credit_records;
	*ret_bytes = s->job.credit_bytes;
}

const struct msg_hello *control_peer_hello(const struct control_session *s)
{
	return s->has_peer_hello ? &s->peer_hello.hello : NULL;
}

const char *control_describe(const struct control_session *s, char *ret_text, size_t cap)
{
	const char *name = control_phase_name(s->phase);

	if (s->phase == PHASE_JOB && control_state(s) == CONTROL_ENDING)
		name = "ending";
	if (s->phase == PHASE_JOB)
		(void)snprintf(ret_text, cap, "control %s, %" PRIu64 " of %" PRIu64 " entries without result", name,
			       s->job.manifest.entries - s->job.results, s->job.manifest.entries);
	else
		(void)snprintf(ret_text, cap, "control %s", name);
	return ret_text;
}
