/* Where device.c looks at the system, so that tests can put another one there. Internal to the engine. */
#ifndef HAUL_ENGINE_DEVICE_WORLD_H
#define HAUL_ENGINE_DEVICE_WORLD_H

#include "engine/block_device.h"
#include "engine/device.h"

struct device_world {
	const char *sys_root;  /* "/sys" */
	const char *mountinfo; /* "/proc/self/mountinfo" */
	/* Number of the block device at a path ("/dev/sda1"); 0: there is none. */
	dev_t (*device_at)(const char *path);
	/* What is known of a path's file system: device and mount (mount id 0: not known). False: nothing. */
	bool (*look_at)(const char *path, dev_t *ret_dev, uint64_t *ret_mount_id);
	/* Median seek in microseconds of the disk that fd lies on; 0: cannot be probed. */
	uint32_t (*probe)(int fd, dev_t disk);
	uint64_t (*now_ns)(void); /* as clock_now_ns() */
};

extern const struct device_world this_machine;

/* As device_facts_of(), of a file system that is known by its device and mount. */
void device_facts_in(const struct device_world *w, struct device_book *book, int fd, dev_t dev, uint64_t mount_id,
		     struct device_facts *ret_facts);

#endif
