#include "sim_agent.h"

#include "peer-protocol/codec.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3, PACK_BELOW = 64, SIM_BLOCK_BYTES = 1 << 20 };

void sim_tree_fill(struct sim_tree *t, uint32_t file_count, uint32_t bytes_max, uint64_t *random)
{
	assert(file_count <= SIM_FILES_MAX);
	t->file_count = file_count;
	for (uint32_t i = 0; i < file_count; i++) {
		struct sim_file *f = &t->files[i];

		(void)snprintf(f->name, sizeof(f->name), "file%02u", i);
		f->bytes = i == 0 ? 0 : (uint32_t)sim_random(random, bytes_max);
		f->data = malloc(f->bytes + 1);
		assert(f->data);
		for (uint32_t k = 0; k < f->bytes; k++)
			f->data[k] = (uint8_t)sim_random(random, 256);
	}
}

void sim_tree_close(struct sim_tree *t)
{
	for (uint32_t i = 0; i < t->file_count; i++)
		free(t->files[i].data);
}

static void end_open(struct sim_end *e, enum control_role role)
{
	struct control_config cfg = { .role = role };

	e->session = control_session_new(&cfg);
	e->inbox = malloc(SIM_INBOX_CAP);
	assert(e->session && e->inbox);
}

static enum grant_answer is_granted(void *ctx, enum lane_frame_type type, uint64_t entry, uint32_t attempt,
				    uint64_t first_leaf, uint32_t leaf_count, uint64_t bytes)
{
	const struct sim_agent *a = ctx;

	(void)type;
	if (attempt || first_leaf || leaf_count != 1 || entry < 1 || entry > a->wanted)
		return GRANT_NONE;
	return a->tree->files[entry - 1].bytes == bytes ? GRANT_LIVE : GRANT_NONE;
}

void sim_agent_open(struct sim_agent *a, enum control_role role, enum job_direction direction, struct sim_tree *tree)
{
	struct lane_session_config cfg = { .block_bytes = SIM_BLOCK_BYTES, .is_granted = is_granted, .ctx = a };

	*a = (struct sim_agent){ .role = role, .direction = direction, .tree = tree };
	a->is_sender = (role == CONTROL_CLIENT) == (direction == JOB_PUSH);
	end_open(&a->control, role);
	end_open(&a->lane, role);
	lane_session_open(&a->receiving, &cfg);
	a->block = malloc(SIM_BLOCK_BYTES);
	assert(a->block);
}

void sim_agent_close(struct sim_agent *a)
{
	control_session_free(a->control.session);
	control_session_free(a->lane.session);
	free(a->control.inbox);
	free(a->lane.inbox);
	free(a->block);
}

static int other_side(const struct sim_agent *a)
{
	return a->role == CONTROL_CLIENT ? CONTROL_SERVER : CONTROL_CLIENT;
}

static struct sim_connection *link_of(const struct sim_agent *a, const struct sim_end *e)
{
	return e == &a->lane ? a->lane_link : a->control_link;
}

static void write_out(struct sim_agent *a, struct sim_end *e, const uint8_t *data, size_t len)
{
	if (len)
		sim_write(link_of(a, e), other_side(a), data, len, *a->now_ns, a->random);
}

static void close_end(struct sim_agent *a, struct sim_end *e, haul_status st)
{
	if (e->is_closed)
		return;
	e->is_closed = true;
	e->ended = st;
	sim_finish(link_of(a, e), other_side(a), *a->now_ns);
}

/* Say something; HAUL_OVER_CREDIT comes back, any other refusal of the session is a mistake of this test. */
static haul_status say(struct sim_agent *a, struct sim_end *e, const struct message *m)
{
	struct control_event ev = { .type = CONTROL_EV_SEND, .message = m };
	struct control_update out;
	struct haul_fault fault;
	haul_status st;

	if (e->is_closed)
		return HAUL_LOST;
	st = control_step(e->session, &ev, &out, &fault);
	if (st.code == HAUL_CODE_OVER_CREDIT)
		return st;
	if (haul_failed(st)) {
		(void)fprintf(stderr, "%s: %s\n", message_name(m->type), fault.text);
		abort();
	}
	write_out(a, e, out.send, out.send_len);
	if (m->type == MSG_ERROR)
		close_end(a, e, haul_status_from_number(m->error.code));
	return HAUL_OK;
}

