/* From msgpack to C. An array is allocated only after its count was compared with the bytes that are left. */
#include "peer-protocol/layout_walk.h"

#include "engine/base/fault.h"

#include <assert.h>
#include <string.h>

enum { APPENDED_MAX = 64 }; /* elements that a later version may have added to a record */

const struct layout *layout_variant(const struct layout *l, uint64_t tag)
{
	return tag < l->variant_count ? l->variants[tag] : NULL;
}

size_t layout_bytes_min(const struct layout *l)
{
	size_t least = SIZE_MAX;

	if (!l->variants)
		return l->is_bare ? 1 : 1 + l->field_count;
	for (size_t i = 0; i < l->variant_count; i++) {
		if (l->variants[i] && l->variants[i]->field_count < least)
			least = l->variants[i]->field_count;
	}
	return 2 + least;
}

/* A broken value is a broken frame to whoever reads it; that a name is reserved stays visible. */
static haul_status from_check(haul_status st)
{
	return st.code == HAUL_CODE_BAD_VALUE ? HAUL_BAD_FRAME : st;
}

static haul_status read_number(struct layout_reader *r, const struct field *f, uint8_t *record)
{
	uint64_t value = UINT64_MAX;
	haul_status st;
	uint32_t narrow;

	if (f->kind == FIELD_INDEX && pack_take_nil(&r->in)) {
		memset(record + f->at, 0xff, f->width);
		return HAUL_OK;
	}
	st = pack_get_uint(&r->in, &value);
	if (haul_failed(st))
		return st;
	if (value < f->min || value > f->max || haul_failed(field_check_number(f, value)))
		return HAUL_BAD_FRAME;
	narrow = (uint32_t)value;
	assert(f->width == sizeof(value) || f->width == sizeof(narrow));
	memcpy(record + f->at, f->width == sizeof(value) ? (const void *)&value : &narrow, f->width);
	return HAUL_OK;
}

static haul_status read_int(struct layout_reader *r, const struct field *f, uint8_t *record)
{
	int64_t value;
	haul_status st = pack_get_int(&r->in, &value);

	if (haul_failed(st))
		return st;
	memcpy(record + f->at, &value, sizeof(value));
	return HAUL_OK;
}

static haul_status read_bool(struct layout_reader *r, const struct field *f, uint8_t *record)
{
	bool value;
	haul_status st = pack_get_bool(&r->in, &value);

	if (haul_failed(st))
		return st;
	memcpy(record + f->at, &value, sizeof(value));
	return HAUL_OK;
}

static haul_status read_fixed(struct layout_reader *r, const struct field *f, uint8_t *record)
{
	const char *at;
	haul_status st;
	size_t len;

	if (pack_take_nil(&r->in))
		return HAUL_OK;
	st = pack_get_bin(&r->in, &at, &len);
	if (haul_failed(st))
		return st;
	if (len != f->max)
		return HAUL_BAD_FRAME;
	memcpy(record + f->at, at, len);
	return HAUL_OK;
}

static haul_status read_text(struct layout_reader *r, const struct field *f, uint8_t *record)
{
	struct text text;
	haul_status st = f->kind == FIELD_TEXT ? pack_get_str(&r->in, &text.at, &text.len)
					       : pack_get_bin(&r->in, &text.at, &text.len);

	if (haul_ok(st))
		st = from_check(field_check_text(f, text));
	if (haul_failed(st))
		return st;
	memcpy(record + f->at, &text, sizeof(text));
	return HAUL_OK;
}

static void put_array(const struct field *f, uint8_t *record, const void *first, size_t count)
{
	memcpy(record + f->at, &first, sizeof(first));
	memcpy(record + f->count_at, &count, sizeof(count));
}

