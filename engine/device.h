/*
 * What a file or directory lies on, as far as the system tells, and where to start from it: how many requests in
 * flight, of which length. Hints, not truth: virtual disks claim to rotate, file systems over several devices show one.
 */
#ifndef HAUL_ENGINE_DEVICE_H
#define HAUL_ENGINE_DEVICE_H

#include "engine/base/fault.h"

#include <stddef.h>
#include <stdint.h>

struct disk_file;

struct device_facts {
	uint64_t dev;            /* st_dev: equal for two paths on one file system */
	uint64_t block_dev;      /* of the block device under it; 0 when there is none or it is not known */
	bool is_memory;          /* tmpfs and the like */
	bool is_network;         /* a known network file system */
	bool is_rotational_hint; /* a real disk's driver, and the queue says so */
	char driver[32];         /* "nvme", "sd", "virtio_blk", "loop"; "" when not known */
	char file_system[32];    /* "ext4", "fuse.sshfs"; "" when not known */
};

/*
 * Facts about what fd (any kind of open file or directory) lies on. Fails only when fd cannot be looked at; what the
 * system does not tell is left empty. Blocking (procfs and sysfs). Thread: any.
 */
HAUL_MUST_USE haul_status device_facts_of(int fd, struct device_facts *ret_facts);

/* Requests in flight per lane and bytes of each to begin with. */
void device_defaults(const struct device_facts *d, unsigned *ret_depth, size_t *ret_block_bytes);

/*
 * One line for people: "ext4 on virtio_blk, direct".
 *
 * file   what is read or written there; NULL leaves direct or not out.
 * Returns ret_text: at most `cap` bytes with the final NUL.
 */
const char *device_text(const struct device_facts *d, const struct disk_file *file, char *ret_text, size_t cap);

#endif
