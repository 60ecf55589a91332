/* A job's beginning and end, and its manifest: docs/PROTOCOL.md "Messages" 6, 7, 12 to 15, 22 to 25. */
#include "peer-protocol/layout.h"

#define JOB_FLAGS_ALL                                                                                                  \
	(JOB_DRY_RUN | JOB_CHECKSUM | JOB_NO_SYNC | JOB_FOLLOW_LINKS | JOB_EXACT | JOB_NOTES | JOB_TO_DISK |           \
	 JOB_RESTART | JOB_MOVE | JOB_NO_REPLACE | JOB_NO_ATTRIBUTES | JOB_NO_OWNERS | JOB_NUMERIC_IDS | JOB_SPARSE |  \
	 JOB_INPLACE | JOB_ROOT_TOO)
#define JOB_FIXED_ALL (JOB_FIXED_LANES | JOB_FIXED_BLOCK)
#define MODIFY_WINDOW_MAX_NS (24 * UINT64_C(3600) * 1000000000)

static const struct field source_fields[] = {
	FIELD_VALUE(FIELD_PATH, struct job_source, path, 0, MESSAGE_PATH_MAX),
	FIELD_VALUE(FIELD_NAME, struct job_source, landing, 0, HAUL_NAME_MAX),
	FIELD_VALUE(FIELD_BOOL, struct job_source, follow, 0, 1),
};
static const struct layout source_layout = { LAYOUT_OF(struct job_source, source_fields) };

/* One thing is measured: made up, or the one source; nothing but a probe has a length of its own. */
static haul_status probe_check(const struct msg_job *m)
{
	bool is_to_disk = m->flags & JOB_TO_DISK;

	if (m->verb != JOB_PROBE)
		return m->probe_bytes || is_to_disk ? HAUL_BAD_VALUE : HAUL_OK;
	if (m->probe_bytes < MESSAGE_PROBE_MIN || m->root.len)
		return HAUL_BAD_VALUE;
	if (m->direction == JOB_PUSH)
		return HAUL_OK;
	return m->source_count != 1 || is_to_disk != (m->sources[0].path.len > 0) ? HAUL_BAD_VALUE : HAUL_OK;
}

/* What is deleted at the end has been compared by its content, and is durable where it has gone. */
static haul_status move_check(const struct msg_job *m)
{
	if (m->flags & (JOB_MOVE | JOB_NO_REPLACE | JOB_ROOT_TOO | JOB_INPLACE) && m->verb != JOB_COPY)
		return HAUL_BAD_VALUE;
	if (m->flags & JOB_MOVE &&
	    (!(m->flags & JOB_CHECKSUM) || m->flags & (JOB_NO_SYNC | JOB_ROOT_TOO | JOB_INPLACE)))
		return HAUL_BAD_VALUE;
	return HAUL_OK;
}

static haul_status job_check(const void *record)
{
	const struct msg_job *m = record;

	if ((m->direction == JOB_PULL) != (m->source_count > 0) || m->lanes + m->more_lanes > LANES_MAX)
		return HAUL_BAD_VALUE;
	if (m->direction == JOB_PULL && m->root.len)
		return HAUL_BAD_VALUE;
	if (m->delete_rule && (m->verb != JOB_COPY || m->flags & (JOB_NO_SYNC | JOB_MOVE)))
		return HAUL_BAD_VALUE;
	return haul_failed(move_check(m)) ? HAUL_BAD_VALUE : probe_check(m);
}

