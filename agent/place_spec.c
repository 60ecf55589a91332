/*
 * Reading a place as typed. The happy path is one cut at the first colon; the rest is refusing what people bring along
 * from scp and rsync, each with the words that would work here. Pure text: nothing is looked up.
 */
#include "agent/place_spec.h"

#include "engine/base/entry.h"
#include "engine/base/escape.h"

#include <stdlib.h>
#include <string.h>

enum { SHARE_NAME_MAX = 64, HOST_MAX = 255, REMOTE_PATH_MAX = 65535, SHOWN_MAX = 256 };

static const char scheme[] = "haul://";

/* What is being read, for the words of a refusal. */
struct place_reader {
	struct place_spec *spec;
	struct haul_fault *fault;
	char shown[SHOWN_MAX]; /* the text, escaped */
};

static haul_status no_memory(struct place_reader *r)
{
	return haul_fault_set(r->fault, HAUL_NO_MEMORY, "out of memory");
}

static haul_status copy_text(struct place_reader *r, const char *from, size_t len, char **ret_text)
{
	char *text = strndup(from, len);

	if (!text)
		return no_memory(r);
	*ret_text = text;
	return HAUL_OK;
}

static haul_status read_local(struct place_reader *r, const char *text)
{
	size_t len = strlen(text), out = 0;
	char *path = malloc(len + 1);
	const char *last;

	if (!path)
		return no_memory(r);
	for (size_t i = 0; i < len; i++)
		if (text[i] != '/' || !out || path[out - 1] != '/')
			path[out++] = text[i];
	path[out] = '\0';
	last = strrchr(path, '/');
	last = last ? last + 1 : path;
	r->spec->path = path;
	r->spec->has_slash = !*last || !strcmp(last, ".") || !strcmp(last, "..");
	return HAUL_OK;
}

static haul_status check_component(struct place_reader *r, const char *name, size_t len)
{
	char shown[SHOWN_MAX];
	haul_status st;

	if (len == 2 && !memcmp(name, "..", 2))
		return haul_fault_set(r->fault, HAUL_USAGE,
				      "%s: a path in a share cannot go up; name it from the top of the share",
				      r->shown);
	st = haul_component_check(name, len);
	if (haul_ok(st))
		return st;
	haul_escape(name, len, shown, sizeof(shown));
	if (st.code == HAUL_CODE_RESERVED_NAME)
		return haul_fault_set(r->fault, HAUL_USAGE, "%s: the name %s is reserved for haul", r->shown, shown);
	return haul_fault_set(r->fault, HAUL_USAGE, "%s: no name may be longer than %d bytes", r->shown, HAUL_NAME_MAX);
}

/* Components of `text` joined by single slashes; "." counts as its own directory. */
static haul_status read_share_path(struct place_reader *r, const char *text)
{
	size_t len = strlen(text), out = 0;
	unsigned depth = 0;
	char *path;

	if (len > REMOTE_PATH_MAX)
		return haul_fault_set(r->fault, HAUL_USAGE, "a path in a share may have at most %d bytes",
				      REMOTE_PATH_MAX);
	path = malloc(len + 1);
	if (!path)
		return no_memory(r);
	r->spec->path = path;
	*path = '\0';
	r->spec->has_slash = true;
	while (*text) {
		size_t n = strcspn(text, "/");
		haul_status st;

		if (n && !(n == 1 && *text == '.')) {
			st = check_component(r, text, n);
			if (haul_failed(st))
				return st;
			if (++depth > HAUL_DEPTH_MAX)
				return haul_fault_set(r->fault, HAUL_USAGE, "a path may have at most %d components",
						      HAUL_DEPTH_MAX);
			if (out)
				path[out++] = '/';
			memcpy(path + out, text, n);
			out += n;
			path[out] = '\0';
			r->spec->has_slash = text[n] == '/';
		} else if (n) {
			r->spec->has_slash = true;
		}
		text += n + (text[n] == '/');
	}
	return HAUL_OK;
}

/* SHARE[/PATH] */
static haul_status read_share(struct place_reader *r, const char *text)
{
	size_t len = strcspn(text, "/");
	haul_status st;

	if (len > SHARE_NAME_MAX || haul_failed(haul_component_check(text, len)))
		return haul_fault_set(r->fault, HAUL_USAGE,
				      "%s: a share's name has 1 to %d characters of a-z 0-9 . _ -", r->shown,
				      SHARE_NAME_MAX);
	st = copy_text(r, text, len, &r->spec->share);
	return haul_ok(st) ? read_share_path(r, text + len) : st;
}

/* `PEER:` and `haul://HOST`: the device itself. */
static haul_status read_no_share(struct place_reader *r)
{
	r->spec->has_slash = true;
	return copy_text(r, "", 0, &r->spec->path);
}

static haul_status refuse_user(struct place_reader *r, const char *place, const char *prefix)
{
	char rest[SHOWN_MAX];

	haul_escape(place, strlen(place), rest, sizeof(rest));
	return haul_fault_set(r->fault, HAUL_USAGE, "haul knows devices, not users: write %s%s", prefix, rest);
}

