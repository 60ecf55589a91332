/*
 * Two control sessions, and an input that says who says what, when it arrives, and where noise comes in.
 *
 * As long as no noise was put in: what one side may say, the other must accept, however the two cross on the way. That
 * holds for every sequence, since both sides keep the same account of what was said. With noise: nothing but order.
 */
#include "peer-protocol/codec.h"
#include "peer-protocol/control_session.h"

#include "../unit/control_pair.h"

#include <stdlib.h>
#include <string.h>

enum { QUEUE_CAP = 1 << 16, STEPS_MAX = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bytes under way to one side. */
struct queue {
	uint8_t bytes[QUEUE_CAP];
	size_t len;
};

struct world {
	struct control_pair pair;
	struct queue to[2]; /* by the role of who will hear it */
	bool has_noise;
	uint64_t entries; /* announced by the side that sends */
	char name[9];     /* of the last entry */
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void push(struct queue *q, const uint8_t *data, size_t len)
{
	if (!len)
		return;
	if (len > sizeof(q->bytes) - q->len)
		abort(); /* say() leaves room for the longest refusal */
	memcpy(q->bytes + q->len, data, len);
	q->len += len;
}

static void check_failed(const struct control_session *s, haul_status st)
{
	char text[64];

	require(haul_ok(st) || control_state(s) == CONTROL_FAILED);
	(void)control_describe(s, text, sizeof(text));
}

/* One side hears what is under way, up to `len` bytes. */
static void deliver(struct world *w, int role, size_t len)
{
	struct queue *q = &w->to[role];
	struct control_session *s = w->pair.sides[role];
	bool had_failed = control_state(s) == CONTROL_FAILED;
	struct control_event ev = { .type = CONTROL_EV_RECEIVED, .data = q->bytes, .len = len < q->len ? len : q->len };
	struct control_update out;
	haul_status st = control_step(s, &ev, &out, &w->pair.fault);

	require(out.consumed <= ev.len && (out.message != NULL) == (out.consumed > 0));
	check_failed(s, st);
	require(w->has_noise || had_failed || haul_ok(st));
	if (haul_failed(st))
		out.consumed = q->len;
	if (haul_failed(st) && out.send_len)
		push(&w->to[!role], out.send, out.send_len);
	memmove(q->bytes, q->bytes + out.consumed, q->len - out.consumed);
	q->len -= out.consumed;
}

/* Turn the plain message into the one that is due, so that long sequences come about. */
static void make_due(struct world *w, struct message *m, struct manifest_record *record, uint8_t detail)
{
	if (m->type == MSG_JOB) {
		*m = job_message(detail & 1 ? JOB_PUSH : JOB_PULL);
		m->job.flags |= detail & 2 ? JOB_CHECKSUM | JOB_MOVE : 0u;
	}
	if (m->type == MSG_CREDIT)
		m->credit = (struct msg_credit){ .records = detail & 3, .bytes = detail * UINT64_C(4) };
	if (m->type == MSG_JOB_END)
		m->job_end.root.bytes[0] = detail & 1;
	if (m->type == MSG_MANIFEST_END)
		m->manifest_end = (struct msg_manifest_end){ .entries = w->entries, .bytes = 10 * w->entries };
	if (m->type != MSG_MANIFEST)
		return;
	for (int i = 0; i < 8; i++)
		w->name[i] = (char)('a' + (w->entries >> (28 - 4 * i) & 15));
	*record = entry_record(w->entries, HAUL_NO_INDEX, ENTRY_FILE, w->name);
	m->manifest = (struct msg_manifest){ .records = record, .record_count = 1 };
}

/* Mostly something that may be said in that state, else inputs that get far would be too rare. */
static enum message_type choose(const struct control_session *s, uint8_t choice)
{
	static const uint8_t greeting[] = { MSG_HELLO, MSG_HELLO, MSG_LANE_HELLO },
			     asking[] = { MSG_LOOKUP, MSG_LIST, MSG_JOB, MSG_CHOICE };
	static const uint8_t answers[] = { MSG_FOUND, MSG_LISTING, MSG_ACCEPT, MSG_BUSY, MSG_LANE_OK };
	static const uint8_t work[] = { MSG_CREDIT,  MSG_OWNERS, MSG_MANIFEST, MSG_MANIFEST_END, MSG_WANT,
					MSG_BASIS,   MSG_HAVE,   MSG_ACK,      MSG_FAILED,       MSG_RESULT,
					MSG_JOB_END, MSG_DONE,   MSG_CANCEL,   MSG_ALIVE,        MSG_LOOK,
					MSG_LOOKED,  MSG_MOVED,  MSG_LEFT,     MSG_LANE_LOST,    MSG_PUT_OFF,
					MSG_CHANGED };

