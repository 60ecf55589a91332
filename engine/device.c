/*
 * The mount is found by its id (statx, Linux 5.8), before that by its device; it names the file system and, where the
 * file system has a made-up device number (btrfs, overlay), the source may still be a block device. Fails only when
 * the descriptor itself cannot be looked at.
 */
#include "engine/device.h"

#include "engine/base/clock.h"
#include "engine/device_probe.h"
#include "engine/device_world.h"
#include "engine/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PROBE_AGAIN_NS (UINT64_C(60) * 1000000000)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const memory_file_systems[] = { "tmpfs", "ramfs", "hugetlbfs", "devtmpfs" };

static const char *const network_file_systems[] = {
	"nfs",    "nfs4", "cifs",       "smb3",           "ceph",        "9p",        "afs",        "lustre",
	"beegfs", "gpfs", "fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.davfs", "fuse.curlftpfs",
};

/* Drivers of disks that can rotate. Virtual ones report whatever their host thinks of. */
static const char *const disk_drivers[] = { "sd", "pata" };
static const char *const flash_drivers[] = { "mmcblk" };

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

/* ---- the mount ---- */

struct mount_facts {
	char file_system[32];
	struct block_place place;
};

static bool is_mount_of(const struct mount_line *m, dev_t dev, uint64_t mount_id)
{
	if (mount_id)
		return m->id == mount_id;
	return m->major == major(dev) && m->minor == minor(dev);
}

static void take_mount(const struct device_world *w, const struct mount_line *m, struct mount_facts *facts)
{
	(void)snprintf(facts->file_system, sizeof(facts->file_system), "%s", m->file_system);
	facts->place.is_btrfs = !strcmp(m->file_system, "btrfs");
	if (!facts->place.dev && m->source[0] == '/')
		facts->place.dev = w->device_at(m->source);
}

static struct mount_facts find_mount(const struct device_world *w, dev_t dev, uint64_t mount_id)
{
	/* Major 0: no block device, a number made up by the file system. */
	struct mount_facts facts = { .place.dev = major(dev) ? dev : 0 };
	FILE *f = fopen(w->mountinfo, "re");
	struct mount_line m;
	char *line = NULL;
	size_t cap = 0;

	if (!f)
		return facts;
	while (getline(&line, &cap, f) > 0)
		if (mount_line_parse(line, &m) && is_mount_of(&m, dev, mount_id)) {
			take_mount(w, &m, &facts);
			break;
		}
	free(line);
	(void)fclose(f);
	return facts;
}

static struct block_place place_of_file(const struct block_world *b, const char *path)
{
	const struct device_world *w = b->ctx;
	uint64_t mount_id = 0;
	dev_t dev = 0;

	if (!w->look_at(path, &dev, &mount_id))
		return (struct block_place){ .dev = 0 };
	return find_mount(w, dev, mount_id).place;
}

/* ---- the kind ---- */

/* What one disk is, as far as driver and queue tell; DEVICE_ROTATIONAL is a claim that has to be confirmed. */
static enum device_kind kind_of_disk(const struct block_disk *disk)
{
	if (!strcmp(disk->driver, "nvme"))
		return DEVICE_NVME;
	if (is_one_of(disk->driver, flash_drivers, COUNT(flash_drivers)))
		return DEVICE_SSD;
	if (!is_one_of(disk->driver, disk_drivers, COUNT(disk_drivers)))
		return DEVICE_UNKNOWN;
	return disk->says_rotational ? DEVICE_ROTATIONAL : DEVICE_SSD;
}

/* What is known of a disk or becomes so; else what failed on this file system; NULL: neither. */
static struct device_probed *find_probed(struct device_book *b, uint64_t disk, uint64_t dev)
{
	struct device_probed *failed = NULL;

	for (unsigned i = 0; i < b->count; i++) {
		struct device_probed *p = &b->probed[i];

		if (p->disk != disk)
			continue;
		if (p->is_running || p->seek_us)
			return p;
		if (p->dev == dev)
			failed = p;
	}
	return failed;
}