static void say_hello(struct sim_agent *a, struct sim_end *e)
{
	struct message m = { .type = MSG_HELLO,
			     .hello = { .version_min = 1,
					.version_max = 1,
					.tree_version = 1,
					.digest_algorithms = 2,
					.digest_bytes = 16,
					.block_min = 1 << 20,
					.block_max = 1 << 24,
					.cores = 2,
					.lanes_max = 16 } };

	(void)say(a, e, &m);
}

void sim_agent_start(struct sim_agent *a)
{
	if (a->role == CONTROL_CLIENT)
		return;
	say_hello(a, &a->control);
	say_hello(a, &a->lane);
}

static void say_credit(struct sim_agent *a, uint64_t records, uint64_t bytes)
{
	struct message m = { .type = MSG_CREDIT, .credit = { records, bytes } };

	(void)say(a, &a->control, &m);
}

static struct haul_digest sum_of(const uint8_t *data, size_t len)
{
	struct haul_digest d = { { 1 } };

	for (size_t i = 0; i < len; i++)
		d.bytes[i % 15 + 1] = (uint8_t)(d.bytes[i % 15 + 1] * 3 + data[i]);
	return d;
}

static struct manifest_record record_of(const struct sim_agent *a, uint32_t i)
{
	const struct sim_file *f = i && i <= a->tree->file_count ? &a->tree->files[i - 1] : NULL;
	struct manifest_record r = { .type = RECORD_ENTRY };

	if (i > a->tree->file_count) {
		r.type = RECORD_DIR_END;
		r.dir_end = (struct manifest_dir_end){ .count = a->tree->file_count, .is_complete = true };
		return r;
	}
	r.entry = (struct manifest_entry){ .index = i,
					   .parent = i ? 0 : HAUL_NO_INDEX,
					   .name = { "dir", 3 },
					   .kind = i ? ENTRY_FILE : ENTRY_DIRECTORY,
					   .owner = UINT32_MAX,
					   .group = UINT32_MAX,
					   .link_to = HAUL_NO_INDEX };
	if (f) {
		r.entry.name = (struct text){ f->name, strlen(f->name) };
		r.entry.size = f->bytes;
	}
	return r;
}

/* As much of the manifest as there is credit for. */
static void pump_manifest(struct sim_agent *a)
{
	uint32_t all = a->tree->file_count + 2; /* the directory, its files, its end */
	struct message end = { .type = MSG_MANIFEST_END };

	while (a->announced < all) {
		struct manifest_record records[BATCH];
		struct message m = { .type = MSG_MANIFEST, .manifest = { .records = records } };

		while (m.manifest.record_count < BATCH && a->announced + m.manifest.record_count < all) {
			records[m.manifest.record_count] =
			    record_of(a, a->announced + (uint32_t)m.manifest.record_count);
			m.manifest.record_count++;
		}
		if (haul_failed(say(a, &a->control, &m)))
			return;
		a->announced += (uint32_t)m.manifest.record_count;
	}
	if (a->has_manifest_end)
		return;
	a->has_manifest_end = true;
	end.manifest_end.entries = a->tree->file_count + 1;
	for (uint32_t i = 0; i < a->tree->file_count; i++)
		end.manifest_end.bytes += a->tree->files[i].bytes;
	(void)say(a, &a->control, &end);
}

static void send_pack(struct sim_agent *a, uint64_t entry, const struct sim_file *f)
{
	struct lane_header h = { .type = LANE_PACK, .algorithm = 1, .bytes = f->bytes, .count = 1 };
	struct lane_pack_item item = { .entry = entry, .bytes = f->bytes, .digest = sum_of(f->data, f->bytes) };
	uint8_t head[LANE_HEADER_BYTES + LANE_PACK_ITEM_BYTES];

	lane_header_encode(&h, head);
	lane_pack_item_encode(&item, head + LANE_HEADER_BYTES);
	write_out(a, &a->lane, head, sizeof(head));
	write_out(a, &a->lane, f->data, f->bytes);
}

