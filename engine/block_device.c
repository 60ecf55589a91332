/*
 * Paths in sysfs, all relative to the device's own directory. A partition has no queue: its parent directory is the
 * disk. Device mapper and RAID list their members in slaves/, a loop device names its file in loop/backing_file, btrfs
 * lists its devices in fs/btrfs/UUID/devices. NVMe hangs one level deeper than the rest (nvme0n1/device is the
 * controller, the driver is its parent's). Devices without a parent (loop, zram) are named for their kind.
 */
#include "engine/block_device.h"

#include "engine/sysfs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { STACK_MAX = 8 /* device mapper on RAID on partitions, and then some */ };

struct walk {
	const struct block_world *world;
	struct block_facts *facts;
	char path[PATH_MAX]; /* the device in work */
	unsigned depth;
	unsigned members; /* of the list in work that led to a disk */
	const char *list; /* directory of that list, below path */
};

/* Both say whether a disk was reached. */
static bool walk_device(struct walk *up, const char *path);
static bool look(const struct block_world *world, struct block_place place, unsigned depth, struct block_facts *facts);

static const char *last_component(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* "loop0" is a loop, "dm-3" a dm; NVMe of several paths has no driver of its own. */
static void kind_name(const char *path, char *ret_name, size_t cap)
{
	size_t len;

	(void)snprintf(ret_name, cap, "%s", last_component(path));
	if (!strncmp(ret_name, "nvme", 4)) {
		ret_name[4] = '\0';
		return;
	}
	len = strlen(ret_name);
	while (len > 0 && (isdigit((unsigned char)ret_name[len - 1]) || ret_name[len - 1] == '-'))
		ret_name[--len] = '\0';
}

static uint32_t bytes_of(uint64_t n, uint64_t unit)
{
	return n > UINT32_MAX / unit ? UINT32_MAX : (uint32_t)(n * unit);
}

static dev_t device_number(const char *path)
{
	unsigned major = 0, minor = 0;
	char line[32];

	if (!sysfs_line(path, "dev", line, sizeof(line)) || sscanf(line, "%u:%u", &major, &minor) != 2)
		return 0;
	return makedev(major, minor);
}

/* The bottom: a whole disk. */
static void add_disk(struct block_facts *f, const char *path)
{
	struct block_disk d = { .dev = device_number(path) };

	for (unsigned i = 0; i < f->disk_count; i++)
		if (f->disks[i].dev == d.dev)
			return;
	if (f->disk_count == BLOCK_DISKS_MAX) {
		f->has_more = true;
		return;
	}
	d.says_rotational = sysfs_number(path, "queue/rotational") == 1;
	d.queue_requests = (unsigned)sysfs_number(path, "queue/nr_requests");
	d.max_request_bytes = bytes_of(sysfs_number(path, "queue/max_sectors_kb"), 1024);
	d.optimal_bytes = bytes_of(sysfs_number(path, "queue/optimal_io_size"), 1);
	if (!sysfs_link_name(path, "device/driver", d.driver, sizeof(d.driver)) &&
	    !sysfs_link_name(path, "device/device/driver", d.driver, sizeof(d.driver)))
		kind_name(path, d.driver, sizeof(d.driver));
	f->disks[f->disk_count++] = d;
}

/* Said from the bottom up: the uppermost stays. */
static void passes_through(const struct walk *w)
{
	kind_name(w->path, w->facts->through, sizeof(w->facts->through));
}

static void on_member(void *ctx, const char *name)
{
	struct walk *w = ctx;
	char member[PATH_MAX] = "", relative[NAME_MAX + 32];

	(void)snprintf(member, sizeof(member), "%s", w->path);
	(void)snprintf(relative, sizeof(relative), "%s/%s", w->list, name);
	if (sysfs_go(member, relative))
		w->members += walk_device(w, member);
}

static void walk_list(struct walk *w, const char *list)
{
	w->list = list;
	sysfs_each(w->path, list, on_member, w);
}

static bool has_members(struct walk *w)
{
	walk_list(w, "slaves");
	return w->members > 0;
}

/* The file behind a loop device lies on disks of its own, unless it lies in memory or on a network. */
static bool is_loop_over_disks(const struct walk *w)
{
	char file[PATH_MAX];

	return sysfs_line(w->path, "loop/backing_file", file, sizeof(file)) &&
	       look(w->world, w->world->place_of_file(w->world, file), w->depth, w->facts);
}

/* One device below `up`, to its disks. `path` is the device's own directory. */
static bool walk_device(struct walk *up, const char *path)
{
	struct walk w = { .world = up->world, .facts = up->facts, .depth = up->depth + 1 };

	if (w.depth > STACK_MAX)
		return false;
	(void)snprintf(w.path, sizeof(w.path), "%s", path);
	if (sysfs_has(w.path, "partition"))
		(void)sysfs_go(w.path, "..");
	if (has_members(&w) || is_loop_over_disks(&w))
		passes_through(&w);
	else
		add_disk(w.facts, w.path);
	return true;
}

/* ---- btrfs ---- */

struct btrfs_search {
	struct walk *walk;
	const char *name; /* of the device that is known */
	bool is_found;
};

static void on_btrfs(void *ctx, const char *uuid)
{
	struct btrfs_search *b = ctx;
	char relative[NAME_MAX + 64];

	(void)snprintf(relative, sizeof(relative), "%.64s/devices/%s", uuid, b->name);
	if (b->is_found || !sysfs_has(b->walk->path, relative))
		return;
	b->is_found = true;
	(void)snprintf(relative, sizeof(relative), "%.64s/devices", uuid);
	walk_list(b->walk, relative);
}

/* All devices of the btrfs that stands on the one at `path`; false: it is not in the list. */
static bool walk_btrfs(struct walk *up, const char *path)
{
	struct walk w = { .world = up->world, .facts = up->facts, .depth = up->depth };
	struct btrfs_search b = { .walk = &w, .name = last_component(path) };

	(void)snprintf(w.path, sizeof(w.path), "%s/fs/btrfs", up->world->sys_root);
	sysfs_each(w.path, ".", on_btrfs, &b);
	return b.is_found && w.members > 0;
}

/* Adds to what is there already: a loop device comes here for the file behind it. */
static bool look(const struct block_world *world, struct block_place place, unsigned depth, struct block_facts *facts)
{
	struct walk top = { .world = world, .facts = facts, .depth = depth };
	char path[PATH_MAX], name[64];

	(void)snprintf(path, sizeof(path), "%s", world->sys_root);
	(void)snprintf(name, sizeof(name), "dev/block/%u:%u", major(place.dev), minor(place.dev));
	if (!place.dev || !sysfs_go(path, name))
		return false;
	return (place.is_btrfs && walk_btrfs(&top, path)) || walk_device(&top, path);
}

void block_device_look(const struct block_world *w, struct block_place place, struct block_facts *ret_facts)
{
	*ret_facts = (struct block_facts){ .disk_count = 0 };
	(void)look(w, place, 0, ret_facts);
}
