/* One row of the table per branch; what a source is called never depends on what lies at the destination, but for one
 * file. */
#include "agent/landing.h"

#include "engine/base/escape.h"

#include <stdlib.h>
#include <string.h>

static const char *shown(const char *text, char *buf, size_t cap)
{
	return haul_escape(text, strlen(text), buf, cap);
}

const char *landing_base_name(const char *path, size_t *ret_len)
{
	size_t end = strlen(path), start;

	while (end && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/'; start--)
		;
	*ret_len = end - start;
	return path + start;
}

static bool is_directory(const struct landing_place *p)
{
	return p->is_there &&
	       (p->kind == ENTRY_DIRECTORY || (p->kind == ENTRY_LINK && p->target_kind == ENTRY_DIRECTORY));
}

static bool base_is_dots(const char *path)
{
	size_t len;
	const char *base = landing_base_name(path, &len);

	return len == 0 || (len == 1 && base[0] == '.') || (len == 2 && base[0] == '.' && base[1] == '.');
}

/* Given with a slash, as a share, as "." or as "..": its contents. */
static bool means_contents(const struct landing_place *p)
{
	return p->has_slash || base_is_dots(p->path);
}

static char *base_copy(const char *path)
{
	size_t len;
	const char *base = landing_base_name(path, &len);

	return strndup(base, len);
}

/* The directory a path lies in: "" or "." where there is no slash, "/" for what lies at the top. */
static char *parent_copy(const char *path, const char *none)
{
	size_t len, cut;
	const char *base = landing_base_name(path, &len);

	for (cut = (size_t)(base - path); cut > 1 && path[cut - 1] == '/'; cut--)
		;
	return cut ? strndup(path, cut) : strdup(none);
}

static haul_status land_one(const struct landing_request *req, const struct landing_place *src, struct landed *l,
			    struct haul_fault *fault)
{
	char text[HAUL_FAULT_TEXT_MAX / 2];

	if (means_contents(src) && !is_directory(src))
		return haul_fault_set(fault, HAUL_USAGE, "%s is no directory: leave out the slash at its end",
				      shown(src->text, text, sizeof(text)));
	l->follow = src->kind == ENTRY_LINK && means_contents(src);
	l->is_link = src->kind == ENTRY_LINK && !l->follow && !req->follow_links;
	if (req->as_name)
		l->name = strdup(req->as_name);
	else if (!means_contents(src))
		l->name = base_copy(src->path);
	else
		return HAUL_OK;
	return l->name ? HAUL_OK : HAUL_NO_MEMORY;
}

static haul_status refuse_doubles(const struct landing_request *req, const struct landing *l, struct haul_fault *fault)
{
	char a[HAUL_FAULT_TEXT_MAX / 4], b[HAUL_FAULT_TEXT_MAX / 4];

	for (size_t i = 0; i < l->count; i++) {
		for (size_t j = 0; l->landed[i].name && j < i; j++) {
			if (!l->landed[j].name || strcmp(l->landed[i].name, l->landed[j].name) != 0)
				continue;
			return haul_fault_set(
			    fault, HAUL_USAGE,
			    "%s and %s would land under the same name: take one of them alone, with --as NAME",
			    shown(req->sources[j].text, a, sizeof(a)), shown(req->sources[i].text, b, sizeof(b)));
		}
	}
	return HAUL_OK;
}

/* A file and the name it shall have, or already has: the root is where that name lies. */
static bool names_the_file(const struct landing_request *req)
{
	const struct landing_place *src = &req->sources[0], *dst = req->destination;

	if (req->source_count != 1 || req->is_several || req->as_name ||
	    (is_directory(src) && src->kind == ENTRY_DIRECTORY))
		return false;
	return !means_contents(src) && !is_directory(dst) && !means_contents(dst);
}

static haul_status into_file(const struct landing_request *req, struct haul_fault *fault)
{
	const struct landing_place *dst = req->destination;
	char text[HAUL_FAULT_TEXT_MAX / 2];

	if (!dst->is_there || is_directory(dst))
		return HAUL_OK;
	return haul_fault_set(fault, HAUL_NOT_DIRECTORY, "%s is no directory: nothing can be put into it",
			      shown(dst->text, text, sizeof(text)));
}

static haul_status decide_root(const struct landing_request *req, struct landing *l, struct haul_fault *fault)
{
	haul_status st;

	if (names_the_file(req)) {
		free(l->landed[0].name);
		l->landed[0].name = base_copy(req->destination->path);
		l->root = parent_copy(req->destination->path, "");
		return l->root && l->landed[0].name ? HAUL_OK : HAUL_NO_MEMORY;
	}
	st = into_file(req, fault);
	if (haul_failed(st))
		return st;
	l->root = strdup(req->destination->path);
	return l->root ? HAUL_OK : HAUL_NO_MEMORY;
}

/* Verify: contents against contents, or one thing against one thing. */
static haul_status decide_verify(const struct landing_request *req, struct landing *l, struct haul_fault *fault)
{
	const struct landing_place *src = &req->sources[0], *dst = req->destination;
	char text[HAUL_FAULT_TEXT_MAX / 2];

	if (req->source_count != 1)
		return haul_fault_set(fault, HAUL_USAGE, "verify compares one source with one destination");
	if (src->kind == ENTRY_DIRECTORY || (means_contents(src) && is_directory(src))) {
		if (dst->is_there && !is_directory(dst))
			return haul_fault_set(fault, HAUL_NOT_DIRECTORY, "%s is no directory",
					      shown(dst->text, text, sizeof(text)));
		l->landed[0].follow = src->kind == ENTRY_LINK;
		l->root = strdup(dst->path);
		return l->root ? HAUL_OK : HAUL_NO_MEMORY;
	}
	if (base_is_dots(dst->path))
		return haul_fault_set(fault, HAUL_USAGE, "%s is a file: name the file to compare it with",
				      shown(src->text, text, sizeof(text)));
	l->landed[0].name = base_copy(dst->path);
	l->root = parent_copy(dst->path, "");
	return l->root && l->landed[0].name ? HAUL_OK : HAUL_NO_MEMORY;
}

static haul_status check_as(const struct landing_request *req, struct haul_fault *fault)
{
	char text[HAUL_FAULT_TEXT_MAX / 2];

	if (!req->as_name)
		return HAUL_OK;
	if (req->source_count != 1)
		return haul_fault_set(fault, HAUL_USAGE, "--as names one source, here are %zu", req->source_count);
	if (haul_failed(haul_component_check(req->as_name, strlen(req->as_name))))
		return haul_fault_set(fault, HAUL_USAGE, "--as %s: one name without slashes, not one of haul's own",
				      shown(req->as_name, text, sizeof(text)));
	return HAUL_OK;
}

haul_status landing_decide(const struct landing_request *req, struct landing *ret_landing, struct haul_fault *fault)
{
	struct landing l = { .count = req->source_count };
	haul_status st = check_as(req, fault);

	if (haul_failed(st))
		return st;
	l.landed = calloc(req->source_count, sizeof(*l.landed));
	if (!l.landed)
		return HAUL_NO_MEMORY;
	if (req->is_verify) {
		st = decide_verify(req, &l, fault);
	} else {
		for (size_t i = 0; i < l.count && haul_ok(st); i++)
			st = land_one(req, &req->sources[i], &l.landed[i], fault);
		if (haul_ok(st))
			st = refuse_doubles(req, &l, fault);
		if (haul_ok(st))
			st = decide_root(req, &l, fault);
	}
	if (haul_failed(st))
		landing_close(&l);
	else
		*ret_landing = l;
	return st;
}

void landing_close(struct landing *l)
{
	for (size_t i = 0; l->landed && i < l->count; i++)
		free(l->landed[i].name);
	free(l->landed);
	free(l->root);
	*l = (struct landing){ 0 };
}
