/*
 * Whether a device seeks: short reads at random places, timed. Read only. Internal to the engine.
 *
 * A spindle needs 4 ms and more for a random read, a solid-state disk 0.05 to 0.5 ms, whatever their queues claim.
 * Thread: any; blocking, for DEVICE_PROBE_MAX_MS at most and one read more.
 */
#ifndef HAUL_ENGINE_DEVICE_PROBE_H
#define HAUL_ENGINE_DEVICE_PROBE_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	DEVICE_PROBE_READS = 64,
	DEVICE_PROBE_READ_BYTES = 4096,
	DEVICE_PROBE_ENOUGH = 16, /* reads that a verdict needs at least */
	DEVICE_PROBE_MAX_MS = 1500,
	DEVICE_PROBE_SPINDLE_US = 2000, /* a median above is a spindle's */
};

/* What the reads come from; tests have devices of their own. */
struct device_probe {
	/* Read DEVICE_PROBE_READ_BYTES at `offset` (a multiple of it); false: no such thing here. */
	bool (*read)(void *ctx, uint64_t offset);
	uint64_t (*now_ns)(void *ctx);
	void *ctx;
	uint64_t bytes; /* of what is read */
	uint64_t seed;  /* of the places */
};

/* The median in microseconds, at least 1; 0: too few reads were possible. */
uint32_t device_probe_median(const struct device_probe *p);

/*
 * The same for a descriptor: direct reads of a big file or a block device.
 *
 * fd   borrowed; open for reading. Its flags are left alone.
 * 0    it takes no direct reads, or is shorter than 64 MiB: nothing can be said.
 */
uint32_t device_probe_fd(int fd);

/*
 * Open something on the file system of `fd` that can be probed: `fd` itself if it is a big file, else a big regular
 * file near it (a bounded look below a directory: no links, no other file system). Owned by the caller; -1: none.
 */
int device_probe_find(int fd);

#endif
