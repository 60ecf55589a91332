/*
 * Comparing with a basis. A long file is sampled first: where none of SAMPLES leaves, from one end to the other, is as
 * in the basis, it is another file, or one in which everything has moved, and travels at once instead of being read
 * twice at its source.
 *
 *   opened ► want the digests of the samples ─► none is equal: fetch the whole
 *      └─ short: want all digests               └► want the digests of all others ► compared (receiver_kept.c)
 */
#include "agent/receiver_parts.h"

#include "agent/store_basis.h"
#include "engine/base/escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SAMPLES = 16,
	SAMPLED_LEAVES_MIN = 64, /* of a shorter file all are compared */
	TOLD_MAX = 20,           /* files: there are only so many notes in a job, and others have to be said */
};

static uint64_t sample_at(uint64_t leaves, unsigned n)
{
	return n * (leaves - 1) / (SAMPLES - 1);
}

/* The samples themselves, or what lies between them; they are in no two of these. */
static size_t fill_ranges(uint64_t leaves, bool between, struct leaf_range *ranges)
{
	size_t count = 0;

	for (unsigned i = 0; i < SAMPLES; i++) {
		uint64_t first = sample_at(leaves, i);

		if (!between)
			ranges[count++] = (struct leaf_range){ first, 1 };
		else if (i + 1 < SAMPLES)
			ranges[count++] = (struct leaf_range){ first + 1, sample_at(leaves, i + 1) - first - 1 };
	}
	return count;
}

static void want_digests(struct recv_entry *e, bool between)
{
	struct want w = { .entry = e->index, .attempt = e->attempt, .kind = WANT_DIGEST_RANGES };
	struct leaf_range *ranges = calloc(SAMPLES, sizeof(*ranges));

	if (!ranges) {
		receiver_fail(e->receiver, HAUL_NO_MEMORY, NULL);
		return;
	}
	w.range_count = fill_ranges(leaf_count(e->facts.size), between, ranges);
	w.ranges = ranges;
	out_want(e->receiver, &w);
}

bool receiver_want_samples(struct recv_entry *e)
{
	if (leaf_count(e->facts.size) < SAMPLED_LEAVES_MIN)
		return false;
	e->samples_left = SAMPLES;
	want_digests(e, false);
	return true;
}

/* One that came twice, over a lane that was lost, may end the sampling early: the others are compared all the same. */
bool receiver_samples_differ(struct recv_entry *e, const struct lane_report *rep)
{
	if (!e->samples_left)
		return false;
	e->samples_left -= rep->leaf_count < e->samples_left ? rep->leaf_count : e->samples_left;
	if (e->samples_left)
		return false;
	if (!e->have.count)
		return true;
	want_digests(e, true);
	return false;
}

/* What of it comes from a file that is there; none of it: said too, since the comparison took its time. */
static void explain(const struct recv_entry *e)
{
	char shown[100], other[100], text[280]; /* no longer than a NOTE */
	bool is_version = !strcmp(e->path, e->basis_path);
	unsigned long long equal = e->have.count, all = e->have.leaves;

	if (e->receiver->bases_told++ >= TOLD_MAX)
		return;
	(void)haul_escape(e->path, strlen(e->path), shown, sizeof(shown));
	(void)haul_escape(e->basis_path, strlen(e->basis_path), other, sizeof(other));
	if (!equal)
		(void)snprintf(text, sizeof(text), "%s: nothing is as in the file that is there, the whole one travels",
			       shown);
	else
		(void)snprintf(text, sizeof(text), "%s: %llu of %llu MiB are as in %s", shown, equal, all,
			       is_version ? "the version that is there" : other);
	receiver_explain(e->receiver, text);
}

void receiver_basis_done(struct recv_entry *e)
{
	store_close_basis(e);
	e->samples_left = 0;
	e->is_renamed = e->have.count == e->have.leaves && strcmp(e->path, e->basis_path);
	explain(e);
}
