/*
 * Single stages of a transfer, measured alone on this machine: the disk, digests, TLS. Blocking; nothing stays behind.
 *
 * Each runs for about `seconds`, or until *stop is set (stop_signals.h). Any thread.
 */
#ifndef HAUL_AGENT_MEASURE_H
#define HAUL_AGENT_MEASURE_H

#include "certs/tls_config.h"
#include "engine/engine.h"

#include <stdatomic.h>

enum { MEASURE_BLOCK_BYTES = 4 * 1024 * 1024, MEASURE_DEPTH = 8 };

struct measure_config {
	double seconds;
	enum engine_backend backend;
	enum direct_mode direct;
	const _Atomic bool *stop; /* NULL: nothing stops it */
};

struct measured {
	double seconds;
	uint64_t bytes;
	bool is_direct; /* disk: past the page cache */
};

/* Bytes a second; 0 when nothing was measured. */
double measured_rate(const struct measured *m);

/*
 * Write a file without a name into the directory, at most a quarter of what is free and `bytes_max`, sync included.
 *
 * ret_fd  given: the file, as long as what was written, gone when it is closed.
 * HAUL_DENIED, HAUL_READ_ONLY, HAUL_NO_SPACE ... HAUL_CANCELLED: stopped before anything was written.
 */
HAUL_MUST_USE haul_status measure_write(int dir_fd, uint64_t bytes_max, const struct measure_config *cfg, int *ret_fd,
					struct measured *ret_measured);

/*
 * Read the open file from its beginning, again from there when it ends too soon. fd is borrowed.
 * HAUL_TRUNCATED: shorter than a block. HAUL_CANCELLED: stopped before anything was read.
 */
HAUL_MUST_USE haul_status measure_read(int fd, const struct measure_config *cfg, struct measured *ret_measured);

/* Leaf digests of one thread, of more memory than a core's caches hold. */
HAUL_MUST_USE haul_status measure_digest(const struct measure_config *cfg, struct measured *ret_measured);

/* One thread encrypts and decrypts what it sends to itself; the slower half counts. */
HAUL_MUST_USE haul_status measure_tls(const struct identity *identity, enum tls_suite suite,
				      const struct measure_config *cfg, struct measured *ret_measured);

#endif
