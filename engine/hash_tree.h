/*
 * The digest of a file's content: leaves of 1 MiB, nodes over 256 children, one root (docs/ARCHITECTURE.md "hash
 * tree").
 *
 * Leaves may be added in any order, by one thread at a time. Memory: 4 KiB for each group of 256 leaves that is open,
 * one digest per closed group, and the leaves of the last 64 closed groups (264 KiB).
 */
#ifndef HAUL_ENGINE_HASH_TREE_H
#define HAUL_ENGINE_HASH_TREE_H

#include "engine/base/entry.h"

#include <stddef.h>

enum { HASH_TREE_FANOUT = 256 };

struct hash_tree;

/* XXH3-128, seed 0, of one leaf's bytes. */
void leaf_digest(const void *data, size_t len, struct haul_digest *ret_digest);

/* The digest of a full leaf of zeros, computed once. Any thread. */
const struct haul_digest *leaf_digest_zero(void);

/* As leaf_digest of `len` (1 .. 1 MiB) zero bytes. */
void leaf_digest_zeros(size_t len, struct haul_digest *ret_digest);

/* Leaves of a file: at least 1 (an empty file has one empty leaf). */
uint64_t leaf_count(uint64_t size_bytes);

bool digest_equal(const struct haul_digest *a, const struct haul_digest *b);

/* The tree of a file of `leaves` (at least 1) leaves. NULL without memory. hash_tree_free(NULL) is fine. */
struct hash_tree *hash_tree_new(uint64_t leaves);

/* The tree over the entry digests of a job: seeds from 0x201, and one entry is hashed too (entry_digest.h). */
struct hash_tree *hash_tree_new_of_entries(uint64_t entries);
void hash_tree_free(struct hash_tree *t);

/*
 * Put the digest of leaf `index`. Putting it again with the same value is fine (a leaf sent twice).
 * HAUL_BAD_VALUE   index beyond the tree. HAUL_CHANGED   a different digest was put before: the file changed meanwhile;
 * also when the leaf's group was closed more than 64 groups ago, so that nobody can tell any more.
 * HAUL_NO_MEMORY.
 */
HAUL_MUST_USE haul_status hash_tree_put(struct hash_tree *t, uint64_t index, const struct haul_digest *digest);

/*
 * The same for a leaf that may have been put before, and is known to be of the same state: where nobody can tell any
 * more whether the digest is another one, it is fine.
 */
HAUL_MUST_USE haul_status hash_tree_put_again(struct hash_tree *t, uint64_t index, const struct haul_digest *digest);

bool hash_tree_is_full(const struct hash_tree *t);

/* The root; the tree must be full (asserted). */
void hash_tree_root(struct hash_tree *t, struct haul_digest *ret_root);

/* Internal nodes, for the job tree and for tests: XXH3-128 with `seed` over `count` digests. */
void node_digest(const struct haul_digest *children, size_t count, uint64_t seed, struct haul_digest *ret_digest);

#endif
