/* Names first, sorted, then a look at each: what goes meanwhile is left out. */
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
	haul_status status;
};

static void add_name(struct kept_names *n, const char *hex)
{
	if (n->count == n->cap) {
		size_t cap = n->cap ? n->cap * 2 : 64;
		struct kept_name *more = cap > KEPT_LIST_MAX ? NULL : realloc(n->at, cap * sizeof(*more));

		if (!more && cap <= KEPT_LIST_MAX)
			n->status = HAUL_NO_MEMORY;
		if (!more)
			return;
		n->at = more;
		n->cap = cap;
	}
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

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct kept_name *)a)->id, ((const struct kept_name *)b)->id);
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

static haul_status open_kept(int private_fd, int *ret_fd)
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

haul_status kept_list(int private_fd, int dir_fd, const char *after, kept_fn *tell, void *ctx)
{
	struct kept_names names = { .after = after };
	struct kept_partial k;
	int kept_fd, beside_fd = -1;
	haul_status st = open_kept(private_fd, &kept_fd);

	if (haul_ok(st))
		st = open_directory(dir_fd, ".", &beside_fd);
	if (haul_ok(st)) {
		gather(&names, kept_fd, "");
		gather(&names, beside_fd, PLACE_PRIVATE_NAME ".");
		st = names.status;
	}
	if (names.count)
		qsort(names.at, names.count, sizeof(*names.at), by_id);
	for (size_t i = 0; haul_ok(st) && i < names.count; i++) {
		if (look(names.at[i].is_beside ? beside_fd : kept_fd, &names.at[i], &k) && !tell(ctx, &k))
			break;
	}
	free(names.at);
	if (kept_fd >= 0)
		(void)close(kept_fd);
	if (beside_fd >= 0)
		(void)close(beside_fd);
	return st;
}
