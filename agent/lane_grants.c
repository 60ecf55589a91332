/* What may come over this lane now: grants as the main loop posted them, and how many blocks of each are in work. */
#include "agent/lane_recv_parts.h"

#include <assert.h>
#include <stdlib.h>

/* NULL: no memory, the lane has failed. */
static struct lane_report *released_new(struct lane *l, size_t cap)
{
	struct lane_report *r = lane_report_new(l, LANE_RELEASED);

	if (r)
		r->grants = calloc(cap, sizeof(*r->grants));
	if (r && r->grants) {
		r->job = lane_sink(l);
		return r;
	}
	lane_report_free(r);
	lane_fail(l, HAUL_NO_MEMORY, NULL);
	return NULL;
}

void held_done(struct lane *l, struct held_grant *h)
{
	struct lane_report *r;

	assert(h->in_work > 0);
	h->in_work--;
	if (h->in_work)
		return;
	if (h->is_dropped) {
		free(h);
		return;
	}
	if (!h->is_released)
		return;
	r = released_new(l, 1);
	if (!r)
		return;
	r->grants[r->grant_count++] = h->grant;
	free(h);
	lane_report_post(r);
}

haul_status recv_add_grants(struct lane *l, struct grant *const *grants, size_t count)
{
	for (size_t i = 0; i < count && !lane_is_over(l); i++) {
		struct held_grant *h = calloc(1, sizeof(*h));
		haul_status st;

		if (!h)
			return HAUL_NO_MEMORY;
		h->grant = grants[i];
		st = index_map_put(&l->grants, grants[i]->entry, h);
		if (haul_failed(st)) {
			free(h);
			return st;
		}
	}
	return HAUL_OK;
}

void recv_release(struct lane *l, struct grant *const *grants, size_t count)
{
	struct lane_report *r;

	if (lane_is_over(l))
		return; /* dropped already; what follows from that is on its way to the main loop */
	r = released_new(l, count);
	for (size_t i = 0; r && i < count; i++) {
		struct held_grant *h = index_map_remove(&l->grants, grants[i]->entry);

		assert(h && h->grant == grants[i]);
		h->is_released = true;
		if (h->in_work)
			continue; /* its last block tells */
		r->grants[r->grant_count++] = h->grant;
		free(h);
	}
	if (r && r->grant_count)
		lane_report_post(r);
	else
		lane_report_free(r);
}

struct held_grant *held_get(struct lane *l, uint64_t entry, uint32_t attempt)
{
	struct held_grant *h = index_map_get(&l->grants, entry);

	return h && h->grant->attempt == attempt ? h : NULL;
}

static bool mode_takes(enum grant_mode mode, enum lane_frame_type type)
{
	switch (type) {
	case LANE_BLOCK:
		return mode == GRANT_WRITE || mode == GRANT_BYTES || mode == GRANT_DROP;
	case LANE_PACK:
		return mode == GRANT_SMALL;
	case LANE_DIGESTS:
		return mode == GRANT_DIGESTS;
	case LANE_END:
		break;
	}
	return false;
}

static bool range_fits(const struct grant *g, uint64_t first_leaf, uint32_t leaf_count, uint64_t bytes)
{
	uint64_t offset, full;

	if (first_leaf < g->first_leaf || first_leaf >= g->end_leaf || leaf_count > g->end_leaf - first_leaf)
		return false;
	offset = first_leaf * HAUL_LEAF_BYTES;
	full = (uint64_t)leaf_count * HAUL_LEAF_BYTES;
	return bytes == (g->size - offset < full ? g->size - offset : full);
}

enum grant_answer recv_is_granted(void *ctx, enum lane_frame_type type, uint64_t entry, uint32_t attempt,
				  uint64_t first_leaf, uint32_t leaf_count, uint64_t bytes)
{
	struct lane *l = ((struct wire *)ctx)->lane;
	struct held_grant *h = held_get(l, entry, attempt);

	if (!h)
		return entry < l->granted_end ? GRANT_OLD : GRANT_NONE;
	if (!mode_takes(h->grant->mode, type) || !range_fits(h->grant, first_leaf, leaf_count, bytes))
		return GRANT_NONE;
	return GRANT_LIVE;
}
