/*
 * The text form. Each group of up to seven base32 characters d1 … dn carries c = K(group) + sum of a^i · di over
 * GF(32), a primitive: the weights a^1 … a^7 and the 1 of c itself are all different and not zero, so a single error
 * and a swap of any two characters of a group change the sum. K differs from group to group, so groups cannot be
 * swapped.
 */
#include "certs/device_id.h"

#include "mbedtls/constant_time.h"
#include "mbedtls/sha256.h"

#include <stdio.h>
#include <string.h>

enum {
	DATA_CHARS = 52, /* 256 bits in fives, four bits of zero at the end */
	GROUP_DATA = 7,
	GROUP_CHARS = GROUP_DATA + 1,
	GROUPS = (DATA_CHARS + GROUP_DATA - 1) / GROUP_DATA,
	ALL_CHARS = DATA_CHARS + GROUPS,
};

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* Multiply by a, a root of x^5 + x^2 + 1. */
static unsigned times_a(unsigned x)
{
	x <<= 1;
	return x & 32 ? x ^ 0x25 : x;
}

static size_t group_data(size_t group)
{
	return group + 1 < GROUPS ? GROUP_DATA : DATA_CHARS - GROUP_DATA * (GROUPS - 1);
}

/* The check value of a group's characters, each 0 to 31. */
static unsigned check_value(const uint8_t *values, size_t count, size_t group)
{
	unsigned sum = 0;

	for (size_t i = 0; i < count; i++)
		sum = times_a(sum ^ values[i]);
	return sum ^ (unsigned)group;
}

haul_status device_id_of_key(const uint8_t *spki, size_t len, uint8_t ret_id[DEVICE_ID_BYTES])
{
	return mbedtls_sha256(spki, len, ret_id, 0) == 0 ? HAUL_OK : HAUL_CRYPTO;
}

/* 32 bytes to 52 values of five bits. */
static void split_bits(const uint8_t id[DEVICE_ID_BYTES], uint8_t ret_values[DATA_CHARS])
{
	for (size_t i = 0; i < DATA_CHARS; i++) {
		size_t byte = i * 5 / 8;
		unsigned two = (unsigned)id[byte] << 8 | (byte + 1 < DEVICE_ID_BYTES ? id[byte + 1] : 0);

		ret_values[i] = (uint8_t)(two >> (11 - i * 5 % 8) & 31);
	}
}

/* And back. False when the bits beyond the last byte are not zero. */
static bool join_bits(const uint8_t values[DATA_CHARS], uint8_t ret_id[DEVICE_ID_BYTES])
{
	unsigned held = 0;
	unsigned bits = 0;
	size_t n = 0;

	for (size_t i = 0; i < DATA_CHARS; i++) {
		held = held << 5 | values[i];
		bits += 5;
		if (bits >= 8) {
			bits -= 8;
			ret_id[n++] = (uint8_t)(held >> bits);
			held &= (1U << bits) - 1;
		}
	}
	return held == 0;
}

const char *device_id_text(const uint8_t id[DEVICE_ID_BYTES], char ret_text[DEVICE_ID_TEXT_MAX])
{
	uint8_t values[DATA_CHARS];
	char *to = ret_text;

	split_bits(id, values);
	for (size_t group = 0; group < GROUPS; group++) {
		const uint8_t *at = values + group * GROUP_DATA;
		size_t count = group_data(group);

		if (group)
			*to++ = '-';
		for (size_t i = 0; i < count; i++)
			*to++ = alphabet[at[i]];
		*to++ = alphabet[check_value(at, count, group)];
	}
	*to = '\0';
	return ret_text;
}

/* The value of a character as people type it; -1: none. */
static int typed_value(char c)
{
	const char *at;

	if (c >= 'a' && c <= 'z')
		c = (char)(c - 'a' + 'A');
	if (c == '0')
		c = 'O';
	if (c == '1')
		c = 'I';
	if (c == '8')
		c = 'B';
	at = c ? strchr(alphabet, c) : NULL;
	return at ? (int)(at - alphabet) : -1;
}

static haul_status wrong_group(size_t group, struct haul_fault *fault)
{
	return haul_fault_set(fault, HAUL_BAD_VALUE, "the device id is mistyped in group %zu of %d", group + 1,
			      (int)GROUPS);
}

/* The values of all characters, dashes and spaces dropped. A dash that comes too early or late tells where one is off.
 */
static haul_status read_values(const char *text, uint8_t ret_values[ALL_CHARS], struct haul_fault *fault)
{
	size_t n = 0;
	size_t odd_group = GROUPS; /* the first group with a dash at the wrong place */

	for (; *text; text++) {
		int value = typed_value(*text);

		if (*text == ' ' || *text == '-') {
			if (n % GROUP_CHARS && odd_group == GROUPS)
				odd_group = n / GROUP_CHARS;
			continue;
		}
		if (n == ALL_CHARS)
			n++; /* too long; what follows does not matter */
		if (n > ALL_CHARS)
			break;
		if (value < 0)
			return wrong_group(n / GROUP_CHARS, fault);
		ret_values[n++] = (uint8_t)value;
	}
	if (n == ALL_CHARS)
		return HAUL_OK;
	if (odd_group < GROUPS)
		return wrong_group(odd_group, fault);
	return haul_fault_set(fault, HAUL_BAD_VALUE, "a device id has %d characters without dashes, not %s%zu",
			      (int)ALL_CHARS, n > ALL_CHARS ? "over " : "", n > ALL_CHARS ? (size_t)ALL_CHARS : n);
}

haul_status device_id_parse(const char *text, uint8_t ret_id[DEVICE_ID_BYTES], struct haul_fault *fault)
{
	uint8_t typed[ALL_CHARS];
	uint8_t values[DATA_CHARS];
	uint8_t id[DEVICE_ID_BYTES];
	haul_status st = read_values(text, typed, fault);

	if (haul_failed(st))
		return st;
	for (size_t group = 0; group < GROUPS; group++) {
		const uint8_t *at = typed + group * GROUP_CHARS;
		size_t count = group_data(group);

		if (at[count] != check_value(at, count, group))
			return wrong_group(group, fault);
		memcpy(values + group * GROUP_DATA, at, count);
	}
	if (!join_bits(values, id))
		return wrong_group(GROUPS - 1, fault);
	memcpy(ret_id, id, sizeof(id));
	return HAUL_OK;
}

bool device_id_equal(const uint8_t a[DEVICE_ID_BYTES], const uint8_t b[DEVICE_ID_BYTES])
{
	return mbedtls_ct_memcmp(a, b, DEVICE_ID_BYTES) == 0;
}
