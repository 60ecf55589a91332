/*
 * The disk at the place named, digests and encryption. A file of our own is measured where one may be made; else the
 * longest there is read.
 */
#include "agent/diagnose_parts.h"

#include "agent/exit_class.h"
#include "agent/stop_signals.h"
#include "certs/identity.h"
#include "engine/base/escape.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CPU_STAGE_S 0.4
#define OWN_FILE_MAX (UINT64_C(4) << 30)

static struct measure_config measure_config(const struct diagnosis *d, double seconds)
{
	return (struct measure_config){ .seconds = seconds,
					.backend = engine_backend_of(d->req->backend),
					.direct = (enum direct_mode)d->req->direct,
					.stop = stop_signals_flag() };
}

static const char *place_here(const struct diagnosis *d)
{
	return d->req->local && *d->req->local->path ? d->req->local->path : ".";
}

static const char *how(const struct measured *m)
{
	return m->is_direct ? "direct" : "through the page cache";
}

static void read_here(struct diagnosis *d, int fd, const char *what)
{
	const struct measure_config cfg = measure_config(d, DIAGNOSE_STAGE_S);
	struct measured m;
	haul_status st = measure_read(fd, &cfg, &m);

	if (haul_failed(st))
		diagnose_row_missing(d, DIAGNOSE_READ, "%s: %s", what, haul_status_text(st));
	else
		diagnose_row_measured(d, DIAGNOSE_READ, &m, "%s, %s", what, how(&m));
}

/* The longest file directly in the directory that we may read, opened; -1: none is big. */
static int find_big(int dir_fd, char *ret_name, size_t cap)
{
	int copy = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0), fd = -1;
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	uint64_t best = DIAGNOSE_BIG_BYTES - 1;
	struct dirent *at;

	if (!dir && copy >= 0)
		(void)close(copy);
	while (dir && (at = readdir(dir))) {
		struct stat st;
		int candidate;

		if (fstatat(dir_fd, at->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
		    (uint64_t)st.st_size <= best)
			continue;
		candidate = openat(dir_fd, at->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (candidate < 0)
			continue;
		if (fd >= 0)
			(void)close(fd);
		fd = candidate;
		best = (uint64_t)st.st_size;
		(void)haul_escape(at->d_name, strlen(at->d_name), ret_name, cap);
	}
	if (dir)
		(void)closedir(dir);
	return fd;
}

static void disk_in(struct diagnosis *d, int dir_fd)
{
	const struct measure_config cfg = measure_config(d, DIAGNOSE_STAGE_S);
	char name[HAUL_FAULT_TEXT_MAX / 8];
	struct measured m;
	haul_status st = measure_write(dir_fd, OWN_FILE_MAX, &cfg, &d->source_fd, &m);

	if (haul_ok(st)) {
		diagnose_row_measured(d, DIAGNOSE_WRITE, &m, "a file of its own, %s, synced, removed", how(&m));
		if (!diagnose_is_stopped(d))
			read_here(d, d->source_fd, "the file written before");
		return;
	}
	d->source_fd = find_big(dir_fd, name, sizeof(name));
	diagnose_row_missing(d, DIAGNOSE_WRITE, "%s", haul_status_text(st));
	if (d->source_fd >= 0)
		read_here(d, d->source_fd, name);
	else
		diagnose_row_missing(d, DIAGNOSE_READ, "nothing of 64 MiB or more to read, and nothing may be written");
}

/* File systems of the kernel's own (/proc, /sys) have no blocks: what seems long there takes none. */
static bool is_without_disk(int fd)
{
	struct statvfs fs;
	struct stat st;

	return !fstatvfs(fd, &fs) && fs.f_blocks == 0 && !fstat(fd, &st) && st.st_blocks == 0;
}

static void disk_of_file(struct diagnosis *d)
{
	struct stat st;

	diagnose_row_missing(d, DIAGNOSE_WRITE, "a file was named: name a directory to write to");
	if (fstat(d->source_fd, &st) || st.st_size < MEASURE_BLOCK_BYTES)
		diagnose_row_missing(d, DIAGNOSE_READ, "the file named is shorter than 4 MiB");
	else
		read_here(d, d->source_fd, "the file named");
}

/* A file that is named is read; a directory is written to. */
void diagnose_disk_here(struct diagnosis *d)
{
	if (d->dir_fd < 0)
		disk_of_file(d);
	else
		disk_in(d, d->dir_fd);
}

static bool refuse_here(struct diagnosis *d, haul_status why, const char *text, int exit_code)
{
	char shown[HAUL_FAULT_TEXT_MAX / 4], line[HAUL_FAULT_TEXT_MAX];
	const char *path = place_here(d);

	(void)snprintf(line, sizeof(line), "%s: %s", haul_escape(path, strlen(path), shown, sizeof(shown)), text);
	diagnose_tell_error(d, why, "local", line, NULL);
	d->report->exit_code = exit_code;
	return false;
}

bool diagnose_open_here(struct diagnosis *d)
{
	int fd = open(place_here(d), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	haul_status why = haul_status_from_errno(errno);
	struct stat st;

	if (fd < 0)
		return refuse_here(d, why, haul_status_text(why), EXIT_CLASS_NO_SOURCE);
	if (fstat(fd, &st) || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))) {
		(void)close(fd);
		return refuse_here(d, HAUL_WRONG_KIND, "diagnose takes a directory or a file", EXIT_CLASS_USAGE);
	}
	if (is_without_disk(fd)) {
		(void)close(fd);
		return refuse_here(d, HAUL_WRONG_KIND, "not a place to write to or read from: no disk lies behind it",
				   EXIT_CLASS_USAGE);
	}
	if (S_ISDIR(st.st_mode))
		d->dir_fd = fd;
	else
		d->source_fd = fd;
	return true;
}

static void tls_here(struct diagnosis *d, enum diagnose_stage stage, enum tls_suite suite)
{
	const struct measure_config cfg = measure_config(d, CPU_STAGE_S);
	struct measured m;
	haul_status st = measure_tls(d->identity, suite, &cfg, &m);

	if (haul_failed(st))
		diagnose_row_missing(d, stage, "%s", haul_status_text(st));
	else
		diagnose_row_measured(d, stage, &m,
				      "one thread, memory to memory, the slower of encrypting and decrypting");
}

haul_status diagnose_cpu_here(struct diagnosis *d)
{
	const struct measure_config cfg = measure_config(d, CPU_STAGE_S);
	struct haul_fault fault = { 0 };
	struct measured m;
	int dir_fd;
	haul_status st = measure_digest(&cfg, &m);

	if (haul_ok(st))
		diagnose_row_measured(d, DIAGNOSE_DIGEST, &m, "one thread, memory");
	else
		diagnose_row_missing(d, DIAGNOSE_DIGEST, "%s", haul_status_text(st));
	st = home_open_config(d->home, &dir_fd, &fault);
	if (haul_ok(st)) {
		st = identity_open(dir_fd, &d->identity, &fault);
		(void)close(dir_fd);
	}
	if (haul_failed(st)) {
		diagnose_tell_error(d, st, "local", fault.text, NULL);
		return st;
	}
	tls_here(d, DIAGNOSE_TLS_128, TLS_SUITE_AES_128_GCM);
	if (!diagnose_is_stopped(d))
		tls_here(d, DIAGNOSE_TLS_256, TLS_SUITE_AES_256_GCM);
	return HAUL_OK;
}
