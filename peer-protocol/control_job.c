/* One function per message that a job knows, and the table of stages they lead to. */
#include "peer-protocol/control_job.h"

#include "engine/base/checked.h"

#include <inttypes.h>
#include <string.h>

void control_job_open(struct control_job *j, enum job_direction direction)
{
	*j = (struct control_job){ .direction = direction, .stages = { STAGE_MANIFEST, STAGE_WORK } };
	manifest_track_open(&j->manifest);
}

void control_job_close(struct control_job *j)
{
	manifest_track_close(&j->manifest);
}

enum job_party control_job_party(const struct control_job *j, enum control_role role)
{
	return (role == CONTROL_CLIENT) == (j->direction == JOB_PUSH) ? JOB_SENDER : JOB_RECEIVER;
}

haul_status control_job_credit_check(const struct control_job *j, size_t records, size_t frame_bytes)
{
	return records > j->credit_records || frame_bytes > j->credit_bytes ? HAUL_OVER_CREDIT : HAUL_OK;
}

static haul_status on_credit(struct control_job *j, const struct msg_credit *m, struct haul_fault *fault)
{
	uint64_t records, bytes;

	if (haul_failed(haul_add_u64(j->credit_records, m->records, &records)) ||
	    haul_failed(haul_add_u64(j->credit_bytes, m->bytes, &bytes)))
		return haul_fault_set(fault, HAUL_OVERFLOW, "sum of all credit is too large");
	j->credit_records = records;
	j->credit_bytes = bytes;
	return HAUL_OK;
}

static haul_status on_manifest(struct control_job *j, const struct msg_manifest *m, size_t frame_bytes,
			       struct haul_fault *fault)
{
	haul_status st = control_job_credit_check(j, m->record_count, frame_bytes);

	if (haul_failed(st))
		return haul_fault_set(fault, st,
				      "manifest of %zu records and %zu bytes, granted were %" PRIu64 " and %" PRIu64,
				      m->record_count, frame_bytes, j->credit_records, j->credit_bytes);
	j->credit_records -= m->record_count;
	j->credit_bytes -= frame_bytes;
	return manifest_track_records(&j->manifest, m, fault);
}

static haul_status announced(const struct control_job *j, uint64_t entry, const char *what, struct haul_fault *fault)
{
	if (entry < j->manifest.entries)
		return HAUL_OK;
	return haul_fault_set(fault, HAUL_NOT_ANNOUNCED, "%s for entry %" PRIu64 ", announced are %" PRIu64, what,
			      entry, j->manifest.entries);
}

static haul_status on_want(const struct control_job *j, const struct msg_want *m, struct haul_fault *fault)
{
	haul_status st = HAUL_OK;

	for (size_t i = 0; haul_ok(st) && i < m->want_count; i++)
		st = announced(j, m->wants[i].entry, "WANT", fault);
	return st;
}

static haul_status on_ack(const struct control_job *j, const struct msg_ack *m, struct haul_fault *fault)
{
	haul_status st = HAUL_OK;

	for (size_t i = 0; haul_ok(st) && i < m->ack_count; i++)
		st = announced(j, m->acks[i].entry, "ACK", fault);
	return st;
}

static haul_status on_failures(const struct control_job *j, const struct msg_failed *m, struct haul_fault *fault)
{
	haul_status st = HAUL_OK;

	for (size_t i = 0; haul_ok(st) && i < m->failure_count; i++)
		st = announced(j, m->failures[i].entry, "FAILED", fault);
	return st;
}

static haul_status on_put_off(const struct control_job *j, const struct msg_put_off *m, struct haul_fault *fault)
{
	haul_status st = HAUL_OK;

	for (size_t i = 0; haul_ok(st) && i < m->entry_count; i++)
		st = announced(j, m->entries[i], "PUT_OFF", fault);
	return st;
}

static haul_status on_changed(const struct control_job *j, const struct msg_changed *m, struct haul_fault *fault)
{
	haul_status st = HAUL_OK;

	for (size_t i = 0; haul_ok(st) && i < m->entry_count; i++)
		st = announced(j, m->entries[i].entry, "CHANGED", fault);
	return st;
}

/* An entry has one result. Which have theirs is not kept, how many is. */
static haul_status on_results(struct control_job *j, const struct msg_result *m, struct haul_fault *fault)
{
	for (size_t i = 0; i < m->result_count; i++) {
		haul_status st;

		if (m->results[i].entry == HAUL_NO_INDEX)
			continue; /* only at the destination: the codec has checked it */
		st = announced(j, m->results[i].entry, "RESULT", fault);
		if (haul_failed(st))
			return st;
		if (j->results == j->manifest.entries)
			return haul_fault_set(fault, HAUL_NOT_ANNOUNCED, "more results than entries");
		j->results++;
	}
	return HAUL_OK;
}

static haul_status on_job_end(struct control_job *j, enum job_party party, const struct msg_job_end *m,
			      struct haul_fault *fault)
{
	if (!j->is_cancelled && j->stages[JOB_SENDER] == STAGE_MANIFEST)
		return haul_fault_set(fault, HAUL_BAD_MOVE, "JOB_END before MANIFEST_END");
	if (!j->is_cancelled && j->results != j->manifest.entries)
		return haul_fault_set(fault, HAUL_BAD_MOVE, "JOB_END with %" PRIu64 " entries without result",
				      j->manifest.entries - j->results);
	j->roots[party] = m->root;
	j->stages[party] = STAGE_ENDED;
	return HAUL_OK;
}

