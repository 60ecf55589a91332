#include "control_pair.h"

#include "peer-protocol/codec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void control_pair_open(struct control_pair *p)
{
	*p = (struct control_pair){ 0 };
	for (int role = 0; role < 2; role++) {
		struct control_config cfg = { .role = (enum control_role)role };

		p->sides[role] = control_session_new(&cfg);
		assert(p->sides[role]);
	}
}

void control_pair_close(struct control_pair *p)
{
	control_session_free(p->sides[CONTROL_CLIENT]);
	control_session_free(p->sides[CONTROL_SERVER]);
}

haul_status control_pair_send(struct control_pair *p, enum control_role role, const struct message *m,
			      struct control_update *ret_update)
{
	struct control_event ev = { .type = CONTROL_EV_SEND, .message = m };

	return control_step(p->sides[role], &ev, ret_update, &p->fault);
}

haul_status control_pair_say(struct control_pair *p, enum control_role role, const struct message *m,
			     const struct message **ret_heard)
{
	struct control_session *other = p->sides[role == CONTROL_CLIENT ? CONTROL_SERVER : CONTROL_CLIENT];
	struct control_event ev = { .type = CONTROL_EV_RECEIVED };
	struct control_update out;
	haul_status st = control_pair_send(p, role, m, &out);

	if (haul_failed(st))
		return st;
	ev.data = out.send;
	ev.len = out.send_len;
	st = control_step(other, &ev, &out, &p->fault);
	if (haul_failed(st))
		return st;
	assert(out.consumed == ev.len && out.message);
	if (ret_heard)
		*ret_heard = out.message;
	return HAUL_OK;
}

haul_status control_pair_hear(struct control_pair *p, enum control_role role, const struct message *m,
			      struct control_update *ret_update)
{
	struct message_buffer b = { 0 };
	struct control_event ev = { .type = CONTROL_EV_RECEIVED };
	haul_status st = message_encode(&b, m);

	assert(haul_ok(st));
	ev.data = b.data;
	ev.len = b.len;
	st = control_step(p->sides[role], &ev, ret_update, &p->fault);
	message_buffer_close(&b);
	return st;
}

static void must_say(struct control_pair *p, enum control_role role, const struct message *m)
{
	haul_status st = control_pair_say(p, role, m, NULL);

	if (haul_failed(st))
		abort();
}

void control_pair_greet(struct control_pair *p)
{
	struct message hello = hello_message();

	must_say(p, CONTROL_SERVER, &hello);
	must_say(p, CONTROL_CLIENT, &hello);
}

void control_pair_run_job(struct control_pair *p, enum job_direction direction, uint64_t records)
{
	struct message job = job_message(direction), accept = plain_message(MSG_ACCEPT);
	struct message credit = { .type = MSG_CREDIT, .credit = { .records = records, .bytes = records * 400 } };

	control_pair_greet(p);
	must_say(p, CONTROL_CLIENT, &job);
	must_say(p, CONTROL_SERVER, &accept);
	must_say(p, direction == JOB_PUSH ? CONTROL_SERVER : CONTROL_CLIENT, &credit);
}

struct message hello_message(void)
{
	return (struct message){
		.type = MSG_HELLO,
		.hello = { .version_min = 1,
			   .version_max = 1,
			   .tree_version = 1,
			   .digest_algorithms = 2,
			   .digest_bytes = 16,
			   .block_min = 1 << 20,
			   .block_max = 16 << 20,
			   .cores = 4,
			   .lanes_max = 16 },
	};
}

struct message job_message(enum job_direction direction)
{
	static const struct job_source source;
	struct message m = { .type = MSG_JOB,
			     .job = { .verb = JOB_COPY,
				      .direction = direction,
				      .flags = JOB_NOTES,
				      .share = { "inbox", 5 },
				      .lanes = 2,
				      .block_bytes = 4 << 20 } };

	if (direction == JOB_PULL) {
		m.job.sources = &source;
		m.job.source_count = 1;
	}
	return m;
}

