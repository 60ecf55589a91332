/*
 * Asynchronous disk I/O of one lane: requests go in, completions come out, a descriptor says when.
 *
 * Two back ends stand behind this interface: a ring (io_uring) and a pool of threads that call pread and pwrite, for
 * kernels where io_uring is absent or forbidden. Both behave alike and run the same tests.
 *
 * Happy path: engine_read()/engine_write() until HAUL_BUSY or nothing is left to ask; engine_submit(); poll
 * engine_event_fd(); engine_drain(). Short reads and writes are continued inside; a completion is the whole request, or
 * its end of file, or its failure. Never completes before it returns.
 *
 * Thread: the one that called engine_new() owns the engine and makes every other call too (asserted).
 */
#ifndef HAUL_ENGINE_ENGINE_H
#define HAUL_ENGINE_ENGINE_H

#include "engine/disk_file.h"

#include <stddef.h>

enum engine_backend { ENGINE_AUTO, ENGINE_RING, ENGINE_THREADS };

struct engine;
struct engine_ops;

/* Requests of one kind that the disk is given at once, from where to where it adapts (engine/depth.h). */
struct engine_depth {
	unsigned first, most; /* 0: as many as `depth` */
};

struct engine_config {
	enum engine_backend backend;     /* AUTO: ring, else threads; the reason is kept */
	unsigned depth;                  /* requests that can be queued, 1 .. 256 */
	struct engine_depth read, write; /* of these, with the disk; the others wait in the order in which they came */
	const struct engine_ops *ops;    /* NULL; in tests a back end of their own (engine_backend.h) */
};

struct engine_done {
	void *tag; /* as given with the request */
	haul_status status;
	int os_errno;
	size_t bytes; /* read: less than asked for only at the end of the file */
};

/* HAUL_UNSUPPORTED: ENGINE_RING asked for and the kernel refuses it. Given: freed with engine_free() (NULL is fine). */
HAUL_MUST_USE haul_status engine_new(const struct engine_config *cfg, struct engine **ret_engine,
				     struct haul_fault *fault);

/* Waits for requests in flight: their memory is the caller's again afterwards. */
void engine_free(struct engine *e);

/* Readable when engine_drain() may have something. Valid until engine_free(). */
int engine_event_fd(const struct engine *e);

/*
 * Queue reading `len` bytes at `offset`.
 *
 * file, buf       held until the completion. For a direct file buf is aligned to its memory_align, offset to its
 *                 offset_align, and buf has room for len rounded up to offset_align.
 * HAUL_BUSY       depth reached: drain first. HAUL_OVERFLOW: offset + len is no file offset. Nothing was queued.
 *
 * A direct request that the file system refuses with EINVAL is repeated buffered, and the file stays buffered. Bytes of
 * buf behind those reported may have been written to.
 */
HAUL_MUST_USE haul_status engine_read(struct engine *e, struct disk_file *file, void *buf, size_t len, uint64_t offset,
				      void *tag);

/*
 * Queue writing. As engine_read(); a direct write whose len is not a multiple of offset_align (only a file's tail) is
 * padded with zeros in buf, which has the room: cut the file to its size afterwards. `bytes` of the completion is
 * `len`.
 */
HAUL_MUST_USE haul_status engine_write(struct engine *e, struct disk_file *file, void *buf, size_t len, uint64_t offset,
				       void *tag);

/* Hand queued requests to the kernel or the threads, as many as the depth allows. Call once per round, also after
 * completions. */
void engine_submit(struct engine *e);

/* Collect completions, at most `max`. Returns how many; 0 = none now. Clears the event when nothing is left. */
unsigned engine_drain(struct engine *e, struct engine_done *ret_done, unsigned max);

unsigned engine_in_flight(const struct engine *e);

/* Of these, the reads or the writes. */
unsigned engine_pending(const struct engine *e, bool is_write);

/* Whether another request of that kind would go to the disk at once. What is asked for later can be chosen better. */
bool engine_has_room(const struct engine *e, bool is_write);

/* Requests of one kind that the disk is given at once, now. */
unsigned engine_depth_now(const struct engine *e, bool is_write);

/* As people name them: "ring", "threads"; all else, NULL too: ENGINE_AUTO. Any thread. */
enum engine_backend engine_backend_of(const char *name);

/* "io_uring" or "threads (io_uring is not permitted here)". Static or engine-owned storage. */
const char *engine_backend_text(const struct engine *e);

#endif
