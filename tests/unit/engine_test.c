/* Both back ends under the same tests: real files, on the build's file system and in memory, direct and buffered. */
#include "engine/engine.h"

#include "engine/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/skip_because.h"

enum { KIB = 1024, MIB = 1024 * 1024, DEPTH = 8 };

#define assert_code(st, expected) assert_int_equal((st).code, (expected).code)

struct param {
	enum engine_backend backend;
	const char *dir;
	enum direct_mode mode;
};

struct fixture {
	struct engine *engine;
	struct disk_file file;
	struct block_budget budget;
	struct block_share share;
	struct block *block;
};

static void fixture_open(struct fixture *x, const struct param *p, unsigned depth)
{
	struct engine_config cfg = { .backend = p->backend, .depth = depth };
	struct haul_fault fault = { .status = HAUL_OK };
	int fd = open(p->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	haul_status st;

	if (fd < 0)
		skip_because("%s has no O_TMPFILE", p->dir);
	st = engine_new(&cfg, &x->engine, &fault);
	if (haul_failed(st)) {
		close(fd);
		assert_int_equal(p->backend, ENGINE_RING);
		assert_code(st, HAUL_UNSUPPORTED); /* anything else is a fault of ours */
		skip_because("%s", fault.text);
	}
	st = disk_file_open(&x->file, fd, p->mode, UINT64_MAX, &fault);
	if (haul_failed(st)) {
		engine_free(x->engine);
		close(fd);
		assert_code(st, HAUL_UNSUPPORTED);
		skip_because("%s: %s", p->dir, fault.text);
	}
	block_budget_open(&x->budget, 256 * MIB);
	assert_code(block_share_open(&x->share, &x->budget, 1, 8 * MIB), HAUL_OK);
	x->block = block_take(&x->share);
}

static void fixture_close(struct fixture *x)
{
	engine_free(x->engine);
	assert_code(disk_file_close(&x->file), HAUL_OK);
	block_put(x->block);
	block_share_close(&x->share);
}

/* What every file holds: differs between neighbouring pages and leaves. Made once, since bytes are many. */
static uint8_t pattern[20 * MIB];

static int pattern_open(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)((i * 0x9e3779b97f4a7c15u) >> 56);
	return 0;
}

static void fill(uint8_t *buf, uint64_t offset, size_t len)
{
	memcpy(buf, pattern + offset, len);
}

static void assert_pattern(const uint8_t *buf, uint64_t offset, size_t len)
{
	if (len && memcmp(buf, pattern + offset, len) != 0)
		fail_msg("%zu bytes at %llu differ", len, (unsigned long long)offset);
}

/* What lies on the disk, looked at without the engine. */
static void assert_on_disk(const struct fixture *x, uint64_t offset, size_t len)
{
	uint8_t *buf = malloc(len);
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", x->file.fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, buf, len, (off_t)offset), (ssize_t)len);
	assert_pattern(buf, offset, len);
	close(fd);
	free(buf);
}

static void wait_event(struct engine *e)
{
	struct pollfd p = { .fd = engine_event_fd(e), .events = POLLIN };

	assert_int_equal(poll(&p, 1, 10000), 1);
}

static bool has_event(struct engine *e)
{
	struct pollfd p = { .fd = engine_event_fd(e), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static struct engine_done wait_one(struct engine *e)
{
	struct engine_done done;
	unsigned n;

	do {
		wait_event(e);
		n = engine_drain(e, &done, 1);
	} while (n == 0);
	return done;
}

static void write_one(struct fixture *x, size_t len, uint64_t offset)
{
	struct engine_done done;
	int tag;

	assert_code(engine_write(x->engine, &x->file, x->block->data, len, offset, &tag), HAUL_OK);
	engine_submit(x->engine);
	done = wait_one(x->engine);
	assert_code(done.status, HAUL_OK);
	assert_int_equal(done.bytes, len);
	assert_ptr_equal(done.tag, &tag);
}

static size_t read_one(struct fixture *x, size_t len, uint64_t offset)
{
	struct engine_done done;

	memset(x->block->data, 0xee, x->block->cap);
	assert_code(engine_read(x->engine, &x->file, x->block->data, len, offset, x), HAUL_OK);
	engine_submit(x->engine);
	done = wait_one(x->engine);
	assert_code(done.status, HAUL_OK);
	assert_ptr_equal(done.tag, x);
	return done.bytes;
}

static void sizes_around_every_border(void **state)
{
	static const size_t borders[] = { 512, 4096, 8192, 64 * KIB, MIB, 4 * MIB, 8 * MIB };
	const uint64_t offset = 2 * MIB;
	struct fixture x;

	fixture_open(&x, *state, DEPTH);
	for (size_t i = 0; i < sizeof(borders) / sizeof(borders[0]); i++)
		for (size_t len = borders[i] - 1; len <= borders[i] + 1; len++) {
			fill(x.block->data, offset, len);
			write_one(&x, len, offset);
			assert_int_equal(ftruncate(x.file.fd, (off_t)(offset + len)), 0);
			assert_on_disk(&x, offset, len);
			assert_int_equal(read_one(&x, len, offset), len);
			assert_pattern(x.block->data, offset, len);
		}
	fill(x.block->data, 0, 1);
	write_one(&x, 1, 0);
	assert_int_equal(read_one(&x, 1, 0), 1);
	assert_int_equal(x.block->data[0], pattern[0]);
	fixture_close(&x);
}

static void reads_end_at_the_end_of_the_file(void **state)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, MIB - 1, MIB, MIB + 1 };
	struct fixture x;

	fixture_open(&x, *state, DEPTH);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (sizes[i]) {
			fill(x.block->data, 0, sizes[i]);
			write_one(&x, sizes[i], 0);
		}
		assert_int_equal(ftruncate(x.file.fd, (off_t)sizes[i]), 0);
		assert_int_equal(read_one(&x, 4 * MIB, 0), sizes[i]);
		assert_pattern(x.block->data, 0, sizes[i]);
		assert_int_equal(read_one(&x, MIB, 4 * MIB), 0);
		assert_int_equal(read_one(&x, 0, 0), 0);
	}
	fixture_close(&x);
}

