/*
 * The pattern is cut into tokens first, brackets as sets of bytes; then written run by run. A run is what stands
 * between two `**`: the first is anchored at the start, the last at the end, those between match as far left as they
 * can and are never moved again, since the next `**` takes whatever follows. Within one name the same holds for `*`.
 */
#include "agent/glob_regex.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum token_kind { TOKEN_BYTE, TOKEN_SLASH, TOKEN_ANY, TOKEN_SET, TOKEN_STAR, TOKEN_STARS };

struct byte_set {
	uint8_t bits[32];
};

struct token {
	enum token_kind kind;
	uint8_t byte;        /* BYTE */
	struct byte_set set; /* SET; never holds the slash */
};

struct glob {
	const char *at;
	size_t len, pos;
	struct token *tokens; /* owned */
	size_t count;
};

struct writer {
	char *text; /* owned */
	size_t len, cap;
	bool is_full; /* no memory: what is put is dropped */
};

/* ---- reading ---- */

static void set_add(struct byte_set *s, unsigned byte)
{
	s->bits[byte / 8] = (uint8_t)(s->bits[byte / 8] | 1u << byte % 8);
}

static bool set_has(const struct byte_set *s, unsigned byte)
{
	return s->bits[byte / 8] >> byte % 8 & 1;
}

/* The next byte of a bracket, 0 at the end of the pattern. */
static unsigned char peek(const struct glob *g, size_t ahead)
{
	return g->pos + ahead < g->len ? (unsigned char)g->at[g->pos + ahead] : 0;
}

static const struct {
	const char *name;
	int (*has)(int c);
} classes[] = {
	{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank }, { "cntrl", iscntrl },
	{ "digit", isdigit }, { "graph", isgraph }, { "lower", islower }, { "print", isprint },
	{ "punct", ispunct }, { "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
};

/* ASCII, whatever the locale: above it nothing is of any class. */
static bool add_class(struct byte_set *s, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (strlen(classes[i].name) != len || memcmp(classes[i].name, name, len) != 0)
			continue;
		for (int c = 0; c < 128; c++)
			if (classes[i].has(c))
				set_add(s, (unsigned)c);
		return true;
	}
	return false;
}

/* "[:" has been seen; pos is at the bracket. *ret_is_class: false if it is none, and the bracket is a byte like others.
 */
static haul_status read_class(struct glob *g, struct byte_set *s, bool *ret_is_class)
{
	size_t begin = g->pos + 2, end = begin;

	while (end < g->len && g->at[end] != ']')
		end++;
	if (end == g->len)
		return HAUL_BAD_VALUE;
	*ret_is_class = end > begin && g->at[end - 1] == ':';
	if (!*ret_is_class)
		return HAUL_OK;
	if (!add_class(s, g->at + begin, end - 1 - begin))
		return HAUL_BAD_VALUE;
	g->pos = end;
	return HAUL_OK;
}

static void add_range(struct byte_set *s, unsigned first, unsigned last)
{
	for (unsigned c = first; c <= last; c++)
		set_add(s, c);
}

/* One member of a bracket, at pos. *last: the byte before it that a range may begin with, 0: none. */
static haul_status read_member(struct glob *g, struct byte_set *s, unsigned char *last)
{
	unsigned char byte = peek(g, 0);
	bool is_class = false;
	haul_status st;

	if (byte == '-' && *last && peek(g, 1) && peek(g, 1) != ']') {
		g->pos++;
		byte = peek(g, 0);
		if (byte == '\\') {
			g->pos++;
			byte = peek(g, 0);
		}
		if (!byte)
			return HAUL_BAD_VALUE;
		add_range(s, *last, byte);
		*last = 0;
		return HAUL_OK;
	}
	if (byte == '[' && peek(g, 1) == ':') {
		st = read_class(g, s, &is_class);
		if (haul_failed(st))
			return st;
		if (is_class) {
			*last = 0;
			return HAUL_OK;
		}
	}
	if (byte == '\\') {
		g->pos++;
		byte = peek(g, 0);
	}
	if (!byte)
		return HAUL_BAD_VALUE;
	set_add(s, byte);
	*last = byte;
	return HAUL_OK;
}

/* pos is at the bracket that opens, and then behind the one that closes. The first member may be a bracket that closes.
 */
static haul_status read_bracket(struct glob *g, struct byte_set *ret_set)
{
	struct byte_set s = { { 0 } };
	unsigned char last = 0;
	bool is_negated;

	g->pos++;
	is_negated = peek(g, 0) == '!' || peek(g, 0) == '^';
	g->pos += is_negated;
	do {
		haul_status st = read_member(g, &s, &last);

		if (haul_failed(st))
			return st;
		g->pos++;
		if (g->pos >= g->len)
			return HAUL_BAD_VALUE;
	} while (g->at[g->pos] != ']');
	g->pos++;
	for (unsigned i = 0; is_negated && i < sizeof(s.bits); i++)
		s.bits[i] = (uint8_t)~s.bits[i];
	s.bits['/' / 8] &= (uint8_t) ~(1u << '/' % 8);
	*ret_set = s;
	return HAUL_OK;
}

/* Two stars and more are one that crosses slashes where they stand alone between slashes; else they are one star. */
static enum token_kind read_stars(struct glob *g)
{
	size_t begin = g->pos;
	bool begins = begin == 0 || g->at[begin - 1] == '/';

	while (g->pos < g->len && g->at[g->pos] == '*')
		g->pos++;
	if (g->pos - begin > 1 && begins && (g->pos == g->len || g->at[g->pos] == '/'))
		return TOKEN_STARS;
	return TOKEN_STAR;
}

