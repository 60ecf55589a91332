/* What can be said of device facts without looking anywhere: words, likeness, an id. Cannot fail. */
#include "engine/device.h"

#include "engine/hash_tree.h"
#include "engine/sysfs.h"

#include <stdio.h>
#include <string.h>

const char *device_kind_text(enum device_kind kind)
{
	switch (kind) {
	case DEVICE_UNKNOWN:
		break;
	case DEVICE_ROTATIONAL:
		return "rotational";
	case DEVICE_SSD:
		return "SSD";
	case DEVICE_NVME:
		return "NVMe";
	case DEVICE_NETWORK:
		return "network";
	case DEVICE_MEMORY:
		return "memory";
	}
	return "unknown";
}

void device_facts_set_kind(struct device_facts *d, enum device_kind kind)
{
	if (kind == DEVICE_UNKNOWN)
		return;
	d->kind = kind;
	d->reason = DEVICE_BY_USER;
}

/* The slower and the less known, the more cautious. */
static unsigned caution(enum device_kind kind)
{
	static const unsigned rank[DEVICE_KIND_LAST + 1] = {
		[DEVICE_ROTATIONAL] = 5, [DEVICE_NETWORK] = 4, [DEVICE_UNKNOWN] = 3,
		[DEVICE_SSD] = 2,        [DEVICE_NVME] = 1,
	};

	return rank[kind];
}

void device_facts_merge(struct device_facts *d, const struct device_facts *other)
{
	struct device_facts a = *d, b = *other;

	if (device_facts_same(d, other))
		return;
	*d = caution(a.kind) >= caution(b.kind) ? a : b;
	other = caution(a.kind) >= caution(b.kind) ? &b : &a;
	for (unsigned i = 0; i < other->disk_count; i++) {
		if (d->disk_count < DEVICE_DISKS_MAX)
			d->disks[d->disk_count++] = other->disks[i];
		else
			d->has_more_disks = true;
	}
}

bool device_facts_same(const struct device_facts *a, const struct device_facts *b)
{
	for (unsigned i = 0; i < a->disk_count; i++)
		for (unsigned k = 0; k < b->disk_count; k++)
			if (a->disks[i] == b->disks[k])
				return true;
	return a->dev == b->dev;
}

void device_facts_id(const struct device_facts *d, uint8_t ret_id[DISK_ID_BYTES])
{
	struct {
		char boot[64];
		uint64_t disks[DEVICE_DISKS_MAX];
	} what = { .boot = "" };
	struct haul_digest digest;

	_Static_assert(sizeof(digest.bytes) == DISK_ID_BYTES, "an id is a digest");
	memset(ret_id, 0, DISK_ID_BYTES);
	if (!d->disk_count || !sysfs_line("/proc/sys/kernel/random", "boot_id", what.boot, sizeof(what.boot)))
		return;
	memcpy(what.disks, d->disks, d->disk_count * sizeof(d->disks[0]));
	leaf_digest(&what, sizeof(what), &digest);
	memcpy(ret_id, digest.bytes, DISK_ID_BYTES);
}

bool device_ids_equal(const uint8_t a[DISK_ID_BYTES], const uint8_t b[DISK_ID_BYTES])
{
	static const uint8_t none[DISK_ID_BYTES];

	return memcmp(a, none, DISK_ID_BYTES) && !memcmp(a, b, DISK_ID_BYTES);
}

static void reason_text(const struct device_facts *d, char *ret_text, size_t cap)
{
	const char *plain = "";
	unsigned ms10 = (d->seek_us + 50) / 100;

	switch (d->reason) {
	case DEVICE_NOT_KNOWN:
		plain = " (no disk of it is known)";
		break;
	case DEVICE_BY_DRIVER:
	case DEVICE_BY_FS:
		break;
	case DEVICE_CONFIRMED:
		(void)snprintf(ret_text, cap, " (confirmed: %u.%u ms a seek)", ms10 / 10, ms10 % 10);
		return;
	case DEVICE_REFUTED:
		(void)snprintf(ret_text, cap, " (says it rotates, but a seek takes %u.%u ms)", ms10 / 10, ms10 % 10);
		return;
	case DEVICE_NOT_PROBED:
		plain = " (says it rotates; not confirmed, nothing could be probed)";
		break;
	case DEVICE_NO_REAL_DISK:
		plain = d->says_rotational ? " (says it rotates, but that is no real disk's driver)"
					   : " (no real disk's driver)";
		break;
	case DEVICE_MIXED:
		plain = " (disks of different kinds)";
		break;
	case DEVICE_BY_USER:
		plain = " (as asked)";
		break;
	}
	(void)snprintf(ret_text, cap, "%s", plain);
}

/* "loop over virtio_blk", "2 disks of sd through md", "memory". */
static void on_text(const struct device_facts *d, char *ret_text, size_t cap)
{
	const char *driver = d->driver[0] ? d->driver : "unknown driver";
	char many[48] = "";

	if (!d->disk_count) {
		(void)snprintf(ret_text, cap, "%s", "");
		return;
	}
	if (d->disk_count > 1 || d->has_more_disks)
		(void)snprintf(many, sizeof(many), "%u%s disks of ", d->disk_count,
			       d->has_more_disks ? " and more" : "");
	if (d->through[0])
		(void)snprintf(ret_text, cap, " on %s over %s%s", d->through, many, driver);
	else
		(void)snprintf(ret_text, cap, " on %s%s", many, driver);
}

const char *device_text(const struct device_facts *d, char *ret_text, size_t cap)
{
	char on[128], reason[96], queue[64] = "";

	on_text(d, on, sizeof(on));
	reason_text(d, reason, sizeof(reason));
	if (d->queue_requests && d->max_request_bytes)
		(void)snprintf(queue, sizeof(queue), ", queue of %u requests up to %u KiB", d->queue_requests,
			       d->max_request_bytes / 1024);
	(void)snprintf(ret_text, cap, "%s%s: %s%s%s", d->file_system[0] ? d->file_system : "unknown file system", on,
		       device_kind_text(d->kind), reason, queue);
	return ret_text;
}
