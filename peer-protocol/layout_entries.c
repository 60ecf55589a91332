/* What is said about single entries while a job runs: docs/PROTOCOL.md "Messages" 16 to 21, 27 to 31. */
#include "peer-protocol/layout.h"

/* HAUL_BAD_VALUE unless `count` leaves from `first` on may exist in some file. */
static haul_status leaves_check(uint64_t first, uint64_t count)
{
	return first > MESSAGE_LEAVES_MAX || count > MESSAGE_LEAVES_MAX - first ? HAUL_BAD_VALUE : HAUL_OK;
}

static haul_status range_check(const void *record)
{
	const struct leaf_range *r = record;

	return leaves_check(r->first, r->count);
}

static const struct field range_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct leaf_range, first, 0, MESSAGE_LEAVES_MAX),
	FIELD_NUMBER(FIELD_UINT, struct leaf_range, count, 1, MESSAGE_LEAVES_MAX),
};
static const struct layout range_layout = { LAYOUT_OF(struct leaf_range, range_fields), .check = range_check };

static haul_status one_want_check(const void *record)
{
	const struct want *w = record;

	if (want_has_ranges(w) != (w->range_count > 0) || (w->kind == WANT_CLONE) != (w->clone_path.len > 0))
		return HAUL_BAD_VALUE;
	for (size_t i = 1; i < w->range_count; i++) {
		if (w->ranges[i].first < w->ranges[i - 1].first + w->ranges[i - 1].count)
			return HAUL_BAD_VALUE;
	}
	return HAUL_OK;
}

static const struct field one_want_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct want, entry, 0, UINT64_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct want, attempt, 0, MESSAGE_ATTEMPTS_MAX),
	FIELD_NUMBER(FIELD_UINT, struct want, kind, WANT_NOTHING, WANT_DIGEST_RANGES),
	FIELD_ARRAY(FIELD_RECORDS, struct want, ranges, range_count, 0, MESSAGE_RANGES_MAX, &range_layout),
	FIELD_VALUE(FIELD_PATH, struct want, clone_path, 0, MESSAGE_PATH_MAX),
	FIELD_VALUE(FIELD_FIXED, struct want, clone_source_id, SOURCE_ID_BYTES, SOURCE_ID_BYTES),
};
static const struct layout one_want_layout = { LAYOUT_OF(struct want, one_want_fields), .check = one_want_check };

static const struct field want_fields[] = {
	FIELD_ARRAY(FIELD_RECORDS, struct msg_want, wants, want_count, 1, MESSAGE_RECORDS_MAX, &one_want_layout),
};
const struct layout want_layout = { LAYOUT_OF(struct msg_want, want_fields) };

static haul_status digests_check(const void *record)
{
	const struct msg_digests *m = record;

	return leaves_check(m->first_leaf, m->digest_count);
}

static const struct field digests_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct msg_digests, entry, 0, UINT64_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct msg_digests, first_leaf, 0, MESSAGE_LEAVES_MAX),
	FIELD_ARRAY(FIELD_DIGESTS, struct msg_digests, digests, digest_count, 1, MESSAGE_DIGESTS_MAX, NULL),
};
const struct layout digests_layout = { LAYOUT_OF(struct msg_digests, digests_fields), .check = digests_check };

static haul_status one_ack_check(const void *record)
{
	const struct ack *a = record;

	return leaves_check(a->first_leaf, a->leaf_count);
}

static const struct field one_ack_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct ack, entry, 0, UINT64_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct ack, attempt, 0, MESSAGE_ATTEMPTS_MAX),
	FIELD_NUMBER(FIELD_UINT, struct ack, level, ACK_RECEIVED, ACK_DURABLE),
	FIELD_NUMBER(FIELD_UINT, struct ack, first_leaf, 0, MESSAGE_LEAVES_MAX),
	FIELD_NUMBER(FIELD_UINT, struct ack, leaf_count, 1, MESSAGE_LEAVES_MAX),
};
static const struct layout one_ack_layout = { LAYOUT_OF(struct ack, one_ack_fields), .check = one_ack_check };

static const struct field ack_fields[] = {
	FIELD_ARRAY(FIELD_RECORDS, struct msg_ack, acks, ack_count, 1, MESSAGE_RECORDS_MAX, &one_ack_layout),
};
const struct layout ack_layout = { LAYOUT_OF(struct msg_ack, ack_fields) };

static const struct field failure_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct entry_failure, entry, 0, UINT64_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct entry_failure, attempt, 0, MESSAGE_ATTEMPTS_MAX),
	FIELD_NUMBER(FIELD_UINT, struct entry_failure, code, 1, MESSAGE_CODE_MAX),
};
static const struct layout failure_layout = { LAYOUT_OF(struct entry_failure, failure_fields) };

static const struct field failed_fields[] = {
	FIELD_ARRAY(FIELD_RECORDS, struct msg_failed, failures, failure_count, 1, MESSAGE_RECORDS_MAX, &failure_layout),
};
const struct layout failed_layout = { LAYOUT_OF(struct msg_failed, failed_fields) };

static const struct field index_fields[] = {
	{ .kind = FIELD_UINT, .at = 0, .width = sizeof(uint64_t), .min = 0, .max = UINT64_MAX - 1 },
};
static const struct layout index_layout = { LAYOUT_OF(uint64_t, index_fields), .is_bare = true };

static const struct field put_off_fields[] = {
	FIELD_ARRAY(FIELD_RECORDS, struct msg_put_off, entries, entry_count, 1, MESSAGE_RECORDS_MAX, &index_layout),
};
const struct layout put_off_layout = { LAYOUT_OF(struct msg_put_off, put_off_fields) };