/* A flag that this version does not know would change what the job does: it is refused, not ignored. */
static const struct field job_fields[] = {
	FIELD_VALUE(FIELD_FIXED, struct msg_job, job_id, 16, 16),
	FIELD_NUMBER(FIELD_UINT, struct msg_job, verb, JOB_COPY, JOB_PROBE),
	FIELD_NUMBER(FIELD_UINT, struct msg_job, direction, JOB_PUSH, JOB_PULL),
	FIELD_NUMBER(FIELD_BITS, struct msg_job, flags, 0, JOB_FLAGS_ALL),
	FIELD_VALUE(FIELD_TEXT, struct msg_job, share, 1, MESSAGE_SHARE_NAME_MAX),
	FIELD_VALUE(FIELD_PATH, struct msg_job, root, 0, MESSAGE_PATH_MAX),
	FIELD_ARRAY(FIELD_RECORDS, struct msg_job, sources, source_count, 0, MESSAGE_SOURCES_MAX, &source_layout),
	FIELD_NUMBER(FIELD_UINT, struct msg_job, lanes, 1, LANES_MAX),
	FIELD_NUMBER(FIELD_POWER, struct msg_job, block_bytes, MESSAGE_BLOCK_MIN, MESSAGE_BLOCK_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_job, modify_window_ns, 0, MODIFY_WINDOW_MAX_NS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job, device, DEVICE_UNKNOWN, DEVICE_KIND_LAST),
	FIELD_NUMBER(FIELD_UINT, struct msg_job, server_device, DEVICE_UNKNOWN, DEVICE_KIND_LAST),
	FIELD_VALUE(FIELD_FIXED, struct msg_job, disk_id, DISK_ID_BYTES, DISK_ID_BYTES),
	FIELD_NUMBER(FIELD_BITS, struct msg_job, fixed, 0, JOB_FIXED_ALL),
	FIELD_NUMBER(FIELD_UINT, struct msg_job, more_lanes, 0, LANES_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct msg_job, probe_bytes, 0, MESSAGE_PROBE_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_job, delete_rule, DELETE_NONE, DELETE_ANY),
	FIELD_NUMBER(FIELD_UINT, struct msg_job, delete_most, 0, MESSAGE_SIZE_MAX),
	FIELD_VALUE(FIELD_BOOL, struct msg_job, deletes_at_root, 0, 1),
};
const struct layout job_layout = { LAYOUT_OF(struct msg_job, job_fields), .check = job_check };

static const struct field accept_fields[] = {
	FIELD_VALUE(FIELD_FIXED, struct msg_accept, session_id, SESSION_ID_BYTES, SESSION_ID_BYTES),
	FIELD_NUMBER(FIELD_UINT, struct msg_accept, lanes, 1, LANES_MAX),
	FIELD_NUMBER(FIELD_POWER, struct msg_accept, block_bytes, MESSAGE_BLOCK_MIN, MESSAGE_BLOCK_MAX),
	FIELD_VALUE(FIELD_BOOL, struct msg_accept, root_exists, 0, 1),
	FIELD_NUMBER(FIELD_UINT, struct msg_accept, device, DEVICE_UNKNOWN, DEVICE_KIND_LAST),
	FIELD_VALUE(FIELD_FIXED, struct msg_accept, disk_id, DISK_ID_BYTES, DISK_ID_BYTES),
	FIELD_NUMBER(FIELD_UINT, struct msg_accept, more_lanes, 0, LANES_MAX - 1),
	FIELD_VALUE(FIELD_FIXED, struct msg_accept, source_fs, 16, 16),
};

static haul_status accept_check(const void *record)
{
	const struct msg_accept *m = record;

	return m->lanes + m->more_lanes > LANES_MAX ? HAUL_BAD_VALUE : HAUL_OK;
}

const struct layout accept_layout = { LAYOUT_OF(struct msg_accept, accept_fields), .check = accept_check };

static const struct field credit_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct msg_credit, records, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_credit, bytes, 0, UINT64_MAX),
};
const struct layout credit_layout = { LAYOUT_OF(struct msg_credit, credit_fields) };

static const struct field owner_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct owner_name, index, 0, MESSAGE_OWNERS_TOTAL_MAX - 1),
	FIELD_VALUE(FIELD_BOOL, struct owner_name, is_group, 0, 1),
	FIELD_NUMBER(FIELD_UINT, struct owner_name, number, 0, UINT32_MAX),
	FIELD_VALUE(FIELD_BYTES, struct owner_name, name, 0, MESSAGE_OWNER_NAME_MAX),
};
static const struct layout owner_layout = { LAYOUT_OF(struct owner_name, owner_fields) };

static const struct field owners_fields[] = {
	FIELD_ARRAY(FIELD_RECORDS, struct msg_owners, owners, owner_count, 1, MESSAGE_OWNERS_MAX, &owner_layout),
};
const struct layout owners_layout = { LAYOUT_OF(struct msg_owners, owners_fields) };

static const struct field extra_digest_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct extra_digest, algorithm, 1, UINT16_MAX),
	FIELD_VALUE(FIELD_RAW, struct extra_digest, bytes, 1, MESSAGE_EXTRA_DIGEST_BYTES_MAX),
};
static const struct layout extra_digest_layout = { LAYOUT_OF(struct extra_digest, extra_digest_fields) };

