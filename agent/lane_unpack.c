/* Packs of small files: each is checked and made, under its private name, by the thread pool. */
#include "agent/lane_recv_parts.h"

#include "engine/hash_tree.h"

#include <stdlib.h>

static void make_small(struct recv_block *b, unsigned i, const uint8_t **at)
{
	struct lane_pack_entry *e = &b->report->items[i];
	const uint8_t *data = *at;
	struct haul_digest digest;
	struct place_meta meta;
	struct grant *g;

	*at += e->bytes;
	if (!b->items[i])
		return;
	g = b->items[i]->grant;
	meta = (struct place_meta){ .facts = &g->meta,
				    .attributes = g->attributes,
				    .kinds = g->attribute_kinds,
				    .keeps_owner = g->keeps_owner,
				    .has_holes = g->has_holes };
	leaf_digest(data, (size_t)e->bytes, &digest);
	if (digest_equal(&digest, &e->digest))
		e->status = partial_create_small(g->place, g->path, data, (size_t)e->bytes, &meta, &e->partial);
	else
		e->status = HAUL_CORRUPT;
	e->lost = meta.lost;
}

static void unpack_in_pool(uv_work_t *work)
{
	struct recv_block *b = work->data;
	const uint8_t *at = b->contents;
	uint64_t since_ns = trace_now(b->lane->recv_track);

	for (unsigned i = 0; i < b->report->item_count; i++)
		make_small(b, i, &at);
	trace_work(b->lane->recv_track, &b->disk, since_ns);
}

void recv_pack_arrived(struct recv_block *b, const struct lane_update *up)
{
	struct lane *l = b->lane;
	uint32_t count = up->header->count;

	recv_trace(b, &b->receive, TRACE_RECEIVE);
	b->report->type = LANE_WRITTEN_PACK;
	b->report->items = calloc(count, sizeof(*b->report->items));
	b->items = calloc(count, sizeof(*b->items));
	if (!b->report->items || !b->items) {
		recv_block_free(b);
		lane_fail(l, HAUL_NO_MEMORY, NULL);
		return;
	}
	b->report->item_count = count;
	b->contents = up->contents;
	for (uint32_t i = 0; i < count; i++) {
		struct lane_pack_entry *e = &b->report->items[i];

		e->entry = up->items[i].entry;
		e->attempt = up->items[i].attempt;
		e->bytes = up->items[i].bytes;
		e->digest = up->items[i].digest;
		e->status = HAUL_CANCELLED;
		b->items[i] = held_get(l, e->entry, e->attempt);
		if (b->items[i])
			b->items[i]->in_work++;
	}
	recv_start_pool(b, unpack_in_pool);
}