static const struct field changed_entry_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct changed_entry, entry, 0, UINT64_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct changed_entry, attempt, 1, MESSAGE_ATTEMPTS_MAX),
	FIELD_NUMBER(FIELD_UINT, struct changed_entry, size, 0, MESSAGE_SIZE_MAX),
	FIELD_VALUE(FIELD_INT, struct changed_entry, mtime.sec, 0, 0),
	FIELD_NUMBER(FIELD_UINT, struct changed_entry, mtime.nsec, 0, 999999999),
	FIELD_NUMBER(FIELD_UINT, struct changed_entry, mode, 0, 07777),
	FIELD_NUMBER(FIELD_UINT, struct changed_entry, flags, 0, UINT32_MAX),
	FIELD_VALUE(FIELD_FIXED, struct changed_entry, source_id, SOURCE_ID_BYTES, SOURCE_ID_BYTES),
};
static const struct layout changed_entry_layout = { LAYOUT_OF(struct changed_entry, changed_entry_fields) };

static const struct field changed_fields[] = {
	FIELD_ARRAY(FIELD_RECORDS, struct msg_changed, entries, entry_count, 1, MESSAGE_RECORDS_MAX,
		    &changed_entry_layout),
};
const struct layout changed_layout = { LAYOUT_OF(struct msg_changed, changed_fields) };

/* An entry that only the destination has is no entry of the manifest: it has a path instead of an index. */
static haul_status one_result_check(const void *record)
{
	const struct entry_result *r = record;

	if ((r->entry == HAUL_NO_INDEX) != ((r->changes & CHANGE_SURPLUS) != 0))
		return HAUL_BAD_VALUE;
	if (r->entry == HAUL_NO_INDEX && !r->detail.len)
		return HAUL_BAD_VALUE;
	return HAUL_OK;
}

static const struct field one_result_fields[] = {
	FIELD_NUMBER(FIELD_INDEX, struct entry_result, entry, 0, UINT64_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct entry_result, attempt, 0, MESSAGE_ATTEMPTS_MAX),
	FIELD_NUMBER(FIELD_UINT, struct entry_result, outcome, OUTCOME_PROVEN, OUTCOME_FAILED),
	FIELD_NUMBER(FIELD_UINT, struct entry_result, code, 0, MESSAGE_CODE_MAX),
	FIELD_NUMBER(FIELD_UINT, struct entry_result, changes, 0, UINT32_MAX),
	FIELD_NUMBER(FIELD_UINT, struct entry_result, flags, 0, UINT32_MAX),
	FIELD_NUMBER(FIELD_UINT, struct entry_result, offset, 0, MESSAGE_SIZE_MAX),
	FIELD_VALUE(FIELD_FIXED, struct entry_result, root, HAUL_DIGEST_BYTES, HAUL_DIGEST_BYTES),
	FIELD_VALUE(FIELD_BYTES, struct entry_result, detail, 0, MESSAGE_PATH_MAX),
	FIELD_NUMBER(FIELD_UINT, struct entry_result, lost, 0, UINT32_MAX),
};
static const struct layout one_result_layout = { LAYOUT_OF(struct entry_result, one_result_fields),
						 .check = one_result_check };

static const struct field result_fields[] = {
	FIELD_ARRAY(FIELD_RECORDS, struct msg_result, results, result_count, 1, MESSAGE_RECORDS_MAX,
		    &one_result_layout),
};
const struct layout result_layout = { LAYOUT_OF(struct msg_result, result_fields) };

static const struct field look_fields[] = {
	FIELD_VALUE(FIELD_FIXED, struct msg_look, token, LOOK_TOKEN_BYTES, LOOK_TOKEN_BYTES),
	FIELD_ARRAY(FIELD_RECORDS, struct msg_look, entries, entry_count, 1, MESSAGE_LOOK_MAX, &index_layout),
};
const struct layout look_layout = { LAYOUT_OF(struct msg_look, look_fields) };

static const struct field looked_code_fields[] = {
	{ .kind = FIELD_UINT, .at = 0, .width = sizeof(uint32_t), .min = 0, .max = MESSAGE_CODE_MAX },
};
static const struct layout looked_code_layout = {
	.fields = looked_code_fields, .field_count = 1, .bytes = sizeof(uint32_t), .is_bare = true
};

static const struct field looked_fields[] = {
	FIELD_ARRAY(FIELD_RECORDS, struct msg_looked, codes, code_count, 1, MESSAGE_LOOK_MAX, &looked_code_layout),
};
const struct layout looked_layout = { LAYOUT_OF(struct msg_looked, looked_fields) };

static const struct field kept_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct moved_kept, entry, 0, UINT64_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct moved_kept, code, 1, MESSAGE_CODE_MAX),
	FIELD_VALUE(FIELD_TEXT, struct moved_kept, text, 0, MESSAGE_TEXT_MAX),
};
static const struct layout kept_layout = { LAYOUT_OF(struct moved_kept, kept_fields) };

static const struct field moved_fields[] = {
	FIELD_ARRAY(FIELD_RECORDS, struct msg_moved, kept, kept_count, 0, MESSAGE_KEPT_MAX, &kept_layout),
	FIELD_NUMBER(FIELD_UINT, struct msg_moved, files, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_moved, entries, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_moved, bytes, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_moved, leaves, 0, UINT64_MAX),
};
const struct layout moved_layout = { LAYOUT_OF(struct msg_moved, moved_fields) };
