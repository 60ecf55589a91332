/*
 * A pattern is taken apart as git does it: the slash at its end, whether another one anchors it, the slash at its
 * start. What stands before the first special byte is compared before any expression is run.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "agent/ignore_pattern.h"

#include "agent/glob_regex.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum {
	MATCH_STEPS_MAX = 1000 * 1000, /* of one match: thousands of times what real names need */
	MATCH_HEAP_KIB = 16 * 1024,
};

struct ignore_matcher {
	pcre2_match_data *data;
	pcre2_match_context *limits;
};

struct ignore_matcher *ignore_matcher_new(void)
{
	struct ignore_matcher *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->data = pcre2_match_data_create(1, NULL);
	m->limits = pcre2_match_context_create(NULL);
	if (!m->data || !m->limits) {
		ignore_matcher_free(m);
		return NULL;
	}
	(void)pcre2_set_match_limit(m->limits, MATCH_STEPS_MAX);
	(void)pcre2_set_heap_limit(m->limits, MATCH_HEAP_KIB);
	return m;
}

void ignore_matcher_free(struct ignore_matcher *m)
{
	if (!m)
		return;
	pcre2_match_data_free(m->data);
	pcre2_match_context_free(m->limits);
	free(m);
}

static bool is_special(char c)
{
	return c == '*' || c == '?' || c == '[' || c == '\\';
}

static size_t plain_bytes(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && !is_special(text[n]))
		n++;
	return n;
}

static haul_status compile(struct ignore_pattern *p, const char *text, size_t len)
{
	const uint32_t options = PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY |
				 PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP;
	char *regex = NULL;
	int code = 0;
	PCRE2_SIZE at = 0;
	haul_status st = glob_regex(text, len, &regex);

	if (st.code == HAUL_CODE_BAD_VALUE) {
		p->form = IGNORE_NEVER;
		return HAUL_OK;
	}
	if (haul_failed(st))
		return st;
	p->form = IGNORE_REGEX;
	p->code = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, options, &code, &at, NULL);
	free(regex);
	if (p->code)
		return HAUL_OK;
	return code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED ? HAUL_NO_MEMORY : HAUL_BAD_VALUE;
}

/* `*.suffix`, held against a name. */
static bool is_suffix(const struct ignore_pattern *p, const char *text, size_t len)
{
	return !p->is_path && len && text[0] == '*' && plain_bytes(text + 1, len - 1) == len - 1;
}

static haul_status keep_text(struct ignore_pattern *p, const char *text, size_t len)
{
	p->text = malloc(len + 1);
	if (!p->text)
		return HAUL_NO_MEMORY;
	memcpy(p->text, text, len);
	p->text[len] = '\0';
	p->text_len = len;
	return HAUL_OK;
}

haul_status ignore_pattern_open(struct ignore_pattern *ret, const char *text, size_t len)
{
	struct ignore_pattern p = { .form = IGNORE_NEVER };
	haul_status st = HAUL_OK;
	size_t plain;

	if (len > IGNORE_PATTERN_MAX || memchr(text, '\0', len))
		return HAUL_BAD_VALUE;
	if (len && text[len - 1] == '/') {
		p.wants_directory = true;
		len--;
	}
	p.is_path = memchr(text, '/', len) != NULL;
	if (len && text[0] == '/') {
		text++;
		len--;
	}
	plain = plain_bytes(text, len);
	if (!len) {
		*ret = p;
		return HAUL_OK;
	}
	if (plain == len) {
		p.form = IGNORE_NAME;
		st = keep_text(&p, text, len);
	} else if (is_suffix(&p, text, len)) {
		p.form = IGNORE_SUFFIX;
		st = keep_text(&p, text + 1, len - 1);
	} else {
		st = compile(&p, text, len);
		if (haul_ok(st))
			st = keep_text(&p, text, plain);
	}
	if (haul_failed(st)) {
		ignore_pattern_close(&p);
		return st;
	}
	*ret = p;
	return HAUL_OK;
}

void ignore_pattern_close(struct ignore_pattern *p)
{
	free(p->text);
	pcre2_code_free(p->code);
	*p = (struct ignore_pattern){ .form = IGNORE_NEVER };
}

static haul_status match_regex(const struct ignore_pattern *p, struct ignore_matcher *m, const char *text, size_t len,
			       bool *ret_matches)
{
	int found;

	if (p->text_len > len || memcmp(p->text, text, p->text_len) != 0) {
		*ret_matches = false;
		return HAUL_OK;
	}
	found = pcre2_match(p->code, (PCRE2_SPTR)text, len, 0, 0, m->data, m->limits);
	if (found < 0 && found != PCRE2_ERROR_NOMATCH)
		return found == PCRE2_ERROR_NOMEMORY ? HAUL_NO_MEMORY : HAUL_OVERFLOW;
	*ret_matches = found >= 0;
	return HAUL_OK;
}

static const char *last_name(const char *path, size_t len, size_t *ret_len)
{
	const char *slash = memrchr(path, '/', len);
	const char *name = slash ? slash + 1 : path;

	*ret_len = len - (size_t)(name - path);
	return name;
}

haul_status ignore_pattern_match(const struct ignore_pattern *p, struct ignore_matcher *m, const char *path, size_t len,
				 bool is_directory, bool *ret_matches)
{
	const char *text = path;

	*ret_matches = false;
	if (p->form == IGNORE_NEVER || (p->wants_directory && !is_directory))
		return HAUL_OK;
	if (!p->is_path)
		text = last_name(path, len, &len);
	if (p->form == IGNORE_REGEX)
		return match_regex(p, m, text, len, ret_matches);
	if (p->form == IGNORE_NAME)
		*ret_matches = len == p->text_len && !memcmp(text, p->text, len);
	else
		*ret_matches = len >= p->text_len && !memcmp(text + len - p->text_len, p->text, p->text_len);
	return HAUL_OK;
}

/* Spaces at the end do not count, unless a backslash stands before them. */
static size_t without_spaces(const char *line, size_t len)
{
	size_t kept = 0;

	for (size_t i = 0; i < len; i++) {
		bool is_escaped = line[i] == '\\';

		i += is_escaped;
		if (i == len)
			return len;
		if (is_escaped || line[i] != ' ')
			kept = i + 1;
	}
	return kept;
}

bool ignore_line(const char *line, size_t len, size_t *ret_len)
{
	if (len && line[len - 1] == '\r')
		len--;
	if (!len || line[0] == '#')
		return false;
	*ret_len = without_spaces(line, len);
	return *ret_len > 0;
}