/* A failure makes room for what may become known; NULL: the book is full. */
static struct device_probed *new_probed(struct device_book *b)
{
	if (b->count < DEVICE_BOOK_MAX)
		return &b->probed[b->count++];
	for (unsigned i = 0; i < b->count; i++)
		if (!b->probed[i].is_running && !b->probed[i].seek_us)
			return &b->probed[i];
	return NULL;
}

static uint32_t probe_now(const struct device_world *w, struct device_book *b, int fd, struct device_probed *p,
			  dev_t disk)
{
	uint32_t seek_us;

	(void)pthread_mutex_unlock(&b->lock);
	seek_us = w->probe(fd, disk);
	(void)pthread_mutex_lock(&b->lock);
	if (p) {
		p->seek_us = seek_us;
		p->failed_ns = w->now_ns();
		p->is_running = false;
		(void)pthread_cond_broadcast(&b->ended);
	}
	return seek_us;
}

static uint32_t probe_once(const struct device_world *w, struct device_book *b, int fd, dev_t dev, dev_t disk)
{
	struct device_probed *p;
	uint32_t seek_us;

	(void)pthread_mutex_lock(&b->lock);
	while ((p = find_probed(b, disk, dev)) && p->is_running)
		(void)pthread_cond_wait(&b->ended, &b->lock);
	if (p && (p->seek_us || w->now_ns() - p->failed_ns < PROBE_AGAIN_NS)) {
		seek_us = p->seek_us;
	} else {
		p = p ? p : new_probed(b);
		if (p)
			*p = (struct device_probed){ .disk = disk, .dev = dev, .is_running = true };
		seek_us = probe_now(w, b, fd, p, disk);
	}
	(void)pthread_mutex_unlock(&b->lock);
	return seek_us;
}

static void confirm(const struct device_world *w, struct device_book *book, int fd, dev_t disk,
		    struct device_facts *facts)
{
	facts->seek_us = book ? probe_once(w, book, fd, facts->dev, disk) : 0;
	facts->kind = facts->seek_us > DEVICE_PROBE_SPINDLE_US ? DEVICE_ROTATIONAL : DEVICE_UNKNOWN;
	facts->reason = !facts->seek_us                 ? DEVICE_NOT_PROBED
			: facts->kind == DEVICE_UNKNOWN ? DEVICE_REFUTED
							: DEVICE_CONFIRMED;
}

/* A single spindle makes the whole a spindle; otherwise all have to agree. */
static void judge(const struct device_world *w, struct device_book *book, int fd, const struct block_facts *b,
		  struct device_facts *facts)
{
	enum device_kind kind = kind_of_disk(&b->disks[0]);
	bool is_mixed = false;

	for (unsigned i = 0; i < b->disk_count; i++) {
		enum device_kind one = kind_of_disk(&b->disks[i]);

		facts->says_rotational = facts->says_rotational || b->disks[i].says_rotational;
		if (one == DEVICE_ROTATIONAL) {
			confirm(w, book, fd, b->disks[i].dev, facts);
			return;
		}
		is_mixed = is_mixed || one != kind;
	}
	facts->kind = is_mixed ? DEVICE_UNKNOWN : kind;
	facts->reason = is_mixed ? DEVICE_MIXED : kind == DEVICE_UNKNOWN ? DEVICE_NO_REAL_DISK : DEVICE_BY_DRIVER;
}

static void take_disks(const struct block_facts *b, struct device_facts *d)
{
	_Static_assert((int)DEVICE_DISKS_MAX == (int)BLOCK_DISKS_MAX, "every disk that is found has its place");
	for (unsigned i = 0; i < b->disk_count; i++)
		d->disks[i] = b->disks[i].dev;
	d->disk_count = b->disk_count;
	d->has_more_disks = b->has_more;
	memcpy(d->driver, b->disks[0].driver, sizeof(d->driver));
	memcpy(d->through, b->through, sizeof(d->through));
	d->queue_requests = b->disks[0].queue_requests;
	d->max_request_bytes = b->disks[0].max_request_bytes;
	d->optimal_bytes = b->disks[0].optimal_bytes;
}

