/*
 * The limit L that a copy on one disk is measured against: read one file and write another at the same time, direct, by
 * io_uring, without network, hashing or encryption. Prints seconds, read from open to fsync of file and directory.
 *
 * Usage: haul_limit SOURCE TARGET [DEPTH [BLOCK_MIB]]     (16 blocks of 4 MiB)
 *
 * Each block is read, then written at the same offset, then read again further on: up to DEPTH are under way, in
 * whichever half. The target gets its size first (fallocate mode 0), as haul does it.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH_MAX = 256, ALIGN = 4096 };

struct block {
	void *memory;
	uint64_t offset;
	unsigned length; /* rounded up to ALIGN */
	bool is_write;
};

struct copy {
	struct io_uring ring;
	struct block blocks[DEPTH_MAX];
	unsigned depth, block_bytes, in_flight;
	int source, target;
	uint64_t size, next;
};

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	int code = errno;
	va_list args;

	va_start(args, format);
	fputs("haul_limit: ", stderr);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(code));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void submit(struct copy *c, struct block *b)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&c->ring);

	if (b->is_write)
		io_uring_prep_write(sqe, c->target, b->memory, b->length, b->offset);
	else
		io_uring_prep_read(sqe, c->source, b->memory, b->length, b->offset);
	io_uring_sqe_set_data(sqe, b);
}

/* Give the block its next piece to read; false when there is none. */
static bool begin_read(struct copy *c, struct block *b)
{
	uint64_t left = c->size - c->next;

	if (left == 0)
		return false;
	b->offset = c->next;
	b->length = left < c->block_bytes ? (unsigned)((left + ALIGN - 1) / ALIGN * ALIGN) : c->block_bytes;
	b->is_write = false;
	c->next += left < c->block_bytes ? left : c->block_bytes;
	submit(c, b);
	return true;
}

static void finish_one(struct copy *c, struct io_uring_cqe *cqe)
{
	struct block *b = io_uring_cqe_get_data(cqe);
	uint64_t end = b->offset + b->length;
	unsigned due = end > c->size && !b->is_write ? (unsigned)(c->size - b->offset) : b->length;

	errno = cqe->res < 0 ? -cqe->res : EIO;
	if (cqe->res < (int)due)
		fail("%s of %u bytes at %llu gave %d", b->is_write ? "write" : "read", b->length,
		     (unsigned long long)b->offset, cqe->res);
	if (!b->is_write) {
		b->is_write = true;
		submit(c, b);
	} else if (!begin_read(c, b)) {
		c->in_flight--;
	}
}

static void run(struct copy *c)
{
	struct io_uring_cqe *cqe;

	for (unsigned i = 0; i < c->depth && begin_read(c, &c->blocks[i]); i++)
		c->in_flight++;
	while (c->in_flight > 0) {
		if (io_uring_submit_and_wait(&c->ring, 1) < 0)
			fail("submit");
		while (io_uring_peek_cqe(&c->ring, &cqe) == 0) {
			finish_one(c, cqe);
			io_uring_cqe_seen(&c->ring, cqe);
		}
	}
}

static void open_both(struct copy *c, const char *source, const char *target)
{
	struct stat st;

	c->source = open(source, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (c->source < 0 || fstat(c->source, &st) < 0)
		fail("%s", source);
	c->size = (uint64_t)st.st_size;
	c->target = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);
	if (c->target < 0)
		fail("%s", target);
	if (c->size > 0 && fallocate(c->target, 0, 0, st.st_size) < 0)
		fail("%s: fallocate", target);
}

int main(int argc, char **argv)
{
	static struct copy c;
	double began;
	int rc;

	if (argc < 3 || argc > 5) {
		fprintf(stderr, "usage: haul_limit SOURCE TARGET [DEPTH [BLOCK_MIB]]\n");
		return 1;
	}
	c.depth = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 16;
	c.block_bytes = (argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 4) << 20;
	errno = EINVAL;
	if (c.depth == 0 || c.depth > DEPTH_MAX || c.block_bytes == 0 || c.block_bytes > 64u << 20)
		fail("depth or block length");
	began = now();
	open_both(&c, argv[1], argv[2]);
	rc = io_uring_queue_init(c.depth * 2, &c.ring, 0);
	if (rc < 0) {
		errno = -rc;
		fail("io_uring");
	}
	for (unsigned i = 0; i < c.depth; i++)
		if (posix_memalign(&c.blocks[i].memory, ALIGN, c.block_bytes) != 0)
			fail("memory");
	run(&c);
	if (ftruncate(c.target, (off_t)c.size) < 0 || fsync(c.target) < 0)
		fail("%s", argv[2]);
	printf("%.3f\n", now() - began);
	return 0;
}
