/* A writer only: what is written is decided by the callers, so there is no tree and nothing to fail but the stream. */
#include "cli/json.h"

#include "engine/base/escape.h"

#include <math.h>
#include <string.h>

static void member(struct json *j, const char *key)
{
	if (j->needs_comma)
		(void)fputc(',', j->to);
	j->needs_comma = true;
	if (key)
		(void)fprintf(j->to, "\"%s\":", key);
}

/* Length of the UTF-8 character at `s`, 0 when there is none that is well-formed. */
static size_t character_len(const char *s, size_t len)
{
	unsigned char c = (unsigned char)*s;
	size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	return n <= len && haul_is_utf8(s, n) ? n : 0;
}

static void put_control(FILE *to, unsigned char c)
{
	switch (c) {
	case '\n':
		(void)fputs("\\n", to);
		break;
	case '\t':
		(void)fputs("\\t", to);
		break;
	case '\r':
		(void)fputs("\\r", to);
		break;
	default:
		(void)fprintf(to, "\\u%04x", c);
	}
}

static void put_string(FILE *to, const char *s, size_t len)
{
	size_t n;

	(void)fputc('"', to);
	for (size_t i = 0; i < len; i += n) {
		unsigned char c = (unsigned char)s[i];

		n = character_len(s + i, len - i);
		if (!n) {
			(void)fputs("\xef\xbf\xbd", to);
			n = 1;
		} else if (c < 0x20 || c == 0x7f) {
			put_control(to, c);
		} else if (c == '"' || c == '\\') {
			(void)fprintf(to, "\\%c", c);
		} else {
			(void)fwrite(s + i, 1, n, to);
		}
	}
	(void)fputc('"', to);
}

static void put_base64(FILE *to, const unsigned char *data, size_t len)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	(void)fputc('"', to);
	for (size_t i = 0; i < len; i += 3) {
		size_t have = len - i < 3 ? len - i : 3;
		uint32_t word = (uint32_t)data[i] << 16;

		if (have > 1)
			word |= (uint32_t)data[i + 1] << 8;
		if (have > 2)
			word |= data[i + 2];
		for (size_t k = 0; k < 4; k++)
			(void)fputc(k <= have ? alphabet[word >> (18 - 6 * k) & 63] : '=', to);
	}
	(void)fputc('"', to);
}

void json_open(struct json *j, FILE *to, const char *event)
{
	*j = (struct json){ .to = to };
	(void)fputc('{', to);
	json_text(j, "event", event);
}

void json_close(struct json *j)
{
	(void)fputs("}\n", j->to);
	(void)fflush(j->to);
}

void json_text(struct json *j, const char *key, const char *text)
{
	member(j, key);
	if (text)
		put_string(j->to, text, strlen(text));
	else
		(void)fputs("null", j->to);
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
	member(j, key);
	(void)fprintf(j->to, "%llu", (unsigned long long)value);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	member(j, key);
	(void)fprintf(j->to, "%lld", (long long)value);
}

void json_real(struct json *j, const char *key, double value)
{
	member(j, key);
	(void)fprintf(j->to, "%.3f", isfinite(value) ? value : 0.0);
}

void json_bool(struct json *j, const char *key, bool value)
{
	member(j, key);
	(void)fputs(value ? "true" : "false", j->to);
}

void json_path(struct json *j, const char *key, const char *path, size_t len)
{
	member(j, key);
	put_string(j->to, path, len);
	if (haul_is_utf8(path, len))
		return;
	(void)fprintf(j->to, ",\"%s_b64\":", key);
	put_base64(j->to, (const unsigned char *)path, len);
}

void json_list(struct json *j, const char *key)
{
	member(j, key);
	(void)fputc('[', j->to);
	j->needs_comma = false;
}

void json_list_end(struct json *j)
{
	(void)fputc(']', j->to);
	j->needs_comma = true;
}

void json_object(struct json *j)
{
	member(j, NULL);
	(void)fputc('{', j->to);
	j->needs_comma = false;
}

void json_object_end(struct json *j)
{
	(void)fputc('}', j->to);
	j->needs_comma = true;
}
