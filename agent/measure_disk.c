/*
 * The disk as a lane uses it: blocks of 4 MiB through the engine, eight in flight, direct where the file system allows
 * it. A file of our own has no name from the beginning, or loses it at once: whatever ends us, nothing is left.
 */
#include "agent/measure.h"

#include "engine/pool.h"
#include "engine/room.h"
#include "engine/scratch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

/* Room is taken in steps, so that a fast end of the measurement leaves a disk alone that it did not need. */
#define ROOM_STEP_BYTES (UINT64_C(256) << 20)

struct run {
	const struct measure_config *cfg;
	struct engine *engine;
	struct block_budget budget;
	struct block_share share;
	struct disk_file file;
	uint64_t end;  /* of the file (reading) or of the room taken (writing) */
	uint64_t max;  /* writing: no further */
	uint64_t next; /* offset */
	uint64_t bytes;
	uint64_t start_ns, until_ns;
	bool is_write;
	haul_status status;
};

double measured_rate(const struct measured *m)
{
	return m->seconds > 0 ? (double)m->bytes / m->seconds : 0;
}

static bool is_stopped(const struct run *r)
{
	return r->cfg->stop && atomic_load(r->cfg->stop);
}

static bool is_over(const struct run *r)
{
	return haul_failed(r->status) || is_stopped(r) || uv_hrtime() >= r->until_ns;
}

static bool take_room(struct run *r)
{
	uint64_t step = r->max - r->end < ROOM_STEP_BYTES ? r->max - r->end : ROOM_STEP_BYTES;

	if (step < MEASURE_BLOCK_BYTES)
		return false;
	if (fallocate(r->file.fd, 0, (off_t)r->end, (off_t)step) && errno != EOPNOTSUPP && errno != EINTR) {
		r->status = r->end ? HAUL_OK : haul_status_from_errno(errno);
		r->max = r->end;
		return false;
	}
	r->end += step;
	return true;
}

/* One more request; false: no more to do, or no block free. */
static bool start_one(struct run *r)
{
	struct block *b;
	haul_status st;

	if (is_over(r) || r->share.taken == r->share.count)
		return false;
	if (r->next + MEASURE_BLOCK_BYTES > r->end && (!r->is_write || !take_room(r))) {
		if (r->is_write || r->end < MEASURE_BLOCK_BYTES)
			return false;
		r->next = 0;
	}
	b = block_take(&r->share);
	st = r->is_write ? engine_write(r->engine, &r->file, b->data, MEASURE_BLOCK_BYTES, r->next, b)
			 : engine_read(r->engine, &r->file, b->data, MEASURE_BLOCK_BYTES, r->next, b);
	if (haul_failed(st)) {
		block_put(b);
		r->status = st;
		return false;
	}
	r->next += MEASURE_BLOCK_BYTES;
	return true;
}

static void collect(struct run *r)
{
	struct engine_done done[MEASURE_DEPTH];
	struct pollfd event = { .fd = engine_event_fd(r->engine), .events = POLLIN };
	unsigned n;

	(void)poll(&event, 1, 1000);
	n = engine_drain(r->engine, done, MEASURE_DEPTH);
	for (unsigned i = 0; i < n; i++) {
		block_put(done[i].tag);
		if (haul_failed(done[i].status))
			r->status = done[i].status;
		else
			r->bytes += done[i].bytes;
	}
}

static void move_blocks(struct run *r)
{
	while (start_one(r))
		;
	engine_submit(r->engine);
	while (engine_in_flight(r->engine)) {
		collect(r);
		while (start_one(r))
			;
		engine_submit(r->engine);
	}
}

static haul_status run_open(struct run *r, const struct measure_config *cfg)
{
	const struct engine_config engine = { .backend = cfg->backend, .depth = 2 * MEASURE_DEPTH };
	haul_status st;

	r->cfg = cfg;
	block_budget_open(&r->budget, 2 * MEASURE_DEPTH * block_cost(MEASURE_BLOCK_BYTES));
	st = block_share_open(&r->share, &r->budget, MEASURE_DEPTH, MEASURE_BLOCK_BYTES);
	if (haul_failed(st))
		return st;
	block_share_fill(&r->share, 1);
	st = engine_new(&engine, &r->engine, NULL);
	if (haul_failed(st))
		block_share_close(&r->share);
	return st;
}

