/*
 * Reading and writing records as their layouts say. Both check every field and then the rules between fields.
 * Used by the codec alone. Thread: any one at a time per struct.
 */
#ifndef HAUL_PROTOCOL_LAYOUT_WALK_H
#define HAUL_PROTOCOL_LAYOUT_WALK_H

#include "peer-protocol/arena.h"
#include "peer-protocol/layout.h"
#include "peer-protocol/pack_reader.h"

struct layout_reader {
	struct pack_reader in; /* texts of the record stay borrowed from its data */
	struct arena *arena;   /* arrays of the record */
	unsigned depth;        /* arrays that are open around what is read next */
};

/*
 * Take one record. Elements beyond the layout's own are passed over.
 *
 * record   `l->bytes` zeroed bytes; on failure its content means nothing.
 * HAUL_BAD_FRAME, HAUL_RESERVED_NAME, HAUL_OVERFLOW (beyond the arena's limit), HAUL_NO_MEMORY.
 */
HAUL_MUST_USE haul_status layout_read(struct layout_reader *r, const struct layout *l, void *record);

/* Where the bytes of a record go: `put` returns 0, or anything else to stop. The names are those of msgpack-c. */
struct layout_writer {
	int (*put)(void *ctx, const char *data, size_t len);
	void *ctx;
};

/* HAUL_BAD_VALUE, HAUL_RESERVED_NAME: a field breaks its rule. HAUL_NO_MEMORY: `put` stopped. */
HAUL_MUST_USE haul_status layout_write(const struct layout_writer *w, const struct layout *l, const void *record);

/* At least so many bytes a record takes on the wire: what an array's count must be paid with. */
size_t layout_bytes_min(const struct layout *l);

/* At most so many bytes this very record takes. */
size_t layout_bytes_max(const struct layout *l, const void *record);

/* The layout of the body of a tagged record; NULL for an unknown tag. */
const struct layout *layout_variant(const struct layout *l, uint64_t tag);

/* A number field's value as it lies in the record. */
uint64_t field_number(const struct field *f, const uint8_t *record);

#endif
