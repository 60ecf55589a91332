/*
 * Walk one or several source trees as one, in canonical order: a directory, then its contents, siblings by byte order.
 * Streaming: what is kept is the names of the directories on the way down, never the tree.
 *
 * Several sources merge by landing path. A directory that several of them have is one directory with the contents of
 * all; for any other name that is taken already, the first source wins and the second is reported as SCAN_CLASH.
 * Blocking; run it in a thread of its own. Names reserved for haul (".haul…") are left out silently.
 *
 * Where links are followed, one stands for what it leads to: kind, size and times are the target's. A directory that a
 * link led back into (an ancestor of itself by device and inode) is told as HAUL_LINK_LOOP instead of being walked
 * again.
 *
 * With a choice what it leaves is no item at all, and what a source leaves another one may still give. A directory on
 * the way to what may be taken becomes an entry before the first item of something in it, else never.
 */
#ifndef HAUL_ENGINE_SCAN_H
#define HAUL_ENGINE_SCAN_H

#include "engine/base/attributes.h"
#include "engine/base/entry.h"
#include "engine/base/fault.h"
#include "engine/follow.h"
#include "engine/scan_choice.h"

struct scan_source {
	int root_fd;         /* directory handle, held until scan_free(); paths below are relative to it */
	const char *path;    /* below root_fd; "" = root_fd itself; borrowed for scan_new() */
	const char *landing; /* one name below the job's root; NULL: the contents of `path` land there directly */
	enum link_rule links;
};

enum scan_event {
	SCAN_ENTRY,   /* something new: its facts; files are not opened */
	SCAN_DIR_END, /* the directory `index` is done */
	SCAN_PROBLEM, /* `path` is left out: it could not be looked at or the name is taken; the scan goes on */
	SCAN_END,
};

struct scan_item {
	enum scan_event event;
	uint64_t index;  /* ENTRY: 0, 1, 2 …; DIR_END: of the directory, HAUL_NO_INDEX for the job's root */
	uint64_t parent; /* ENTRY, PROBLEM: index of the directory */
	bool is_listing; /* PROBLEM: of `path` itself being listed; its DIR_END tells it too */
	struct entry_facts facts;
	const char *name;        /* last component; landing name at the top */
	const char *path;        /* landing path below the job's root */
	unsigned source;         /* which scan_source it comes from */
	const char *source_path; /* below that source's root_fd: what to open */
	const char *link_target; /* links */
	size_t link_target_len;
	const struct attributes *attributes; /* ENTRY, after scan_read_attributes(); NULL: none */
	bool attributes_left_out;            /* as attribute_read_at() says */
	uint64_t count;                      /* DIR_END: entries reported in it */
	bool is_complete;                    /* DIR_END: false when it could not be listed to its end */
	bool is_partial;     /* DIR_END: names in it were left out that only this end can know (SCAN_LEAVE_UNKNOWN) */
	haul_status problem; /* PROBLEM, DIR_END without is_complete: HAUL_EXISTS for a clash */
};

struct scan;

HAUL_MUST_USE haul_status scan_new(const struct scan_source *sources, size_t count, struct scan **ret_scan,
				   struct haul_fault *fault);
void scan_free(struct scan *s);

/* Entries come with their attributes of these kinds (enum attribute_kind). Before the first scan_next(). */
void scan_read_attributes(struct scan *s, unsigned kinds);

/* Those of the last item become the caller's: free(). */
struct attributes *scan_take_attributes(struct scan *s);

/* Take only what the choice takes. Copied; before the first scan_next(). Without it everything is taken. */
void scan_choose(struct scan *s, const struct scan_choice *choice);

/* What a move that died has left aside in a directory (engine/aside.h) is put back first. Before the first item. */
void scan_restore_aside(struct scan *s);

/* Before everything else the job's root is an entry itself, without a name: facts and attributes of the only source,
 * whose contents land there; nothing of the kind with other sources. Before the first item. */
void scan_tell_root(struct scan *s);

/*
 * The next item. Everything it points to is valid until the next call.
 * Fails only without memory, or as the choice does; what goes wrong with a file is an item.
 */
HAUL_MUST_USE haul_status scan_next(struct scan *s, struct scan_item *ret_item);

#endif
