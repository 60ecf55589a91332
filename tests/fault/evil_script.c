/* The honest parts of a hostile peer. */
#include "evil_script.h"

#include "engine/hash_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAR_MS = 15000 };

struct msg_hello evil_hello(void)
{
	return (struct msg_hello){ .version_min = PROTOCOL_VERSION,
				   .version_max = PROTOCOL_VERSION,
				   .tree_version = TREE_VERSION,
				   .digest_algorithms = 1u << DIGEST_XXH3_128,
				   .digest_bytes = 16,
				   .block_min = MESSAGE_BLOCK_MIN,
				   .block_max = MESSAGE_BLOCK_MAX,
				   .cores = 2,
				   .lanes_max = LANES_MAX };
}

bool evil_greet(struct evil *e, struct talk *t)
{
	const struct message hello = { .type = MSG_HELLO, .hello = evil_hello() };
	const struct message *m;

	if (!talk_connect(t, e->trust, e->port))
		return false;
	m = talk_hear(t, HEAR_MS);
	return m && m->type == MSG_HELLO && talk_say(t, &hello);
}

static struct text text_of(const char *s)
{
	return (struct text){ s, strlen(s) };
}

/* Each job is one of its own: two with the same id would be one that comes again. */
static uint8_t another_id(void)
{
	static uint8_t last;

	return ++last;
}

struct msg_job evil_push(const struct evil *e)
{
	return (struct msg_job){ .job_id = { 1, another_id() },
				 .verb = JOB_COPY,
				 .direction = JOB_PUSH,
				 .share = text_of("inbox"),
				 .root = text_of(e->name),
				 .lanes = 1,
				 .block_bytes = MESSAGE_BLOCK_MIN };
}

struct msg_job evil_pull(const char *path)
{
	static struct job_source source;

	source = (struct job_source){ .path = text_of(path), .landing = text_of("landed") };
	return (struct msg_job){ .job_id = { 2, another_id() },
				 .verb = JOB_COPY,
				 .direction = JOB_PULL,
				 .share = text_of("inbox"),
				 .sources = &source,
				 .source_count = 1,
				 .lanes = 1,
				 .block_bytes = MESSAGE_BLOCK_MIN };
}

bool job_begin(struct job *j, struct evil *e, const struct msg_job *job)
{
	const struct message m = { .type = MSG_JOB, .job = *job };
	const struct message *answer;

	*j = (struct job){ .evil = e, .control = { .fd = -1 } };
	for (size_t i = 0; i < EVIL_LANES; i++)
		j->lanes[i].fd = -1;
	if (!evil_greet(e, &j->control) || !talk_say(&j->control, &m))
		return false;
	answer = job_hear(j, MSG_ACCEPT);
	if (answer)
		j->accept = answer->accept;
	return answer != NULL;
}

/* What a connection is told after its last word; V_OK for an answer that is no ERROR. */
static int lane_verdict(struct talk *lane)
{
	const struct message *m = talk_hear(lane, HEAR_MS);

	if (m)
		return m->type == MSG_ERROR ? (int)m->error.code : V_OK;
	return lane->end == TALK_SILENT ? V_SILENT : V_CLOSED;
}

bool job_lane(struct job *j, const struct dial_trust *as, struct talk *lane, const struct msg_lane_hello *hello,
	      int *ret_verdict)
{
	const struct message m = { .type = MSG_LANE_HELLO, .lane_hello = *hello };
	const struct message *first;
	int verdict = V_FAULT;

	if (talk_connect(lane, as, j->evil->port)) {
		first = talk_hear(lane, HEAR_MS);
		if (first && first->type == MSG_HELLO && talk_say(lane, &m))
			verdict = lane_verdict(lane);
	}
	if (ret_verdict)
		*ret_verdict = verdict;
	return verdict == V_OK;
}

bool job_lanes(struct job *j)
{
	for (uint32_t i = 0; i < j->accept.lanes && i < EVIL_LANES; i++) {
		struct msg_lane_hello hello = { .lane = i };

		memcpy(hello.session_id, j->accept.session_id, sizeof(hello.session_id));
		if (!job_lane(j, j->evil->trust, &j->lanes[i], &hello, NULL))
			return false;
	}
	return true;
}

void job_close(struct job *j)
{
	talk_close(&j->control);
	for (size_t i = 0; i < EVIL_LANES; i++)
		talk_close(&j->lanes[i]);
}

static void keep(struct job *j, const struct message *m)
{
	if (m->type == MSG_ERROR)
		j->error = m->error.code;
	if (m->type == MSG_DONE)
		j->has_done = true;
	if (m->type == MSG_JOB_END) {
		j->peer_end = m->job_end;
		j->has_peer_end = true;
	}
	if (m->type != MSG_RESULT)
		return;
	for (size_t i = 0; i < m->result.result_count && j->result_count < ENTRIES_MAX; i++)
		j->results[j->result_count++] = m->result.results[i];
}

const struct message *job_hear(struct job *j, enum message_type type)
{
	const struct message *m;

	while ((m = talk_hear(&j->control, HEAR_MS))) {
		keep(j, m);
		if (m->type == type)
			return m;
		if (m->type == MSG_ERROR)
			return NULL;
	}
	return NULL;
}

int job_verdict(struct job *j)
{
	const struct message *m;

	while (!j->error && (m = talk_hear(&j->control, VERDICT_MS)))
		keep(j, m);
	if (j->error)
		return (int)j->error;
	if (j->has_done)
		return V_DONE;
	return j->control.end == TALK_SILENT ? V_SILENT : V_CLOSED;
}

