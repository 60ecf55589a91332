/* One file of notes as they come, another of where each begins: 8 bytes for each number, 0 where there is none. */
#include "agent/landing_notes.h"

#include "agent/note_file.h"
#include "engine/scratch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixed {
	struct entry_facts facts;
	bool is_new;
};

struct landing_notes {
	struct note_file *notes; /* owned */
	int index_fd;            /* owned */
	off_t end;               /* of the notes so far */
	int bad;                 /* errno of a place that could not be written */
};

haul_status landing_notes_new(const char *scratch_dir, struct landing_notes **ret_notes, struct haul_fault *fault)
{
	struct landing_notes *n = calloc(1, sizeof(*n));
	haul_status st;

	if (!n)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for a move");
	n->index_fd = scratch_file_open(AT_FDCWD, scratch_dir);
	st = n->index_fd < 0 ? haul_fault_errno(fault, errno, "cannot make a scratch file for a move")
			     : note_file_new(scratch_dir, &n->notes, fault);
	if (haul_failed(st)) {
		landing_notes_free(n);
		return st;
	}
	*ret_notes = n;
	return HAUL_OK;
}

void landing_notes_free(struct landing_notes *n)
{
	if (!n)
		return;
	if (n->index_fd >= 0)
		(void)close(n->index_fd);
	note_file_free(n->notes);
	free(n);
}

/* Where a note begins, and one more, so that 0 stands for none. */
static bool put_place(const struct landing_notes *n, uint64_t index)
{
	const uint64_t place = (uint64_t)n->end + 1;

	return index < INT64_MAX / sizeof(place) &&
	       pwrite(n->index_fd, &place, sizeof(place), (off_t)(index * sizeof(place))) == (ssize_t)sizeof(place);
}

void landing_notes_put(struct landing_notes *n, uint64_t index, const char *path, const struct entry_facts *facts,
		       bool is_new)
{
	const struct fixed f = { *facts, is_new };

	if (n->bad || !put_place(n, index)) {
		n->bad = n->bad ? n->bad : errno ? errno : EIO;
		return;
	}
	n->end += note_file_add(n->notes, &f, sizeof(f), path, "");
}

haul_status landing_notes_end(struct landing_notes *n)
{
	off_t end;
	haul_status st = note_file_end(n->notes, &end);

	if (haul_ok(st) && n->bad)
		st = haul_status_from_errno(n->bad);
	return haul_ok(st) && end != n->end ? HAUL_IO : st;
}

haul_status landing_notes_get(struct landing_notes *n, uint64_t index, char **ret_path, struct entry_facts *ret_facts,
			      bool *ret_is_new)
{
	const char *path, *none;
	uint64_t place = 0;
	struct fixed f;
	off_t next;
	ssize_t got;
	haul_status st;

	if (index >= INT64_MAX / sizeof(place))
		return HAUL_NOT_FOUND;
	got = pread(n->index_fd, &place, sizeof(place), (off_t)(index * sizeof(place)));
	if (got < 0)
		return haul_status_from_errno(errno);
	if (got != (ssize_t)sizeof(place) || !place)
		return HAUL_NOT_FOUND;
	st = note_file_read(n->notes, (off_t)(place - 1), &f, sizeof(f), &path, &none, &next);
	if (haul_failed(st))
		return st;
	*ret_path = strdup(path);
	if (!*ret_path)
		return HAUL_NO_MEMORY;
	*ret_facts = f.facts;
	*ret_is_new = f.is_new;
	return HAUL_OK;
}