static void depth_is_a_bound(void **state)
{
	struct engine_done done[DEPTH + 1];
	struct fixture x;
	unsigned n = 0;

	fixture_open(&x, *state, DEPTH);
	fill(x.block->data, 0, MIB);
	write_one(&x, MIB, 0);
	for (unsigned i = 0; i < DEPTH; i++) {
		assert_int_equal(engine_in_flight(x.engine), i);
		assert_int_equal(engine_pending(x.engine, false), i);
		assert_code(engine_read(x.engine, &x.file, x.block->data + i * MIB, 4096, i * 4096, &x), HAUL_OK);
	}
	assert_code(engine_read(x.engine, &x.file, x.block->data, 4096, 0, &x), HAUL_BUSY);
	assert_code(engine_write(x.engine, &x.file, x.block->data, 4096, 0, &x), HAUL_BUSY);
	assert_int_equal(engine_drain(x.engine, done, DEPTH + 1), 0); /* nothing was submitted */
	assert_false(has_event(x.engine));
	engine_submit(x.engine);
	while (n < DEPTH) {
		wait_event(x.engine);
		n += engine_drain(x.engine, done + n, DEPTH + 1 - n);
		assert_int_equal(engine_in_flight(x.engine), DEPTH - n);
		assert_int_equal(engine_pending(x.engine, false), DEPTH - n);
		assert_int_equal(engine_pending(x.engine, true), 0);
	}
	for (unsigned i = 0; i < DEPTH; i++)
		assert_pattern(x.block->data + i * MIB, i * 4096, 4096);
	assert_int_equal(read_one(&x, 4096, 0), 4096);
	fixture_close(&x);
}

/* A drain that takes one of many leaves the event set; the last one clears it. */
static void event_stays_until_nothing_is_left(void **state)
{
	struct engine_done done;
	struct fixture x;

	fixture_open(&x, *state, DEPTH);
	fill(x.block->data, 0, MIB);
	write_one(&x, MIB, 0);
	for (unsigned i = 0; i < DEPTH; i++)
		assert_code(engine_read(x.engine, &x.file, x.block->data + i * MIB, MIB, 0, &x), HAUL_OK);
	engine_submit(x.engine);
	for (unsigned i = 0; i < DEPTH; i++)
		done = wait_one(x.engine);
	assert_code(done.status, HAUL_OK);
	assert_int_equal(engine_in_flight(x.engine), 0);
	assert_int_equal(engine_drain(x.engine, &done, 1), 0);
	assert_false(has_event(x.engine));
	fixture_close(&x);
}

/* Offsets that the device cannot do, passed on because the file claims that they are fine: a true EINVAL. */
static void refused_direct_io_is_repeated_through_the_cache(void **state)
{
	const struct param *p = *state;
	struct fixture x;

	fixture_open(&x, p, DEPTH);
	fill(x.block->data, 0, MIB);
	write_one(&x, MIB, 0);
	x.file.offset_align = x.file.memory_align = 1;
	assert_int_equal(read_one(&x, 3000, 1001), 3000);
	assert_pattern(x.block->data, 1001, 3000);
	fill(x.block->data, 4097, 5000);
	write_one(&x, 5000, 4097);
	assert_on_disk(&x, 4097, 5000);
	if (atomic_load(&x.file.is_direct)) {
		fixture_close(&x);
		skip_because("%s takes any offset", p->dir);
	}
	if (p->mode == DIRECT_ALWAYS) {
		assert_int_equal(atomic_load(&x.file.reason), BUFFERED_IO_REFUSED);
		assert_int_equal(fcntl(x.file.fd, F_GETFL) & O_DIRECT, 0);
	}
	fixture_close(&x);
}

