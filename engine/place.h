/* What stands behind struct place, and what partial.c and place_*.c share. Internal to the engine. */
#ifndef HAUL_ENGINE_PLACE_H
#define HAUL_ENGINE_PLACE_H

#include "engine/partial.h"

#include <stdatomic.h>
#include <time.h>

#define PLACE_PRIVATE_NAME ".haul"
#define PLACE_KEPT_NAME "partials" /* in it */
#define PARTIAL_SUFFIX ".part"
#define RECORD_SUFFIX ".record"

enum {
	JOB_NAME_CHARS = 32,
	RECORD_NAME_MAX = 64,
	PLACE_CACHES = 8, /* threads that work in one place at once; more of them go without a cache */
};

/* What decides whether a file may be renamed from one directory into another and be as if it had been made there. */
struct dir_traits {
	uint64_t device;
	uint64_t mount;      /* 0 where the kernel does not tell */
	uint32_t project;    /* project id for quotas; 0 where there are none */
	bool gives_to_files; /* setgid or a default ACL: files made in it get something of it */
	bool is_known;       /* false: it may not be read */
};

/* The last parent that one thread worked in. The first threads that come get one each, for good. */
struct place_cache {
	const char *_Atomic owner; /* something of the thread's own; NULL while free */
	struct parent_cache parents;
	struct dir_traits traits; /* of that parent, when traits_of is parents.opened */
	unsigned traits_of;
	bool is_elsewhere; /* place_is_elsewhere() of that parent, when elsewhere_of is parents.opened */
	unsigned elsewhere_of;
};

struct place {
	int root_fd, private_fd;    /* held */
	int haul_fd;                /* owned; `.haul/`, -1 when partials go into their target directories */
	int job_fd;                 /* owned and locked; directory of this job in it, or -1 */
	int kept_fd;                /* owned, locked shared; `.haul/partials/`, or -1 */
	_Atomic bool kept_is_named; /* its name is on the medium */
	int sync_fd;                /* owned; for syncfs, or -1 */
	bool syncs_each;            /* syncfs does nothing here: what is made is synced at once, one by one */
	char job_name[JOB_NAME_CHARS + 1];
	struct dir_traits job_traits; /* of job_fd; of the root without one */
	uint64_t root_device, root_inode;
	bool keeps;      /* partials, for this peer */
	bool only_looks; /* at what is kept for it: kept_fd is neither locked nor `.haul/`'s last */
	unsigned keep_days;
	const char *root_name; /* held; NULL: the root is the private directory itself */
	uint8_t peer_id[32];
	struct owner owner; /* of what is made */
	bool has_root_time; /* the root has been finished: it keeps this time */
	struct timespec root_time;
	_Atomic uint64_t serial; /* names of partials in job_fd */
	bool has_nameless;       /* small files are made without a name, while descriptors last */
	unsigned nameless_max;   /* of the process */
	struct place_cache caches[PLACE_CACHES];
};

/* The directory that holds a path: from the thread's cache, or opened for this once. */
struct place_parent {
	int dir_fd; /* borrowed until the thread's next place_parent_get(), owned when is_own */
	bool is_own;
	const char *name;          /* last component; points into the path */
	struct place_cache *cache; /* whose dir_fd it is; NULL when is_own */
};

HAUL_MUST_USE haul_status place_parent_get(struct place *p, const char *path, struct place_parent *ret_parent);
/* Its traits: looked at once for a run of files in one directory, so a change meanwhile counts from the next run on. */
void place_parent_traits(const struct place_parent *at, struct dir_traits *ret_traits);
/* The same of place_is_elsewhere(): a directory stays on its file system. */
bool place_parent_is_elsewhere(const struct place *p, const struct place_parent *at);
void place_parent_put(struct place_parent *at); /* also after a failure, if it was zero before */

/* Make or find `.haul/`, remove what died in it, and take a directory there. p->job_fd stays -1 where that will not do.
 */
void place_private_open(struct place *p);
void place_private_close(struct place *p);

/* `.haul/partials/`, with what died in it removed; p->kept_fd stays -1 where that will not do. */
void place_kept_open(struct place *p);
void place_kept_close(struct place *p); /* under the lock of `.haul/` */

