/* What sysfs says of a block device. Internal to the engine. Blocking (sysfs only); any thread; no state. */
#ifndef HAUL_ENGINE_BLOCK_DEVICE_H
#define HAUL_ENGINE_BLOCK_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The driver of the device at the bottom: below partitions, device mapper and RAID (of several members the first).
 *
 * sys_root     "/sys", or a tree like it in tests.
 * ret_driver   receives its name ("nvme", "sd", "virtio_blk", "loop"), cut to `cap`; "" when not known.
 * ret_says_rotational   what its queue claims; virtual disks claim it too.
 */
void block_device_look(const char *sys_root, dev_t dev, char *ret_driver, size_t cap, bool *ret_says_rotational);

#endif