static void failures_are_told(void **state)
{
	struct disk_file unreadable;
	struct engine_done done;
	struct fixture x;
	char path[64];

	fixture_open(&x, *state, DEPTH);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", x.file.fd);
	unreadable = (struct disk_file){ .fd = open(path, O_WRONLY | O_CLOEXEC), .offset_align = 1, .memory_align = 1 };
	assert_true(unreadable.fd >= 0);
	assert_code(engine_read(x.engine, &unreadable, x.block->data, 4096, 0, &path), HAUL_OK);
	engine_submit(x.engine);
	done = wait_one(x.engine);
	assert_code(done.status, HAUL_IO);
	assert_int_equal(done.os_errno, EBADF);
	assert_int_equal(done.bytes, 0);
	assert_ptr_equal(done.tag, &path);
	assert_code(engine_read(x.engine, &x.file, x.block->data, 4096, UINT64_MAX - 4095, NULL), HAUL_OVERFLOW);
	assert_int_equal(engine_in_flight(x.engine), 0);
	assert_code(disk_file_close(&unreadable), HAUL_OK);
	fixture_close(&x);
}

/* The memory is the caller's again after engine_free(): asan and the pattern would tell. */
static void free_waits_for_what_is_in_flight(void **state)
{
	struct fixture x;

	fixture_open(&x, *state, DEPTH);
	fill(x.block->data, 0, 8 * MIB);
	for (unsigned i = 0; i < DEPTH - 1; i++)
		assert_code(engine_write(x.engine, &x.file, x.block->data + i * MIB, MIB, i * MIB, NULL), HAUL_OK);
	engine_submit(x.engine);
	assert_code(engine_write(x.engine, &x.file, x.block->data, MIB, 16 * MIB, NULL), HAUL_OK);
	engine_free(x.engine);
	x.engine = NULL;
	memset(x.block->data, 0, x.block->cap);
	assert_on_disk(&x, 0, (DEPTH - 1) * MIB);
	fixture_close(&x);
}

enum { UNIT = 64 * KIB, UNITS = 300, MANY = 256 };

/* Unit lengths vary, so that many end unaligned; each unit has its own block. */
static size_t unit_len(unsigned i)
{
	return 1 + (size_t)(i * 2654435761u) % UNIT;
}

static unsigned unit_of(struct block **blocks, const void *tag)
{
	unsigned i = 0;

	while (blocks[i] != tag)
		assert_true(++i < UNITS);
	return i;
}

/* All units in a scattered order, as many in flight as the depth allows. */
static void run_all(struct fixture *x, struct block **blocks, bool is_write)
{
	unsigned asked = 0, done_count = 0;

	while (done_count < UNITS) {
		struct engine_done done[16];
		haul_status st = HAUL_OK;
		unsigned n;

		while (asked < UNITS) {
			unsigned i = asked * 131 % UNITS;
			struct block *b = blocks[i];
			uint64_t at = (uint64_t)i * UNIT;

			st = is_write ? engine_write(x->engine, &x->file, b->data, unit_len(i), at, b)
				      : engine_read(x->engine, &x->file, b->data, unit_len(i), at, b);
			if (haul_failed(st))
				break;
			asked++;
		}
		assert_true(haul_ok(st) || st.code == HAUL_CODE_BUSY);
		engine_submit(x->engine);
		wait_event(x->engine);
		n = engine_drain(x->engine, done, 16);
		for (unsigned i = 0; i < n; i++) {
			assert_code(done[i].status, HAUL_OK);
			assert_int_equal(done[i].bytes, unit_len(unit_of(blocks, done[i].tag)));
		}
		done_count += n;
	}
}

static void many_in_flight_keep_their_content(void **state)
{
	struct block *blocks[UNITS];
	struct block_share share;
	struct fixture x;

	fixture_open(&x, *state, MANY);
	assert_code(block_share_open(&share, &x.budget, UNITS, UNIT), HAUL_OK);
	for (unsigned i = 0; i < UNITS; i++) {
		blocks[i] = block_take(&share);
		fill(blocks[i]->data, (uint64_t)i * UNIT, unit_len(i));
	}
	run_all(&x, blocks, true);
	for (unsigned i = 0; i < UNITS; i++) {
		memset(blocks[i]->data, 0, blocks[i]->cap);
		assert_on_disk(&x, (uint64_t)i * UNIT, unit_len(i));
	}
	run_all(&x, blocks, false);
	for (unsigned i = 0; i < UNITS; i++) {
		assert_pattern(blocks[i]->data, (uint64_t)i * UNIT, unit_len(i));
		block_put(blocks[i]);
	}
	fixture_close(&x);
	block_share_close(&share);
}