/* Traits of a directory handle (O_PATH is fine). */
void dir_traits_of(int dir_fd, struct dir_traits *ret_traits);

/* Whether the object lies where place_sync_all() does not reach: another file system, or one that syncfs is nothing to.
 */
bool place_is_elsewhere(const struct place *p, int fd);

/* Whether a partial for something in such a directory may lie in the job's own. */
bool job_directory_will_do(const struct place *p, const struct dir_traits *target);

/* Remove partials that nobody has touched for a day (keep_days with a record), if partials lie in such a
 * directory. */
void place_sweep_target(const struct place *p, int dir_fd, time_t now);

/* Whether a name is the prefix, JOB_NAME_CHARS hexadecimal digits and this suffix. */
bool partial_name_is(const char *name, const char *prefix, const char *suffix);

/* The same in `.haul/partials/`: one without a record goes at once. */
void place_sweep_kept(const struct place *p, time_t now);

/* Calls act for each name in the directory, "." and ".." too; nothing when it may not be read. */
typedef void name_fn(int dir_fd, const char *name, void *context);
void for_each_name(int dir_fd, name_fn *act, void *context);

/* Whether the text begins with that many lower-case hexadecimal digits. */
bool is_hex(const char *text, size_t chars);

/*
 * Open or make the kept partial of cfg->source for `path`, whose parent is `at`.
 *
 * HAUL_UNSUPPORTED   it cannot be kept: make an ordinary one. Else as partial_create().
 */
HAUL_MUST_USE haul_status partial_open_kept(struct place *p, const struct place_parent *at, const char *path,
					    const struct partial_config *cfg, struct partial *ret_partial,
					    struct haul_fault *fault);

/* The record is closed and removed, if there is one. */
void partial_drop_record(struct partial *f);

/* The name of the record that belongs to a partial of that name. */
void partial_record_name(const char *partial_name, char ret_name[RECORD_NAME_MAX]);

/* Whether the name still leads to the file that was opened: HAUL_CHANGED. */
HAUL_MUST_USE haul_status partial_confirm_in_place(const struct partial *f, const struct place_parent *at);

/* A regular file of ours with one name. One in a directory of ours may have been given to its owner already. */
struct stat;
bool partial_is_ours(bool in_target, const struct stat *st);

/* Give an open file its size, and the room for it unless it is sparse or in memory. */
HAUL_MUST_USE haul_status partial_make_room(int fd, uint64_t size, bool is_sparse);

/* Whether an open file still has that name. */
bool is_still_named(int dir_fd, const char *name, int fd);

/* Forget where it lay, without touching the file. */
void partial_leave_spot(struct partial *f);

/* Private directories: make (unless it is there) and open one of ours, or -1. */
int private_directory(int dir_fd, const char *name);
bool private_lock(int fd, int how);

/*
 * Where the partial of something in the directory `at` is made: fills dir_fd, owns_dir and name.
 *
 * ret_is_elsewhere   whether that is another file system than place_sync_all() covers.
 */
HAUL_MUST_USE haul_status partial_find_spot(struct place *p, const struct place_parent *at, struct partial *ret_partial,
					    bool *ret_is_elsewhere);

enum meta_of {
	META_OF_NEW, /* just made, in a directory of ours: bare, and what the file system cannot store is left out */
	META_OF_NEW_HERE, /* just made, where it may have got something of the target directory */
	META_OF_OURS,     /* what stood there and is ours: what cannot be set there, the file system does not have */
	META_OF_OLD,
};

/* Owner and group alone, when `meta` has them. What cannot be set is in meta->lost. */
HAUL_MUST_USE haul_status meta_give_owner(int fd, struct place_meta *meta);

/* Set owner, attributes, mode and mtime as far as `meta` has them (partial.h) through an open handle that is not
 * O_PATH. */
HAUL_MUST_USE haul_status meta_apply(int fd, struct place_meta *meta, enum meta_of of);

/* META_OF_OURS, or META_OF_OLD where it is of others, or a flag of it forbids changes. */
enum meta_of meta_of_old(int fd);

/* As meta_apply() for something that stood there already, by an O_PATH handle: needs /proc. A mode is not for links. */
HAUL_MUST_USE haul_status meta_apply_by_path_handle(int path_fd, struct place_meta *meta, enum meta_of of);

#endif
