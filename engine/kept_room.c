/* All of them are looked at, header and stat alone: a list in memory, some 100 bytes each, of those with a record. */
#include "engine/kept_room.h"

#include "engine/kept_list.h"
#include "engine/place.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STAT_BLOCK_BYTES = 512 };

struct kept_one {
	char name[JOB_NAME_CHARS + sizeof(PARTIAL_SUFFIX)];
	uint8_t peer_id[32];
	uint64_t bytes;
	int64_t touched_s;
	size_t of; /* number of its device, in order of ids */
};

struct kept_all {
	struct kept_one *at; /* owned */
	size_t count, cap;
	haul_status status;
};

static bool look(int dir_fd, const char *name, struct kept_one *ret)
{
	char record_name[RECORD_NAME_MAX];
	struct leaf_record record;
	struct leaf_source of;
	struct stat data, noted;

	partial_record_name(name, record_name);
	if (fstatat(dir_fd, name, &data, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(data.st_mode) ||
	    fstatat(dir_fd, record_name, &noted, AT_SYMLINK_NOFOLLOW) < 0 ||
	    haul_failed(leaf_record_open(dir_fd, record_name, data.st_ino, &of, &record)))
		return false;
	leaf_record_close(&record);
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	memcpy(ret->peer_id, of.owner.peer_id, sizeof(ret->peer_id));
	ret->bytes = (uint64_t)data.st_blocks * STAT_BLOCK_BYTES;
	ret->touched_s = data.st_ctim.tv_sec > noted.st_ctim.tv_sec ? data.st_ctim.tv_sec : noted.st_ctim.tv_sec;
	return true;
}

static void add(int dir_fd, const char *name, void *context)
{
	struct kept_all *all = context;

	if (!partial_name_is(name, "", PARTIAL_SUFFIX) || haul_failed(all->status))
		return;
	if (all->count == all->cap) {
		size_t cap = all->cap ? all->cap * 2 : 16;
		struct kept_one *more = realloc(all->at, cap * sizeof(*more));

		if (!more) {
			all->status = HAUL_NO_MEMORY;
			return;
		}
		all->at = more;
		all->cap = cap;
	}
	all->count += look(dir_fd, name, &all->at[all->count]);
}

/* *ret_fd is -1 when there is no such directory. Both are given. */
static haul_status look_at_all(int private_fd, int *ret_fd, struct kept_all *ret_all)
{
	haul_status st = kept_open_directory(private_fd, ret_fd);

	*ret_all = (struct kept_all){ .at = NULL };
	if (haul_failed(st) || *ret_fd < 0)
		return st;
	for_each_name(*ret_fd, add, ret_all);
	if (haul_failed(ret_all->status)) {
		free(ret_all->at);
		ret_all->at = NULL;
		(void)close(*ret_fd);
		*ret_fd = -1;
	}
	return ret_all->status;
}

haul_status kept_usage(int private_fd, const uint8_t peer_id[32], uint64_t *ret_bytes)
{
	struct kept_all all;
	int fd;
	haul_status st = look_at_all(private_fd, &fd, &all);

	if (haul_failed(st))
		return st;
	*ret_bytes = 0;
	for (size_t i = 0; i < all.count; i++) {
		if (!memcmp(all.at[i].peer_id, peer_id, sizeof(all.at[i].peer_id)))
			*ret_bytes += all.at[i].bytes;
	}
	free(all.at);
	if (fd >= 0)
		(void)close(fd);
	return HAUL_OK;
}

static int by_device(const void *a, const void *b)
{
	return memcmp(((const struct kept_one *)a)->peer_id, ((const struct kept_one *)b)->peer_id,
		      sizeof(((const struct kept_one *)a)->peer_id));
}

/* Number the devices, and add up what each has. Given: free(); NULL without memory. */
static uint64_t *totals_of(struct kept_all *all)
{
	uint64_t *totals = calloc(all->count + 1, sizeof(*totals));
	size_t device = 0;

	if (all->count)
		qsort(all->at, all->count, sizeof(*all->at), by_device);
	for (size_t i = 0; totals && i < all->count; i++) {
		device += i && by_device(&all->at[i - 1], &all->at[i]);
		all->at[i].of = device;
		totals[device] += all->at[i].bytes;
	}
	return totals;
}

static int by_age(const void *a, const void *b)
{
	int64_t x = ((const struct kept_one *)a)->touched_s, y = ((const struct kept_one *)b)->touched_s;

	return (x > y) - (x < y);
}

/* No job has it, and none can take it up meanwhile. The record first: alone it would be of no partial. */
static bool drop(int dir_fd, const struct kept_one *k, bool only_looks)
{
	char record[RECORD_NAME_MAX];
	int fd = openat(dir_fd, k->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is_free = fd >= 0 && private_lock(fd, LOCK_EX | LOCK_NB) && is_still_named(dir_fd, k->name, fd);

	if (is_free && !only_looks) {
		partial_record_name(k->name, record);
		(void)unlinkat(dir_fd, record, 0);
		is_free = unlinkat(dir_fd, k->name, 0) == 0;
	}
	if (fd >= 0)
		(void)close(fd);
	return is_free;
}

static uint64_t drop_oldest(int dir_fd, struct kept_all *all, uint64_t *totals, const struct kept_room *how)
{
	uint64_t freed = 0;

	if (all->count)
		qsort(all->at, all->count, sizeof(*all->at), by_age);
	for (size_t i = 0; i < all->count && freed < how->want_bytes; i++) {
		const struct kept_one *k = &all->at[i];

		if (how->now_s - k->touched_s < how->untouched_s)
			break;
		if (totals[k->of] <= how->each_bytes || !drop(dir_fd, k, how->only_looks))
			continue;
		freed += k->bytes;
		totals[k->of] -= k->bytes;
	}
	return freed;
}

haul_status kept_make_room(int private_fd, const struct kept_room *how, uint64_t *ret_bytes)
{
	struct kept_all all;
	uint64_t *totals;
	int fd;
	haul_status st = look_at_all(private_fd, &fd, &all);

	*ret_bytes = 0;
	if (haul_failed(st))
		return st;
	totals = totals_of(&all);
	if (totals)
		*ret_bytes = drop_oldest(fd, &all, totals, how);
	else
		st = HAUL_NO_MEMORY;
	free(totals);
	free(all.at);
	if (fd >= 0)
		(void)close(fd);
	return st;
}