static void run_close(struct run *r)
{
	engine_free(r->engine);
	block_share_close(&r->share);
}

static void run_start(struct run *r)
{
	r->start_ns = uv_hrtime();
	r->until_ns = r->start_ns + (uint64_t)(r->cfg->seconds * 1e9);
}

static void run_result(const struct run *r, struct measured *ret_measured)
{
	*ret_measured = (struct measured){ .seconds = (double)(uv_hrtime() - r->start_ns) / 1e9,
					   .bytes = r->bytes,
					   .is_direct = atomic_load(&r->file.is_direct) };
}

static haul_status write_run(struct run *r, int fd, uint64_t bytes_max, struct measured *ret_measured)
{
	uint64_t room;
	haul_status st = room_of(fd, &room, NULL);
	int copy;

	if (haul_failed(st))
		return st;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return haul_status_from_errno(errno);
	r->is_write = true;
	r->max = room / 4 < bytes_max ? room / 4 : bytes_max;
	st = disk_file_open(&r->file, copy, r->cfg->direct, bytes_max, NULL);
	if (haul_failed(st)) {
		(void)close(copy);
		return st;
	}
	run_start(r);
	move_blocks(r);
	if (haul_ok(r->status) && r->bytes == 0)
		r->status = is_stopped(r) ? HAUL_CANCELLED : HAUL_NO_SPACE;
	if (haul_ok(r->status) && (ftruncate(fd, (off_t)r->next) || fdatasync(fd)))
		r->status = haul_status_from_errno(errno);
	run_result(r, ret_measured);
	(void)disk_file_close(&r->file);
	return r->status;
}

haul_status measure_write(int dir_fd, uint64_t bytes_max, const struct measure_config *cfg, int *ret_fd,
			  struct measured *ret_measured)
{
	struct run r = { .status = HAUL_OK };
	struct measured m;
	haul_status st;
	int fd = scratch_file_open(dir_fd, ".");

	if (fd < 0)
		return haul_status_from_errno(errno);
	st = run_open(&r, cfg);
	if (haul_ok(st)) {
		st = write_run(&r, fd, bytes_max, &m);
		run_close(&r);
	}
	if (haul_failed(st)) {
		(void)close(fd);
		return st;
	}
	*ret_fd = fd;
	*ret_measured = m;
	return HAUL_OK;
}

static haul_status read_run(struct run *r, int fd, struct measured *ret_measured)
{
	struct stat found;
	haul_status st;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return haul_status_from_errno(errno);
	st = fstat(copy, &found) ? haul_status_from_errno(errno) : HAUL_OK;
	if (haul_ok(st))
		st = disk_file_open(&r->file, copy, r->cfg->direct, (uint64_t)found.st_size, NULL);
	if (haul_failed(st)) {
		(void)close(copy);
		return st;
	}
	r->end = (uint64_t)found.st_size;
	if (!atomic_load(&r->file.is_direct))
		(void)posix_fadvise(copy, 0, 0, POSIX_FADV_DONTNEED); /* what is cached is no measure of the disk */
	run_start(r);
	move_blocks(r);
	if (haul_ok(r->status) && r->bytes == 0)
		r->status = is_stopped(r) ? HAUL_CANCELLED : HAUL_TRUNCATED;
	run_result(r, ret_measured);
	(void)disk_file_close(&r->file);
	return r->status;
}

haul_status measure_read(int fd, const struct measure_config *cfg, struct measured *ret_measured)
{
	struct run r = { .status = HAUL_OK };
	haul_status st = run_open(&r, cfg);

	if (haul_failed(st))
		return st;
	st = read_run(&r, fd, ret_measured);
	run_close(&r);
	return st;
}
