/* Versions and capabilities: docs/PROTOCOL.md "Versions". This version has no capability with a name yet. */
#include "peer-protocol/hello.h"

#include <string.h>

static haul_status version_check(const struct msg_hello *h, struct haul_fault *fault)
{
	if (h->version_min > PROTOCOL_VERSION || h->version_max < PROTOCOL_VERSION)
		return haul_fault_set(fault, HAUL_NO_COMMON_VERSION,
				      "peer speaks protocol versions %u to %u, this one speaks %d", h->version_min,
				      h->version_max, PROTOCOL_VERSION);
	if (h->tree_version != TREE_VERSION)
		return haul_fault_set(fault, HAUL_NO_COMMON_VERSION, "peer has hash tree version %u, this one has %d",
				      h->tree_version, TREE_VERSION);
	if (!(h->digest_algorithms & UINT64_C(1) << DIGEST_XXH3_128) || h->digest_bytes != HAUL_DIGEST_BYTES)
		return haul_fault_set(fault, HAUL_NO_COMMON_VERSION, "peer lacks XXH3-128 digests of %d bytes",
				      HAUL_DIGEST_BYTES);
	if (h->block_min > MESSAGE_BLOCK_MAX || h->block_max < MESSAGE_BLOCK_MIN)
		return haul_fault_set(fault, HAUL_NO_COMMON_VERSION, "peer has no block size from %d to %d bytes",
				      MESSAGE_BLOCK_MIN, MESSAGE_BLOCK_MAX);
	return HAUL_OK;
}

static haul_status capabilities_check(const struct msg_hello *h, struct haul_fault *fault)
{
	for (size_t i = 0; i < h->capability_count; i++) {
		if (h->capabilities[i].is_critical)
			return haul_fault_set(fault, HAUL_CRITICAL_CAPABILITY,
					      "peer needs capability %zu of its list, which this version lacks", i);
	}
	return HAUL_OK;
}

/* The text moved to `*to`, which goes on behind it. The places were made for the longest of each. */
static struct text keep_text(struct text text, char **to)
{
	struct text kept = { *to, text.len };

	if (text.len)
		memcpy(*to, text.at, text.len);
	*to += text.len;
	return kept;
}

haul_status hello_adopt(struct hello_copy *ret_copy, const struct msg_hello *theirs, struct haul_fault *fault)
{
	haul_status st = version_check(theirs, fault);
	struct msg_hello *h = &ret_copy->hello;
	char *to = ret_copy->texts;

	if (haul_ok(st))
		st = capabilities_check(theirs, fault);
	if (haul_failed(st))
		return st;
	*h = *theirs;
	h->software = keep_text(theirs->software, &to);
	h->your_name = keep_text(theirs->your_name, &to);
	h->capabilities = ret_copy->capabilities;
	for (size_t i = 0; i < theirs->capability_count; i++) {
		ret_copy->capabilities[i] = theirs->capabilities[i];
		ret_copy->capabilities[i].name = keep_text(theirs->capabilities[i].name, &to);
	}
	if (h->block_min < MESSAGE_BLOCK_MIN)
		h->block_min = MESSAGE_BLOCK_MIN;
	if (h->block_max > MESSAGE_BLOCK_MAX)
		h->block_max = MESSAGE_BLOCK_MAX;
	if (h->lanes_max > LANES_MAX)
		h->lanes_max = LANES_MAX;
	return HAUL_OK;
}
