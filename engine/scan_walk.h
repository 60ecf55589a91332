/*
 * What a scan keeps on the way down: one frame per directory, with the sorted names of all sources that have it, and a
 * bounded number of open handles. Internal to the engine (scan*.c).
 */
#ifndef HAUL_ENGINE_SCAN_WALK_H
#define HAUL_ENGINE_SCAN_WALK_H

#include "engine/base/list.h"
#include "engine/scan.h"

enum { SCAN_HANDLES_MAX = 64 };

/* A string that grows. Zero is empty. */
struct text {
	char *at; /* owned; NUL-terminated once anything was put */
	size_t len, cap;
};

/* Cut to `keep` bytes and append `len` bytes of `add`. HAUL_NO_MEMORY. */
HAUL_MUST_USE haul_status text_set(struct text *t, size_t keep, const char *add, size_t len);

/* One source's directory behind a frame; or, without a handle ever, a source that lands by name at the job's root. */
struct scan_dir {
	unsigned source;
	bool is_named;
	bool is_known; /* device and inode are set, and must be found again */
	uint64_t device, inode;
	haul_status status; /* why it could not be listed or opened again */
	bool is_told;       /* that has become an item */
	bool is_lost;       /* its names are not looked at any more */
	uint32_t choice;    /* what the choice answered for it */
	int fd;             /* owned by scan_handles; -1 */
	struct list recent; /* in scan_handles, while open */
};

struct scan_name {
	size_t at;    /* in the frame's bytes */
	unsigned dir; /* index into the frame's dirs */
};

struct scan_frame {
	uint64_t index;        /* of the directory's entry */
	size_t path_len;       /* of its landing path */
	unsigned depth;        /* components of it */
	struct scan_dir *dirs; /* owned */
	unsigned dir_count;
	struct text bytes;       /* the names, each with its NUL */
	struct scan_name *names; /* owned, sorted */
	size_t name_count, name_cap;
	bool has_aside;              /* a name of engine/aside.h was left out */
	size_t next;                 /* name to look at */
	unsigned next_dir;           /* its failure to tell */
	bool has_winner;             /* the last name has become an entry … */
	size_t winner;               /* … this one, in names … */
	enum entry_kind winner_kind; /* … of this kind */
	struct scan_frame *below;    /* owned; a directory reported but not gone into yet, its dirs being gathered */
	uint64_t reported;
	bool is_pending;               /* on the way: its entry is told before the first item of something in it … */
	bool is_unknown;               /* … which only this end can know of … */
	bool is_wanted;                /* … or at once: another source takes it */
	struct entry_facts facts;      /* of a pending one, its first source's */
	struct attributes *attributes; /* of a pending one; owned */
	bool attributes_left_out;
	bool is_partial;
	haul_status problem; /* HAUL_OK while complete */
};

/* NULL without memory. frame_free(NULL) is fine; every handle must be closed before (scan_handles_close). */
struct scan_frame *frame_new(uint64_t index, size_t path_len, unsigned depth);
void frame_free(struct scan_frame *f);

/* One more source's directory. facts: of it, NULL when nobody has looked yet; choice: what it answered for it. Before
 * the frame is listed. */
HAUL_MUST_USE haul_status frame_add_dir(struct scan_frame *f, unsigned source, const struct entry_facts *facts,
					uint32_t choice);

HAUL_MUST_USE haul_status frame_add_name(struct scan_frame *f, const char *name, unsigned dir);

/* Put the names in order: by bytes, then by source. */
void frame_sort(struct scan_frame *f);

const char *frame_name(const struct scan_frame *f, size_t i);

/* Read all names of an open directory into the frame; names reserved for haul are left out. buf: scratch. */
HAUL_MUST_USE haul_status frame_read_names(struct scan_frame *f, unsigned dir, int fd, void *buf, size_t buf_len);

/* The open directories of a scan, least recently used first: the oldest is closed when there are too many. */
struct scan_handles {
	struct list recent;
	unsigned count;
};

void scan_handles_open(struct scan_handles *h);

/* The directory's handle, opened (again) if need be and known to be the same directory as before. Borrowed until the
 * next call. HAUL_CHANGED, HAUL_LINK_IN_PATH, HAUL_DENIED, … */
HAUL_MUST_USE haul_status scan_handles_get(struct scan_handles *h, struct scan_dir *d, const struct source_place *at,
					   int *ret_fd);
void scan_handles_close(struct scan_handles *h, struct scan_dir *d);

#endif