static void text_names_the_back_end(void **state)
{
	const struct param *p = *state;
	struct fixture x;

	fixture_open(&x, p, 1);
	assert_string_equal(engine_backend_text(x.engine), p->backend == ENGINE_RING ? "io_uring" : "threads");
	fixture_close(&x);
	engine_free(NULL);
}

static void automatic_choice_works(void **state)
{
	static const struct param p = { ENGINE_AUTO, ".", DIRECT_AUTO };
	struct fixture x;

	(void)state;
	fixture_open(&x, &p, 2);
	fill(x.block->data, 0, 5000);
	write_one(&x, 5000, 0);
	assert_int_equal(read_one(&x, 5000, 0), 5000);
	assert_pattern(x.block->data, 0, 5000);
	fixture_close(&x);
}

/* From here on this process gets EPERM for io_uring_setup(2), as in a container that forbids it. */
static bool forbid_rings(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { CHILD_FINE = 0, CHILD_WRONG = 1, CHILD_CANNOT = 2 };

static int child_without_rings(void)
{
	struct engine_config cfg = { .backend = ENGINE_RING, .depth = 4 };
	struct haul_fault fault = { .status = HAUL_OK };
	struct engine *e = NULL;
	bool is_named;

	if (!forbid_rings())
		return CHILD_CANNOT;
	if (engine_new(&cfg, &e, &fault).code != HAUL_CODE_UNSUPPORTED || e || fault.os_errno != EPERM)
		return CHILD_WRONG;
	cfg.backend = ENGINE_AUTO;
	if (haul_failed(engine_new(&cfg, &e, &fault)))
		return CHILD_WRONG;
	is_named = strcmp(engine_backend_text(e), "threads (io_uring is not permitted here)") == 0;
	engine_free(e);
	return is_named ? CHILD_FINE : CHILD_WRONG;
}

static void threads_serve_where_rings_are_forbidden(void **state)
{
	pid_t child = fork();
	int how;

	(void)state;
	if (child == 0)
		_exit(child_without_rings());
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &how, 0), child);
	assert_true(WIFEXITED(how));
	if (WEXITSTATUS(how) == CHILD_CANNOT)
		skip_because("no seccomp here");
	assert_int_equal(WEXITSTATUS(how), CHILD_FINE);
}

static struct param params[] = {
	{ ENGINE_RING, ".", DIRECT_ALWAYS },        { ENGINE_THREADS, ".", DIRECT_ALWAYS },
	{ ENGINE_RING, ".", DIRECT_NEVER },         { ENGINE_THREADS, ".", DIRECT_NEVER },
	{ ENGINE_RING, "/dev/shm", DIRECT_AUTO },   { ENGINE_THREADS, "/dev/shm", DIRECT_AUTO },
	{ ENGINE_RING, "/dev/shm", DIRECT_ALWAYS }, { ENGINE_THREADS, "/dev/shm", DIRECT_ALWAYS },
};

#define FOR_ALL(test)                                                                                                  \
	{ #test " (ring, disk, direct)", test, NULL, NULL, &params[0] },                                               \
	    { #test " (threads, disk, direct)", test, NULL, NULL, &params[1] },                                        \
	    { #test " (ring, disk, buffered)", test, NULL, NULL, &params[2] },                                         \
	    { #test " (threads, disk, buffered)", test, NULL, NULL, &params[3] },                                      \
	    { #test " (ring, memory)", test, NULL, NULL, &params[4] },                                                 \
	    { #test " (threads, memory)", test, NULL, NULL, &params[5] },                                              \
	    { #test " (ring, memory, direct)", test, NULL, NULL, &params[6] },                                         \
	{                                                                                                              \
#test " (threads, memory, direct)", test, NULL, NULL, &params[7]                                       \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOR_ALL(sizes_around_every_border),
		FOR_ALL(reads_end_at_the_end_of_the_file),
		FOR_ALL(depth_is_a_bound),
		FOR_ALL(event_stays_until_nothing_is_left),
		FOR_ALL(refused_direct_io_is_repeated_through_the_cache),
		FOR_ALL(failures_are_told),
		FOR_ALL(free_waits_for_what_is_in_flight),
		FOR_ALL(many_in_flight_keep_their_content),
		FOR_ALL(text_names_the_back_end),
		cmocka_unit_test(automatic_choice_works),
		cmocka_unit_test(threads_serve_where_rings_are_forbidden),
	};

	return cmocka_run_group_tests(tests, pattern_open, NULL);
}