static haul_status entry_check(const void *record)
{
	const struct manifest_entry *e = record;
	bool is_device = e->kind == ENTRY_CHAR_DEVICE || e->kind == ENTRY_BLOCK_DEVICE;

	if (e->kind != ENTRY_FILE && (e->size || e->extra_count || (e->flags & ENTRY_HAS_ROOT)))
		return HAUL_BAD_VALUE;
	if ((e->kind == ENTRY_LINK) != (e->link_target.len > 0))
		return HAUL_BAD_VALUE;
	if (e->kind == ENTRY_DIRECTORY && e->link_to != HAUL_NO_INDEX)
		return HAUL_BAD_VALUE;
	if (e->rdev && !is_device)
		return HAUL_BAD_VALUE;
	if (!e->name.len && !manifest_is_root(e))
		return HAUL_BAD_VALUE;
	return attributes_check(e->attributes, e->attribute_count);
}

/* An attribute's two pairs are texts in all but name: base knows none of ours. */
_Static_assert(offsetof(struct attribute, name_len) - offsetof(struct attribute, name) == offsetof(struct text, len) &&
		   offsetof(struct attribute, value_len) - offsetof(struct attribute, value) ==
		       offsetof(struct text, len),
	       "fields are read and written as struct text");

static const struct field attribute_fields[] = {
	FIELD_VALUE(FIELD_BYTES, struct attribute, name, 1, ATTRIBUTE_NAME_MAX),
	FIELD_VALUE(FIELD_RAW, struct attribute, value, 0, ATTRIBUTE_VALUE_MAX),
};
static const struct layout attribute_layout = { LAYOUT_OF(struct attribute, attribute_fields) };

static const struct field entry_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct manifest_entry, index, 0, UINT64_MAX - 1),
	FIELD_NUMBER(FIELD_INDEX, struct manifest_entry, parent, 0, UINT64_MAX - 1),
	FIELD_VALUE(FIELD_NAME, struct manifest_entry, name, 0, HAUL_NAME_MAX),
	FIELD_NUMBER(FIELD_UINT, struct manifest_entry, kind, ENTRY_FILE, ENTRY_BLOCK_DEVICE),
	FIELD_NUMBER(FIELD_UINT, struct manifest_entry, size, 0, MESSAGE_SIZE_MAX),
	FIELD_VALUE(FIELD_INT, struct manifest_entry, mtime.sec, 0, 0),
	FIELD_NUMBER(FIELD_UINT, struct manifest_entry, mtime.nsec, 0, 999999999),
	FIELD_NUMBER(FIELD_UINT, struct manifest_entry, mode, 0, 07777),
	FIELD_NUMBER(FIELD_INDEX, struct manifest_entry, owner, 0, MESSAGE_OWNERS_TOTAL_MAX - 1),
	FIELD_NUMBER(FIELD_INDEX, struct manifest_entry, group, 0, MESSAGE_OWNERS_TOTAL_MAX - 1),
	FIELD_NUMBER(FIELD_INDEX, struct manifest_entry, link_to, 0, UINT64_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct manifest_entry, rdev, 0, UINT64_MAX),
	FIELD_ARRAY(FIELD_RECORDS, struct manifest_entry, attributes, attribute_count, 0, ATTRIBUTES_MAX,
		    &attribute_layout),
	FIELD_NUMBER(FIELD_UINT, struct manifest_entry, flags, 0, UINT32_MAX),
	FIELD_NUMBER(FIELD_UINT, struct manifest_entry, attempt, 0, MESSAGE_ATTEMPTS_MAX),
	FIELD_VALUE(FIELD_FIXED, struct manifest_entry, source_id, SOURCE_ID_BYTES, SOURCE_ID_BYTES),
	FIELD_VALUE(FIELD_FIXED, struct manifest_entry, root, HAUL_DIGEST_BYTES, HAUL_DIGEST_BYTES),
	FIELD_VALUE(FIELD_BYTES, struct manifest_entry, link_target, 0, HAUL_LINK_TARGET_MAX),
	FIELD_ARRAY(FIELD_RECORDS, struct manifest_entry, extra, extra_count, 0, MESSAGE_EXTRA_DIGESTS_MAX,
		    &extra_digest_layout),
};
static const struct layout entry_layout = { LAYOUT_OF(struct manifest_entry, entry_fields), .check = entry_check };

static haul_status dir_end_check(const void *record)
{
	const struct manifest_dir_end *e = record;

	return e->is_complete == (e->error != 0) ? HAUL_BAD_VALUE : HAUL_OK;
}