static void send_block(struct sim_agent *a, uint64_t entry, const struct sim_file *f)
{
	struct lane_header h = {
		.type = LANE_BLOCK, .algorithm = 1, .entry = entry, .leaf_count = 1, .bytes = f->bytes
	};
	struct haul_digest digest = sum_of(f->data, f->bytes);
	uint8_t head[LANE_HEADER_BYTES];

	lane_header_encode(&h, head);
	write_out(a, &a->lane, head, sizeof(head));
	write_out(a, &a->lane, f->data, f->bytes);
	write_out(a, &a->lane, digest.bytes, sizeof(digest.bytes));
}

/* The lane may still be greeting when the first WANT comes: then it catches up. */
static void pump_lane(struct sim_agent *a)
{
	if (a->lane.is_closed || control_state(a->lane.session) != CONTROL_CLOSED)
		return;
	for (; a->wanted < a->asked; a->wanted++) {
		const struct sim_file *f = &a->tree->files[a->wanted];

		if (f->bytes < PACK_BELOW)
			send_pack(a, a->wanted + 1, f);
		else
			send_block(a, a->wanted + 1, f);
	}
}

static void say_done(struct sim_agent *a)
{
	struct message m = { .type = MSG_DONE };

	if (a->has_ended && a->has_peer_end)
		(void)say(a, &a->control, &m);
}

static void say_lane_end(struct sim_agent *a)
{
	struct lane_header h = { .type = LANE_END };
	uint8_t bytes[LANE_HEADER_BYTES];

	lane_header_encode(&h, bytes);
	write_out(a, &a->lane, bytes, sizeof(bytes));
}

static void say_job_end(struct sim_agent *a)
{
	struct message m = { .type = MSG_JOB_END, .job_end = { .entries = a->results } };

	for (uint32_t i = 0; i < a->tree->file_count; i++) {
		struct haul_digest d = sum_of(a->tree->files[i].data, a->tree->files[i].bytes);

		for (size_t k = 0; k < sizeof(d.bytes); k++)
			m.job_end.root.bytes[k] ^= d.bytes[k];
	}
	a->has_ended = true;
	(void)say(a, &a->control, &m);
	if (a->is_sender)
		say_lane_end(a);
	say_done(a);
}

static void say_result(struct sim_agent *a, uint64_t entry)
{
	struct entry_result r = { .entry = entry, .outcome = OUTCOME_PROVEN, .flags = RESULT_COMMITTED };
	struct message m = { .type = MSG_RESULT, .result = { &r, 1 } };

	a->results++;
	(void)say(a, &a->control, &m);
	if (a->has_manifest_end && a->results == a->tree->file_count + 1)
		say_job_end(a);
}

static void on_entry(struct sim_agent *a, const struct manifest_entry *e)
{
	struct want w = { .entry = e->index, .kind = WANT_WHOLE };
	struct message m = { .type = MSG_WANT, .want = { &w, 1 } };
	struct sim_file *f;

	if (e->kind == ENTRY_DIRECTORY) {
		say_result(a, e->index);
		return;
	}
	f = &a->tree->files[a->tree->file_count++];
	f->bytes = (uint32_t)e->size;
	f->data = calloc(1, f->bytes + 1);
	assert(f->data && e->name.len < sizeof(f->name));
	memcpy(f->name, e->name.at, e->name.len);
	a->wanted++;
	(void)say(a, &a->control, &m);
}

static void on_manifest(struct sim_agent *a, const struct msg_manifest *m)
{
	for (size_t i = 0; i < m->record_count; i++) {
		if (m->records[i].type == RECORD_ENTRY)
			on_entry(a, &m->records[i].entry);
	}
	say_credit(a, m->record_count, 1024);
}