static haul_status read_token(struct glob *g, struct token *ret_token)
{
	struct token t = { .kind = TOKEN_BYTE };
	haul_status st = HAUL_OK;

	switch (g->at[g->pos]) {
	case '*':
		t.kind = read_stars(g);
		break;
	case '[':
		t.kind = TOKEN_SET;
		st = read_bracket(g, &t.set);
		break;
	case '?':
		t.kind = TOKEN_ANY;
		g->pos++;
		break;
	case '\\':
		g->pos++;
		if (g->pos == g->len)
			return HAUL_BAD_VALUE;
		/* fall through */
	default:
		t.byte = (uint8_t)g->at[g->pos++];
		if (t.byte == '/')
			t.kind = TOKEN_SLASH;
		break;
	}
	*ret_token = t;
	return st;
}

static haul_status read_all(struct glob *g)
{
	haul_status st = HAUL_OK;

	g->tokens = calloc(g->len + 1, sizeof(*g->tokens));
	if (!g->tokens)
		return HAUL_NO_MEMORY;
	while (haul_ok(st) && g->pos < g->len)
		st = read_token(g, &g->tokens[g->count++]);
	return st;
}

/* ---- writing ---- */

static void put_bytes(struct writer *w, const char *text, size_t len)
{
	if (w->len + len + 1 > w->cap) {
		size_t cap = 2 * w->cap + len + 64;
		char *more = w->is_full ? NULL : realloc(w->text, cap);

		if (!more) {
			w->is_full = true;
			return;
		}
		w->text = more;
		w->cap = cap;
	}
	memcpy(w->text + w->len, text, len);
	w->len += len;
	w->text[w->len] = '\0';
}

static void put(struct writer *w, const char *text)
{
	put_bytes(w, text, strlen(text));
}

static void put_byte(struct writer *w, unsigned byte)
{
	char text[8];

	if (byte < 128 && isalnum((int)byte))
		(void)snprintf(text, sizeof(text), "%c", (int)byte);
	else
		(void)snprintf(text, sizeof(text), "\\x%02x", byte);
	put(w, text);
}

/* Written as what it lacks where that is less: of most negated brackets. */
static void put_set(struct writer *w, const struct byte_set *s)
{
	bool is_inverted = set_has(s, 0xff);
	bool is_empty = true;

	for (size_t i = 0; i < sizeof(s->bits); i++)
		is_empty = is_empty && !s->bits[i];
	if (is_empty) {
		put(w, "(?!)");
		return;
	}
	put(w, is_inverted ? "[^" : "[");
	for (unsigned c = 0, end; c < 256; c = end + 1) {
		for (end = c; end < 255 && set_has(s, end + 1) == set_has(s, c);)
			end++;
		if (set_has(s, c) == is_inverted)
			continue;
		put_byte(w, c);
		if (end > c) {
			put(w, "-");
			put_byte(w, end);
		}
	}
	put(w, "]");
}

static void put_token(struct writer *w, const struct token *t)
{
	if (t->kind == TOKEN_SET)
		put_set(w, &t->set);
	else if (t->kind == TOKEN_ANY)
		put(w, "[^/]");
	else
		put_byte(w, t->byte);
}

/* One name: what stands before the first star, between stars, and behind the last. */
static void put_name(struct writer *w, const struct token *t, size_t count)
{
	size_t i = 0, end;

	for (; i < count && t[i].kind != TOKEN_STAR; i++)
		put_token(w, &t[i]);
	for (; i < count; i = end) {
		bool is_last;

		for (end = i + 1; end < count && t[end].kind != TOKEN_STAR;)
			end++;
		is_last = end == count;
		put(w, is_last ? "[^/]*" : "(?>[^/]*?");
		for (size_t k = i + 1; k < end; k++)
			put_token(w, &t[k]);
		put(w, is_last ? "" : ")");
	}
}

static void put_run(struct writer *w, const struct token *t, size_t count)
{
	size_t begin = 0;

	for (size_t i = 0; i <= count; i++) {
		if (i < count && t[i].kind != TOKEN_SLASH)
			continue;
		put_name(w, t + begin, i - begin);
		put(w, i < count ? "/" : "");
		begin = i + 1;
	}
}

static size_t run_end(const struct glob *g, size_t from)
{
	while (from < g->count && g->tokens[from].kind != TOKEN_STARS)
		from++;
	return from;
}

static void put_all(struct writer *w, const struct glob *g)
{
	size_t end = run_end(g, 0);

	put(w, "");
	put_run(w, g->tokens, end);
	while (end < g->count) {
		size_t begin = end + 2; /* the stars, and their slash */

		if (begin > g->count) {
			put(w, ".+");
			return;
		}
		end = run_end(g, begin);
		if (end == g->count) {
			put(w, "(?:[^/]+/)*?");
			put_run(w, g->tokens + begin, end - begin);
		} else if (end > begin) {
			put(w, "(?>(?:[^/]+/)*?");
			put_run(w, g->tokens + begin, end - begin);
			put(w, ")");
		}
	}
}

haul_status glob_regex(const char *glob, size_t len, char **ret_regex)
{
	struct glob g = { .at = glob, .len = len };
	struct writer w = { 0 };
	haul_status st = read_all(&g);

	if (haul_ok(st)) {
		put_all(&w, &g);
		st = w.is_full ? HAUL_NO_MEMORY : HAUL_OK;
	}
	free(g.tokens);
	if (haul_failed(st)) {
		free(w.text);
		return st;
	}
	*ret_regex = w.text;
	return HAUL_OK;
}
