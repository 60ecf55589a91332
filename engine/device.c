/*
 * The mount is found by its id (statx, Linux 5.8), before that by its device; it names the file system and, where the
 * file system has a made-up device number (btrfs, overlay), the source may still be a block device. Fails only when
 * the descriptor itself cannot be looked at.
 */
#include "engine/device.h"

#include "engine/block_device.h"
#include "engine/disk_file.h"
#include "engine/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const memory_file_systems[] = { "tmpfs", "ramfs", "hugetlbfs", "devtmpfs" };

static const char *const network_file_systems[] = {
	"nfs",    "nfs4", "cifs",       "smb3",           "ceph",        "9p",        "afs",        "lustre",
	"beegfs", "gpfs", "fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.davfs", "fuse.curlftpfs",
};

/* Drivers of disks that can rotate. Virtual ones report whatever their host thinks of. */
static const char *const disk_drivers[] = { "sd", "pata" };

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

static bool is_mount_of(const struct mount_line *m, const struct statx *sx)
{
	if (sx->stx_mask & STATX_MNT_ID)
		return m->id == sx->stx_mnt_id;
	return m->major == sx->stx_dev_major && m->minor == sx->stx_dev_minor;
}

static void take_mount(const struct mount_line *m, struct device_facts *facts)
{
	struct stat sb;

	(void)snprintf(facts->file_system, sizeof(facts->file_system), "%s", m->file_system);
	if (!facts->block_dev && m->source[0] == '/' && stat(m->source, &sb) == 0 && S_ISBLK(sb.st_mode))
		facts->block_dev = sb.st_rdev;
}

static void find_mount(const struct statx *sx, struct device_facts *facts)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct mount_line m;
	char *line = NULL;
	size_t cap = 0;

	if (!f)
		return;
	while (getline(&line, &cap, f) > 0)
		if (mount_line_parse(line, &m) && is_mount_of(&m, sx)) {
			take_mount(&m, facts);
			break;
		}
	free(line);
	(void)fclose(f);
}

haul_status device_facts_of(int fd, struct device_facts *ret_facts)
{
	struct device_facts d = { .dev = 0 };
	bool says_rotational = false;
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MNT_ID, &sx) < 0)
		return haul_status_from_errno(errno);
	d.dev = makedev(sx.stx_dev_major, sx.stx_dev_minor);
	if (sx.stx_dev_major != 0) /* 0: no block device, a number made up by the file system */
		d.block_dev = d.dev;
	find_mount(&sx, &d);
	if (d.block_dev)
		block_device_look("/sys", d.block_dev, d.driver, sizeof(d.driver), &says_rotational);
	d.is_memory = is_one_of(d.file_system, memory_file_systems, COUNT(memory_file_systems));
	d.is_network = is_one_of(d.file_system, network_file_systems, COUNT(network_file_systems));
	d.is_rotational_hint = says_rotational && is_one_of(d.driver, disk_drivers, COUNT(disk_drivers));
	*ret_facts = d;
	return HAUL_OK;
}

/* 4 MiB at depth 4 to 16 were equally fast on a virtual disk; one spindle likes longer runs and a shorter queue. */
void device_defaults(const struct device_facts *d, unsigned *ret_depth, size_t *ret_block_bytes)
{
	*ret_depth = d->is_rotational_hint ? 4 : 8;
	*ret_block_bytes = (d->is_rotational_hint ? 8u : 4u) << 20;
}

const char *device_text(const struct device_facts *d, const struct disk_file *file, char *ret_text, size_t cap)
{
	const char *on = d->driver[0]    ? d->driver
			 : d->is_memory  ? "memory"
			 : d->is_network ? "network"
					 : "unknown device";

	(void)snprintf(ret_text, cap, "%s on %s%s%s%s", d->file_system[0] ? d->file_system : "unknown file system", on,
		       d->is_rotational_hint ? " (rotating)" : "", file ? ", " : "",
		       file ? disk_file_mode_text(file) : "");
	return ret_text;
}