/* A file's bytes have come. */
static void on_content(struct sim_agent *a, uint64_t entry, const uint8_t *data, uint32_t len,
		       const struct haul_digest *digest)
{
	struct sim_file *f = &a->tree->files[entry - 1];
	struct haul_digest own = sum_of(data, len);

	assert(len == f->bytes && memcmp(&own, digest, sizeof(own)) == 0);
	memcpy(f->data, data, len);
	f->arrived = 1;
	say_result(a, entry);
}

static void on_lane_action(struct sim_agent *a, const struct lane_update *u)
{
	const uint8_t *at = u->contents;

	if (u->action == LANE_NEED_BLOCK)
		lane_session_give(&a->receiving, a->block, SIM_BLOCK_BYTES);
	if (u->action == LANE_BLOCK_ARRIVED)
		on_content(a, u->header->entry, u->leaf_data, u->leaf_bytes, u->digests);
	for (uint32_t i = 0; u->action == LANE_PACK_ARRIVED && i < u->header->count; i++) {
		on_content(a, u->items[i].entry, at, u->items[i].bytes, &u->items[i].digest);
		at += u->items[i].bytes;
	}
}

/* Bytes of a lane that has joined. Returns how many were used. */
static size_t feed_lane(struct sim_agent *a, const uint8_t *data, size_t len)
{
	size_t used = 0;

	while (used < len && !a->lane.is_closed) {
		struct lane_update u;
		haul_status st;
		uint8_t *at;
		size_t want;

		lane_session_want(&a->receiving, &at, &want);
		want = want < len - used ? want : len - used;
		if (!want)
			break;
		memcpy(at, data + used, want);
		used += want;
		st = lane_session_received(&a->receiving, want, &u, NULL);
		assert(haul_ok(st)); /* a cut takes bytes away, it changes none */
		on_lane_action(a, &u);
	}
	return used;
}

/* The client joins its lane when the job is accepted and the lane's server has greeted, whichever comes last. */
static void say_lane_hello(struct sim_agent *a)
{
	struct message m = { .type = MSG_LANE_HELLO, .lane_hello = { .session_id = { 1 } } };

	if (a->has_accept && control_peer_hello(a->lane.session))
		(void)say(a, &a->lane, &m);
}

static void say_job(struct sim_agent *a)
{
	static const struct job_source top;
	struct message m = { .type = MSG_JOB,
			     .job = { .verb = JOB_COPY,
				      .direction = a->direction,
				      .share = { "s", 1 },
				      .lanes = 1,
				      .block_bytes = SIM_BLOCK_BYTES } };

	if (a->direction == JOB_PULL) {
		m.job.sources = &top;
		m.job.source_count = 1;
	}
	(void)say(a, &a->control, &m);
}

static void on_hello(struct sim_agent *a)
{
	struct message list = { .type = MSG_LIST };

	if (a->role == CONTROL_SERVER)
		return;
	say_hello(a, &a->control);
	(void)say(a, &a->control, &list);
}

static void on_job(struct sim_agent *a)
{
	struct message busy = { .type = MSG_BUSY, .busy = { 1 } };
	struct message accept = { .type = MSG_ACCEPT,
				  .accept = { .session_id = { 1 }, .lanes = 1, .block_bytes = SIM_BLOCK_BYTES } };

	(void)say(a, &a->control, &busy);
	(void)say(a, &a->control, &accept);
	if (!a->is_sender)
		say_credit(a, BATCH, 600);
}

static void on_job_message(struct sim_agent *a, const struct message *m)
{
	if (m->type == MSG_CREDIT)
		pump_manifest(a);
	if (m->type == MSG_MANIFEST)
		on_manifest(a, &m->manifest);
	if (m->type == MSG_MANIFEST_END)
		a->has_manifest_end = true;
	if (m->type == MSG_MANIFEST_END && a->results == a->tree->file_count + 1)
		say_job_end(a);
	if (m->type == MSG_WANT) {
		a->asked = (uint32_t)m->want.wants[0].entry;
		pump_lane(a);
	}
	if (m->type == MSG_RESULT && ++a->results == a->tree->file_count + 1)
		say_job_end(a);
	if (m->type == MSG_JOB_END) {
		a->has_peer_end = true;
		say_done(a);
	}
}

