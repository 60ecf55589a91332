/*
 * Entry digests wait in a scratch file at 16 × index; the root is one pass over it. Digests that come in order are
 * written 256 at a time. Sixteen zero bytes mean "never put": no XXH3 digest of ours is expected to be that.
 */
#include "engine/entry_digest.h"

#include "engine/hash_tree.h"
#include "engine/scratch_file.h"
#include "engine/whole_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { RUN_MAX = 256 }; /* digests */

static const uint64_t EMPTY_SEED = 0x201;
static const struct haul_digest nothing;

struct job_digest {
	int fd;             /* owned; the scratch file */
	uint64_t run_start; /* index of run[0] */
	unsigned run_count; /* consecutive digests that are not in the file yet */
	struct haul_digest run[RUN_MAX];
};

haul_status job_digest_new(const char *dir, struct job_digest **ret_job, struct haul_fault *fault)
{
	struct job_digest *j = calloc(1, sizeof(*j));

	if (!j)
		return haul_fault_set(fault, HAUL_NO_MEMORY, "no memory for the job's digests");
	j->fd = scratch_file_open(AT_FDCWD, dir);
	if (j->fd < 0) {
		haul_status st = haul_fault_errno(fault, errno, "cannot make a scratch file for digests");

		free(j);
		return st;
	}
	*ret_job = j;
	return HAUL_OK;
}

void job_digest_free(struct job_digest *j)
{
	if (!j)
		return;
	(void)close(j->fd);
	free(j);
}

/* What lies beyond the end of the file was never put. */
static haul_status read_digests(int fd, struct haul_digest *ret_digests, size_t count, uint64_t first)
{
	size_t got, len = count * sizeof(*ret_digests);
	haul_status st = read_up_to_at(fd, ret_digests, len, first * HAUL_DIGEST_BYTES, &got);

	return haul_ok(st) && got < len ? haul_bug("an entry of the job never got its digest") : st;
}

static haul_status run_flush(struct job_digest *j)
{
	haul_status st =
	    write_whole_at(j->fd, j->run, j->run_count * sizeof(j->run[0]), j->run_start * HAUL_DIGEST_BYTES);

	if (haul_ok(st))
		j->run_count = 0;
	return st;
}

haul_status job_digest_put(struct job_digest *j, uint64_t index, const struct haul_digest *digest)
{
	haul_status st;

	if (index > INT64_MAX / HAUL_DIGEST_BYTES - 1)
		return HAUL_BAD_VALUE;
	if (j->run_count == RUN_MAX || (j->run_count > 0 && index != j->run_start + j->run_count)) {
		st = run_flush(j);
		if (haul_failed(st))
			return st;
	}
	if (j->run_count == 0)
		j->run_start = index;
	j->run[j->run_count++] = *digest;
	return HAUL_OK;
}

static haul_status tree_put_run(struct hash_tree *t, const struct job_digest *j, uint64_t first, unsigned count)
{
	struct haul_digest digests[RUN_MAX];
	haul_status st = read_digests(j->fd, digests, count, first);

	for (unsigned i = 0; haul_ok(st) && i < count; i++) {
		if (digest_equal(&digests[i], &nothing))
			return haul_bug("an entry of the job never got its digest");
		st = hash_tree_put(t, first + i, &digests[i]);
	}
	return st;
}

haul_status job_digest_root(struct job_digest *j, uint64_t count, struct haul_digest *ret_root)
{
	haul_status st = run_flush(j);
	struct hash_tree *t;

	if (haul_failed(st))
		return st;
	if (count == 0) {
		node_digest(NULL, 0, EMPTY_SEED, ret_root);
		return HAUL_OK;
	}
	t = hash_tree_new_of_entries(count);
	if (!t)
		return HAUL_NO_MEMORY;
	for (uint64_t first = 0; haul_ok(st) && first < count; first += RUN_MAX)
		st = tree_put_run(t, j, first, count - first < RUN_MAX ? (unsigned)(count - first) : RUN_MAX);
	if (haul_ok(st))
		hash_tree_root(t, ret_root);
	hash_tree_free(t);
	return st;
}
