/* The msgpack format, read value by value (the "msgpack specification", section "Formats"). */
#include "peer-protocol/pack_reader.h"

/* First bytes of the formats. Ranges: FIXARRAY, FIXMAP and FIXSTR carry a small length in the byte itself. */
enum {
	POSITIVE_FIXINT_LAST = 0x7f,
	FIXMAP = 0x80,
	FIXARRAY = 0x90,
	FIXSTR = 0xa0,
	NIL = 0xc0,
	UNUSED = 0xc1,
	BOOL_FALSE = 0xc2,
	BOOL_TRUE = 0xc3,
	BIN8 = 0xc4,
	EXT8 = 0xc7,
	FLOAT32 = 0xca,
	FLOAT64 = 0xcb,
	UINT8 = 0xcc,
	UINT64 = 0xcf,
	INT8 = 0xd0,
	INT64 = 0xd3,
	FIXEXT1 = 0xd4,
	FIXEXT16 = 0xd8,
	STR8 = 0xd9,
	STR32 = 0xdb,
	ARRAY16 = 0xdc,
	ARRAY32 = 0xdd,
	MAP16 = 0xde,
	MAP32 = 0xdf,
	NEGATIVE_FIXINT = 0xe0,
};

/* Take `n` bytes as a big-endian number. */
static haul_status take_number(struct pack_reader *r, size_t n, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (n > r->left)
		return HAUL_BAD_FRAME;
	for (size_t i = 0; i < n; i++)
		value = value << 8 | r->at[i];
	r->at += n;
	r->left -= n;
	*ret_value = value;
	return HAUL_OK;
}

static haul_status take_first(struct pack_reader *r, unsigned *ret_first)
{
	uint64_t first;

	if (haul_failed(take_number(r, 1, &first)))
		return HAUL_BAD_FRAME;
	*ret_first = (unsigned)first;
	return HAUL_OK;
}

/* An integer as its 64 bits and whether they are to be read as a negative number. */
static haul_status take_integer(struct pack_reader *r, uint64_t *ret_bits, bool *ret_is_negative)
{
	unsigned first;
	size_t width;

	if (haul_failed(take_first(r, &first)))
		return HAUL_BAD_FRAME;
	*ret_is_negative = first >= NEGATIVE_FIXINT;
	if (first <= POSITIVE_FIXINT_LAST || first >= NEGATIVE_FIXINT) {
		*ret_bits = *ret_is_negative ? UINT64_MAX << 8 | first : first;
		return HAUL_OK;
	}
	if (first < UINT8 || first > INT64)
		return HAUL_BAD_FRAME;
	width = (size_t)1 << ((first - UINT8) & 3);
	if (haul_failed(take_number(r, width, ret_bits)))
		return HAUL_BAD_FRAME;
	if (first >= INT8 && *ret_bits >> (8 * width - 1)) {
		*ret_is_negative = true;
		if (width < 8)
			*ret_bits |= UINT64_MAX << (8 * width);
	}
	return HAUL_OK;
}

haul_status pack_get_uint(struct pack_reader *r, uint64_t *ret_value)
{
	bool is_negative;
	uint64_t bits;

	if (haul_failed(take_integer(r, &bits, &is_negative)) || is_negative)
		return HAUL_BAD_FRAME;
	*ret_value = bits;
	return HAUL_OK;
}

haul_status pack_get_int(struct pack_reader *r, int64_t *ret_value)
{
	bool is_negative;
	uint64_t bits;

	if (haul_failed(take_integer(r, &bits, &is_negative)))
		return HAUL_BAD_FRAME;
	if (!is_negative && bits > INT64_MAX)
		return HAUL_BAD_FRAME;
	*ret_value = (int64_t)bits;
	return HAUL_OK;
}

haul_status pack_get_bool(struct pack_reader *r, bool *ret_value)
{
	unsigned first;

	if (haul_failed(take_first(r, &first)) || (first != BOOL_FALSE && first != BOOL_TRUE))
		return HAUL_BAD_FRAME;
	*ret_value = first == BOOL_TRUE;
	return HAUL_OK;
}

/* Take `n` bytes where they lie. */
static haul_status take_bytes(struct pack_reader *r, uint64_t n, const char **ret_at)
{
	if (n > r->left)
		return HAUL_BAD_FRAME;
	*ret_at = (const char *)r->at;
	r->at += n;
	r->left -= (size_t)n;
	return HAUL_OK;
}

haul_status pack_get_str(struct pack_reader *r, const char **ret_at, size_t *ret_len)
{
	uint64_t len;
	unsigned first;

	if (haul_failed(take_first(r, &first)))
		return HAUL_BAD_FRAME;
	if (first >= FIXSTR && first < NIL)
		len = first - FIXSTR;
	else if (first < STR8 || first > STR32 || haul_failed(take_number(r, (size_t)1 << (first - STR8), &len)))
		return HAUL_BAD_FRAME;
	if (haul_failed(take_bytes(r, len, ret_at)))
		return HAUL_BAD_FRAME;
	*ret_len = (size_t)len;
	return HAUL_OK;
}

