/*
 * A radix tree of groups of 256 that exists only where it is open: a group is made when its first child comes, and
 * becomes one digest in its parent when its last child has come. Put in order, a file of any size holds one group per
 * level; put by lanes that run apart, one more for each group they are apart.
 *
 * The last closed groups of leaves are kept for a while, so that a leaf that is sent again can be compared.
 */
#include "engine/hash_tree.h"

#include "engine/leaf_hash.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	LEVELS_MAX = 9,     /* 256^8 leaves are more than 2^63 bytes */
	RECENT_GROUPS = 64, /* 16 GiB of file, 264 KiB of memory: far beyond what can be in flight */
	JOB_SEED = 0x200,
};

struct group {
	uint64_t number; /* index within its level */
	unsigned have_count, want_count;
	uint64_t have[HASH_TREE_FANOUT / 64]; /* bitmap of children */
	struct haul_digest child[HASH_TREE_FANOUT];
	struct group *open[]; /* owned; HASH_TREE_FANOUT of them above level 1 */
};

struct hash_tree {
	uint64_t count[LEVELS_MAX + 1];      /* of nodes at each level; [0] leaves */
	unsigned top;                        /* level of the root; 0 for a file of one leaf */
	uint64_t seed;                       /* a node at level L is hashed with seed + L */
	struct group *root_group;            /* owned; NULL before the first leaf and after the last */
	struct group *recent[RECENT_GROUPS]; /* owned; closed groups of leaves, a ring */
	unsigned recent_next;
	struct haul_digest root;
	bool is_full;
};

void leaf_digest(const void *data, size_t len, struct haul_digest *ret_digest)
{
	leaf_hash_best()->once(data, len, 0, ret_digest);
}

void node_digest(const struct haul_digest *children, size_t count, uint64_t seed, struct haul_digest *ret_digest)
{
	leaf_hash_best()->once(children, count * sizeof(*children), seed, ret_digest);
}

static uint8_t zeros[HAUL_LEAF_BYTES]; /* never written: not const, so that it takes no room in the program's file */
static struct haul_digest zero_leaf;

static void zero_leaf_compute(void)
{
	leaf_digest(zeros, sizeof(zeros), &zero_leaf);
}

const struct haul_digest *leaf_digest_zero(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, zero_leaf_compute);
	return &zero_leaf;
}

void leaf_digest_zeros(size_t len, struct haul_digest *ret_digest)
{
	assert(len <= sizeof(zeros));
	if (len == sizeof(zeros))
		*ret_digest = *leaf_digest_zero();
	else
		leaf_digest(zeros, len, ret_digest);
}

uint64_t leaf_count(uint64_t size_bytes)
{
	uint64_t whole = size_bytes / HAUL_LEAF_BYTES;

	return whole + (size_bytes % HAUL_LEAF_BYTES || !whole ? 1 : 0);
}