/* After a cancelled job the sides may know different parts of it, so their roots say nothing. */
static haul_status on_done(struct control_job *j, enum job_party party, struct haul_fault *fault)
{
	if (!j->is_cancelled && memcmp(&j->roots[JOB_SENDER], &j->roots[JOB_RECEIVER], sizeof(j->roots[0])) != 0)
		return haul_fault_set(fault, HAUL_ROOT_MISMATCH, "DONE although the job roots differ");
	j->stages[party] = STAGE_DONE;
	return HAUL_OK;
}

static haul_status on_cancel(struct control_job *j, struct haul_fault *fault)
{
	if (j->is_cancelled)
		return haul_fault_set(fault, HAUL_BAD_MOVE, "CANCEL for the second time");
	j->is_cancelled = true;
	return HAUL_OK;
}

static haul_status on_note(struct control_job *j, struct haul_fault *fault)
{
	if (!j->wants_notes)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "NOTE to a job that asked for none");
	if (j->notes == MESSAGE_NOTES_MAX)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "more than %d NOTEs", MESSAGE_NOTES_MAX);
	j->notes++;
	return HAUL_OK;
}

static haul_status on_look(struct control_job *j, const struct msg_look *m, struct haul_fault *fault)
{
	for (size_t i = 0; i < m->entry_count; i++) {
		haul_status st = announced(j, m->entries[i], "LOOK", fault);

		if (haul_failed(st))
			return st;
	}
	j->look_count = m->entry_count;
	return HAUL_OK;
}

static haul_status on_looked(struct control_job *j, const struct msg_looked *m, struct haul_fault *fault)
{
	if (m->code_count != j->look_count)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "LOOKED has %zu answers to %zu entries", m->code_count,
				      j->look_count);
	j->look_count = 0;
	return HAUL_OK;
}

/* No more is deleted, and no more stays, than was announced. */
static haul_status on_moved(struct control_job *j, const struct msg_moved *m, struct haul_fault *fault)
{
	haul_status st = HAUL_OK;

	for (size_t i = 0; haul_ok(st) && i < m->kept_count; i++)
		st = announced(j, m->kept[i].entry, "MOVED", fault);
	if (haul_failed(st))
		return st;
	if (m->kept_count > j->manifest.entries - j->kept || m->files > m->entries ||
	    m->entries > j->manifest.entries || m->bytes > j->manifest.file_bytes)
		return haul_fault_set(fault, HAUL_BAD_VALUE, "MOVED of more than was announced");
	j->kept += m->kept_count;
	return HAUL_OK;
}

static haul_status on_digests(const struct control_job *j, const struct message *m, struct haul_fault *fault)
{
	return announced(j, m->digests.entry, message_name(m->type), fault);
}

static haul_status on_manifest_end(struct control_job *j, const struct msg_manifest_end *m, struct haul_fault *fault)
{
	haul_status st = manifest_track_end(&j->manifest, m, fault);

	if (haul_ok(st))
		j->stages[JOB_SENDER] = STAGE_WORK;
	return st;
}

haul_status control_job_apply(struct control_job *j, enum job_party party, const struct message *m, size_t frame_bytes,
			      struct haul_fault *fault)
{
	switch (m->type) {
	case MSG_CREDIT:
		return on_credit(j, &m->credit, fault);
	case MSG_OWNERS:
		return manifest_track_owners(&j->manifest, &m->owners, fault);
	case MSG_MANIFEST:
		return on_manifest(j, &m->manifest, frame_bytes, fault);
	case MSG_MANIFEST_END:
		return on_manifest_end(j, &m->manifest_end, fault);
	case MSG_WANT:
		return on_want(j, &m->want, fault);
	case MSG_BASIS:
	case MSG_HAVE:
		return on_digests(j, m, fault);
	case MSG_ACK:
		return on_ack(j, &m->ack, fault);
	case MSG_FAILED:
		return on_failures(j, &m->failed, fault);
	case MSG_PUT_OFF:
		return on_put_off(j, &m->put_off, fault);
	case MSG_CHANGED:
		return on_changed(j, &m->changed, fault);
	case MSG_RESULT:
		return on_results(j, &m->result, fault);
	case MSG_JOB_END:
		return on_job_end(j, party, &m->job_end, fault);
	case MSG_DONE:
		return on_done(j, party, fault);
	case MSG_CANCEL:
		return on_cancel(j, fault);
	case MSG_NOTE:
		return on_note(j, fault);
	case MSG_LOOK:
		return on_look(j, &m->look, fault);
	case MSG_LOOKED:
		return on_looked(j, &m->looked, fault);
	case MSG_MOVED:
		return on_moved(j, &m->moved, fault);
	case MSG_LEFT:
	case MSG_ALIVE:
	case MSG_LANE_LOST: /* which lanes there are is known where they run */
		return HAUL_OK;
	default:
		return haul_bug("%s is no message of a job", message_name(m->type));
	}
}