struct manifest_record entry_record(uint64_t index, uint64_t parent, enum entry_kind kind, const char *name)
{
	return (struct manifest_record){
		.type = RECORD_ENTRY,
		.entry = { .index = index,
			   .parent = parent,
			   .name = { name, strlen(name) },
			   .kind = kind,
			   .size = kind == ENTRY_FILE ? 10 : 0,
			   .owner = UINT32_MAX,
			   .group = UINT32_MAX,
			   .link_to = HAUL_NO_INDEX,
			   .link_target = { "x", kind == ENTRY_LINK } },
	};
}

struct manifest_record dir_end_record(uint64_t directory, uint64_t count)
{
	return (struct manifest_record){
		.type = RECORD_DIR_END,
		.dir_end = { .directory = directory, .count = count, .is_complete = true },
	};
}

/* The pointers of messages below lead to constants. Entry 0 is what the tests announce first. */
static const struct text top_path = { "", 0 };
static const struct found missing = { .state = FOUND_MISSING };
static const struct owner_name owner = { .name = { "ann", 3 } };
static const struct want want_first = { .kind = WANT_WHOLE };
static const struct ack ack_first = { .level = ACK_RECEIVED, .leaf_count = 1 };
static const struct entry_failure failure_first = { .code = HAUL_CODE_IO };
static const uint64_t put_off_first;
static const struct changed_entry changed_first = { .attempt = 1 };
static const struct entry_result result_first = { .outcome = OUTCOME_PROVEN };
static const struct haul_digest digest_first = { { 1 } };
static const uint64_t entry_first;
static const uint32_t code_first;

static struct message question_message(enum message_type type)
{
	struct message m = { .type = type };

	if (type == MSG_LOOKUP)
		m.lookup = (struct msg_lookup){ .share = { "inbox", 5 }, .paths = &top_path, .path_count = 1 };
	if (type == MSG_FOUND)
		m.found = (struct msg_found){ .found = &missing, .found_count = 1 };
	if (type == MSG_ACCEPT)
		m.accept = (struct msg_accept){ .session_id = { 1 }, .lanes = 2, .block_bytes = 4 << 20 };
	if (type == MSG_BUSY)
		m.busy.place = 1;
	if (type == MSG_ERROR)
		m.error.code = HAUL_CODE_NO_SPACE;
	return m;
}

struct message plain_message(enum message_type type)
{
	static struct manifest_record first_entry;
	struct message m = question_message(type);

	first_entry = entry_record(0, HAUL_NO_INDEX, ENTRY_FILE, "a");
	if (type == MSG_HELLO)
		return hello_message();
	if (type == MSG_JOB)
		return job_message(JOB_PUSH);
	if (type == MSG_OWNERS)
		m.owners = (struct msg_owners){ .owners = &owner, .owner_count = 1 };
	if (type == MSG_MANIFEST)
		m.manifest = (struct msg_manifest){ .records = &first_entry, .record_count = 1 };
	if (type == MSG_MANIFEST_END)
		m.manifest_end = (struct msg_manifest_end){ .entries = 1, .bytes = 10 };
	if (type == MSG_WANT)
		m.want = (struct msg_want){ .wants = &want_first, .want_count = 1 };
	if (type == MSG_BASIS || type == MSG_HAVE)
		m.digests = (struct msg_digests){ .digests = &digest_first, .digest_count = 1 };
	if (type == MSG_ACK)
		m.ack = (struct msg_ack){ .acks = &ack_first, .ack_count = 1 };
	if (type == MSG_FAILED)
		m.failed = (struct msg_failed){ .failures = &failure_first, .failure_count = 1 };
	if (type == MSG_PUT_OFF)
		m.put_off = (struct msg_put_off){ .entries = &put_off_first, .entry_count = 1 };
	if (type == MSG_CHANGED)
		m.changed = (struct msg_changed){ .entries = &changed_first, .entry_count = 1 };
	if (type == MSG_RESULT)
		m.result = (struct msg_result){ .results = &result_first, .result_count = 1 };
	if (type == MSG_CANCEL)
		m.cancel.code = HAUL_CODE_INTERRUPTED;
	if (type == MSG_LOOK)
		m.look = (struct msg_look){ .token = { 1 }, .entries = &entry_first, .entry_count = 1 };
	if (type == MSG_LOOKED)
		m.looked = (struct msg_looked){ .codes = &code_first, .code_count = 1 };
	if (type == MSG_NOTE)
		m.note.text = (struct text){ "xfs on sd", 9 };
	return m;
}
