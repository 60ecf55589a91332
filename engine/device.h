/*
 * What a file or directory lies on: file system, disks, their kind, and how sure that is.
 *
 * The kind is what policies are chosen by, so it is told only when it is known: `rotational` needs the driver of a real
 * disk, a queue that claims it, and a probe that finds it seeking (device_probe.h). Virtual disks claim to rotate too;
 * they are DEVICE_UNKNOWN, like everything that is not known.
 */
#ifndef HAUL_ENGINE_DEVICE_H
#define HAUL_ENGINE_DEVICE_H

#include "engine/base/device_kind.h"
#include "engine/base/fault.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { DEVICE_DISKS_MAX = 16, DEVICE_BOOK_MAX = 32, DEVICE_TEXT_MAX = 256 };

/* How the kind is known, or why not. */
enum device_reason {
	DEVICE_NOT_KNOWN,    /* no block device is known under the file system */
	DEVICE_BY_DRIVER,    /* the driver tells, or a real disk says that it does not rotate */
	DEVICE_BY_FS,        /* network, memory */
	DEVICE_CONFIRMED,    /* rotational: the probe found it seeking */
	DEVICE_REFUTED,      /* says it rotates; the probe found it too fast */
	DEVICE_NOT_PROBED,   /* says it rotates, and there was nothing to probe */
	DEVICE_NO_REAL_DISK, /* virtual: what its queue claims says nothing */
	DEVICE_MIXED,        /* several disks of different kinds */
	DEVICE_BY_USER,
};

struct device_facts {
	uint64_t dev; /* st_dev: equal for two paths on one file system */
	enum device_kind kind;
	enum device_reason reason;
	bool says_rotational;
	uint32_t seek_us;                 /* median of the probe; 0: none was made */
	uint64_t disks[DEVICE_DISKS_MAX]; /* numbers of the whole disks at the bottom */
	unsigned disk_count;
	bool has_more_disks;
	char driver[32];            /* of the first disk: "nvme", "sd", "virtio_blk", "loop"; "" when not known */
	char through[32];           /* what stands between: "loop", "dm", "md"; "" when nothing does */
	char file_system[32];       /* "ext4", "fuse.sshfs"; "" when not known */
	unsigned queue_requests;    /* of the first disk; 0: not known, like the next two */
	uint32_t max_request_bytes; /* longest request its queue takes */
	uint32_t optimal_bytes;     /* preferred length of a request */
};

/*
 * What has been probed, once per disk and process; who asks for a disk that is being probed waits for it. What came to
 * nothing (another file system of the disk may have the big file that was missing) is tried again after a minute.
 */
struct device_book {
	pthread_mutex_t lock;
	pthread_cond_t ended; /* a probe has */
	struct device_probed {
		uint64_t disk;
		uint64_t dev;     /* file system that was looked at */
		uint32_t seek_us; /* 0: it came to nothing, or is running */
		bool is_running;
		uint64_t failed_ns; /* when it came to nothing */
	} probed[DEVICE_BOOK_MAX];
	unsigned count;
};

void device_book_open(struct device_book *b);
void device_book_close(struct device_book *b);

/*
 * Facts about what fd (any kind of open file or directory, O_PATH too) lies on. Fails only when fd cannot be looked at;
 * what the system does not tell is left empty. Blocking: procfs and sysfs, and for up to 1.5 s a probe, where a real
 * disk says that it rotates.
 *
 * book   borrowed; NULL: nothing is probed.
 * Thread: any.
 */
HAUL_MUST_USE haul_status device_facts_of(struct device_book *book, int fd, struct device_facts *ret_facts);

/*
 * Another source of one end: as device_facts_of() while `facts` tells of nothing (dev 0), then merged. What lies on the
 * file system it tells of is not looked at: that would change nothing. What cannot be looked at is left out.
 */
void device_facts_add(struct device_book *book, int fd, struct device_facts *facts);

/* The user knows better. DEVICE_UNKNOWN leaves the facts as they are. */
void device_facts_set_kind(struct device_facts *d, enum device_kind kind);

/* Several sources of one end: `d` becomes what is true of both, of different kinds the more cautious one. */
void device_facts_merge(struct device_facts *d, const struct device_facts *other);

/* Whether both lie on the same disks, or on one file system. */
bool device_facts_same(const struct device_facts *a, const struct device_facts *b);

/* An id that two ends on the same disks of one machine have in common, until it is booted anew; zeros: none. */
void device_facts_id(const struct device_facts *d, uint8_t ret_id[DISK_ID_BYTES]);

/* Both known and the same. */
bool device_ids_equal(const uint8_t a[DISK_ID_BYTES], const uint8_t b[DISK_ID_BYTES]);

/*
 * One line for people: "ext4 on virtio_blk: unknown (says it rotates, but that is no real disk's driver)".
 * Returns ret_text: at most `cap` bytes with the final NUL, DEVICE_TEXT_MAX are enough.
 */
const char *device_text(const struct device_facts *d, char *ret_text, size_t cap);

/* "rotational", "SSD". Static storage. */
const char *device_kind_text(enum device_kind kind);

#endif
