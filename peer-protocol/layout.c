/* The outermost layout, a message by its type, and the rules that hold for single fields. */
#include "peer-protocol/layout.h"

#include <string.h>

static const struct layout *const message_variants[] = {
	[MSG_HELLO] = &hello_layout,
	[MSG_LOOKUP] = &lookup_layout,
	[MSG_FOUND] = &found_layout,
	[MSG_LIST] = &list_layout,
	[MSG_LISTING] = &listing_layout,
	[MSG_JOB] = &job_layout,
	[MSG_ACCEPT] = &accept_layout,
	[MSG_BUSY] = &busy_layout,
	[MSG_ERROR] = &error_layout,
	[MSG_LANE_HELLO] = &lane_hello_layout,
	[MSG_LANE_OK] = &lane_ok_layout,
	[MSG_CREDIT] = &credit_layout,
	[MSG_OWNERS] = &owners_layout,
	[MSG_MANIFEST] = &manifest_layout,
	[MSG_MANIFEST_END] = &manifest_end_layout,
	[MSG_WANT] = &want_layout,
	[MSG_BASIS] = &digests_layout,
	[MSG_HAVE] = &digests_layout,
	[MSG_ACK] = &ack_layout,
	[MSG_FAILED] = &failed_layout,
	[MSG_RESULT] = &result_layout,
	[MSG_JOB_END] = &job_end_layout,
	[MSG_DONE] = &done_layout,
	[MSG_CANCEL] = &cancel_layout,
	[MSG_NOTE] = &note_layout,
	[MSG_ALIVE] = &alive_layout,
	[MSG_LOOK] = &look_layout,
	[MSG_LOOKED] = &looked_layout,
	[MSG_MOVED] = &moved_layout,
	[MSG_CHOICE] = &choice_layout,
	[MSG_LEFT] = &left_layout,
	[MSG_LANE_LOST] = &lane_lost_layout,
	[MSG_PUT_OFF] = &put_off_layout,
	[MSG_CHANGED] = &changed_layout,
};

const struct layout message_layout = {
	.bytes = sizeof(struct message),
	.variants = message_variants,
	.variant_count = MSG_TYPE_LAST + 1,
	.body_at = offsetof(struct message, hello),
};

_Static_assert(sizeof(enum message_type) == 4 && sizeof(enum manifest_record_type) == 4, "tags are 4 bytes at 0");

const char *message_name(enum message_type type)
{
	static const char *const names[MSG_TYPE_LAST + 1] = {
		[MSG_HELLO] = "HELLO",
		[MSG_LOOKUP] = "LOOKUP",
		[MSG_FOUND] = "FOUND",
		[MSG_LIST] = "LIST",
		[MSG_LISTING] = "LISTING",
		[MSG_JOB] = "JOB",
		[MSG_ACCEPT] = "ACCEPT",
		[MSG_BUSY] = "BUSY",
		[MSG_ERROR] = "ERROR",
		[MSG_LANE_HELLO] = "LANE_HELLO",
		[MSG_LANE_OK] = "LANE_OK",
		[MSG_CREDIT] = "CREDIT",
		[MSG_OWNERS] = "OWNERS",
		[MSG_MANIFEST] = "MANIFEST",
		[MSG_MANIFEST_END] = "MANIFEST_END",
		[MSG_WANT] = "WANT",
		[MSG_BASIS] = "BASIS",
		[MSG_HAVE] = "HAVE",
		[MSG_ACK] = "ACK",
		[MSG_FAILED] = "FAILED",
		[MSG_RESULT] = "RESULT",
		[MSG_JOB_END] = "JOB_END",
		[MSG_DONE] = "DONE",
		[MSG_CANCEL] = "CANCEL",
		[MSG_NOTE] = "NOTE",
		[MSG_ALIVE] = "ALIVE",
		[MSG_LOOK] = "LOOK",
		[MSG_LOOKED] = "LOOKED",
		[MSG_MOVED] = "MOVED",
		[MSG_CHOICE] = "CHOICE",
		[MSG_LEFT] = "LEFT",
		[MSG_LANE_LOST] = "LANE_LOST",
		[MSG_PUT_OFF] = "PUT_OFF",
		[MSG_CHANGED] = "CHANGED",
	};

	if ((unsigned)type > MSG_TYPE_LAST || !names[type])
		return "unknown";
	return names[type];
}

int text_compare(struct text a, struct text b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.at, b.at, len) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

haul_status field_check_number(const struct field *f, uint64_t value)
{
	if (f->kind == FIELD_INDEX && value == (f->width == 4 ? UINT32_MAX : UINT64_MAX))
		return HAUL_OK;
	if (value < f->min || value > f->max)
		return HAUL_BAD_VALUE;
	if (f->kind == FIELD_POWER && (value & (value - 1)))
		return HAUL_BAD_VALUE;
	if (f->kind == FIELD_BITS && (value & ~f->max))
		return HAUL_BAD_VALUE;
	return HAUL_OK;
}

/* Components joined by '/', as many as a path may have. */
static haul_status path_check(struct text path)
{
	const char *end = path.at + path.len;
	const char *name = path.at;

	for (unsigned depth = 0; depth < HAUL_DEPTH_MAX; depth++) {
		const char *slash = memchr(name, '/', (size_t)(end - name));
		haul_status st = haul_component_check(name, (size_t)((slash ? slash : end) - name));

		if (haul_failed(st))
			return st;
		if (!slash)
			return HAUL_OK;
		name = slash + 1;
	}
	return HAUL_BAD_VALUE;
}

haul_status field_check_text(const struct field *f, struct text text)
{
	if (text.len < f->min || text.len > f->max)
		return HAUL_BAD_VALUE;
	if (!text.len || f->kind == FIELD_RAW)
		return HAUL_OK;
	if (f->kind == FIELD_NAME)
		return haul_component_check(text.at, text.len);
	if (f->kind == FIELD_PATH)
		return path_check(text);
	return memchr(text.at, 0, text.len) ? HAUL_BAD_VALUE : HAUL_OK;
}
