/* From C to msgpack, with the shortest form of each number. */
#include "peer-protocol/layout_walk.h"

#include "engine/base/fault.h"

#include <msgpack/pack.h>

#include <assert.h>
#include <string.h>

uint64_t field_number(const struct field *f, const uint8_t *record)
{
	uint32_t narrow;
	uint64_t value;

	if (f->width == sizeof(value)) {
		memcpy(&value, record + f->at, sizeof(value));
		return value;
	}
	assert(f->width == sizeof(narrow));
	memcpy(&narrow, record + f->at, sizeof(narrow));
	return narrow;
}

static const uint8_t *array_of(const struct field *f, const uint8_t *record, size_t *ret_count)
{
	const uint8_t *first;

	memcpy(&first, record + f->at, sizeof(first));
	memcpy(ret_count, record + f->count_at, sizeof(*ret_count));
	return first;
}

static haul_status stopped(int result)
{
	return result ? HAUL_NO_MEMORY : HAUL_OK;
}

static haul_status write_bin(msgpack_packer *pk, const void *data, size_t len)
{
	if (msgpack_pack_bin(pk, len) || (len && msgpack_pack_bin_body(pk, data, len)))
		return HAUL_NO_MEMORY;
	return HAUL_OK;
}

static haul_status write_number(msgpack_packer *pk, const struct field *f, const uint8_t *record)
{
	uint64_t value = field_number(f, record);
	haul_status st = field_check_number(f, value);

	if (haul_failed(st))
		return st;
	if (f->kind == FIELD_INDEX && value > f->max)
		return stopped(msgpack_pack_nil(pk));
	return stopped(msgpack_pack_uint64(pk, value));
}

static haul_status write_int(msgpack_packer *pk, const struct field *f, const uint8_t *record)
{
	int64_t value;

	memcpy(&value, record + f->at, sizeof(value));
	return stopped(msgpack_pack_int64(pk, value));
}

static haul_status write_bool(msgpack_packer *pk, const struct field *f, const uint8_t *record)
{
	return stopped(record[f->at] ? msgpack_pack_true(pk) : msgpack_pack_false(pk));
}

static haul_status write_fixed(msgpack_packer *pk, const struct field *f, const uint8_t *record)
{
	for (size_t i = 0; i < f->max; i++) {
		if (record[f->at + i])
			return write_bin(pk, record + f->at, (size_t)f->max);
	}
	return stopped(msgpack_pack_nil(pk));
}

static haul_status write_text(msgpack_packer *pk, const struct field *f, const uint8_t *record)
{
	struct text text;
	haul_status st;

	memcpy(&text, record + f->at, sizeof(text));
	st = field_check_text(f, text);
	if (haul_failed(st))
		return st;
	if (f->kind != FIELD_TEXT)
		return write_bin(pk, text.at, text.len);
	if (msgpack_pack_str(pk, text.len) || (text.len && msgpack_pack_str_body(pk, text.at, text.len)))
		return HAUL_NO_MEMORY;
	return HAUL_OK;
}

static haul_status write_digests(msgpack_packer *pk, const struct field *f, const uint8_t *record)
{
	size_t count;
	const uint8_t *first = array_of(f, record, &count);

	if (count < f->min || count > f->max)
		return HAUL_BAD_VALUE;
	return write_bin(pk, first, count * HAUL_DIGEST_BYTES);
}

static haul_status write_record(msgpack_packer *pk, const struct layout *l, const uint8_t *record);

static haul_status write_records(msgpack_packer *pk, const struct field *f, const uint8_t *record)
{
	size_t count;
	const uint8_t *first = array_of(f, record, &count);
	haul_status st;

	if (count < f->min || count > f->max)
		return HAUL_BAD_VALUE;
	st = stopped(msgpack_pack_array(pk, count));
	for (size_t i = 0; haul_ok(st) && i < count; i++)
		st = write_record(pk, f->of, first + i * f->of->bytes);
	return st;
}

