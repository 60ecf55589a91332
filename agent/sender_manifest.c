/*
 * From scan batches to MANIFEST: records go out in canonical order, as many as the receiver gave credit for, and each
 * entry joins the window until its result comes.
 */
#include "agent/sender_parts.h"

#include "engine/base/bytes.h"
#include "peer-protocol/codec.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	MANIFEST_TARGET_BYTES = 128 * 1024,
	OWNERS_AT_ONCE = 512,                /* with the longest names they fit into a frame */
	WINDOW_MAX = 2 * JOB_WINDOW_RECORDS, /* entries without result, whatever credit the peer gives */
};

static struct text name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return (struct text){ name, strlen(name) };
}

/*
 * The state of a file, by inode and ctime: whatever changes it changes that. Not the file system: a copy of a disk
 * holds the same files. Where ctime is rounded (FAT to 10 ms, others to seconds) a change may hide, and so may one that
 * comes within the same tick of the clock as the last: no id.
 */
void sender_file_identity(const struct entry_facts *facts, struct manifest_entry *e)
{
	enum { FINE_NS = 10 * 1000 * 1000 };
	uint8_t data[24];
	struct bytes b = bytes_of(data, sizeof(data));
	struct haul_digest id;

	e->flags |= facts->kind == ENTRY_FILE && facts->blocks * 512 < facts->size ? ENTRY_SPARSE : 0;
	if (facts->kind != ENTRY_FILE || facts->size <= HAUL_LEAF_BYTES || facts->ctime.nsec % FINE_NS == 0 ||
	    facts->ctime.sec >= time(NULL) - 1)
		return;
	bytes_put_uint(&b, facts->inode, 8);
	bytes_put_uint(&b, (uint64_t)facts->ctime.sec, 8);
	bytes_put_uint(&b, facts->ctime.nsec, 8);
	leaf_digest(data, sizeof(data), &id);
	memcpy(e->source_id, id.bytes, sizeof(e->source_id));
	e->flags |= ENTRY_HAS_SOURCE_ID;
}

static void entry_record(const struct sender *s, const struct scanned *i, struct manifest_record *ret_record)
{
	*ret_record = (struct manifest_record){
		.type = RECORD_ENTRY,
		.entry = { .index = i->index,
			   .parent = i->parent,
			   .name = name_of(i->path),
			   .kind = i->facts.kind,
			   .size = i->facts.kind == ENTRY_FILE ? i->facts.size : 0,
			   .mtime = i->facts.mtime,
			   .mode = i->facts.mode,
			   .owner = i->owner,
			   .group = i->group,
			   .link_to = HAUL_NO_INDEX,
			   .rdev = i->facts.rdev,
			   .attributes = i->attributes ? i->attributes->at : NULL,
			   .attribute_count = i->attributes ? i->attributes->count : 0,
			   .link_target = { i->link_target, i->link_target_len } },
	};
	if (s->cfg.attribute_kinds & ATTRIBUTE_TRUSTED)
		ret_record->entry.flags |= ENTRY_ATTRIBUTES_OF_ROOT;
	if (i->attributes_left_out)
		ret_record->entry.flags |= ENTRY_ATTRIBUTES_LEFT_OUT;
	sender_file_identity(&i->facts, &ret_record->entry);
}

static void dir_end_record(const struct scanned *i, struct manifest_record *ret_record)
{
	*ret_record = (struct manifest_record){
		.type = RECORD_DIR_END,
		.dir_end = { .directory = i->index,
			     .count = i->count,
			     .is_complete = i->is_complete,
			     .error = i->is_complete ? 0 : (uint32_t)i->problem.code,
			     .is_partial = i->is_partial },
	};
}

static void problem_record(const struct scanned *i, struct manifest_record *ret_record)
{
	*ret_record = (struct manifest_record){
		.type = RECORD_PROBLEM,
		.problem = { .directory = i->parent, .name = name_of(i->path), .code = (uint32_t)i->problem.code },
	};
}

/* The strings of the scanned item move into the window. */
static haul_status window_add(struct sender *s, struct scanned *i)
{
	struct send_entry *e = calloc(1, sizeof(*e));
	haul_status st;

	if (!e)
		return HAUL_NO_MEMORY;
	*e = (struct send_entry){ .index = i->index,
				  .facts = i->facts,
				  .source = i->source,
				  .path = i->path,
				  .source_path = i->source_path,
				  .link_target = i->link_target,
				  .link_target_len = i->link_target_len };
	list_init(&e->owed);
	st = index_map_put(&s->window, i->index, e);
	if (haul_failed(st)) {
		free(e);
		return st;
	}
	i->path = i->source_path = i->link_target = NULL;
	s->totals.entries++;
	if (i->facts.kind == ENTRY_FILE) {
		s->totals.files++;
		s->totals.bytes += i->facts.size;
		s->announced_bytes += i->facts.size;
	}
	return HAUL_OK;
}

