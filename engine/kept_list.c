/*
 * Names first, sorted, then a look at each: what goes meanwhile is left out. As many names at a time as
 * KEPT_LIST_BATCH, the lowest first: however many there are, none is left out and memory is bounded.
 */
#include "engine/kept_list.h"

#include "engine/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct kept_name {
	char id[KEPT_ID_CHARS + 1];
	bool is_beside; /* in the target's directory */
};

struct kept_names {
	struct kept_name *at; /* owned */
	size_t count, cap;
	const char *prefix, *after; /* of those that are looked for */
	bool is_cut;                /* there are more behind the last one */
	haul_status status;
};

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct kept_name *)a)->id, ((const struct kept_name *)b)->id);
}

/* In order, and no more than one batch. */
static void cut(struct kept_names *n)
{
	if (n->count)
		qsort(n->at, n->count, sizeof(*n->at), by_id);
	if (n->count <= KEPT_LIST_BATCH)
		return;
	n->count = KEPT_LIST_BATCH;
	n->is_cut = true;
}

static bool has_room(struct kept_names *n)
{
	size_t cap = n->cap ? n->cap * 2 : 64;
	struct kept_name *more;

	if (n->count == 2 * KEPT_LIST_BATCH)
		cut(n);
	if (n->count < n->cap)
		return true;
	more = realloc(n->at, cap * sizeof(*more));
	if (!more) {
		n->status = HAUL_NO_MEMORY;
		return false;
	}
	n->at = more;
	n->cap = cap;
	return true;
}

static void add_name(struct kept_names *n, const char *hex)
{
	if (!has_room(n))
		return;
	memcpy(n->at[n->count].id, hex, KEPT_ID_CHARS);
	n->at[n->count].id[KEPT_ID_CHARS] = '\0';
	n->at[n->count++].is_beside = *n->prefix;
}

_Static_assert((int)KEPT_ID_CHARS == (int)JOB_NAME_CHARS, "the digits of a private name");

static void on_name(int dir_fd, const char *name, void *context)
{
	struct kept_names *n = context;
	const char *hex = name + strlen(n->prefix);

	(void)dir_fd;
	if (partial_name_is(name, n->prefix, PARTIAL_SUFFIX) && strncmp(hex, n->after, KEPT_ID_CHARS) > 0)
		add_name(n, hex);
}

static bool look(int dir_fd, const struct kept_name *n, struct kept_partial *ret)
{
	const char *prefix = n->is_beside ? PLACE_PRIVATE_NAME "." : "";
	char name[RECORD_NAME_MAX], record[RECORD_NAME_MAX];
	struct stat data, of;

	(void)snprintf(name, sizeof(name), "%s%s" PARTIAL_SUFFIX, prefix, n->id);
	partial_record_name(name, record);
	if (fstatat(dir_fd, name, &data, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(data.st_mode) ||
	    fstatat(dir_fd, record, &of, AT_SYMLINK_NOFOLLOW) < 0 ||
	    haul_failed(leaf_record_look(dir_fd, record, data.st_ino, &ret->of)))
		return false;
	memcpy(ret->id, n->id, sizeof(ret->id));
	ret->touched_s = data.st_ctim.tv_sec > of.st_ctim.tv_sec ? data.st_ctim.tv_sec : of.st_ctim.tv_sec;
	return true;
}

/* A directory that is not there is empty: -1 with HAUL_OK. */
static haul_status open_directory(int dir_fd, const char *name, int *ret_fd)
{
	*ret_fd = dir_fd < 0 ? -1 : openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir_fd < 0 || *ret_fd >= 0 || errno == ENOENT ? HAUL_OK : haul_status_from_errno(errno);
}

haul_status kept_open_directory(int private_fd, int *ret_fd)
{
	int haul_fd;
	haul_status st = open_directory(private_fd, PLACE_PRIVATE_NAME, &haul_fd);

	*ret_fd = -1;
	if (haul_fd >= 0) {
		st = open_directory(haul_fd, PLACE_KEPT_NAME, ret_fd);
		(void)close(haul_fd);
	}
	return st;
}

static void gather(struct kept_names *n, int fd, const char *prefix)
{
	n->prefix = prefix;
	if (fd >= 0)
		for_each_name(fd, on_name, n);
}

/* One batch behind `n->after`; false: nobody wants more. */
static bool list_batch(struct kept_names *n, int kept_fd, int beside_fd, kept_fn *tell, void *ctx)
{
	struct kept_partial k;

	n->count = 0;
	n->is_cut = false;
	gather(n, kept_fd, "");
	gather(n, beside_fd, PLACE_PRIVATE_NAME ".");
	cut(n);
	for (size_t i = 0; haul_ok(n->status) && i < n->count; i++) {
		if (look(n->at[i].is_beside ? beside_fd : kept_fd, &n->at[i], &k) && !tell(ctx, &k))
			return false;
	}
	return haul_ok(n->status);
}

haul_status kept_list(int private_fd, int dir_fd, const char *after, kept_fn *tell, void *ctx)
{
	struct kept_names names = { .after = after };
	char last[KEPT_ID_CHARS + 1];
	int kept_fd, beside_fd = -1;
	haul_status st = kept_open_directory(private_fd, &kept_fd);

	if (haul_ok(st))
		st = open_directory(dir_fd, ".", &beside_fd);
	if (haul_ok(st)) {
		while (list_batch(&names, kept_fd, beside_fd, tell, ctx) && names.is_cut) {
			memcpy(last, names.at[names.count - 1].id, sizeof(last));
			names.after = last;
		}
		st = names.status;
	}
	free(names.at);
	if (kept_fd >= 0)
		(void)close(kept_fd);
	if (beside_fd >= 0)
		(void)close(beside_fd);
	return st;
}
