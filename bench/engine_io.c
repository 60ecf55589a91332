/*
 * How fast the engine alone reads or writes one file: no network, no digests.
 *
 * Usage: haul_bench_io read|write FILE [--bytes=N] [--block=N] [--depth=N] [--engine=ring|threads|auto]
 *                      [--buffered] [--no-fallocate]
 *
 * `write` makes FILE anew, preallocates it and syncs its data inside the timed part; `read` reads it to --bytes or its
 * end. What makes the number wrong: a warm page cache with --buffered, memory that the host must fault in first (blocks
 * are touched before the clock starts), other work on the disk. One line comes out:
 * verb, engine, depth, GB/s, CPU s per GB (user + system of the whole process, kernel threads of the ring included).
 */
#include "engine/engine.h"
#include "engine/pool.h"

#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

struct bench {
	const char *verb, *path;
	uint64_t bytes;
	size_t block_bytes;
	unsigned depth;
	enum engine_backend backend;
	enum direct_mode mode;
	bool is_write, fallocates;
	struct engine *engine;
	struct disk_file file;
	struct block_share share;
	uint64_t asked, moved; /* bytes */
	bool is_at_end;
};

static void die(const struct haul_fault *fault, haul_status st)
{
	(void)fprintf(stderr, "haul_bench_io: %s\n", fault->text[0] ? fault->text : haul_status_text(st));
	exit(1);
}

static void check(haul_status st, const struct haul_fault *fault)
{
	if (haul_failed(st))
		die(fault, st);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void usage(void)
{
	(void)fprintf(stderr, "usage: haul_bench_io read|write FILE [--bytes=N] [--block=N] [--depth=N]\n"
			      "                     [--engine=ring|threads|auto] [--buffered] [--no-fallocate]\n");
	exit(2);
}

static void take_option(struct bench *b, int option)
{
	switch (option) {
	case 'n':
		b->bytes = strtoull(optarg, NULL, 0);
		return;
	case 'b':
		b->block_bytes = strtoull(optarg, NULL, 0);
		return;
	case 'd':
		b->depth = (unsigned)strtoul(optarg, NULL, 0);
		return;
	case 'e':
		b->backend = engine_backend_of(optarg);
		return;
	case 'c':
		b->mode = DIRECT_NEVER;
		return;
	case 'f':
		b->fallocates = false;
		return;
	default:
		usage();
	}
}

static void take_arguments(struct bench *b, int argc, char **argv)
{
	static const struct option options[] = {
		{ "bytes", required_argument, NULL, 'n' },
		{ "block", required_argument, NULL, 'b' },
		{ "depth", required_argument, NULL, 'd' },
		{ "engine", required_argument, NULL, 'e' },
		{ "buffered", no_argument, NULL, 'c' },
		{ "no-fallocate", no_argument, NULL, 'f' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0)
		take_option(b, option);
	if (argc - optind != 2 || b->depth < 1 || b->depth > DEPTH_MAX)
		usage();
	b->verb = argv[optind];
	b->path = argv[optind + 1];
	b->is_write = strcmp(b->verb, "write") == 0;
}

static void open_all(struct bench *b, struct block_budget *budget)
{
	struct engine_config cfg = { .backend = b->backend, .depth = b->depth };
	struct haul_fault fault = { .status = HAUL_OK };
	int flags = b->is_write ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY;
	int fd = open(b->path, flags | O_CLOEXEC, 0600);

	if (fd < 0) {
		perror(b->path);
		exit(1);
	}
	check(disk_file_open(&b->file, fd, b->mode, b->bytes, &fault), &fault);
	check(engine_new(&cfg, &b->engine, &fault), &fault);
	block_budget_open(budget, UINT64_MAX);
	check(block_share_open(&b->share, budget, b->depth, b->block_bytes), &fault);
	for (unsigned i = 0; i < b->share.count; i++)
		memset(b->share.blocks[i].data, (int)i + 1, b->share.blocks[i].cap);
}

static void ask(struct bench *b)
{
	struct haul_fault none = { .status = HAUL_OK };
	struct block *block;

	while (b->asked < b->bytes && !b->is_at_end && (block = block_take(&b->share))) {
		uint64_t left = b->bytes - b->asked;
		size_t len = left < b->block_bytes ? (size_t)left : b->block_bytes;

		check(b->is_write ? engine_write(b->engine, &b->file, block->data, len, b->asked, block)
				  : engine_read(b->engine, &b->file, block->data, len, b->asked, block),
		      &none);
		b->asked += len;
	}
	engine_submit(b->engine);
}

static void collect(struct bench *b)
{
	struct pollfd event = { .fd = engine_event_fd(b->engine), .events = POLLIN };
	struct haul_fault none = { .status = HAUL_OK };
	struct engine_done done[DEPTH_MAX];
	unsigned n;

	(void)poll(&event, 1, -1);
	n = engine_drain(b->engine, done, DEPTH_MAX);
	for (unsigned i = 0; i < n; i++) {
		check(done[i].status, &none);
		b->moved += done[i].bytes;
		b->is_at_end = b->is_at_end || done[i].bytes < b->block_bytes;
		block_put(done[i].tag);
	}
}

static void run(struct bench *b)
{
	if (b->is_write && b->fallocates && fallocate(b->file.fd, 0, 0, (off_t)b->bytes) < 0)
		perror("fallocate");
	do {
		ask(b);
		collect(b);
	} while (engine_in_flight(b->engine) > 0 || (b->asked < b->bytes && !b->is_at_end));
	if (b->is_write && fdatasync(b->file.fd) < 0)
		perror("fdatasync");
}

int main(int argc, char **argv)
{
	struct bench b = { .bytes = 2ull << 30, .block_bytes = 4 << 20, .depth = 8, .mode = DIRECT_AUTO };
	struct block_budget budget;
	double wall, cpu;

	b.fallocates = true;
	take_arguments(&b, argc, argv);
	open_all(&b, &budget);
	wall = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	run(&b);
	wall = seconds(CLOCK_MONOTONIC) - wall;
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("%-5s %-10s depth %2u  %6.3f GB/s  %6.3f CPU s/GB  %s\n", b.verb, engine_backend_text(b.engine), b.depth,
	       (double)b.moved / 1e9 / wall, cpu / ((double)b.moved / 1e9), disk_file_mode_text(&b.file));
	engine_free(b.engine);
	block_share_close(&b.share);
	return haul_failed(disk_file_close(&b.file));
}
