/*
 * Reads are direct, so that the page cache says nothing. One at a time: what is asked is how long the head travels, not
 * what a queue makes of many. Bounded twice, by number and by time, because a disk that sleeps takes ten seconds for
 * the first one.
 */
#include "engine/device_probe.h"

#include "engine/base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BIG_BYTES = 64 * 1024 * 1024, /* shorter, and a disk's own memory may hold it */
	LOOK_ENTRIES_MAX = 512,
	LOOK_DEPTH_MAX = 4,
};

/* splitmix64: places need no more than to be spread. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint32_t device_probe_median(const struct device_probe *p)
{
	uint64_t places = p->bytes / DEVICE_PROBE_READ_BYTES, state = p->seed;
	uint64_t start = p->now_ns(p->ctx), before = start, took[DEVICE_PROBE_READS];
	unsigned count = 0;

	while (places && count < DEVICE_PROBE_READS && before - start < DEVICE_PROBE_MAX_MS * UINT64_C(1000000)) {
		uint64_t now;

		if (!p->read(p->ctx, next_random(&state) % places * DEVICE_PROBE_READ_BYTES))
			break;
		now = p->now_ns(p->ctx);
		took[count++] = now - before;
		before = now;
	}
	if (count < DEVICE_PROBE_ENOUGH)
		return 0;
	qsort(took, count, sizeof(took[0]), compare);
	took[count / 2] /= 1000;
	return took[count / 2] > UINT32_MAX ? UINT32_MAX : took[count / 2] ? (uint32_t)took[count / 2] : 1;
}

/* ---- a descriptor ---- */

struct probe_fd {
	int fd;
	void *memory; /* aligned to a page */
};

static bool read_at(void *ctx, uint64_t offset)
{
	const struct probe_fd *p = ctx;

	return pread(p->fd, p->memory, DEVICE_PROBE_READ_BYTES, (off_t)offset) == DEVICE_PROBE_READ_BYTES;
}

static uint64_t clock_ns(void *ctx)
{
	(void)ctx;
	return clock_now_ns();
}

static uint64_t size_of(int fd)
{
	uint64_t bytes = 0;
	struct stat sb;

	if (fstat(fd, &sb) < 0)
		return 0;
	if (S_ISREG(sb.st_mode))
		return (uint64_t)sb.st_blocks * 512 < (uint64_t)sb.st_size ? 0 : (uint64_t)sb.st_size; /* holes: 0 */
	if (S_ISBLK(sb.st_mode) && ioctl(fd, BLKGETSIZE64, &bytes) == 0)
		return bytes;
	return 0;
}

uint32_t device_probe_fd(int fd)
{
	struct probe_fd at = { .fd = -1 };
	struct device_probe p = { .read = read_at, .now_ns = clock_ns, .ctx = &at, .bytes = size_of(fd) };
	char own[32];
	uint32_t median = 0;

	if (p.bytes < BIG_BYTES || posix_memalign(&at.memory, 4096, DEVICE_PROBE_READ_BYTES))
		return 0;
	(void)snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	at.fd = open(own, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NONBLOCK);
	p.seed = clock_now_ns();
	if (at.fd >= 0) {
		median = device_probe_median(&p);
		(void)close(at.fd);
	}
	free(at.memory);
	return median;
}

/* ---- something to probe ---- */

struct look {
	dev_t dev;
	unsigned left; /* entries that may still be looked at */
	int found;
};

static void look_below(struct look *l, int dir_fd, unsigned depth);

static void look_at(struct look *l, int dir_fd, const char *name, unsigned depth)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat sb;

	if (fd < 0)
		return;
	if (fstat(fd, &sb) == 0 && sb.st_dev == l->dev && S_ISREG(sb.st_mode) && size_of(fd) >= BIG_BYTES) {
		l->found = fd;
		return;
	}
	if (fstat(fd, &sb) == 0 && sb.st_dev == l->dev && S_ISDIR(sb.st_mode) && depth < LOOK_DEPTH_MAX)
		look_below(l, fd, depth + 1);
	(void)close(fd);
}

/* Files and directories only: opening a device may do something. */
static void look_below(struct look *l, int dir_fd, unsigned depth)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while (l->found < 0 && l->left > 0 && (entry = readdir(dir))) {
		bool is_self = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");

		l->left--;
		if (!is_self && (entry->d_type == DT_REG || entry->d_type == DT_DIR))
			look_at(l, dirfd(dir), entry->d_name, depth);
	}
	(void)closedir(dir);
}

int device_probe_find(int fd)
{
	struct look l = { .left = LOOK_ENTRIES_MAX, .found = -1 };
	char own[32];
	struct stat sb;

	if (fstat(fd, &sb) < 0)
		return -1;
	l.dev = sb.st_dev;
	(void)snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	if (S_ISREG(sb.st_mode) && size_of(fd) >= BIG_BYTES)
		l.found = open(own, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	else if (S_ISDIR(sb.st_mode))
		look_below(&l, fd, 0);
	return l.found;
}
