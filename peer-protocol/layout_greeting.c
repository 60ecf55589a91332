/* Greeting, questions and their answers, lanes, refusals: docs/PROTOCOL.md "Messages" 1 to 11. */
#include "peer-protocol/layout.h"

/* An array element that is a text and nothing else. */
static const struct field share_name_fields[] = {
	{ .kind = FIELD_TEXT, .at = 0, .min = 1, .max = MESSAGE_SHARE_NAME_MAX },
};
static const struct layout share_name_layout = { LAYOUT_OF(struct text, share_name_fields), .is_bare = true };

static const struct field path_fields[] = {
	{ .kind = FIELD_PATH, .at = 0, .min = 0, .max = MESSAGE_PATH_MAX },
};
static const struct layout path_layout = { LAYOUT_OF(struct text, path_fields), .is_bare = true };

static const struct field capability_fields[] = {
	FIELD_VALUE(FIELD_TEXT, struct capability, name, 1, MESSAGE_CAPABILITY_NAME_MAX),
	FIELD_VALUE(FIELD_BOOL, struct capability, is_critical, 0, 1),
};
static const struct layout capability_layout = { LAYOUT_OF(struct capability, capability_fields) };

static haul_status hello_check(const void *record)
{
	const struct msg_hello *m = record;

	if (m->version_min > m->version_max || m->block_min > m->block_max)
		return HAUL_BAD_VALUE;
	for (size_t i = 0; i < m->capability_count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (text_compare(m->capabilities[i].name, m->capabilities[k].name) == 0)
				return HAUL_BAD_VALUE;
		}
	}
	return HAUL_OK;
}

/* Beyond what this version can do is no mistake here: the session takes what both have (hello_adopt()). */
static const struct field hello_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct msg_hello, version_min, 1, UINT16_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_hello, version_max, 1, UINT16_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_hello, tree_version, 1, UINT16_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_hello, digest_algorithms, 1, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_hello, digest_bytes, 1, MESSAGE_EXTRA_DIGEST_BYTES_MAX),
	FIELD_NUMBER(FIELD_POWER, struct msg_hello, block_min, 1, 1 << 30),
	FIELD_NUMBER(FIELD_POWER, struct msg_hello, block_max, 1, 1 << 30),
	FIELD_NUMBER(FIELD_UINT, struct msg_hello, cores, 1, UINT16_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_hello, lanes_max, 1, UINT16_MAX),
	FIELD_VALUE(FIELD_TEXT, struct msg_hello, software, 0, MESSAGE_SOFTWARE_MAX),
	FIELD_VALUE(FIELD_TEXT, struct msg_hello, your_name, 0, MESSAGE_PEER_NAME_MAX),
	FIELD_ARRAY(FIELD_RECORDS, struct msg_hello, capabilities, capability_count, 0, MESSAGE_CAPABILITIES_MAX,
		    &capability_layout),
};
const struct layout hello_layout = { LAYOUT_OF(struct msg_hello, hello_fields), .check = hello_check };

static const struct field lookup_fields[] = {
	FIELD_VALUE(FIELD_TEXT, struct msg_lookup, share, 1, MESSAGE_SHARE_NAME_MAX),
	FIELD_ARRAY(FIELD_RECORDS, struct msg_lookup, paths, path_count, 1, MESSAGE_SOURCES_MAX, &path_layout),
};
const struct layout lookup_layout = { LAYOUT_OF(struct msg_lookup, lookup_fields) };

static haul_status one_found_check(const void *record)
{
	const struct found *f = record;

	if ((f->state == FOUND_THERE) != (f->kind != 0))
		return HAUL_BAD_VALUE;
	if (f->target_kind && f->kind != ENTRY_LINK)
		return HAUL_BAD_VALUE;
	return HAUL_OK;
}

