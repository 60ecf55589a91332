/*
 * Whether what records of kept partials say is so: haul_kept_check DIR...
 *
 * Each DIR holds `.part` files and their `.record`s, as `.haul/partials/` does. For every record that the engine takes
 * (its inode apart, since these are copies), each leaf it names must be in the partial with that digest: what is
 * recorded is never read again when a job goes on. One line a leaf that is not. Exit 0, 1: there was one, 2: trouble.
 */
#include "engine/base/bytes.h"
#include "engine/hash_tree.h"
#include "engine/leaf_record.h"
#include "engine/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INODE_AT = 56 };

static unsigned long bad, good;

static void trouble(const char *what, const char *name)
{
	(void)fprintf(stderr, "haul_kept_check: %s %s\n", what, name);
	exit(2);
}

/* The one that the record speaks of; false: not even a header. */
static bool inode_of(int dir_fd, const char *record, uint64_t *ret_inode)
{
	int fd = openat(dir_fd, record, O_RDONLY | O_CLOEXEC);
	uint8_t data[8];
	struct bytes b = bytes_of(data, sizeof(data));
	bool is_read = fd >= 0 && pread(fd, data, sizeof(data), INODE_AT) == sizeof(data);

	if (fd >= 0)
		(void)close(fd);
	*ret_inode = is_read ? bytes_get_uint(&b, sizeof(data)) : 0;
	return is_read;
}

static void check_leaf(const char *dir, const char *name, int fd, uint64_t leaf, uint64_t size,
		       const struct haul_digest *want)
{
	static uint8_t data[HAUL_LEAF_BYTES];
	uint64_t at = leaf * HAUL_LEAF_BYTES;
	size_t len = size - at < HAUL_LEAF_BYTES ? (size_t)(size - at) : HAUL_LEAF_BYTES;
	struct haul_digest is;
	ssize_t n = pread(fd, data, len, (off_t)at);

	if (n == (ssize_t)len)
		leaf_digest(data, len, &is);
	if (n == (ssize_t)len && digest_equal(&is, want)) {
		good++;
		return;
	}
	printf("%s/%s: leaf %llu is recorded and is not there\n", dir, name, (unsigned long long)leaf);
	bad++;
}

static void check_record(const char *dir, const char *name, int fd, struct leaf_record *record, uint64_t size)
{
	struct haul_digest *digests = calloc((size_t)leaf_count(size), sizeof(*digests));
	struct leaf_map have;

	if (!digests || !leaf_map_open(&have, leaf_count(size)))
		trouble("no memory for", name);
	if (haul_failed(leaf_record_read(record, &have, digests)))
		trouble("cannot read the record of", name);
	for (uint64_t i = 0; i < have.leaves; i++) {
		if (leaf_map_has(&have, i))
			check_leaf(dir, name, fd, i, size, &digests[i]);
	}
	leaf_map_close(&have);
	free(digests);
}

/* As partial_kept.c takes one up: a partial of another size than the record's is of another source. */
static void check_partial(const char *dir, int dir_fd, const char *name)
{
	char record_name[RECORD_NAME_MAX];
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	struct leaf_record record;
	struct leaf_source of;
	uint64_t inode;

	if (fd < 0)
		trouble("cannot open", name);
	partial_record_name(name, record_name);
	if (inode_of(dir_fd, record_name, &inode) &&
	    haul_ok(leaf_record_open(dir_fd, record_name, inode, &of, &record))) {
		if ((uint64_t)lseek(fd, 0, SEEK_END) == of.size)
			check_record(dir, name, fd, &record, of.size);
		leaf_record_close(&record);
	}
	(void)close(fd);
}

static bool is_partial(const char *name)
{
	size_t len = strlen(name), suffix = sizeof(PARTIAL_SUFFIX) - 1;

	return len > suffix && len + sizeof(RECORD_SUFFIX) < RECORD_NAME_MAX &&
	       strcmp(name + len - suffix, PARTIAL_SUFFIX) == 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		struct dirent *e;

		if (!dir)
			trouble("cannot list", argv[i]);
		while ((e = readdir(dir))) {
			if (is_partial(e->d_name))
				check_partial(argv[i], dirfd(dir), e->d_name);
		}
		(void)closedir(dir);
	}
	printf("%lu leaves as recorded, %lu not\n", good, bad);
	return bad ? 1 : 0;
}
