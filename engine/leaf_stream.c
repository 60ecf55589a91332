#include "engine/leaf_stream.h"

#include "engine/leaf_hash.h"

void leaf_stream_begin(struct leaf_stream *s)
{
	leaf_hash_best()->begin(s);
}

void leaf_stream_add(struct leaf_stream *s, const void *data, size_t len)
{
	leaf_hash_best()->add(s, data, len);
}

void leaf_stream_end(const struct leaf_stream *s, struct haul_digest *ret_digest)
{
	leaf_hash_best()->end(s, ret_digest);
}