static const struct field one_found_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct found, state, FOUND_MISSING, FOUND_NOT_DIRECTORY),
	FIELD_NUMBER(FIELD_UINT, struct found, kind, 0, ENTRY_BLOCK_DEVICE),
	FIELD_NUMBER(FIELD_UINT, struct found, target_kind, 0, ENTRY_BLOCK_DEVICE),
	FIELD_NUMBER(FIELD_UINT, struct found, size, 0, MESSAGE_SIZE_MAX),
	FIELD_VALUE(FIELD_INT, struct found, mtime.sec, 0, 0),
	FIELD_NUMBER(FIELD_UINT, struct found, mtime.nsec, 0, 999999999),
};
static const struct layout one_found_layout = { LAYOUT_OF(struct found, one_found_fields), .check = one_found_check };

static const struct field found_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct msg_found, rights, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_found, free_bytes, 0, UINT64_MAX),
	FIELD_ARRAY(FIELD_RECORDS, struct msg_found, found, found_count, 1, MESSAGE_SOURCES_MAX, &one_found_layout),
};
const struct layout found_layout = { LAYOUT_OF(struct msg_found, found_fields) };

static haul_status list_check(const void *record)
{
	const struct msg_list *m = record;

	return m->share.len == 0 && (m->path.len || m->after.len || m->wants_partials) ? HAUL_BAD_VALUE : HAUL_OK;
}

static const struct field list_fields[] = {
	FIELD_VALUE(FIELD_TEXT, struct msg_list, share, 0, MESSAGE_SHARE_NAME_MAX),
	FIELD_VALUE(FIELD_PATH, struct msg_list, path, 0, MESSAGE_PATH_MAX),
	FIELD_VALUE(FIELD_NAME, struct msg_list, after, 0, HAUL_NAME_MAX),
	FIELD_VALUE(FIELD_BOOL, struct msg_list, wants_partials, 0, 1),
};
const struct layout list_layout = { LAYOUT_OF(struct msg_list, list_fields), .check = list_check };

static const struct field listing_share_fields[] = {
	FIELD_VALUE(FIELD_TEXT, struct listing_share, name, 1, MESSAGE_SHARE_NAME_MAX),
	FIELD_NUMBER(FIELD_UINT, struct listing_share, rights, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct listing_share, free_bytes, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct listing_share, total_bytes, 0, UINT64_MAX),
};
static const struct layout listing_share_layout = { LAYOUT_OF(struct listing_share, listing_share_fields) };

static const struct field listing_entry_fields[] = {
	FIELD_VALUE(FIELD_NAME, struct listing_entry, name, 1, HAUL_NAME_MAX),
	FIELD_NUMBER(FIELD_UINT, struct listing_entry, kind, ENTRY_FILE, ENTRY_BLOCK_DEVICE),
	FIELD_NUMBER(FIELD_UINT, struct listing_entry, mode, 0, 07777),
	FIELD_NUMBER(FIELD_UINT, struct listing_entry, size, 0, MESSAGE_SIZE_MAX),
	FIELD_VALUE(FIELD_INT, struct listing_entry, mtime.sec, 0, 0),
	FIELD_NUMBER(FIELD_UINT, struct listing_entry, mtime.nsec, 0, 999999999),
};
static const struct layout listing_entry_layout = { LAYOUT_OF(struct listing_entry, listing_entry_fields) };

static haul_status listing_partial_check(const void *record)
{
	const struct listing_partial *p = record;

	return p->there_bytes > p->size ? HAUL_BAD_VALUE : HAUL_OK;
}

static const struct field listing_partial_fields[] = {
	FIELD_VALUE(FIELD_NAME, struct listing_partial, id, MESSAGE_PARTIAL_ID_BYTES, MESSAGE_PARTIAL_ID_BYTES),
	FIELD_VALUE(FIELD_BYTES, struct listing_partial, path, 0, MESSAGE_PARTIAL_PATH_MAX),
	FIELD_NUMBER(FIELD_UINT, struct listing_partial, size, 0, MESSAGE_SIZE_MAX),
	FIELD_NUMBER(FIELD_UINT, struct listing_partial, there_bytes, 0, MESSAGE_SIZE_MAX),
	FIELD_VALUE(FIELD_INT, struct listing_partial, touched_s, 0, 0),
	FIELD_VALUE(FIELD_BOOL, struct listing_partial, is_yours, 0, 1),
};
static const struct layout listing_partial_layout = { LAYOUT_OF(struct listing_partial, listing_partial_fields),
						      .check = listing_partial_check };

