/* What interrupted jobs have left to be gone on with, for looking at: nothing is changed and no lock is taken. */
#ifndef HAUL_ENGINE_KEPT_LIST_H
#define HAUL_ENGINE_KEPT_LIST_H

#include "engine/leaf_record.h"

enum { KEPT_ID_CHARS = 32, KEPT_LIST_BATCH = 4096 /* names in memory at once, twice */ };

struct kept_partial {
	char id[KEPT_ID_CHARS + 1]; /* the hexadecimal digits of its private name */
	int64_t touched_s;          /* when something last came, seconds since 1970 */
	struct leaf_look of;
};

/* Called for each, ids ascending; false ends the list. Borrowed for the call. */
typedef bool kept_fn(void *ctx, const struct kept_partial *k);

/*
 * Partials with a record: those in `.haul/partials/` below private_fd, and those that lie in the directory dir_fd
 * itself; all of them, a directory is read once for each KEPT_LIST_BATCH. Blocking.
 *
 * dir_fd   -1: none. Either may be opened O_PATH.
 * after    only ids greater than this; "": all
 * HAUL_DENIED, HAUL_NO_MEMORY   and what else opening a directory may say; one that is missing is empty.
 */
HAUL_MUST_USE haul_status kept_list(int private_fd, int dir_fd, const char *after, kept_fn *tell, void *ctx);

/* `.haul/partials/` below the directory, for reading; -1 with HAUL_OK: there is none. *ret_fd is given. */
HAUL_MUST_USE haul_status kept_open_directory(int private_fd, int *ret_fd);

#endif