void device_facts_in(const struct device_world *w, struct device_book *book, int fd, dev_t dev, uint64_t mount_id,
		     struct device_facts *ret_facts)
{
	const struct block_world blocks = { .sys_root = w->sys_root, .place_of_file = place_of_file, .ctx = w };
	struct mount_facts mount = find_mount(w, dev, mount_id);
	struct device_facts d = { .dev = dev, .reason = DEVICE_NOT_KNOWN };
	struct block_facts b;

	memcpy(d.file_system, mount.file_system, sizeof(d.file_system));
	block_device_look(&blocks, mount.place, &b);
	if (is_one_of(d.file_system, memory_file_systems, COUNT(memory_file_systems)))
		d.kind = DEVICE_MEMORY;
	else if (is_one_of(d.file_system, network_file_systems, COUNT(network_file_systems)))
		d.kind = DEVICE_NETWORK;
	if (d.kind != DEVICE_UNKNOWN) {
		d.reason = DEVICE_BY_FS;
	} else if (b.disk_count) {
		take_disks(&b, &d);
		judge(w, book, fd, &b, &d);
	}
	*ret_facts = d;
}

/* ---- this machine ---- */

static dev_t device_at(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 && S_ISBLK(sb.st_mode) ? sb.st_rdev : 0;
}

static haul_status look_fd(int fd, const char *path, dev_t *ret_dev, uint64_t *ret_mount_id)
{
	struct statx sx;

	if (statx(fd, path, AT_EMPTY_PATH, STATX_TYPE | STATX_MNT_ID, &sx) < 0)
		return haul_status_from_errno(errno);
	*ret_dev = makedev(sx.stx_dev_major, sx.stx_dev_minor);
	*ret_mount_id = sx.stx_mask & STATX_MNT_ID ? sx.stx_mnt_id : 0;
	return HAUL_OK;
}

static bool look_at(const char *path, dev_t *ret_dev, uint64_t *ret_mount_id)
{
	return path[0] == '/' && haul_ok(look_fd(AT_FDCWD, path, ret_dev, ret_mount_id));
}

/* The disk itself where that is permitted (root), else a big file on it. */
static uint32_t probe(int fd, dev_t disk)
{
	uint32_t median = 0;
	char path[64];
	int at;

	(void)snprintf(path, sizeof(path), "/dev/block/%u:%u", major(disk), minor(disk));
	at = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (at >= 0) {
		median = device_probe_fd(at);
		(void)close(at);
	}
	at = median ? -1 : device_probe_find(fd);
	if (at >= 0) {
		median = device_probe_fd(at);
		(void)close(at);
	}
	return median;
}

const struct device_world this_machine = {
	.sys_root = "/sys",
	.mountinfo = "/proc/self/mountinfo",
	.device_at = device_at,
	.look_at = look_at,
	.probe = probe,
	.now_ns = clock_now_ns,
};

haul_status device_facts_of(struct device_book *book, int fd, struct device_facts *ret_facts)
{
	uint64_t mount_id = 0;
	dev_t dev = 0;
	haul_status st = look_fd(fd, "", &dev, &mount_id);

	if (haul_ok(st))
		device_facts_in(&this_machine, book, fd, dev, mount_id, ret_facts);
	return st;
}

void device_facts_add(struct device_book *book, int fd, struct device_facts *facts)
{
	struct device_facts one;
	uint64_t mount_id = 0;
	dev_t dev = 0;

	if (haul_failed(look_fd(fd, "", &dev, &mount_id)) || dev == facts->dev)
		return;
	device_facts_in(&this_machine, book, fd, dev, mount_id, &one);
	if (facts->dev)
		device_facts_merge(facts, &one);
	else
		*facts = one;
}

void device_book_open(struct device_book *b)
{
	*b = (struct device_book){ .count = 0 };
	(void)pthread_mutex_init(&b->lock, NULL);
	(void)pthread_cond_init(&b->ended, NULL);
}

void device_book_close(struct device_book *b)
{
	(void)pthread_cond_destroy(&b->ended);
	(void)pthread_mutex_destroy(&b->lock);
}