static haul_status listing_check(const void *record)
{
	const struct msg_listing *m = record;

	if ((m->share_count > 0) + (m->entry_count > 0) + (m->partial_count > 0) > 1)
		return HAUL_BAD_VALUE;
	if (m->has_more && !m->entry_count && !m->partial_count)
		return HAUL_BAD_VALUE;
	for (size_t i = 1; i < m->partial_count; i++) {
		if (text_compare(m->partials[i - 1].id, m->partials[i].id) >= 0)
			return HAUL_BAD_VALUE;
	}
	for (size_t i = 1; i < m->entry_count; i++) {
		if (text_compare(m->entries[i - 1].name, m->entries[i].name) >= 0)
			return HAUL_BAD_VALUE;
	}
	return HAUL_OK;
}

static const struct field listing_fields[] = {
	FIELD_ARRAY(FIELD_RECORDS, struct msg_listing, shares, share_count, 0, MESSAGE_SHARES_MAX,
		    &listing_share_layout),
	FIELD_ARRAY(FIELD_RECORDS, struct msg_listing, entries, entry_count, 0, MESSAGE_LISTING_MAX,
		    &listing_entry_layout),
	FIELD_VALUE(FIELD_BOOL, struct msg_listing, has_more, 0, 1),
	FIELD_ARRAY(FIELD_RECORDS, struct msg_listing, partials, partial_count, 0, MESSAGE_LISTING_MAX,
		    &listing_partial_layout),
};
const struct layout listing_layout = { LAYOUT_OF(struct msg_listing, listing_fields), .check = listing_check };

static const struct field busy_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct msg_busy, place, 1, UINT32_MAX),
};
const struct layout busy_layout = { LAYOUT_OF(struct msg_busy, busy_fields) };

/* The path may be the very name that was refused, so it is any bytes. */
static const struct field error_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct msg_error, code, 1, MESSAGE_CODE_MAX),
	FIELD_VALUE(FIELD_TEXT, struct msg_error, text, 0, MESSAGE_TEXT_MAX),
	FIELD_VALUE(FIELD_BYTES, struct msg_error, path, 0, MESSAGE_PATH_MAX),
	FIELD_VALUE(FIELD_TEXT, struct msg_error, share, 0, MESSAGE_SHARE_NAME_MAX),
	FIELD_VALUE(FIELD_TEXT, struct msg_error, your_name, 0, MESSAGE_PEER_NAME_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_error, missing_right, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_error, held_rights, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_error, need_bytes, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_error, free_bytes, 0, UINT64_MAX),
	FIELD_ARRAY(FIELD_RECORDS, struct msg_error, offered, offered_count, 0, MESSAGE_SHARES_MAX, &share_name_layout),
};
const struct layout error_layout = { LAYOUT_OF(struct msg_error, error_fields) };

static const struct field lane_hello_fields[] = {
	FIELD_VALUE(FIELD_FIXED, struct msg_lane_hello, session_id, SESSION_ID_BYTES, SESSION_ID_BYTES),
	FIELD_NUMBER(FIELD_UINT, struct msg_lane_hello, lane, 0, LANES_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct msg_lane_hello, epoch, 0, UINT32_MAX),
};
const struct layout lane_hello_layout = { LAYOUT_OF(struct msg_lane_hello, lane_hello_fields) };

static const struct field lane_ok_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct msg_lane_ok, lane, 0, LANES_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct msg_lane_ok, epoch, 0, UINT32_MAX),
};
const struct layout lane_ok_layout = { LAYOUT_OF(struct msg_lane_ok, lane_ok_fields) };
