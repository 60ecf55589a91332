/* Getting at what a source has (scan_state.h). Source paths are made when they are needed and never kept. */
#include "engine/scan_state.h"

#include "engine/base/escape.h"
#include "engine/beneath.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

haul_status scan_root_open(struct scan_root *to, const struct scan_source *from, struct haul_fault *fault)
{
	char text[HAUL_FAULT_TEXT_MAX / 2];
	haul_status st = HAUL_OK;

	if (from->landing)
		st = haul_component_check(from->landing, strlen(from->landing));
	if (haul_failed(st))
		return haul_fault_set(fault, st, "nothing can land as %s: %s",
				      haul_escape(from->landing, strlen(from->landing), text, sizeof(text)),
				      haul_status_text(st));
	to->root_fd = from->root_fd;
	to->links = from->links;
	to->path = strdup(from->path);
	to->landing = from->landing ? strdup(from->landing) : NULL;
	to->landing_len = from->landing ? strlen(from->landing) : 0;
	if (!to->path || (from->landing && !to->landing))
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for the scan");
	return HAUL_OK;
}

void scan_root_close(struct scan_root *r)
{
	free(r->path);
	free(r->landing);
}

haul_status scan_set_path(struct scan *s, const struct scan_frame *f, const char *name)
{
	haul_status st = text_set(&s->path, f->path_len, "", 0);

	if (haul_ok(st) && name && f->path_len > 0)
		st = text_set(&s->path, s->path.len, "/", 1);
	if (haul_ok(st) && name)
		st = text_set(&s->path, s->path.len, name, strlen(name));
	return st;
}

haul_status scan_set_source_path(struct scan *s, unsigned source)
{
	const struct scan_root *from = &s->sources[source];
	const char *rest = s->path.at + (s->path.len < from->landing_len ? s->path.len : from->landing_len);
	haul_status st = text_set(&s->source_path, 0, from->path, strlen(from->path));

	rest += *rest == '/';
	if (haul_ok(st) && *rest && s->source_path.len > 0)
		st = text_set(&s->source_path, s->source_path.len, "/", 1);
	if (haul_ok(st))
		st = text_set(&s->source_path, s->source_path.len, rest, strlen(rest));
	return st;
}

/* Where s->source_path is, of that source. */
static struct source_place place_now(const struct scan *s, unsigned source)
{
	return (struct source_place){ s->sources[source].root_fd, s->source_path.at, s->sources[source].links };
}

haul_status scan_dir_handle(struct scan *s, const struct scan_frame *f, struct scan_dir *d, int *ret_fd)
{
	haul_status st = scan_set_path(s, f, NULL);

	if (haul_ok(st))
		st = scan_set_source_path(s, d->source);
	if (haul_ok(st)) {
		const struct source_place at = place_now(s, d->source);

		st = scan_handles_get(&s->handles, d, &at, ret_fd);
	}
	return st;
}

static haul_status read_attributes_at(struct scan *s, int dir_fd, const char *name, const struct entry_facts *facts)
{
	return attribute_read_at(&s->reader, dir_fd, name, facts, &s->attributes, &s->attributes_left_out);
}

/* Of what a link leads to: opened once more, and the same thing as before. */
static haul_status read_followed(struct scan *s, const struct source_place *at, const struct entry_facts *facts)
{
	struct entry_facts now;
	haul_status st = HAUL_OK;
	int fd = -1;

	if (!s->reader.kinds)
		return HAUL_OK;
	if (haul_failed(follow_open(at, O_PATH, &fd)) || haul_failed(beneath_stat_handle(fd, &now)) ||
	    !entry_is_same(&now, facts))
		s->attributes_left_out = true;
	else
		st = attribute_read(fd, s->reader.kinds, &s->attributes, &s->attributes_left_out);
	if (fd >= 0)
		(void)close(fd);
	return st;
}

static haul_status look_through_named(struct scan *s, const struct scan_root *from, struct entry_facts *ret_facts)
{
	const struct source_place at = { from->root_fd, from->path, from->links };
	haul_status st = follow_stat(&at, ret_facts);

	return haul_ok(st) ? read_followed(s, &at, ret_facts) : st;
}

static haul_status look_at_named(struct scan *s, const struct scan_root *from, struct entry_facts *ret_facts,
				 size_t *ret_len)
{
	const char *name;
	int dir_fd;
	haul_status st = beneath_stat(from->root_fd, from->path, ret_facts);

	if (haul_failed(st))
		return st;
	if (ret_facts->kind == ENTRY_LINK && from->links != LINKS_KEPT)
		return look_through_named(s, from, ret_facts);
	if (!*from->path) /* the root itself, which lands by name */
		return attribute_read(from->root_fd, s->reader.kinds, &s->attributes, &s->attributes_left_out);
	st = beneath_parent(from->root_fd, from->path, &dir_fd, &name);
	if (haul_failed(st))
		return st;
	if (ret_facts->kind == ENTRY_LINK)
		st = beneath_read_link(dir_fd, name, &s->link_target, ret_len);
	if (haul_ok(st))
		st = read_attributes_at(s, dir_fd, name, ret_facts);
	(void)close(dir_fd);
	return st;
}

static haul_status look_through(struct scan *s, const struct scan_frame *f, size_t i, struct entry_facts *ret_facts)
{
	unsigned source = f->dirs[f->names[i].dir].source;
	struct source_place at;
	haul_status st = scan_set_path(s, f, frame_name(f, i));

	if (haul_ok(st))
		st = scan_set_source_path(s, source);
	if (haul_failed(st))
		return st;
	at = place_now(s, source);
	st = follow_stat(&at, ret_facts);
	return haul_ok(st) ? read_followed(s, &at, ret_facts) : st;
}

static haul_status look_at_name(struct scan *s, const struct scan_frame *f, size_t i, int fd,
				struct entry_facts *ret_facts, size_t *ret_len)
{
	const struct scan_root *from = &s->sources[f->dirs[f->names[i].dir].source];
	const char *name = frame_name(f, i);
	haul_status st = beneath_stat_at(fd, name, ret_facts);

	if (haul_failed(st))
		return st;
	if (ret_facts->kind == ENTRY_LINK && from->links != LINKS_KEPT)
		return look_through(s, f, i, ret_facts);
	if (ret_facts->kind == ENTRY_LINK)
		st = beneath_read_link(fd, name, &s->link_target, ret_len);
	return haul_ok(st) ? read_attributes_at(s, fd, name, ret_facts) : st;
}

haul_status scan_look_at(struct scan *s, struct scan_frame *f, size_t i, struct entry_facts *ret_facts, size_t *ret_len,
			 bool *ret_dir_failed)
{
	struct scan_dir *d = &f->dirs[f->names[i].dir];
	int fd = -1;
	haul_status st;

	if (d->is_named)
		return look_at_named(s, &s->sources[d->source], ret_facts, ret_len);
	st = scan_dir_handle(s, f, d, &fd);
	if (haul_failed(st)) {
		*ret_dir_failed = true;
		return st;
	}
	st = look_at_name(s, f, i, fd, ret_facts, ret_len);
	return st.code == HAUL_WRONG_KIND.code ? HAUL_CHANGED : st;
}
