/*
 * What kind of device an end of a job lies on. The numbers go over the wire (docs/PROTOCOL.md, JOB and ACCEPT) and are
 * never reused.
 */
#ifndef HAUL_BASE_DEVICE_KIND_H
#define HAUL_BASE_DEVICE_KIND_H

enum device_kind {
	DEVICE_UNKNOWN = 0, /* virtual disks, what is not known, a hint that was not confirmed: adapts by measuring */
	DEVICE_ROTATIONAL = 1, /* a spindle: a real disk's driver says so, and a probe confirmed it */
	DEVICE_SSD = 2,
	DEVICE_NVME = 3,
	DEVICE_NETWORK = 4, /* a network file system */
	DEVICE_MEMORY = 5,  /* tmpfs and the like */
	DEVICE_KIND_LAST = DEVICE_MEMORY,
};

enum { DISK_ID_BYTES = 16 };

#endif
