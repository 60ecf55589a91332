/* The record of one entry as bytes, and its digest. The layout is fixed: see docs/ARCHITECTURE.md "hash tree". */
#include "engine/entry_digest.h"

#include "engine/base/bytes.h"
#include "engine/leaf_hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	RECORD_VERSION = 1,
	RECORD_SEED = 0x100,
	RECORD_ON_STACK = 2048, /* bytes: longer ones are rare */
};

static size_t component_count(const struct entry_record *r)
{
	size_t n = r->path_len > 0;

	for (size_t i = 0; i < r->path_len; i++)
		n += r->path[i] == '/';
	return n;
}

static bool has_content(const struct entry_record *r, enum entry_kind kind)
{
	return r->kind == kind && r->outcome != OUTCOME_FAILED;
}

static size_t record_bytes(const struct entry_record *r, size_t components)
{
	/* Each separator becomes part of a length of two bytes, and the first component has one too. */
	size_t len = 1 + 1 + 1 + 2 + r->path_len + components + (components > 0);

	if (has_content(r, ENTRY_FILE))
		len += 8 + HAUL_DIGEST_BYTES;
	if (has_content(r, ENTRY_LINK))
		len += 4 + r->link_target_len;
	return len;
}

static void put_components(struct bytes *b, const char *path, size_t path_len)
{
	const char *end = path + path_len;

	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t len = (size_t)((slash ? slash : end) - path);

		bytes_put_uint(b, len, 2);
		bytes_put(b, path, len);
		path += len + 1;
	}
}

static void put_record(struct bytes *b, const struct entry_record *r, size_t components)
{
	bytes_put_uint(b, RECORD_VERSION, 1);
	bytes_put_uint(b, r->kind, 1);
	bytes_put_uint(b, r->outcome, 1);
	bytes_put_uint(b, components, 2);
	put_components(b, r->path, r->path_len);
	if (has_content(r, ENTRY_FILE)) {
		bytes_put_uint(b, r->size, 8);
		bytes_put(b, r->root.bytes, sizeof(r->root.bytes));
	}
	if (has_content(r, ENTRY_LINK)) {
		bytes_put_uint(b, r->link_target_len, 4);
		bytes_put(b, r->link_target, r->link_target_len);
	}
}

haul_status entry_digest(const struct entry_record *r, struct haul_digest *ret_digest)
{
	uint8_t on_stack[RECORD_ON_STACK];
	uint8_t *record = on_stack;
	size_t components = component_count(r);
	size_t len = record_bytes(r, components);
	struct bytes b;

	if (len > sizeof(on_stack))
		record = malloc(len);
	if (!record)
		return HAUL_NO_MEMORY;
	b = bytes_of(record, len);
	put_record(&b, r, components);
	assert(haul_ok(bytes_end(&b)));
	leaf_hash_best()->once(record, len, RECORD_SEED, ret_digest);
	if (record != on_stack)
		free(record);
	return HAUL_OK;
}
