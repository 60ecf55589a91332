/* What a job takes, and what it left: docs/PROTOCOL.md "Messages" 30 and 31. */
#include "peer-protocol/layout.h"

static const struct field rule_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct choice_rule, group, 0, MESSAGE_RULES_TOTAL_MAX - 1),
	FIELD_NUMBER(FIELD_UINT, struct choice_rule, action, CHOICE_EXCLUDE, CHOICE_ONLY),
	FIELD_VALUE(FIELD_BYTES, struct choice_rule, pattern, 0, MESSAGE_PATTERN_MAX),
};
static const struct layout rule_layout = { LAYOUT_OF(struct choice_rule, rule_fields) };

static const struct field path_fields[] = {
	{ .kind = FIELD_PATH, .at = 0, .min = 1, .max = MESSAGE_PATH_MAX },
};
static const struct layout path_layout = { LAYOUT_OF(struct text, path_fields), .is_bare = true };

static haul_status choice_check(const void *record)
{
	const struct msg_choice *m = record;

	if (m->path_count && !(m->flags & CHOICE_LISTS))
		return HAUL_BAD_VALUE;
	return m->size_min > m->size_max ? HAUL_BAD_VALUE : HAUL_OK;
}

/* A flag that this version does not know would change what the job does: it is refused, not ignored. */
static const struct field choice_fields[] = {
	FIELD_ARRAY(FIELD_RECORDS, struct msg_choice, rules, rule_count, 0, MESSAGE_RULES_MAX, &rule_layout),
	FIELD_ARRAY(FIELD_RECORDS, struct msg_choice, paths, path_count, 0, MESSAGE_RECORDS_MAX, &path_layout),
	FIELD_NUMBER(FIELD_BITS, struct msg_choice, flags, 0, CHOICE_FLAGS_ALL),
	FIELD_NUMBER(FIELD_UINT, struct msg_choice, size_min, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_choice, size_max, 0, UINT64_MAX),
	FIELD_VALUE(FIELD_INT, struct msg_choice, oldest.sec, 0, 0),
	FIELD_NUMBER(FIELD_UINT, struct msg_choice, oldest.nsec, 0, 999999999),
	FIELD_VALUE(FIELD_INT, struct msg_choice, newest.sec, 0, 0),
	FIELD_NUMBER(FIELD_UINT, struct msg_choice, newest.nsec, 0, 999999999),
};
const struct layout choice_layout = { LAYOUT_OF(struct msg_choice, choice_fields), .check = choice_check };

static const struct field left_fields[] = {
	FIELD_NUMBER(FIELD_UINT, struct msg_left, entries, 0, UINT64_MAX),
	FIELD_NUMBER(FIELD_UINT, struct msg_left, files, 0, UINT64_MAX),
	FIELD_VALUE(FIELD_RAW, struct msg_left, matched, 0, MESSAGE_RULES_TOTAL_MAX / 8),
};

static haul_status left_check(const void *record)
{
	const struct msg_left *m = record;

	return m->files > m->entries ? HAUL_BAD_VALUE : HAUL_OK;
}

const struct layout left_layout = { LAYOUT_OF(struct msg_left, left_fields), .check = left_check };