/* Digests have no alignment and no inner structure: they stay where they lie. */
static haul_status read_digests(struct layout_reader *r, const struct field *f, uint8_t *record)
{
	const char *at;
	size_t len;
	haul_status st = pack_get_bin(&r->in, &at, &len);

	if (haul_failed(st))
		return st;
	if (len % HAUL_DIGEST_BYTES || len / HAUL_DIGEST_BYTES < f->min || len / HAUL_DIGEST_BYTES > f->max)
		return HAUL_BAD_FRAME;
	put_array(f, record, at, len / HAUL_DIGEST_BYTES);
	return HAUL_OK;
}

static haul_status read_records(struct layout_reader *r, const struct field *f, uint8_t *record)
{
	void *first = NULL;
	size_t count;
	haul_status st = pack_get_array(&r->in, &count);

	if (haul_failed(st))
		return st;
	if (count < f->min || count > f->max || count > r->in.left / layout_bytes_min(f->of))
		return HAUL_BAD_FRAME;
	if (!count)
		return HAUL_OK;
	st = arena_take(r->arena, count, f->of->bytes, &first);
	r->depth++;
	for (size_t i = 0; haul_ok(st) && i < count; i++)
		st = layout_read(r, f->of, (uint8_t *)first + i * f->of->bytes);
	r->depth--;
	if (haul_ok(st))
		put_array(f, record, first, count);
	return st;
}

static haul_status read_field(struct layout_reader *r, const struct field *f, uint8_t *record)
{
	switch (f->kind) {
	case FIELD_UINT:
	case FIELD_INDEX:
	case FIELD_POWER:
	case FIELD_BITS:
		return read_number(r, f, record);
	case FIELD_INT:
		return read_int(r, f, record);
	case FIELD_BOOL:
		return read_bool(r, f, record);
	case FIELD_FIXED:
		return read_fixed(r, f, record);
	case FIELD_TEXT:
	case FIELD_RAW:
	case FIELD_BYTES:
	case FIELD_NAME:
	case FIELD_PATH:
		return read_text(r, f, record);
	case FIELD_DIGESTS:
		return read_digests(r, f, record);
	case FIELD_RECORDS:
		return read_records(r, f, record);
	}
	return haul_bug("field kind %d", (int)f->kind);
}

static haul_status read_fields(struct layout_reader *r, const struct layout *l, uint8_t *record)
{
	haul_status st = HAUL_OK;

	for (size_t i = 0; haul_ok(st) && i < l->field_count; i++)
		st = read_field(r, &l->fields[i], record);
	if (haul_ok(st) && l->check)
		st = from_check(l->check(record));
	return st;
}

/* The tag of a tagged record is its first element, and the rest as the tag's layout says. */
static haul_status read_tag(struct layout_reader *r, const struct layout **l, uint8_t **record)
{
	const struct layout *variant;
	uint32_t narrow;
	uint64_t tag;

	if (haul_failed(pack_get_uint(&r->in, &tag)))
		return HAUL_BAD_FRAME;
	variant = layout_variant(*l, tag);
	if (!variant)
		return HAUL_BAD_FRAME;
	narrow = (uint32_t)tag;
	memcpy(*record, &narrow, sizeof(narrow));
	*record += (*l)->body_at;
	*l = variant;
	return HAUL_OK;
}

haul_status layout_read(struct layout_reader *r, const struct layout *l, void *record)
{
	uint8_t *body = record;
	size_t count, own = 0;
	haul_status st;

	if (l->is_bare)
		return read_fields(r, l, body);
	st = pack_get_array(&r->in, &count);
	if (haul_ok(st) && l->variants) {
		own = 1;
		st = count ? read_tag(r, &l, &body) : HAUL_BAD_FRAME;
	}
	if (haul_failed(st))
		return st;
	own += l->field_count;
	if (count < own || count > own + APPENDED_MAX)
		return HAUL_BAD_FRAME;
	r->depth++;
	st = read_fields(r, l, body);
	for (size_t i = own; haul_ok(st) && i < count; i++)
		st = pack_skip(&r->in, PACK_DEPTH_MAX - r->depth);
	r->depth--;
	return st;
}