static const struct field dir_end_fields[] = {
	FIELD_NUMBER(FIELD_INDEX, struct manifest_dir_end, directory, 0, UINT64_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct manifest_dir_end, count, 0, UINT64_MAX),
	FIELD_VALUE(FIELD_BOOL, struct manifest_dir_end, is_complete, 0, 1),
	FIELD_NUMBER(FIELD_UINT, struct manifest_dir_end, error, 0, MESSAGE_CODE_MAX),
	FIELD_VALUE(FIELD_BOOL, struct manifest_dir_end, is_partial, 0, 1),
};
static const struct layout dir_end_layout = { LAYOUT_OF(struct manifest_dir_end, dir_end_fields),
					      .check = dir_end_check };

static const struct field problem_fields[] = {
	FIELD_NUMBER(FIELD_INDEX, struct manifest_problem, directory, 0, UINT64_MAX - 1),
	FIELD_VALUE(FIELD_NAME, struct manifest_problem, name, 1, HAUL_NAME_MAX),
	FIELD_NUMBER(FIELD_UINT, struct manifest_problem, code, 1, MESSAGE_CODE_MAX),
};
static const struct layout problem_layout = { LAYOUT_OF(struct manifest_problem, problem_fields) };

static const struct layout *const record_variants[] = {
	[RECORD_ENTRY] = &entry_layout,
	[RECORD_DIR_END] = &dir_end_layout,
	[RECORD_PROBLEM] = &problem_layout,
};
const struct layout manifest_record_layout = {
	.bytes = sizeof(struct manifest_record),
	.variants = record_variants,
	.variant_count = RECORD_PROBLEM + 1,
	.body_at = offsetof(struct manifest_record, entry),
};

static const struct field manifest_fields[] = {
	FIELD_ARRAY(FIELD_RECORDS, struct msg_manifest, records, record_count, 1, MESSAGE_RECORDS_MAX,
		    &manifest_record_layout),
};
const struct layout manifest_layout = { LAYOUT_OF(struct msg_manifest, manifest_fields) };

static const struct field manifest_end_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct msg_manifest_end, entries, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_manifest_end, bytes, 0, UINT64_MAX),
};
const struct layout manifest_end_layout = { LAYOUT_OF(struct msg_manifest_end, manifest_end_fields) };

static const struct field job_end_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, entries, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, files, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, bytes, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, proven, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, unchanged, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, failed, 0, UINT64_MAX),
	FIELD_VALUE(FIELD_FIXED, struct msg_job_end, root, HAUL_DIGEST_BYTES, HAUL_DIGEST_BYTES),
	FIELD_VALUE(FIELD_BOOL, struct msg_job_end, is_durable, 0, 1),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.wall_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.compute_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.digest_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.cpu_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.ready_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.wait_work_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.wait_disk_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.wait_files_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.wait_peer_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.wait_rate_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.disk_busy_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.disk_no_input_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.disk_no_room_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.files_busy_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.sync_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, times.process_cpu_ms, 0, MESSAGE_TIMES_MAX_MS),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, lack.need_bytes, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, lack.free_bytes, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, delete_refusal, DELETE_ALLOWED, DELETE_TROUBLED),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, surplus, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, there, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, deleted, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, deleted_files, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_job_end, lack.quota_bytes, 0, UINT64_MAX),
};
const struct layout job_end_layout = { LAYOUT_OF(struct msg_job_end, job_end_fields) };

const struct layout done_layout = { .field_count = 0 };

static const struct field cancel_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct msg_cancel, code, 1, MESSAGE_CODE_MAX),
};
const struct layout cancel_layout = { LAYOUT_OF(struct msg_cancel, cancel_fields) };

static const struct field note_fields[] = {
	FIELD_VALUE(FIELD_TEXT, struct msg_note, text, 1, MESSAGE_TEXT_MAX),
};
const struct layout note_layout = { LAYOUT_OF(struct msg_note, note_fields) };

static const struct field alive_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct msg_alive, lanes, 0, (1 << LANES_MAX) - 1),
};
const struct layout alive_layout = { LAYOUT_OF(struct msg_alive, alive_fields) };

/* The last epoch of all is never used: behind it would be none. */
static const struct field lane_lost_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct msg_lane_lost, lane, 0, LANES_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct msg_lane_lost, epoch, 0, UINT32_MAX - 1),
};
const struct layout lane_lost_layout = { LAYOUT_OF(struct msg_lane_lost, lane_lost_fields) };
