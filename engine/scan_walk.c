/* Frames, names and handles of a scan (scan_walk.h). */
#include "engine/scan_walk.h"

#include "engine/aside.h"
#include "engine/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

haul_status text_set(struct text *t, size_t keep, const char *add, size_t len)
{
	size_t need = keep + len + 1;

	if (need > t->cap) {
		size_t cap = need < 256 ? 256 : need + need / 2;
		char *at = realloc(t->at, cap);

		if (!at)
			return HAUL_NO_MEMORY;
		t->at = at;
		t->cap = cap;
	}
	memcpy(t->at + keep, add, len);
	t->at[keep + len] = '\0';
	t->len = keep + len;
	return HAUL_OK;
}

struct scan_frame *frame_new(uint64_t index, size_t path_len, unsigned depth)
{
	struct scan_frame *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->index = index;
	f->path_len = path_len;
	f->depth = depth;
	return f;
}

void frame_free(struct scan_frame *f)
{
	if (!f)
		return;
	frame_free(f->below);
	free(f->dirs);
	free(f->attributes);
	free(f->bytes.at);
	free(f->names);
	free(f);
}

haul_status frame_add_dir(struct scan_frame *f, unsigned source, const struct entry_facts *facts, uint32_t choice)
{
	struct scan_dir *dirs = realloc(f->dirs, (f->dir_count + 1) * sizeof(*dirs));

	if (!dirs)
		return HAUL_NO_MEMORY;
	f->dirs = dirs;
	dirs[f->dir_count] = (struct scan_dir){ .source = source, .fd = -1, .choice = choice };
	if (facts) {
		dirs[f->dir_count].is_known = true;
		dirs[f->dir_count].device = facts->device;
		dirs[f->dir_count].inode = facts->inode;
	}
	f->dir_count++;
	return HAUL_OK;
}

haul_status frame_add_name(struct scan_frame *f, const char *name, unsigned dir)
{
	size_t at = f->bytes.len;
	haul_status st;

	if (f->name_count == f->name_cap) {
		size_t cap = f->name_cap ? 2 * f->name_cap : 16;
		struct scan_name *names = realloc(f->names, cap * sizeof(*names));

		if (!names)
			return HAUL_NO_MEMORY;
		f->names = names;
		f->name_cap = cap;
	}
	st = text_set(&f->bytes, at, name, strlen(name) + 1);
	if (haul_ok(st))
		f->names[f->name_count++] = (struct scan_name){ .at = at, .dir = dir };
	return st;
}

const char *frame_name(const struct scan_frame *f, size_t i)
{
	return f->bytes.at + f->names[i].at;
}

/* strcmp() compares as unsigned char, which is our order. */
static int compare_names(const void *a, const void *b, void *frame)
{
	const struct scan_frame *f = frame;
	const struct scan_name *x = a, *y = b;
	int order = strcmp(f->bytes.at + x->at, f->bytes.at + y->at);

	return order ? order : (x->dir > y->dir) - (x->dir < y->dir);
}

void frame_sort(struct scan_frame *f)
{
	if (f->name_count > 1)
		qsort_r(f->names, f->name_count, sizeof(*f->names), compare_names, f);
}

/* haul's own names are none of the tree; longer ones than we carry (NTFS has them) make the listing incomplete. */
static haul_status take_name(struct scan_frame *f, unsigned dir, const char *name, bool *has_too_long)
{
	haul_status st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return HAUL_OK;
	st = haul_component_check(name, strlen(name));
	if (haul_ok(st))
		return frame_add_name(f, name, dir);
	f->has_aside |= aside_name_is(name);
	*has_too_long |= st.code != HAUL_RESERVED_NAME.code;
	return HAUL_OK;
}

haul_status frame_read_names(struct scan_frame *f, unsigned dir, int fd, void *buf, size_t buf_len)
{
	bool has_too_long = false;

	for (;;) {
		ssize_t len = getdents64(fd, buf, buf_len);

		if (len < 0)
			return haul_status_from_errno(errno);
		if (len == 0)
			return has_too_long ? HAUL_NAME_TOO_LONG : HAUL_OK;
		for (ssize_t at = 0; at < len;) {
			const struct dirent64 *e = (const void *)((const char *)buf + at);
			haul_status st = take_name(f, dir, e->d_name, &has_too_long);

			if (haul_failed(st))
				return st;
			at += e->d_reclen;
		}
	}
}

void scan_handles_open(struct scan_handles *h)
{
	list_init(&h->recent);
	h->count = 0;
}

void scan_handles_close(struct scan_handles *h, struct scan_dir *d)
{
	if (d->fd < 0)
		return;
	(void)close(d->fd);
	d->fd = -1;
	list_remove(&d->recent);
	h->count--;
}

/* A directory that somebody exchanged while we were elsewhere is not the one that was reported. */
static haul_status check_identity(struct scan_dir *d, int fd)
{
	struct entry_facts facts;
	haul_status st = beneath_stat_handle(fd, &facts);

	if (haul_failed(st))
		return st;
	if (d->is_known && (facts.device != d->device || facts.inode != d->inode))
		return HAUL_CHANGED;
	d->is_known = true;
	d->device = facts.device;
	d->inode = facts.inode;
	return HAUL_OK;
}

haul_status scan_handles_get(struct scan_handles *h, struct scan_dir *d, const struct source_place *at, int *ret_fd)
{
	haul_status st;
	int fd;

	if (d->fd < 0) {
		if (h->count == SCAN_HANDLES_MAX)
			scan_handles_close(h, list_item(h->recent.next, struct scan_dir, recent));
		st = follow_open(at, O_RDONLY | O_DIRECTORY, &fd);
		if (haul_failed(st))
			return st;
		st = check_identity(d, fd);
		if (haul_failed(st)) {
			(void)close(fd);
			return st;
		}
		d->fd = fd;
		h->count++;
		list_push_back(&h->recent, &d->recent);
	}
	list_remove(&d->recent);
	list_push_back(&h->recent, &d->recent);
	*ret_fd = d->fd;
	return HAUL_OK;
}