static haul_status write_field(msgpack_packer *pk, const struct field *f, const uint8_t *record)
{
	switch (f->kind) {
	case FIELD_UINT:
	case FIELD_INDEX:
	case FIELD_POWER:
	case FIELD_BITS:
		return write_number(pk, f, record);
	case FIELD_INT:
		return write_int(pk, f, record);
	case FIELD_BOOL:
		return write_bool(pk, f, record);
	case FIELD_FIXED:
		return write_fixed(pk, f, record);
	case FIELD_TEXT:
	case FIELD_RAW:
	case FIELD_BYTES:
	case FIELD_NAME:
	case FIELD_PATH:
		return write_text(pk, f, record);
	case FIELD_DIGESTS:
		return write_digests(pk, f, record);
	case FIELD_RECORDS:
		return write_records(pk, f, record);
	}
	return haul_bug("field kind %d", (int)f->kind);
}

static haul_status write_fields(msgpack_packer *pk, const struct layout *l, const uint8_t *record)
{
	haul_status st = l->check ? l->check(record) : HAUL_OK;

	for (size_t i = 0; haul_ok(st) && i < l->field_count; i++)
		st = write_field(pk, &l->fields[i], record);
	return st;
}

static haul_status write_record(msgpack_packer *pk, const struct layout *l, const uint8_t *record)
{
	haul_status st;
	uint32_t tag;

	if (l->is_bare)
		return write_fields(pk, l, record);
	if (!l->variants) {
		st = stopped(msgpack_pack_array(pk, l->field_count));
		return haul_failed(st) ? st : write_fields(pk, l, record);
	}
	memcpy(&tag, record, sizeof(tag));
	record += l->body_at;
	l = layout_variant(l, tag);
	if (!l)
		return HAUL_BAD_VALUE;
	if (msgpack_pack_array(pk, 1 + l->field_count) || msgpack_pack_uint32(pk, tag))
		return HAUL_NO_MEMORY;
	return write_fields(pk, l, record);
}

haul_status layout_write(const struct layout_writer *w, const struct layout *l, const void *record)
{
	msgpack_packer pk;

	msgpack_packer_init(&pk, w->ctx, w->put);
	return write_record(&pk, l, record);
}

static size_t field_bytes_max(const struct field *f, const uint8_t *record)
{
	enum { NUMBER_MAX = 9, LENGTH_MAX = 5 };
	const uint8_t *first;
	size_t count, sum = LENGTH_MAX;
	struct text text;

	switch (f->kind) {
	case FIELD_UINT:
	case FIELD_INDEX:
	case FIELD_POWER:
	case FIELD_BITS:
	case FIELD_INT:
	case FIELD_BOOL:
		return NUMBER_MAX;
	case FIELD_FIXED:
		return LENGTH_MAX + (size_t)f->max;
	case FIELD_TEXT:
	case FIELD_RAW:
	case FIELD_BYTES:
	case FIELD_NAME:
	case FIELD_PATH:
		memcpy(&text, record + f->at, sizeof(text));
		return LENGTH_MAX + text.len;
	case FIELD_DIGESTS:
		(void)array_of(f, record, &count);
		return LENGTH_MAX + count * HAUL_DIGEST_BYTES;
	case FIELD_RECORDS:
		first = array_of(f, record, &count);
		for (size_t i = 0; i < count; i++)
			sum += layout_bytes_max(f->of, first + i * f->of->bytes);
		return sum;
	}
	return 0;
}

size_t layout_bytes_max(const struct layout *l, const void *record)
{
	enum { HEADER_AND_TAG_MAX = 5 + 5 };
	const uint8_t *body = record;
	size_t sum = HEADER_AND_TAG_MAX;

	if (l->variants) {
		uint32_t tag;

		memcpy(&tag, body, sizeof(tag));
		body += l->body_at;
		l = layout_variant(l, tag);
		if (!l)
			return sum;
	}
	for (size_t i = 0; i < l->field_count; i++)
		sum += field_bytes_max(&l->fields[i], body);
	return sum;
}
