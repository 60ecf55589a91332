/*
 * The wire form of every message as data: which fields, in which order, of which kind, within which bounds.
 *
 * One table per record serves encoder and decoder, so that both keep the same rules; docs/PROTOCOL.md "Messages" says
 * the same in words. A record is a msgpack array of its fields. Rules between fields are in its `check`.
 */
#ifndef HAUL_PROTOCOL_LAYOUT_H
#define HAUL_PROTOCOL_LAYOUT_H

#include "peer-protocol/message.h"

enum field_kind {
	FIELD_UINT,    /* number; in C an unsigned integer or enum of `width` bytes */
	FIELD_INDEX,   /* as UINT; nil on the wire stands for all bits set: "none" */
	FIELD_POWER,   /* as UINT, and a power of two */
	FIELD_BITS,    /* as UINT, and no bit set but those of `max` */
	FIELD_INT,     /* number; int64_t */
	FIELD_BOOL,    /* bool */
	FIELD_FIXED,   /* bin of exactly `max` bytes; nil stands for zeros; uint8_t[max] */
	FIELD_TEXT,    /* str without NUL; struct text */
	FIELD_RAW,     /* bin; struct text */
	FIELD_BYTES,   /* bin without NUL; struct text */
	FIELD_NAME,    /* bin, a component by haul_component_check(); may be empty where min is 0; struct text */
	FIELD_PATH,    /* bin, such components joined by '/'; may be empty where min is 0; struct text */
	FIELD_DIGESTS, /* bin, min .. max digests of 16 bytes; pointer and count */
	FIELD_RECORDS, /* array of min .. max records by `of`; pointer and count */
};

struct field {
	enum field_kind kind;
	uint16_t at;             /* offset in the C struct: the value, or the pointer */
	uint16_t count_at;       /* DIGESTS, RECORDS: offset of the size_t count */
	uint8_t width;           /* UINT, INDEX, POWER, BITS: bytes of the number in the C struct */
	uint64_t min, max;       /* of the number, the length in bytes or the count */
	const struct layout *of; /* RECORDS */
};

struct layout {
	const struct field *fields;
	size_t field_count;
	size_t bytes;                             /* of the C struct */
	haul_status (*check)(const void *record); /* rules between fields; NULL: none. HAUL_BAD_VALUE */
	bool is_bare;                             /* one field, and no array around it */
	const struct layout *const *variants;     /* tagged union: by the number in the first element; NULL: no union */
	size_t variant_count;
	size_t body_at; /* tagged union: offset of the union; the tag is a 4-byte enum at 0 */
};

extern const struct layout message_layout;         /* struct message */
extern const struct layout manifest_record_layout; /* struct manifest_record */

/* Parts of message_layout that lie in files of their own. */
extern const struct layout hello_layout, lookup_layout, found_layout, list_layout, listing_layout, lane_hello_layout,
    lane_ok_layout, busy_layout, error_layout;
extern const struct layout job_layout, accept_layout, job_end_layout, done_layout, cancel_layout, note_layout,
    alive_layout, lane_lost_layout;
extern const struct layout credit_layout, owners_layout, manifest_layout, manifest_end_layout, want_layout,
    digests_layout, ack_layout, failed_layout, result_layout, put_off_layout, changed_layout, choice_layout,
    left_layout;
extern const struct layout look_layout, looked_layout, moved_layout;

/*
 * Whether a number, or a text, keeps the rules of its field. HAUL_BAD_VALUE or, for names, HAUL_RESERVED_NAME.
 * Any thread.
 */
HAUL_MUST_USE haul_status field_check_number(const struct field *f, uint64_t value);
HAUL_MUST_USE haul_status field_check_text(const struct field *f, struct text text);

#define FIELD_SIZE_OF(type, member) sizeof(((type *)0)->member)
#define FIELD_NUMBER(kind_, type, member, lo, hi)                                                                      \
	{                                                                                                              \
		.kind = (kind_), .at = offsetof(type, member), .width = FIELD_SIZE_OF(type, member), .min = (lo),      \
		.max = (hi)                                                                                            \
	}
#define FIELD_VALUE(kind_, type, member, lo, hi)                                                                       \
	{                                                                                                              \
		.kind = (kind_), .at = offsetof(type, member), .min = (lo), .max = (hi)                                \
	}
#define FIELD_ARRAY(kind_, type, member, count, lo, hi, layout_)                                                       \
	{                                                                                                              \
		.kind = (kind_), .at = offsetof(type, member), .count_at = offsetof(type, count), .min = (lo),         \
		.max = (hi), .of = (layout_)                                                                           \
	}
#define LAYOUT_OF(type, table)                                                                                         \
	.fields = (table), .field_count = sizeof(table) / sizeof((table)[0]), .bytes = sizeof(type)

#endif
