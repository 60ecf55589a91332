/* A note: the lengths of its parts, then the parts. */
#include "agent/note_file.h"

#include "engine/scratch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct head {
	uint32_t fixed_bytes, first_bytes, second_bytes; /* texts with their NULs */
	uint32_t all_bytes;                              /* of the whole note */
};

struct note_file {
	FILE *file;  /* owned */
	int bad;     /* errno of a note that could not be written */
	char *texts; /* owned; of the note in hand */
	size_t texts_cap;
	off_t at; /* where it stands after a note was read; else -1 */
};

haul_status note_file_new(const char *scratch_dir, struct note_file **ret_notes, struct haul_fault *fault)
{
	struct note_file *n = calloc(1, sizeof(*n));
	int fd;

	if (!n)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for notes");
	fd = scratch_file_open(AT_FDCWD, scratch_dir);
	n->file = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!n->file) {
		haul_status st =
		    haul_fault_errno(fault, errno, "cannot make a scratch file for notes in %s", scratch_dir);

		if (fd >= 0)
			(void)close(fd);
		free(n);
		return st;
	}
	n->at = -1;
	*ret_notes = n;
	return HAUL_OK;
}

void note_file_free(struct note_file *n)
{
	if (!n)
		return;
	(void)fclose(n->file);
	free(n->texts);
	free(n);
}

static uint32_t all_bytes(const struct head *h)
{
	return (uint32_t)sizeof(*h) + h->fixed_bytes + h->first_bytes + h->second_bytes;
}

static bool write_all(FILE *f, const void *data, size_t len)
{
	return !len || fwrite(data, len, 1, f) == 1;
}

uint32_t note_file_add(struct note_file *n, const void *fixed, size_t fixed_bytes, const char *first,
		       const char *second)
{
	struct head h = { .fixed_bytes = (uint32_t)fixed_bytes,
			  .first_bytes = (uint32_t)strlen(first) + 1,
			  .second_bytes = (uint32_t)strlen(second) + 1 };

	h.all_bytes = all_bytes(&h);
	n->at = -1;
	if (!write_all(n->file, &h, sizeof(h)) || !write_all(n->file, fixed, fixed_bytes) ||
	    !write_all(n->file, first, h.first_bytes) || !write_all(n->file, second, h.second_bytes))
		n->bad = errno ? errno : EIO;
	return h.all_bytes;
}

haul_status note_file_end(struct note_file *n, off_t *ret_end)
{
	off_t end;

	n->at = -1;
	if (n->bad)
		return haul_status_from_errno(n->bad);
	if (fflush(n->file) || fseeko(n->file, 0, SEEK_END) || (end = ftello(n->file)) < 0)
		return haul_status_from_errno(errno);
	*ret_end = end;
	return HAUL_OK;
}

static bool make_room(struct note_file *n, size_t need)
{
	char *texts;

	if (need <= n->texts_cap)
		return true;
	texts = realloc(n->texts, need);
	if (!texts)
		return false;
	n->texts = texts;
	n->texts_cap = need;
	return true;
}

haul_status note_file_read(struct note_file *n, off_t at, void *ret_fixed, size_t fixed_bytes, const char **ret_first,
			   const char **ret_second, off_t *ret_next)
{
	struct head h;
	bool is_there = n->at == at;
	size_t texts;

	n->at = -1;
	if ((!is_there && fseeko(n->file, at, SEEK_SET)) || fread(&h, sizeof(h), 1, n->file) != 1 ||
	    h.fixed_bytes != fixed_bytes || h.all_bytes != all_bytes(&h) ||
	    fread(ret_fixed, fixed_bytes, 1, n->file) != 1)
		return HAUL_IO;
	texts = (size_t)h.first_bytes + h.second_bytes;
	if (!make_room(n, texts))
		return HAUL_NO_MEMORY;
	if (fread(n->texts, texts, 1, n->file) != 1)
		return HAUL_IO;
	*ret_first = n->texts;
	*ret_second = n->texts + h.first_bytes;
	*ret_next = n->at = at + (off_t)h.all_bytes;
	return HAUL_OK;
}
