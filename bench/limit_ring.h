/*
 * Direct input and output by io_uring for haul_limit: what the devices give when nothing but reading and writing is
 * done, with no network, hash or cipher. One thread.
 */
#ifndef HAUL_BENCH_LIMIT_RING_H
#define HAUL_BENCH_LIMIT_RING_H

#include <stdbool.h>
#include <stdint.h>

enum limit_mode {
	LIMIT_MIXED,    /* reads and writes at the same time */
	LIMIT_PHASED,   /* all blocks read, then all written, and again */
	LIMIT_READ,     /* the source alone */
	LIMIT_WRITE,    /* the target alone, as long as the source is */
	LIMIT_BUFFERED, /* through the page cache; not by this module */
};

struct limit_config {
	enum limit_mode mode;
	int source, target;     /* opened O_DIRECT; borrowed */
	uint64_t size;          /* bytes of the source */
	unsigned blocks;        /* buffers, 1 to 256 */
	unsigned reads_at_once; /* requests in flight, 1 to blocks */
	unsigned writes_at_once;
	unsigned block_bytes; /* multiple of 4096, at most 64 MiB */
	bool is_small_pages;  /* do not ask for huge pages */
};

/* Copy (or read, or write) all of it; returns when the last request has completed. Ends the program on any error. */
void limit_ring_run(const struct limit_config *config);

/* Print "haul_limit: ...: text of errno" and end with 1. */
__attribute__((noreturn, format(printf, 1, 2))) void limit_fail(const char *format, ...);

#endif