haul_status pack_get_bin(struct pack_reader *r, const char **ret_at, size_t *ret_len)
{
	uint64_t len;
	unsigned first;

	if (haul_failed(take_first(r, &first)) || first < BIN8 || first >= EXT8)
		return HAUL_BAD_FRAME;
	if (haul_failed(take_number(r, (size_t)1 << (first - BIN8), &len)) || haul_failed(take_bytes(r, len, ret_at)))
		return HAUL_BAD_FRAME;
	*ret_len = (size_t)len;
	return HAUL_OK;
}

haul_status pack_get_array(struct pack_reader *r, size_t *ret_count)
{
	uint64_t count;
	unsigned first;

	if (haul_failed(take_first(r, &first)))
		return HAUL_BAD_FRAME;
	if (first >= FIXARRAY && first < FIXSTR)
		count = first - FIXARRAY;
	else if (first < ARRAY16 || first > ARRAY32 || haul_failed(take_number(r, first == ARRAY16 ? 2 : 4, &count)))
		return HAUL_BAD_FRAME;
	if (count > r->left)
		return HAUL_BAD_FRAME;
	*ret_count = (size_t)count;
	return HAUL_OK;
}

bool pack_take_nil(struct pack_reader *r)
{
	if (!r->left || *r->at != NIL)
		return false;
	r->at++;
	r->left--;
	return true;
}

/* What follows the first byte of a value: `len` bytes that are no values, then `values` values. */
struct pack_rest {
	uint64_t len;
	uint64_t values;
};

/* The formats whose length lies in the bytes after the first: bin, ext, str, array, map. */
static haul_status rest_of_counted(struct pack_reader *r, unsigned first, struct pack_rest *ret_rest)
{
	if (first >= BIN8 && first < EXT8)
		return take_number(r, (size_t)1 << (first - BIN8), &ret_rest->len);
	if (first >= STR8 && first <= STR32)
		return take_number(r, (size_t)1 << (first - STR8), &ret_rest->len);
	if (first >= EXT8 && first < FLOAT32) {
		if (haul_failed(take_number(r, (size_t)1 << (first - EXT8), &ret_rest->len)))
			return HAUL_BAD_FRAME;
		ret_rest->len++; /* the extension's type */
		return HAUL_OK;
	}
	if (first < ARRAY16 || first > MAP32)
		return HAUL_BAD_FRAME;
	if (haul_failed(take_number(r, first == ARRAY16 || first == MAP16 ? 2 : 4, &ret_rest->values)))
		return HAUL_BAD_FRAME;
	if (first >= MAP16)
		ret_rest->values *= 2;
	return HAUL_OK;
}

static haul_status rest_of(struct pack_reader *r, unsigned first, struct pack_rest *ret_rest)
{
	*ret_rest = (struct pack_rest){ 0 };
	if (first <= POSITIVE_FIXINT_LAST || first >= NEGATIVE_FIXINT || first == NIL || first == BOOL_FALSE ||
	    first == BOOL_TRUE)
		return HAUL_OK;
	if (first < FIXARRAY)
		ret_rest->values = 2 * (uint64_t)(first - FIXMAP);
	else if (first < FIXSTR)
		ret_rest->values = first - FIXARRAY;
	else if (first < NIL)
		ret_rest->len = first - FIXSTR;
	else if (first == UNUSED)
		return HAUL_BAD_FRAME;
	else if (first == FLOAT32 || first == FLOAT64)
		ret_rest->len = first == FLOAT32 ? 4 : 8;
	else if (first >= UINT8 && first <= INT64)
		ret_rest->len = (uint64_t)1 << ((first - UINT8) & 3);
	else if (first >= FIXEXT1 && first <= FIXEXT16)
		ret_rest->len = 1 + ((uint64_t)1 << (first - FIXEXT1));
	else
		return rest_of_counted(r, first, ret_rest);
	return HAUL_OK;
}

haul_status pack_skip(struct pack_reader *r, unsigned depth)
{
	struct pack_rest rest;
	const char *unused;
	unsigned first;

	if (haul_failed(take_first(r, &first)) || haul_failed(rest_of(r, first, &rest)))
		return HAUL_BAD_FRAME;
	if (haul_failed(take_bytes(r, rest.len, &unused)))
		return HAUL_BAD_FRAME;
	if (rest.values && (depth == 0 || rest.values > r->left))
		return HAUL_BAD_FRAME;
	for (uint64_t i = 0; i < rest.values; i++) {
		if (haul_failed(pack_skip(r, depth - 1)))
			return HAUL_BAD_FRAME;
	}
	return HAUL_OK;
}