static void on_message(struct sim_agent *a, const struct message *m)
{
	struct message shares = { .type = MSG_LISTING };

	switch (m->type) {
	case MSG_HELLO:
		on_hello(a);
		break;
	case MSG_LIST:
		(void)say(a, &a->control, &shares);
		break;
	case MSG_LISTING:
		say_job(a);
		break;
	case MSG_JOB:
		on_job(a);
		break;
	case MSG_ACCEPT:
		a->has_accept = true;
		say_lane_hello(a);
		if (!a->is_sender)
			say_credit(a, BATCH, 600);
		break;
	default:
		on_job_message(a, m);
		break;
	}
}

/* The lane's greeting is a conversation of its own. */
static void on_lane_message(struct sim_agent *a, const struct message *m)
{
	struct message ok = { .type = MSG_LANE_OK };

	if (m->type == MSG_HELLO)
		say_lane_hello(a);
	if (m->type == MSG_LANE_HELLO)
		(void)say(a, &a->lane, &ok);
	if (a->is_sender)
		pump_lane(a);
}

/* Take messages off the inbox while there are whole ones. */
static void feed_session(struct sim_agent *a, struct sim_end *e)
{
	size_t used = 0;

	while (!e->is_closed && control_state(e->session) != CONTROL_CLOSED) {
		struct control_event ev = { .type = CONTROL_EV_RECEIVED,
					    .data = e->inbox + used,
					    .len = e->inbox_len - used };
		struct control_update out;
		haul_status st = control_step(e->session, &ev, &out, NULL);

		if (haul_failed(st)) {
			write_out(a, e, out.send, out.send_len);
			close_end(a, e, st);
		}
		if (haul_failed(st) || !out.message)
			break;
		used += out.consumed;
		if (out.message->type == MSG_ERROR)
			close_end(a, e, haul_status_from_number(out.message->error.code));
		else if (e == &a->lane)
			on_lane_message(a, out.message);
		else
			on_message(a, out.message);
	}
	memmove(e->inbox, e->inbox + used, e->inbox_len - used);
	e->inbox_len -= used;
}

static void give_up(struct sim_agent *a)
{
	struct message m = { .type = MSG_ERROR, .error = { .code = HAUL_CODE_LOST } };

	if (control_state(a->control.session) == CONTROL_GREETING)
		close_end(a, &a->control, HAUL_LOST); /* not our turn to speak */
	else
		(void)say(a, &a->control, &m);
}

static void on_end(struct sim_agent *a, struct sim_end *e, bool is_clean)
{
	struct control_event ev = { .type = is_clean ? CONTROL_EV_EOF : CONTROL_EV_CUT };
	struct control_update out;
	haul_status st = control_step(e->session, &ev, &out, NULL);

	close_end(a, e, st);
	/* A job cannot go on without its lane, here where there is but one. */
	if (e == &a->lane && !a->has_ended)
		give_up(a);
}

void sim_agent_arrived(struct sim_agent *a, bool is_lane, const uint8_t *data, size_t len, bool is_clean_end)
{
	struct sim_end *e = is_lane ? &a->lane : &a->control;

	if (e->is_closed)
		return;
	if (!len)
		on_end(a, e, is_clean_end);
	assert(len <= SIM_INBOX_CAP - e->inbox_len);
	if (len)
		memcpy(e->inbox + e->inbox_len, data, len);
	e->inbox_len += len;
	if (control_state(e->session) != CONTROL_CLOSED)
		feed_session(a, e);
	if (is_lane && control_state(e->session) == CONTROL_CLOSED)
		e->inbox_len -= feed_lane(a, e->inbox, e->inbox_len);
	if (control_state(a->control.session) == CONTROL_CLOSED)
		close_end(a, &a->control, HAUL_OK);
	if (a->control.is_closed)
		close_end(a, &a->lane, a->control.ended);
}

bool sim_agent_is_over(const struct sim_agent *a)
{
	return a->control.is_closed;
}
