/*
 * Path operations that cannot leave a directory: each takes the handle of a root and a path below it, and resolves with
 * openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS). Paths of any length: those longer than
 * PATH_MAX are walked in pieces. The path "" is the root itself.
 *
 * HAUL_LINK_IN_PATH means that a symbolic link stands where a directory was expected: somebody swapped it in, or the
 * share is laid out so; nothing was followed. Thread: any; no state.
 */
#ifndef HAUL_ENGINE_BENEATH_H
#define HAUL_ENGINE_BENEATH_H

#include "engine/base/entry.h"
#include "engine/base/fault.h"
#include "engine/owner.h"

#include <sys/types.h>

/* Open what `path` names with open(2) flags (O_CLOEXEC | O_NOFOLLOW are added). *ret_fd is given. */
HAUL_MUST_USE haul_status beneath_open(int root_fd, const char *path, int flags, mode_t mode, int *ret_fd);

/*
 * As beneath_open(), but symbolic links on the way are followed as long as they stay below the root. For what a user
 * named by a link on purpose; paths up to PATH_MAX. HAUL_LINK_IN_PATH: a link leads out. HAUL_UNSUPPORTED: kernel
 * without openat2.
 */
HAUL_MUST_USE haul_status beneath_open_following(int root_fd, const char *path, int flags, int *ret_fd);

/*
 * Open one name in a directory, never across a mount: HAUL_CROSS_DEVICE where another file system, or this one again,
 * is mounted on it. flags as beneath_open(); `name` is one component.
 */
HAUL_MUST_USE haul_status beneath_open_child(int dir_fd, const char *name, int flags, int *ret_fd);

/*
 * The directory that holds the last component (O_PATH handle, given) and the component itself (points into path).
 * For "" HAUL_BAD_VALUE.
 */
HAUL_MUST_USE haul_status beneath_parent(int root_fd, const char *path, int *ret_dir_fd, const char **ret_name);

/* lstat of what `path` names. */
HAUL_MUST_USE haul_status beneath_stat(int root_fd, const char *path, struct entry_facts *ret_facts);

/* statx of one name in a directory handle, links not followed. */
HAUL_MUST_USE haul_status beneath_stat_at(int dir_fd, const char *name, struct entry_facts *ret_facts);

/* Facts of an open handle, O_PATH is fine. */
HAUL_MUST_USE haul_status beneath_stat_handle(int fd, struct entry_facts *ret_facts);

/* Target of a symbolic link in a directory handle: at most HAUL_LINK_TARGET_MAX bytes, NUL added. ret_target given
 * (free). */
HAUL_MUST_USE haul_status beneath_read_link(int dir_fd, const char *name, char **ret_target, size_t *ret_len);

/*
 * Open, or look at, what `path` leads to when symbolic links on the way and at its end are followed, as long as they
 * stay below the root. O_CLOEXEC is added; *ret_fd is given. Paths up to PATH_MAX.
 * HAUL_LINK_LEADS_OUT: of the root. HAUL_LINK_LOOP: in a circle. HAUL_NOT_FOUND: dangling. HAUL_UNSUPPORTED: the
 * kernel has no openat2.
 */
HAUL_MUST_USE haul_status beneath_open_target(int root_fd, const char *path, int flags, int *ret_fd);
HAUL_MUST_USE haul_status beneath_stat_target(int root_fd, const char *path, struct entry_facts *ret_facts);

struct make_path_config {
	bool sync;          /* each directory, and what it was made in */
	mode_t mode;        /* of each; the process's umask is taken off */
	struct owner owner; /* of each */
};

/*
 * Make every missing directory of `path`. ret_made: number of directories made; may be NULL. Where a new one cannot be
 * given to its owner it is removed again, and the call fails as owner_give().
 */
HAUL_MUST_USE haul_status beneath_make_path(int root_fd, const char *path, const struct make_path_config *cfg,
					    unsigned *ret_made);

/*
 * fsync of the directory behind a handle (O_PATH is fine). Where it may not be read: syncfs through near_fd, a
 * directory on the same file system that may be (-1: none, then HAUL_DENIED).
 */
HAUL_MUST_USE haul_status beneath_sync_directory(int dir_fd, int near_fd);

/* A cache of one opened parent, for callers that work through a directory in order. Zero is closed. */
struct parent_cache {
	int root_fd;     /* borrowed */
	char *path;      /* owned; of the parent, NULL when closed */
	int dir_fd;      /* owned */
	unsigned opened; /* counts up with each directory that is opened here */
};

/* As beneath_parent(), but the handle is the cache's (borrowed until the next call or parent_cache_close()). */
HAUL_MUST_USE haul_status parent_cache_get(struct parent_cache *c, int root_fd, const char *path, int *ret_dir_fd,
					   const char **ret_name);
void parent_cache_close(struct parent_cache *c);

#endif