/* Build one message from the front of the oldest batch. Returns how many items it covers; 0: no credit. */
static unsigned build(struct sender *s, struct scan_batch *b, struct manifest_record *records, size_t *ret_count)
{
	uint64_t credit_records, credit_bytes;
	size_t count = 0, bytes = 0;
	unsigned at = b->used;

	control_credit(control_link_session(s->cfg.link), &credit_records, &credit_bytes);
	for (; at < b->count && count < credit_records && bytes < MANIFEST_TARGET_BYTES; at++) {
		struct scanned *i = &b->items[at];
		size_t more;

		if (i->event == SCAN_PROBLEM && i->is_listing)
			continue;
		if (i->event == SCAN_ENTRY)
			entry_record(s, i, &records[count]);
		else if (i->event == SCAN_PROBLEM)
			problem_record(i, &records[count]);
		else
			dir_end_record(i, &records[count]);
		more = manifest_record_bytes_max(&records[count]);
		/* Attributes make long records: two of them may not fit into one frame. */
		if (bytes + more + 64 > credit_bytes || (count && bytes + more > MANIFEST_TARGET_BYTES))
			break;
		bytes += more;
		count++;
	}
	*ret_count = count;
	return at - b->used;
}

static haul_status note_items(struct sender *s, struct scan_batch *b, unsigned covered)
{
	haul_status st = HAUL_OK;

	for (unsigned n = 0; n < covered && haul_ok(st); n++) {
		struct scanned *i = &b->items[b->used + n];

		if (i->event == SCAN_ENTRY)
			st = window_add(s, i);
		else if (i->event == SCAN_PROBLEM && s->cfg.cb.on_problem)
			s->cfg.cb.on_problem(s->cfg.ctx, i->path, i->source, i->problem);
	}
	b->used += covered;
	return st;
}

/* False: no further now. */
static bool announce_some(struct sender *s, struct scan_batch *b)
{
	struct manifest_record records[SOURCE_SCAN_BATCH];
	struct message m = { .type = MSG_MANIFEST };
	struct haul_fault fault = { 0 };
	size_t count = 0;
	unsigned covered = build(s, b, records, &count);
	haul_status st = HAUL_OK;

	if (!covered)
		return false;
	if (count) {
		m.manifest = (struct msg_manifest){ records, count };
		st = control_link_send(s->cfg.link, &m, &fault);
		if (st.code == HAUL_CODE_BUSY || st.code == HAUL_CODE_OVER_CREDIT)
			return false;
	}
	if (haul_ok(st))
		st = note_items(s, b, covered);
	if (haul_failed(st)) {
		sender_fail(s, st, &fault);
		return false;
	}
	return true;
}

static void announce_end(struct sender *s)
{
	struct message m = { .type = MSG_MANIFEST_END, .manifest_end = { s->totals.entries, s->announced_bytes } };
	struct haul_fault fault = { 0 };
	haul_status st = control_link_send(s->cfg.link, &m, &fault);

	if (st.code == HAUL_CODE_BUSY)
		return;
	if (haul_failed(st)) {
		sender_fail(s, st, &fault);
		return;
	}
	s->end_announced = true;
	s->totals.scan_is_complete = true;
	sender_check_end(s);
}

static void scan_failed(struct sender *s, haul_status st)
{
	struct haul_fault fault = { .status = st };

	if (st.code == HAUL_CODE_OVERFLOW)
		(void)haul_fault_set(&fault, st, "a pattern has too many stars to be held against a path this long");
	sender_fail(s, st, &fault);
}

static void batch_used_up(struct sender *s, struct scan_batch *b)
{
	if (b->is_last) {
		s->scan_is_over = true;
		if (haul_failed(b->status))
			scan_failed(s, b->status);
	}
	memmove(&s->batches[0], &s->batches[1], (SOURCE_SCAN_BATCHES - 1) * sizeof(s->batches[0]));
	s->batch_count--;
	source_scan_return(b);
}

static bool has_credit(const struct sender *s)
{
	uint64_t records, bytes;

	control_credit(control_link_session(s->cfg.link), &records, &bytes);
	return records && bytes;
}

/* Who its entries belong to comes before them, and no earlier than they may come themselves. False: no further now. */
static bool announce_owners(struct sender *s, struct scan_batch *b)
{
	struct haul_fault fault = { 0 };

	while (b->owners_used < b->owners.count) {
		if (!has_credit(s))
			return false;
		size_t left = b->owners.count - b->owners_used, n = left < OWNERS_AT_ONCE ? left : OWNERS_AT_ONCE;
		const struct message m = { .type = MSG_OWNERS, .owners = { b->owners.at + b->owners_used, n } };
		haul_status st = control_link_send(s->cfg.link, &m, &fault);

		if (haul_failed(st)) {
			if (st.code != HAUL_CODE_BUSY)
				sender_fail(s, st, &fault);
			return false;
		}
		b->owners_used += n;
	}
	return true;
}

void sender_announce(struct sender *s)
{
	while (s->state == SENDER_RUNNING && s->batch_count && s->window.count < WINDOW_MAX) {
		struct scan_batch *b = s->batches[0];

		if (!announce_owners(s, b))
			return;
		while (b->used < b->count) {
			if (s->window.count >= WINDOW_MAX || !announce_some(s, b))
				return;
		}
		batch_used_up(s, b);
	}
	if (s->state == SENDER_RUNNING && s->scan_is_over && !s->end_announced)
		announce_end(s);
}

void sender_on_batch(void *owner, struct scan_batch *b)
{
	struct sender *s = owner;

	if (s->state != SENDER_RUNNING)
		return;
	s->batches[s->batch_count++] = b;
	sender_announce(s);
	sender_again(s);
}