bool digest_equal(const struct haul_digest *a, const struct haul_digest *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static uint64_t groups_over(uint64_t children)
{
	return children / HASH_TREE_FANOUT + (children % HASH_TREE_FANOUT ? 1 : 0);
}

static struct hash_tree *tree_new(uint64_t leaves, unsigned lowest_root, uint64_t seed)
{
	struct hash_tree *t;

	assert(leaves > 0);
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->seed = seed;
	t->count[0] = leaves;
	while (t->count[t->top] > 1 || t->top < lowest_root) {
		t->count[t->top + 1] = groups_over(t->count[t->top]);
		t->top++;
	}
	return t;
}

struct hash_tree *hash_tree_new(uint64_t leaves)
{
	return tree_new(leaves, 0, 0);
}

struct hash_tree *hash_tree_new_of_entries(uint64_t entries)
{
	return tree_new(entries, 1, JOB_SEED);
}

/* Depth is at most LEVELS_MAX. */
static void group_free(struct group *g, unsigned level)
{
	if (!g)
		return;
	for (unsigned i = 0; level > 1 && i < HASH_TREE_FANOUT; i++)
		group_free(g->open[i], level - 1);
	free(g);
}

void hash_tree_free(struct hash_tree *t)
{
	if (!t)
		return;
	group_free(t->root_group, t->top);
	for (unsigned i = 0; i < RECENT_GROUPS; i++)
		group_free(t->recent[i], 1);
	free(t);
}

static struct group *group_new(const struct hash_tree *t, unsigned level, uint64_t number)
{
	size_t links = level > 1 ? HASH_TREE_FANOUT * sizeof(struct group *) : 0;
	struct group *g = malloc(sizeof(*g) + links);
	uint64_t left = t->count[level - 1] - number * HASH_TREE_FANOUT;

	if (!g)
		return NULL;
	memset(g->have, 0, sizeof(g->have));
	memset(g->open, 0, links);
	g->number = number;
	g->have_count = 0;
	g->want_count = left < HASH_TREE_FANOUT ? (unsigned)left : HASH_TREE_FANOUT;
	return g;
}

static bool group_has(const struct group *g, unsigned slot)
{
	return g->have[slot / 64] >> (slot % 64) & 1;
}

static void group_set(struct group *g, unsigned slot, const struct haul_digest *digest)
{
	g->child[slot] = *digest;
	g->have[slot / 64] |= UINT64_C(1) << (slot % 64);
	g->have_count++;
}

static haul_status compare(const struct haul_digest *before, const struct haul_digest *now)
{
	return digest_equal(before, now) ? HAUL_OK : HAUL_CHANGED;
}

/* The group of leaf `index`, if it was closed not long ago. */
static const struct group *recent_group(const struct hash_tree *t, uint64_t index)
{
	for (unsigned i = 0; i < RECENT_GROUPS; i++) {
		if (t->recent[i] && t->recent[i]->number == index / HASH_TREE_FANOUT)
			return t->recent[i];
	}
	return NULL;
}

/* A leaf whose group is closed already. What cannot be compared any more does not pass for equal. */
static haul_status put_again(const struct hash_tree *t, uint64_t index, const struct haul_digest *digest)
{
	const struct group *g = recent_group(t, index);

	return g ? compare(&g->child[index % HASH_TREE_FANOUT], digest) : HAUL_CHANGED;
}

static void retire(struct hash_tree *t, struct group *g, unsigned level)
{
	if (level > 1) {
		free(g);
		return;
	}
	free(t->recent[t->recent_next]);
	t->recent[t->recent_next] = g;
	t->recent_next = (t->recent_next + 1) % RECENT_GROUPS;
}

/* path[level] is the group at that level: close those that are complete, from the leaves up. */
static void close_full(struct hash_tree *t, struct group *const *path)
{
	for (unsigned level = 1; path[level]->have_count == path[level]->want_count; level++) {
		struct group *g = path[level];
		struct haul_digest digest;

		node_digest(g->child, g->have_count, t->seed + level, &digest);
		if (level == t->top) {
			t->root = digest;
			t->is_full = true;
			t->root_group = NULL;
			retire(t, g, level);
			return;
		}
		path[level + 1]->open[g->number % HASH_TREE_FANOUT] = NULL;
		group_set(path[level + 1], (unsigned)(g->number % HASH_TREE_FANOUT), &digest);
		retire(t, g, level);
	}
}

/* Find or make the groups above leaf `index`. *ret_closed: one of them has been closed already. */
static haul_status descend(struct hash_tree *t, uint64_t index, struct group **path, bool *ret_closed)
{
	struct group **link = &t->root_group;

	*ret_closed = false;
	for (unsigned level = t->top; level >= 1; level--) {
		uint64_t number = level < 8 ? index >> (8 * level) : 0;
		unsigned slot = (unsigned)(number % HASH_TREE_FANOUT);

		if (level < t->top && group_has(path[level + 1], slot)) {
			*ret_closed = true;
			return HAUL_OK;
		}
		if (level < t->top)
			link = &path[level + 1]->open[slot];
		if (!*link)
			*link = group_new(t, level, number);
		if (!*link)
			return HAUL_NO_MEMORY;
		path[level] = *link;
	}
	return HAUL_OK;
}

static haul_status put_only_leaf(struct hash_tree *t, const struct haul_digest *digest)
{
	if (t->is_full)
		return compare(&t->root, digest);
	t->root = *digest;
	t->is_full = true;
	return HAUL_OK;
}

haul_status hash_tree_put(struct hash_tree *t, uint64_t index, const struct haul_digest *digest)
{
	struct group *path[LEVELS_MAX + 1];
	unsigned slot = (unsigned)(index % HASH_TREE_FANOUT);
	bool is_closed;
	haul_status st;

	if (index >= t->count[0])
		return HAUL_BAD_VALUE;
	if (t->top == 0)
		return put_only_leaf(t, digest);
	if (t->is_full)
		return put_again(t, index, digest);
	st = descend(t, index, path, &is_closed);
	if (haul_failed(st))
		return st;
	if (is_closed)
		return put_again(t, index, digest);
	if (group_has(path[1], slot))
		return compare(&path[1]->child[slot], digest);
	group_set(path[1], slot, digest);
	close_full(t, path);
	return HAUL_OK;
}

haul_status hash_tree_put_again(struct hash_tree *t, uint64_t index, const struct haul_digest *digest)
{
	haul_status st = hash_tree_put(t, index, digest);
	struct group *path[LEVELS_MAX + 1];
	bool is_closed = t->is_full;

	if (st.code != HAUL_CODE_CHANGED || t->top == 0 || recent_group(t, index))
		return st;
	if (!is_closed && haul_failed(descend(t, index, path, &is_closed)))
		return st;
	return is_closed ? HAUL_OK : st;
}

bool hash_tree_is_full(const struct hash_tree *t)
{
	return t->is_full;
}

void hash_tree_root(struct hash_tree *t, struct haul_digest *ret_root)
{
	assert(t->is_full);
	*ret_root = t->root;
}
