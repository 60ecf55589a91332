/*
 * What the receiver has of a file since an earlier job, or in the version that is there (BASIS): the digests of those
 * leaves go into the file's tree as if they had been read, and only the others are wanted. It was told the file's
 * source id with the manifest, and says HAVE only for the very state that the id stands for, or for leaves that it has
 * compared with ours in this job.
 */
#include "agent/sender_parts.h"

void sender_forget_told(struct sender *s, struct send_entry *e)
{
	s->totals.bytes_resumed -= e->told_bytes;
	s->totals.bytes_reused -= e->told_basis;
	e->told_bytes = e->told_basis = 0;
}

/* A peer that tells one leaf of each group makes us hold that group: no more than 128 MiB of them. */
static haul_status take_on(struct sender *s, struct send_entry *e)
{
	uint64_t leaves = leaf_count(e->facts.size);

	if (!e->has_told && leaves > JOB_HAD_LEAVES_MAX - s->had_leaves)
		return HAUL_OVER_CREDIT;
	hash_tree_free(e->tree);
	e->has_root = false;
	e->tree = hash_tree_new(leaves);
	if (!e->tree)
		return HAUL_NO_MEMORY;
	if (!e->has_told)
		s->had_leaves += leaves;
	sender_forget_told(s, e); /* told anew */
	e->has_told = e->is_telling = e->was_sent = true;
	return HAUL_OK;
}

static void count_told(struct sender *s, struct send_entry *e, const struct msg_digests *m, bool is_basis)
{
	uint64_t bytes = leaf_range_bytes(e->facts.size, m->first_leaf, m->digest_count);

	*(is_basis ? &e->told_basis : &e->told_bytes) += bytes;
	*(is_basis ? &s->totals.bytes_reused : &s->totals.bytes_resumed) += bytes;
}

static haul_status put_told(struct sender *s, struct send_entry *e, const struct msg_digests *m, bool is_basis)
{
	uint64_t leaves = leaf_count(e->facts.size);
	haul_status st = HAUL_OK;

	if (e->facts.kind != ENTRY_FILE || m->first_leaf >= leaves || m->digest_count > leaves - m->first_leaf)
		return HAUL_BAD_MOVE;
	if (!e->is_telling)
		st = take_on(s, e);
	for (size_t i = 0; i < m->digest_count && haul_ok(st); i++)
		st = hash_tree_put(e->tree, m->first_leaf + i, &m->digests[i]);
	if (haul_ok(st))
		count_told(s, e, m, is_basis);
	if (haul_ok(st) && hash_tree_is_full(e->tree) && !e->has_root) {
		hash_tree_root(e->tree, &e->root);
		e->has_root = true;
	}
	return st;
}

void sender_have(struct sender *s, const struct msg_digests *m, bool is_basis)
{
	struct send_entry *e = index_map_get(&s->window, m->entry);
	struct haul_fault fault = { 0 };
	haul_status st = e && s->cfg.verb == JOB_COPY ? HAUL_OK : HAUL_NOT_ANNOUNCED;

	if (haul_ok(st) && (e->has_failed || sender_is_put_off(e)))
		return; /* crossed with our FAILED or PUT_OFF */
	if (haul_ok(st))
		st = put_told(s, e, m, is_basis);
	if (haul_failed(st))
		sender_fail(s, haul_fault_set(&fault, st, "the peer has what it was not offered"), &fault);
}