	if (choice < 208) {
		switch (control_state(s)) {
		case CONTROL_GREETING:
			return greeting[choice % sizeof(greeting)];
		case CONTROL_ASKING:
			return asking[choice % sizeof(asking)];
		case CONTROL_ANSWERING:
			return answers[choice % sizeof(answers)];
		case CONTROL_RUNNING:
		case CONTROL_ENDING:
			return work[choice % sizeof(work)];
		case CONTROL_CLOSED:
		case CONTROL_FAILED:
			break;
		}
	}
	return (enum message_type)(1 + choice % MSG_TYPE_LAST);
}

static void say(struct world *w, int role, uint8_t choice, uint8_t detail)
{
	struct control_session *s = w->pair.sides[role];
	struct message m = plain_message(choose(s, choice));
	struct control_event ev = { .type = CONTROL_EV_SEND, .message = &m };
	enum control_state before = control_state(s);
	struct manifest_record record;
	struct control_update out;
	haul_status st;

	make_due(w, &m, &record, detail);
	if (w->to[!role].len > QUEUE_CAP / 2)
		return;
	st = control_step(s, &ev, &out, &w->pair.fault);
	require(haul_ok(st) || st.code == HAUL_CODE_OVER_CREDIT || control_state(s) == CONTROL_FAILED);
	require(st.code != HAUL_CODE_OVER_CREDIT || control_state(s) == before);
	if (haul_ok(st) && m.type == MSG_MANIFEST)
		w->entries++;
	push(&w->to[!role], out.send, out.send_len);
}

static void end(struct world *w, int role, bool is_clean)
{
	struct control_event ev = { .type = is_clean ? CONTROL_EV_EOF : CONTROL_EV_CUT };
	struct control_session *s = w->pair.sides[role];
	struct control_update out;
	haul_status st;

	w->has_noise = true; /* what is still under way now comes after the end */
	st = control_step(s, &ev, &out, &w->pair.fault);
	check_failed(s, st);
	require(haul_failed(st) || control_state(s) == CONTROL_CLOSED);
}

static void act(struct world *w, const uint8_t op[3])
{
	int role = op[0] & 1;

	switch (op[0] >> 1 & 7) {
	case 0:
	case 1:
	case 2:
		say(w, role, op[1], op[2]);
		break;
	case 3:
	case 4:
		deliver(w, role, SIZE_MAX);
		break;
	case 5:
		deliver(w, role, op[1]);
		break;
	case 6:
		if (op[0] & 0x80)
			end(w, role, op[1] & 1);
		break;
	default:
		if (!(op[0] & 0x80))
			break;
		w->has_noise = true;
		if (w->to[role].len)
			w->to[role].bytes[op[1] % w->to[role].len] ^= op[2];
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world w;

	w.to[0].len = w.to[1].len = 0;
	w.has_noise = false;
	w.entries = 0;
	control_pair_open(&w.pair);
	for (unsigned step = 0; size >= 3 && step < STEPS_MAX; step++) {
		act(&w, data);
		data += 3;
		size -= 3;
	}
	control_pair_close(&w.pair);
	return 0;
}
