/* A file that is written where it stands: no private name, no rename; a lock keeps two jobs from writing into one. */
#include "engine/place.h"

#include "engine/base/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static haul_status open_to_write(const struct place_parent *at, int *ret_fd)
{
	struct entry_facts facts;
	haul_status st = beneath_stat_at(at->dir_fd, at->name, &facts);

	if (haul_ok(st) && facts.kind != ENTRY_FILE) /* a device must not even be opened */
		st = HAUL_WRONG_KIND;
	return haul_ok(st) ? beneath_open(at->dir_fd, at->name, O_RDWR | O_NONBLOCK, 0, ret_fd) : st;
}

static haul_status take_file(struct partial *f, int fd, const struct partial_config *cfg, struct haul_fault *fault)
{
	haul_status st;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return HAUL_BUSY;
	st = disk_file_open(&f->file, fd, cfg->direct, cfg->size, fault);
	f->old_size = haul_ok(st) ? f->file.facts.size : 0;
	return st;
}

haul_status partial_open_in_place(struct place *p, const char *path, const struct partial_config *cfg,
				  struct partial *ret_partial, struct haul_fault *fault)
{
	struct partial f = { .file = { .fd = -1 },
			     .dir_fd = -1,
			     .place = p,
			     .name = "in place",
			     .nameless_fd = -1,
			     .size = cfg->size,
			     .is_sparse = cfg->is_sparse,
			     .is_in_place = true,
			     .lock_fd = -1 };
	char text[HAUL_FAULT_TEXT_MAX / 2];
	struct place_parent at = { 0 };
	int fd = -1;
	haul_status st = place_parent_get(p, path, &at);

	if (haul_ok(st))
		st = open_to_write(&at, &fd);
	place_parent_put(&at);
	if (haul_ok(st))
		st = take_file(&f, fd, cfg, fault);
	if (haul_ok(st)) {
		*ret_partial = f;
		return HAUL_OK;
	}
	if (fd >= 0)
		(void)close(fd);
	return haul_fault_set(fault, st, "cannot write into %s: %s",
			      haul_escape(path, strlen(path), text, sizeof(text)), haul_status_text(st));
}

haul_status partial_confirm_in_place(const struct partial *f, const struct place_parent *at)
{
	struct entry_facts now;
	haul_status st = beneath_stat_at(at->dir_fd, at->name, &now);

	if (st.code == HAUL_CODE_NOT_FOUND ||
	    (haul_ok(st) && (now.device != f->file.facts.device || now.inode != f->file.facts.inode)))
		return HAUL_CHANGED;
	return st;
}
