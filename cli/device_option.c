/* One or two parts, an end at most once. Fails only for what it does not know. */
#include "cli/device_option.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool is_word(const char *at, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(at, word, len);
}

static bool kind_of(const char *at, size_t len, enum device_kind *ret_kind)
{
	static const struct {
		const char *word;
		enum device_kind kind;
	} kinds[] = {
		{ "auto", DEVICE_UNKNOWN }, { "rotational", DEVICE_ROTATIONAL }, { "ssd", DEVICE_SSD },
		{ "nvme", DEVICE_NVME },    { "network", DEVICE_NETWORK },       { "memory", DEVICE_MEMORY },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (is_word(at, len, kinds[i].word)) {
			*ret_kind = kinds[i].kind;
			return true;
		}
	return false;
}

struct ends {
	enum device_kind source, destination;
	bool has_source, has_destination;
};

static bool part(const char *at, size_t len, struct ends *ends)
{
	const char *colon = memchr(at, ':', len);
	size_t end = colon ? (size_t)(colon - at) : 0, skip = colon ? end + 1 : 0;
	bool is_source = !colon || is_word(at, end, "source"),
	     is_destination = !colon || is_word(at, end, "destination");
	enum device_kind kind;

	if (!kind_of(at + skip, len - skip, &kind) || !(is_source || is_destination))
		return false;
	if ((is_source && ends->has_source) || (is_destination && ends->has_destination))
		return false;
	if (is_source)
		ends->source = kind;
	if (is_destination)
		ends->destination = kind;
	ends->has_source = ends->has_source || is_source;
	ends->has_destination = ends->has_destination || is_destination;
	return true;
}

haul_status device_option_parse(const char *value, enum device_kind *ret_source, enum device_kind *ret_destination)
{
	struct ends ends = { .source = DEVICE_UNKNOWN, .destination = DEVICE_UNKNOWN };
	const char *comma = strchr(value, ',');

	if (!part(value, comma ? (size_t)(comma - value) : strlen(value), &ends))
		return HAUL_USAGE;
	if (comma && !part(comma + 1, strlen(comma + 1), &ends))
		return HAUL_USAGE;
	*ret_source = ends.source;
	*ret_destination = ends.destination;
	return HAUL_OK;
}
