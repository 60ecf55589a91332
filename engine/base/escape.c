/*
 * Names as text. A name is walked in units: one well-formed UTF-8 character, or one byte that belongs to none. Each
 * unit is printed as it is or in the shell's $'...' notation, and a cut falls between units.
 */
#include "engine/base/escape.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
	UNIT_MAX = 4,                     /* bytes of a UTF-8 character */
	UNIT_TEXT_MAX = 4 * UNIT_MAX + 1, /* each byte as \xHH, and the NUL */
	CAP_MIN = 8,                      /* $' ' ... NUL */
};

struct unit {
	size_t len;    /* bytes of the name, at least 1 */
	uint32_t code; /* character; meaningless when not valid */
	bool is_valid; /* well-formed UTF-8 */
};

/* Length of the sequence that `lead` begins and the least character it may stand for; 0: none. */
static size_t sequence_length(uint8_t lead, uint32_t *ret_least)
{
	if (lead >= 0xC2 && lead <= 0xDF) {
		*ret_least = 0x80;
		return 2;
	}
	if ((lead & 0xF0) == 0xE0) {
		*ret_least = 0x800;
		return 3;
	}
	if (lead >= 0xF0 && lead <= 0xF4) {
		*ret_least = 0x10000;
		return 4;
	}
	return 0;
}

static struct unit unit_at(const char *name, size_t len)
{
	const uint8_t *at = (const uint8_t *)name;
	uint32_t least = 0;
	uint32_t code;
	size_t n;

	if (at[0] < 0x80)
		return (struct unit){ .len = 1, .code = at[0], .is_valid = true };
	n = sequence_length(at[0], &least);
	if (n == 0 || n > len)
		return (struct unit){ .len = 1 };
	code = at[0] & (0xFFU >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xC0) != 0x80)
			return (struct unit){ .len = 1 };
		code = code << 6 | (at[i] & 0x3F);
	}
	if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
		return (struct unit){ .len = 1 };
	return (struct unit){ .len = n, .code = code, .is_valid = true };
}

/* Characters that a terminal obeys, that change the order of others, or that cannot be seen. */
static bool is_hidden(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{ 0x00, 0x1F },       /* C0 */
		{ 0x7F, 0x9F },       /* DEL, C1 */
		{ 0xAD, 0xAD },       /* soft hyphen */
		{ 0x61C, 0x61C },     /* Arabic letter mark */
		{ 0x180E, 0x180E },   /* Mongolian vowel separator */
		{ 0x200B, 0x200F },   /* zero width, directional marks */
		{ 0x2028, 0x202E },   /* line and paragraph separators, embeddings and overrides */
		{ 0x2060, 0x206F },   /* word joiner, isolates, deprecated format characters */
		{ 0xFEFF, 0xFEFF },   /* zero width no-break space */
		{ 0xFFF9, 0xFFFB },   /* interlinear annotation */
		{ 0xE0000, 0xE007F }, /* tags */
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		if (code >= hidden[i].first && code <= hidden[i].last)
			return true;
	}
	return false;
}

static bool is_plain(struct unit u)
{
	return u.is_valid && !is_hidden(u.code);
}

/* Whether the name must be quoted: it holds something hidden, or looks as if it were quoted already. */
static bool needs_quotes(const char *name, size_t len)
{
	if (len >= 2 && name[0] == '$' && name[1] == '\'')
		return true;
	for (size_t i = 0; i < len;) {
		struct unit u = unit_at(name + i, len - i);

		if (!is_plain(u))
			return true;
		i += u.len;
	}
	return false;
}

/* The letter after the backslash for the bytes that have one; 0: none. */
static char short_escape(char c)
{
	switch (c) {
	case '\n':
		return 'n';
	case '\t':
		return 't';
	case '\r':
		return 'r';
	case '\'':
	case '\\':
		return c;
	default:
		return 0;
	}
}

/* The text of one unit; returns its length. */
static size_t unit_text(const char *at, struct unit u, bool is_quoted, char ret_text[UNIT_TEXT_MAX])
{
	char letter = u.len == 1 ? short_escape(at[0]) : 0;
	size_t used = 0;

	if (is_quoted && letter)
		return (size_t)snprintf(ret_text, UNIT_TEXT_MAX, "\\%c", letter);
	if (is_plain(u)) {
		memcpy(ret_text, at, u.len);
		return u.len;
	}
	for (size_t i = 0; i < u.len; i++)
		used += (size_t)snprintf(ret_text + used, UNIT_TEXT_MAX - used, "\\x%02X", (uint8_t)at[i]);
	return used;
}

/* Append the units of the name while at most `limit` bytes are used; returns how many are. *ret_is_cut: not all fitted.
 */
static size_t put_units(const char *name, size_t len, bool is_quoted, char *text, size_t used, size_t limit,
			bool *ret_is_cut)
{
	char piece[UNIT_TEXT_MAX];

	*ret_is_cut = false;
	for (size_t i = 0; i < len;) {
		struct unit u = unit_at(name + i, len - i);
		size_t n = unit_text(name + i, u, is_quoted, piece);

		if (n > limit - used) {
			*ret_is_cut = true;
			break;
		}
		memcpy(text + used, piece, n);
		used += n;
		i += u.len;
	}
	return used;
}

const char *haul_escape(const char *name, size_t len, char *ret_text, size_t cap)
{
	bool is_quoted = needs_quotes(name, len);
	size_t start = is_quoted ? 2 : 0;
	size_t limit = cap - 1 - (is_quoted ? 1 : 0); /* room for the closing quote and the NUL */
	size_t used;
	bool is_cut;

	assert(cap >= CAP_MIN);
	memcpy(ret_text, "$'", start);
	used = put_units(name, len, is_quoted, ret_text, start, limit, &is_cut);
	if (is_cut) /* again, with room for the dots */
		used = put_units(name, len, is_quoted, ret_text, start, limit - 3, &is_cut);
	(void)snprintf(ret_text + used, cap - used, "%s%s", is_quoted ? "'" : "", is_cut ? "..." : "");
	return ret_text;
}

bool haul_is_utf8(const char *name, size_t len)
{
	for (size_t i = 0; i < len;) {
		struct unit u = unit_at(name + i, len - i);

		if (!u.is_valid)
			return false;
		i += u.len;
	}
	return true;
}
