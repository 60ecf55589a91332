/*
 * The disks under a block device, as sysfs tells: through partitions, device mapper, RAID, loop devices (the disks of
 * the file behind) and btrfs (all its devices). Internal to the engine. Blocking; any thread; no state.
 */
#ifndef HAUL_ENGINE_BLOCK_DEVICE_H
#define HAUL_ENGINE_BLOCK_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { BLOCK_DISKS_MAX = 16 };

/* What a file system stands on. */
struct block_place {
	dev_t dev;     /* 0: no block device, or not known */
	bool is_btrfs; /* it may stand on more devices than `dev` */
};

/* Where the system is looked at; tests put trees of their own there. */
struct block_world {
	const char *sys_root; /* "/sys" */
	/* What the file system of the file at `path` stands on: that is behind a loop device. */
	struct block_place (*place_of_file)(const struct block_world *w, const char *path);
	const void *ctx; /* of place_of_file */
};

struct block_disk {
	dev_t dev;                  /* of the whole disk */
	char driver[32];            /* "nvme", "sd", "virtio_blk", "zram"; "" when not known */
	bool says_rotational;       /* what its queue claims; virtual disks claim it too */
	unsigned queue_requests;    /* 0: not known, like the next two */
	uint32_t max_request_bytes; /* longest request the queue takes */
	uint32_t optimal_bytes;     /* preferred length of a request */
};

struct block_facts {
	struct block_disk disks[BLOCK_DISKS_MAX]; /* each once, in the order in which they are met */
	unsigned disk_count;
	bool has_more;    /* than are listed */
	char through[32]; /* the uppermost thing between: "loop", "dm", "md"; "" when there is none */
};

/* Never fails: what cannot be found is not listed. */
void block_device_look(const struct block_world *w, struct block_place place, struct block_facts *ret_facts);

#endif