struct manifest_entry *job_add(struct job *j, enum entry_kind kind, uint64_t parent, const char *name, uint64_t size)
{
	struct manifest_record *r = &j->records[j->record_count++];

	*r = (struct manifest_record){ .type = RECORD_ENTRY };
	r->entry = (struct manifest_entry){ .index = j->entry_count++,
					    .parent = parent,
					    .name = text_of(name),
					    .kind = kind,
					    .size = size,
					    .mtime = { 1700000000, 0 },
					    .mode = kind == ENTRY_DIRECTORY ? 0755 : 0644,
					    .owner = UINT32_MAX,
					    .group = UINT32_MAX,
					    .link_to = HAUL_NO_INDEX };
	j->byte_count += size;
	return &r->entry;
}

void job_add_end(struct job *j, uint64_t directory, uint64_t count)
{
	struct manifest_record *r = &j->records[j->record_count++];

	*r = (struct manifest_record){ .type = RECORD_DIR_END };
	r->dir_end = (struct manifest_dir_end){ .directory = directory, .count = count, .is_complete = true };
}

bool job_announce(struct job *j)
{
	const struct message m = { .type = MSG_MANIFEST, .manifest = { j->records, j->record_count } };

	j->record_count = 0;
	return talk_say(&j->control, &m);
}

bool job_announce_end(struct job *j)
{
	const struct message m = { .type = MSG_MANIFEST_END, .manifest_end = { j->entry_count, j->byte_count } };

	return talk_say(&j->control, &m);
}

int job_agree(struct job *j)
{
	struct message m = { .type = MSG_JOB_END };

	for (size_t i = 0; i < EVIL_LANES; i++) {
		if (j->lanes[i].fd >= 0 && !lane_end(&j->lanes[i]))
			return V_FAULT;
		talk_finish(&j->lanes[i]);
	}
	if (!j->has_peer_end && !job_hear(j, MSG_JOB_END))
		return job_verdict(j);
	m.job_end = j->peer_end;
	if (!talk_say(&j->control, &m) || !talk_say(&j->control, &(struct message){ .type = MSG_DONE }))
		return V_FAULT;
	return job_verdict(j);
}

bool job_raw_name(struct job *j, const void *name, size_t len)
{
	static struct pack p;

	p.len = 0;
	pack_array(&p, 2);
	pack_uint(&p, MSG_MANIFEST);
	pack_array(&p, 1);
	pack_array(&p, 20);
	pack_uint(&p, RECORD_ENTRY);
	pack_uint(&p, j->entry_count++);
	pack_nil(&p);
	pack_bin(&p, name, len);
	pack_uint(&p, ENTRY_FILE);
	for (unsigned i = 0; i < 3; i++)
		pack_uint(&p, 0); /* size, seconds, nanoseconds */
	pack_uint(&p, 0644);
	for (unsigned i = 0; i < 3; i++)
		pack_nil(&p); /* owner, group, link */
	pack_uint(&p, 0);
	pack_nil(&p);
	pack_uint(&p, 0);
	pack_uint(&p, 0);
	pack_nil(&p);
	pack_nil(&p);
	pack_bin(&p, "", 0);
	pack_array(&p, 0);
	return talk_say_raw(&j->control, p.data, p.len);
}

/* ---- lanes ---- */

uint8_t content_at(uint64_t i)
{
	return (uint8_t)((i * 2654435761u) >> 7 | 1);
}

void content_fill(void *to, uint64_t offset, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)to)[i] = content_at(offset + i);
}

bool lane_header(struct talk *lane, const struct lane_header *h)
{
	uint8_t bytes[LANE_HEADER_BYTES];

	lane_header_encode(h, bytes);
	return talk_write(lane, bytes, sizeof(bytes));
}

bool lane_block(struct talk *lane, uint64_t entry, uint32_t attempt, uint64_t size, uint64_t first, uint32_t count,
		uint32_t bad)
{
	static uint8_t leaf[MIB];
	struct lane_header h = { .type = LANE_BLOCK,
				 .algorithm = DIGEST_XXH3_128,
				 .entry = entry,
				 .attempt = attempt,
				 .first_leaf = first,
				 .leaf_count = count };
	uint64_t left = size - first * MIB;

	h.bytes = left < (uint64_t)count * MIB ? left : (uint64_t)count * MIB;
	if (!lane_header(lane, &h))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		size_t len = lane_leaf_bytes(&h, i);
		struct haul_digest digest;

		content_fill(leaf, (first + i) * MIB, len);
		leaf_digest(leaf, len, &digest);
		digest.bytes[3] ^= (uint8_t)(bad >> i & 1);
		if (!talk_write(lane, leaf, len) || !talk_write(lane, digest.bytes, sizeof(digest.bytes)))
			return false;
	}
	return true;
}

bool lane_pack(struct talk *lane, uint64_t entry, uint32_t attempt, uint32_t size, bool is_bad)
{
	struct lane_header h = { .type = LANE_PACK, .algorithm = DIGEST_XXH3_128, .bytes = size, .count = 1 };
	struct lane_pack_item item = { .entry = entry, .attempt = attempt, .bytes = size };
	uint8_t data[4096], bytes[LANE_PACK_ITEM_BYTES];

	if (size > sizeof(data))
		return false;
	content_fill(data, 0, size);
	leaf_digest(data, size, &item.digest);
	item.digest.bytes[0] ^= is_bad;
	lane_pack_item_encode(&item, bytes);
	return lane_header(lane, &h) && talk_write(lane, bytes, sizeof(bytes)) && talk_write(lane, data, size);
}

bool lane_end(struct talk *lane)
{
	return lane_header(lane, &(struct lane_header){ .type = LANE_END });
}