static haul_status read_peer(struct place_reader *r, const char *text, const char *colon)
{
	char peer[SHOWN_MAX], rest[SHOWN_MAX];
	const char *at = memchr(text, '@', (size_t)(colon - text));
	haul_status st;

	if (at)
		return refuse_user(r, at + 1, "");
	if (colon == text)
		return haul_fault_set(r->fault, HAUL_USAGE,
				      "%s: the name of a peer is missing before the colon; for a file write ./%s",
				      r->shown, r->shown);
	if (*text == '[')
		return haul_fault_set(r->fault, HAUL_USAGE, "%s: an address is written haul://[ADDRESS]/SHARE",
				      r->shown);
	haul_escape(text, (size_t)(colon - text), peer, sizeof(peer));
	haul_escape(colon + 1, strlen(colon + 1), rest, sizeof(rest));
	if (colon[1] == ':')
		return haul_fault_set(r->fault, HAUL_USAGE, "%s: haul has one colon: write %s%s", r->shown, peer, rest);
	if (!strncmp(colon, "://", 3))
		return haul_fault_set(r->fault, HAUL_USAGE, "%s: an address is written haul://HOST/SHARE", r->shown);
	if (colon[1] == '/')
		return haul_fault_set(r->fault, HAUL_USAGE,
				      "haul addresses shares, not paths: write %s:SHARE%s; see haul list %s", peer,
				      rest, peer);
	st = copy_text(r, text, (size_t)(colon - text), &r->spec->peer);
	if (haul_failed(st))
		return st;
	return colon[1] ? read_share(r, colon + 1) : read_no_share(r);
}

/* ":PORT" up to `end`; nothing = the default port. */
static haul_status read_port(struct place_reader *r, const char *text, const char *end)
{
	unsigned long port = 0;

	if (text == end)
		return HAUL_OK;
	if (*text != ':' || end - text > 6)
		goto refuse;
	for (const char *p = text + 1; p < end; p++) {
		if (*p < '0' || *p > '9')
			goto refuse;
		port = port * 10 + (unsigned long)(*p - '0');
	}
	if (!port || port > 65535)
		goto refuse;
	r->spec->port = (uint16_t)port;
	return HAUL_OK;
refuse:
	return haul_fault_set(r->fault, HAUL_USAGE, "%s: the port is a number from 1 to 65535", r->shown);
}

static bool is_host(const char *text, size_t len, bool is_bracketed)
{
	if (!len || len > HOST_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!is_alnum && !strchr(is_bracketed ? ":.%_-" : "._-", c))
			return false;
	}
	return !is_bracketed || memchr(text, ':', len);
}

/* HOST[:PORT][/SHARE[/PATH]] */
static haul_status read_address(struct place_reader *r, const char *text)
{
	const char *slash = text + strcspn(text, "/");
	const char *at = memchr(text, '@', (size_t)(slash - text));
	bool is_bracketed = *text == '[';
	const char *host = is_bracketed ? text + 1 : text;
	size_t len = strcspn(host, is_bracketed ? "]/" : ":/");
	const char *after = host + len + (is_bracketed && host[len] == ']');
	haul_status st;

	if (at)
		return refuse_user(r, at + 1, scheme);
	if (!is_host(host, len, is_bracketed) || (is_bracketed && host[len] != ']'))
		return haul_fault_set(r->fault, HAUL_USAGE,
				      "%s: an address is written haul://HOST[:PORT]/SHARE, IPv6 in brackets", r->shown);
	if (!is_bracketed && after < slash && memchr(after + 1, ':', (size_t)(slash - after) - 1))
		return haul_fault_set(r->fault, HAUL_USAGE, "%s: an IPv6 address stands in brackets", r->shown);
	st = read_port(r, after, slash);
	if (haul_ok(st))
		st = copy_text(r, host, len, &r->spec->host);
	if (haul_failed(st))
		return st;
	while (*slash == '/')
		slash++;
	return *slash ? read_share(r, slash) : read_no_share(r);
}

static haul_status read_place(struct place_reader *r, const char *text)
{
	const char *colon = text + strcspn(text, ":/");
	haul_status st = copy_text(r, text, strlen(text), &r->spec->text);

	if (haul_failed(st))
		return st;
	r->spec->port = HAUL_DEFAULT_PORT;
	r->spec->is_remote = true;
	if (!strncmp(text, scheme, sizeof(scheme) - 1))
		return read_address(r, text + sizeof(scheme) - 1);
	if (*colon == ':')
		return read_peer(r, text, colon);
	r->spec->is_remote = false;
	return read_local(r, text);
}

haul_status place_spec_parse(const char *text, struct place_spec *ret_spec, struct haul_fault *fault)
{
	struct place_spec spec = { .port = 0 };
	struct place_reader reader = { .spec = &spec, .fault = fault };
	haul_status st;

	if (!*text)
		return haul_fault_set(fault, HAUL_USAGE, "an empty name is no place; write . for this directory");
	haul_escape(text, strlen(text), reader.shown, sizeof(reader.shown));
	st = read_place(&reader, text);
	if (haul_failed(st)) {
		place_spec_close(&spec);
		return st;
	}
	*ret_spec = spec;
	return HAUL_OK;
}

void place_spec_close(struct place_spec *p)
{
	free(p->text);
	free(p->peer);
	free(p->host);
	free(p->share);
	free(p->path);
	*p = (struct place_spec){ .port = 0 };
}
